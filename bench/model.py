"""PydanticAI agents whose model streams the workload: the same ones for its own server side and for ours."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from workload import TOKENS, forever


async def _tick(messages, info):
    for token in TOKENS:
        await asyncio.sleep(0)
        yield token


async def _burst(messages, info):
    for token in TOKENS:
        yield token


async def _idle(messages, info):
    yield TOKENS[0]
    await forever()


PYDANTIC_AI = {
    "tick": Agent(FunctionModel(stream_function=_tick)),
    "burst": Agent(FunctionModel(stream_function=_burst)),
    "idle": Agent(FunctionModel(stream_function=_idle)),
}
"""By the way in which the model streams."""
