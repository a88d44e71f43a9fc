"""The agents that the sidecar serves here: three native adapters, and the PydanticAI agents of the workload."""

import asyncio

from ag_ui.core import AgentCapabilities
from model import PYDANTIC_AI
from workload import TOKENS, forever

from adapters.base import Text


class Tick:
    """A native adapter that suspends once per token."""

    def capabilities(self):
        return AgentCapabilities()

    async def run(self, run):
        for token in TOKENS:
            await asyncio.sleep(0)
            yield Text(token)


class Burst:
    """A native adapter that never suspends."""

    def capabilities(self):
        return AgentCapabilities()

    async def run(self, run):
        for token in TOKENS:
            yield Text(token)


class Idle:
    """A native adapter that says one word and waits."""

    def capabilities(self):
        return AgentCapabilities()

    async def run(self, run):
        yield Text(TOKENS[0])
        await forever()


tick, burst, idle = Tick(), Burst(), Idle()
pydantic_tick, pydantic_burst, pydantic_idle = PYDANTIC_AI["tick"], PYDANTIC_AI["burst"], PYDANTIC_AI["idle"]
