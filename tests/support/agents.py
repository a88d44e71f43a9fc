"""Adapters for tests: they play what they are given."""

import itertools
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any

from ag_ui.core import AgentCapabilities, RunAgentInput

from adapters.base import RunContext, Step
from sidecar.runs.pipeline import Pipeline


class Scripted:
    """Plays an async generator function, or a list of steps in which an exception is raised."""

    def __init__(self, play: Callable[[RunContext], AsyncGenerator[Step, None]] | Iterable[Any]) -> None:
        self._play = play

    def capabilities(self) -> AgentCapabilities:
        return AgentCapabilities()

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        if callable(self._play):
            async with aclosing(self._play(run)) as steps:  # left in this task, not by the garbage collector
                async for step in steps:
                    yield step
            return
        for step in self._play:
            if isinstance(step, BaseException):
                raise step
            yield step


def run_input(**fields: Any) -> dict[str, Any]:
    """A run input of a current client, as JSON."""
    messages = fields.pop("messages", [{"id": "u1", "role": "user", "content": "hello"}])
    return {"threadId": "t1", "runId": "r1", "protocolVersion": "1.0", "messages": messages, **fields}


def make_pipeline(**fields: Any) -> tuple[Pipeline, list[str]]:
    """A pipeline with ids i1, i2, ... and the list of its warnings."""
    numbers, warnings = itertools.count(1), []
    given = RunAgentInput.model_validate(run_input(**fields))
    return Pipeline(given, ids=lambda: f"i{next(numbers)}", warn=warnings.append), warnings


def play(steps: Iterable[Any], **fields: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The events of a run that takes these steps and comes to its end, and the warnings."""
    pipeline, warnings = make_pipeline(**fields)
    events = list(pipeline.start())
    for step in steps:
        events += pipeline.feed(step)
    events += pipeline.finish()
    return events, warnings
