"""The same LangGraph graph behind our server and behind the best-known adapter, asked over HTTP in the same way.

    async with ours(graph) as thread:
        answer = await thread.say("hello")

A thread holds what a client would hold, as that of `support.peer` does.
"""

import logging
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import structlog
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI

from adapters.langgraph import LangGraph
from support import peer as both
from support.beside import compare
from support.server import serving, serving_app

REPORTING = {"emit_interrupt_outcome": True, "emit_raw_events": False, "subagent_visibility": "attributed"}
"""The peer's options as they say most in the protocol's words, without a copy of each of LangGraph's own events."""


class Answer(both.Answer):
    """What one run input got. That the peer declares no version is one scenario, and left out of all others."""

    @property
    def breaches(self) -> list[str]:
        """Every other MUST that the exchange breaks."""
        return [found for found in super().breaches if not found.startswith("version-declared")]

    @property
    def is_versioned(self) -> bool:
        """Whether the run's version is declared."""
        return self.breaches == super().breaches

    @property
    def ended(self) -> str | None:
        """The kind of outcome; a run that finishes without one has succeeded."""
        ended = super().ended
        return "success" if ended == "RUN_FINISHED" else ended


class Thread(both.Thread):
    """A conversation with one server, from its client's side."""

    async def run(self, **fields: Any) -> Answer:
        """Send the history and whatever else, read to the end, and keep what came."""
        answer = await super().run(**fields)
        return Answer(answer.document, answer.response, answer.events, answer.log)


@asynccontextmanager
async def ours(graph: Any, **options: Any) -> AsyncGenerator[Thread, None]:
    """A thread with our server. Options are the adapter's; `theirs` are the peer's."""
    options.pop("theirs", None)

    with structlog.testing.capture_logs() as log:
        async with serving({"agent": LangGraph(graph, **options)}) as served:
            yield Thread(served.client, "/agents/agent/capabilities", served.runtime.cancel, log)


@asynccontextmanager
async def peer(graph: Any, **options: Any) -> AsyncGenerator[Thread, None]:
    """A thread with the peer. `theirs` are its options, REPORTING without them."""
    log = _Lines()
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="agent", graph=graph, **options.get("theirs", REPORTING)))
    logger = logging.getLogger("ag_ui_langgraph")
    logger.addHandler(log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            async with serving_app(ending(app), None) as served:
                yield Thread(served.client, "/capabilities", _cannot_stop, log.lines)
    finally:
        logger.removeHandler(log)


async def _cannot_stop(run_id: str) -> None:
    raise AssertionError(f"there is no way to stop {run_id}")


def ending(app: Any) -> Any:
    """Make an application whose responses end where it fails, so that a client sees what came before."""

    async def served(scope: Any, receive: Any, send: Any) -> None:
        sent: list[str] = []

        async def keep(message: Any) -> None:
            sent.append(message["type"])
            await send(message)

        try:
            await app(scope, receive, keep)
        except Exception:
            if "http.response.start" not in sent:
                raise
            await send({"type": "http.response.body", "body": b""})

    return served


class _Lines(logging.Handler):
    """What is logged as a warning, or worse, as lines."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


beside = compare(ours, peer)
"""Make a scenario a test of both servers."""
