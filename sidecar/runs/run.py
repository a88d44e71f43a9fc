"""One run as a task: it enters and leaves every context of its agent, and writes to its reader.

It keeps nothing beyond its process: it lives as long as its reader, or until it is stopped.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias
from uuid import uuid4

import structlog
from ag_ui.core import RunAgentInput

from adapters.base import Adapter, Cancelled, Interrupted, ResumeRefused, RunContext, Step
from conformance.events import Event
from conformance.run_input import ParsedInput
from sidecar.runs.asked import NOTHING, Asked, Interrupts, answered_twice, divided
from sidecar.runs.background import Background
from sidecar.runs.failure import describe_failure
from sidecar.runs.pipeline import Pipeline, RunOver
from sidecar.runs.stop import Stop
from sidecar.wire import sse
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.view import OlderPeer, as_written
from sidecar.wire.writer import Send, Stream, pump

log = structlog.get_logger("sidecar.run")

End: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Ends a run in one of the ways in which it can end; after another end it does nothing."""

MOST_WARNINGS = 1000
"""How many different warnings of one run are logged."""


@dataclass(frozen=True, slots=True)
class Request:
    """What starts a run: who is asked, what, by which request."""

    agent: str
    adapter: Adapter
    parsed: ParsedInput
    request_id: str
    headers: Mapping[str, str]

    @property
    def run_input(self) -> RunAgentInput:
        """What is asked."""
        return self.parsed.run_input

    def ids(self) -> dict[str, Any]:
        """What every log line of the run names."""
        ids = {"agent": self.agent, "thread_id": self.run_input.thread_id, "run_id": self.run_input.run_id}
        return {**ids, "request_id": self.request_id}


@dataclass(frozen=True, slots=True)
class Terms:
    """What all runs of a server have in common."""

    keep_alive: KeepAlive
    background: Background
    asked: Asked
    stop_grace: float
    """How long an agent may take to leave its contexts before its reader gets the end, in seconds."""
    debug: bool
    """Show readers the text of internal errors."""


class Warnings:
    """Tells the operator of each thing once. It holds the request, not the run: who warns keeps no run alive."""

    __slots__ = ("_request", "_told")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._told: set[str] | None = None

    def __call__(self, what: str) -> None:
        """Tell it."""
        self._told = self._told or set()
        if what not in self._told and len(self._told) < MOST_WARNINGS:
            self._told.add(what)
            log.warning("run warning", warning=what, **self._request.ids())


class Run:
    """One run, from its start to its end. `status` says how far it is."""

    def __init__(self, request: Request, send: Send, terms: Terms, on_end: Callable[["Run"], None]) -> None:
        """Start. `on_end` is called once, when the reader has the terminal event, or is gone."""
        self.request = request
        self.status = "running"
        self.code: str | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done after `on_end`."""
        self._terms = terms
        self._on_end = on_end
        self._warn = Warnings(request)
        self._stop = Stop()
        self._has_begun = False
        self._ending = False
        self._taken: Interrupts = NOTHING
        self._began = time.perf_counter()
        view = OlderPeer(request.run_input, self._warn) if request.parsed.is_older_peer else as_written
        self._stream = Stream(send, terms.keep_alive, view)
        self._pipeline = Pipeline(request.run_input, ids=_new_id, warn=self._warn)
        self._task = asyncio.get_running_loop().create_task(self._work())
        self._task.add_done_callback(self._is_over)

    # ---- the task -------------------------------------------------------------------------------

    async def _work(self) -> None:
        self._has_begun = True
        source: AsyncGenerator[Step, None] | None = None
        try:
            for warning in self._warnings():
                self._warn(warning)
            await self._stream.open(_head(self.request.request_id))
            self._stream.add(self._pipeline.start())
            if self._stop.is_set():
                await self._end_cancelled()
                return
            await self._stream.flush()
            source = self.request.adapter.run(self._context())
            await pump(source, self._pipeline, self._stream)
            await self._finish()
        except RunOver:
            log.warning("a stopped agent went on", detail="its late steps were dropped", **self.request.ids())
        except asyncio.CancelledError as error:
            await self._end_after(source, self._after_cancellation(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the run's boundary: here every failure ends
            await self._end_after(source, partial(self._fail, error))
        finally:
            await self._leave(source)

    def _context(self) -> RunContext:
        return RunContext(
            self.request.run_input,
            self._stop,
            _new_id,
            _now,
            self._warn,
            self.request.headers,
            self._pipeline.spent,
            self._take_answers(),
        )

    def _take_answers(self) -> Interrupts:
        """Read which interrupts are open on the thread. Those that this run answers are from now on no longer."""
        asked = self._terms.asked.of(*self._thread)
        if asked:
            self._taken, left = divided(asked, self.request.run_input)
            self._terms.asked.settle(*self._thread, left)
        return asked

    def _give_answers_back(self) -> None:
        """Open again what this run was to answer, beside what is open by now: another run may have used up the rest."""
        self._terms.asked.settle(*self._thread, {**self._terms.asked.of(*self._thread), **self._taken})

    @property
    def _thread(self) -> tuple[str, str]:
        return self.request.agent, self.request.run_input.thread_id

    def _warnings(self) -> Iterator[str]:
        """What the operator is told of the input."""
        yield from self.request.parsed.warnings
        for interrupt in answered_twice(self.request.run_input):
            yield f"/resume answers {interrupt!r} more than once; its last entry counts"

    async def _finish(self) -> None:
        if self._ending:
            return
        events = self._pipeline.finish()
        match self._pipeline.outcome:
            case Interrupted():
                self.status = "interrupted"
            case Cancelled():
                self.status = "cancelled"
            case _:
                self.status = "succeeded"
        if self.status != "cancelled":
            self._terms.asked.settle(*self._thread, self._pipeline.asked)
        await self._end(events)

    def _after_cancellation(self, error: BaseException) -> End:
        """Say how to end a run whose task was cancelled: by `stop`, or by an agent that cancelled itself."""
        asked = self._stop.is_set() or self._task.cancelling() > 0
        while self._task.uncancel() > 0:
            pass
        return self._end_cancelled if asked else partial(self._fail, error)

    async def _end_after(self, source: AsyncGenerator[Step, None] | None, end: End) -> None:
        """Let the agent leave its contexts, then end the run: so the end carries what the agent tells there.

        An agent that takes longer for it than the grace period is left behind.
        """
        too_long = asyncio.get_running_loop().call_later(self._terms.stop_grace, self._leave_behind, end)
        await self._leave(source)
        too_long.cancel()
        await end()

    async def _end_cancelled(self) -> None:
        if not self._ending:
            self.status = "cancelled"
            await self._end(self._pipeline.cancel(self._stop.reason or "the server stopped"))

    async def _fail(self, error: BaseException) -> None:
        if self._ending:
            return
        if isinstance(error, ResumeRefused):
            self._give_answers_back()
        failure = describe_failure(error, debug=self._terms.debug)
        self.status, self.code = "failed", failure.code
        await self._end(self._pipeline.fail(failure.message, failure.code, self.request.request_id))
        if failure.is_fault:
            log.error("run failed", code=failure.code, exc_info=error, **self.request.ids())
        else:
            cause = {"exc_info": error} if error.__cause__ is not None else {}
            log.warning("run failed", code=failure.code, message=failure.message, **cause, **self.request.ids())

    async def _end(self, events: list[Event]) -> None:
        """Send the last events, once; log the run."""
        self._stream.add(events)
        self._ending = True
        try:
            await self._stream.close()
        finally:
            self._log_end()
            self._on_end(self)
            self.ended.set_result(None)

    async def _leave(self, source: AsyncGenerator[Step, None] | None) -> None:
        """Let the agent leave its contexts, in the task that entered them."""
        if source is None:
            return
        try:
            await source.aclose()
        except BaseException as error:  # noqa: BLE001 - the run has ended: its agent's last words are for the log
            log.warning("the agent failed while it was closed", error=repr(error), **self.request.ids())

    def _is_over(self, task: asyncio.Task[None]) -> None:
        """End a run whose task ended without it: broken in a way of its own."""
        if not self._ending:
            error = None if task.cancelled() else task.exception()
            self._terms.background.start(self._end_cancelled() if error is None else self._fail(error))

    # ---- from outside ---------------------------------------------------------------------------

    def stop(self, reason: str, *, gone: bool = False) -> None:
        """Stop the run on purpose; a second stop is a no-op. `gone` says that nobody reads any more.

        The agent is cancelled and may clean up. One that ignores it for longer than the grace period is left behind:
        the reader gets the end now, and what the agent yields later is dropped.
        """
        self._stream.gone = self._stream.gone or gone
        if self._stop.is_set() or self._ending:
            return
        self._stop.set(reason)
        if self._has_begun:  # a task that is cancelled before its first turn has none, and could end nothing
            self._task.cancel()
        asyncio.get_running_loop().call_later(self._terms.stop_grace, self._leave_behind, self._end_cancelled)

    def _leave_behind(self, end: End) -> None:
        if not self._ending:
            log.warning("the agent does not stop", detail="it is left behind", **self.request.ids())
            self._terms.background.leave_behind(self._task)
            self._terms.background.start(end())

    def _log_end(self) -> None:
        log.info(
            "run ended",
            **self.request.ids(),
            outcome=self.status,
            **({"code": self.code} if self.code else {}),
            **({"stopped": self._stop.reason} if self._stop.reason else {}),
            events=self._stream.events,
            bytes=self._stream.bytes,
            duration_ms=round((time.perf_counter() - self._began) * 1000, 1),
        )


def _head(request_id: str) -> list[tuple[bytes, bytes]]:
    """The head of a stream: no cache, no proxy may hold it back or change it. (sse-status-and-type)"""
    return [
        (b"content-type", sse.CONTENT_TYPE.encode()),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
        (b"x-request-id", request_id.encode()),
    ]


def _new_id() -> str:
    return str(uuid4())


def _now() -> datetime:
    return datetime.now(UTC)
