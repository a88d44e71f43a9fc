"""Runs as tasks: each has one of its own, which enters and leaves every context of its agent and writes to its reader.

This runtime keeps nothing beyond its process: a run lives as long as its reader, or until it is stopped.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import structlog
from ag_ui.core import RunAgentInput

from adapters.base import Adapter, AdapterError, Cancelled, Interrupted, RunContext, Step
from conformance.run_input import ParsedInput
from sidecar.errors import RunIsActive, ServerIsStopping, UnknownRun
from sidecar.runs.pipeline import OrderBroken, Pipeline, Produced, RunOver
from sidecar.runs.values import StepRefused
from sidecar.wire import sse
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.view import OlderPeer, as_written
from sidecar.wire.writer import Send, Stream, pump

log = structlog.get_logger("sidecar.run")

REMEMBERED = 4096
"""How many ended runs are known by id, so that a late cancel is told how they ended."""


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


@dataclass(frozen=True, slots=True)
class Failure:
    """How a failed run is reported: `message` and `code` to the reader, `error` to the log."""

    message: str
    code: str
    error: BaseException
    is_fault: bool
    """Nobody meant it to be shown: it is logged with its traceback."""


class Run:
    """One run, from its start to its end. `status` says how far it is."""

    def __init__(self, request: Request, send: Send, runtime: "Runtime") -> None:
        self.request = request
        self.status = "running"
        self.code: str | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the reader has the terminal event, or is gone."""
        self._runtime = runtime
        view = OlderPeer(request.run_input, self.warn) if request.parsed.is_older_peer else as_written
        self._stream = Stream(send, runtime.keep_alive, view)
        self._stopped: str | None = None
        self._ending = False
        self._began = time.perf_counter()
        self._cancelled = asyncio.Event()
        self._warned: set[str] = set()
        self._pipeline = Pipeline(request.run_input, ids=_new_id, warn=self.warn)
        self.task = asyncio.get_running_loop().create_task(self._work())
        self.task.add_done_callback(self._is_over)

    def warn(self, what: str) -> None:
        """Tell the operator, once for each thing."""
        if what not in self._warned and len(self._warned) < REMEMBERED:
            self._warned.add(what)
            log.warning("run warning", warning=what, **self._ids())

    # ---- the task -------------------------------------------------------------------------------

    async def _work(self) -> None:
        source = self.request.adapter.run(self._context())
        try:
            for warning in self.request.parsed.warnings:
                self.warn(warning)
            await self._stream.open(_head(self.request.request_id))
            self._stream.add(self._pipeline.start())
            await self._stream.flush()
            await pump(source, self._pipeline.feed, self._stream)
            await self._finish()
        except RunOver:
            log.warning("a stopped agent went on", detail="its late steps were dropped", **self._ids())
        except asyncio.CancelledError as error:
            await self._cancelled_by(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the run's boundary: here every failure ends
            await self._fail(error)
        finally:
            await self._leave(source)

    def _context(self) -> RunContext:
        request = self.request
        return RunContext(request.run_input, self._cancelled, _new_id, _now, self.warn, request.headers)

    async def _finish(self) -> None:
        events = self._pipeline.finish()
        match self._pipeline.outcome:
            case Interrupted():
                self.status = "interrupted"
            case Cancelled():
                self.status = "cancelled"
            case _:
                self.status = "succeeded"
        await self._end(events)

    async def _cancelled_by(self, error: BaseException) -> None:
        """End a run whose task was cancelled: by `stop`, or by an agent that cancelled itself."""
        task = asyncio.current_task()
        asked = self._stopped is not None or (task is not None and task.cancelling() > 0)
        while task is not None and task.uncancel() > 0:
            pass
        if asked:
            await self._end_cancelled()
        else:
            await self._fail(error)

    async def _end_cancelled(self) -> None:
        self.status = "cancelled"
        await self._end(self._pipeline.cancel(self._stopped or "the server stopped"))

    async def _fail(self, error: BaseException) -> None:
        failure = _failure(error, debug=self._runtime.debug)
        self.status, self.code = "failed", failure.code
        await self._end(self._pipeline.fail(failure.message, failure.code, self.request.request_id))
        if failure.is_fault:
            log.error("run failed", code=failure.code, exc_info=failure.error, **self._ids())
        else:
            log.warning("run failed", code=failure.code, message=failure.message, **self._ids())

    async def _end(self, events: list[Produced]) -> None:
        """Send the last events, once; log the run."""
        if self._ending:
            return
        self._ending = True
        self._stream.add(events)
        try:
            await self._stream.close()
        finally:
            self._runtime.forget(self)
            self._log_end()
            if not self.ended.done():
                self.ended.set_result(None)

    async def _leave(self, source: AsyncGenerator[Step, None]) -> None:
        """Let the agent leave its contexts, in the task that entered them."""
        try:
            await source.aclose()
        except BaseException as error:  # noqa: BLE001 - the run has ended: its agent's last words are for the log
            log.warning("the agent failed while it was closed", error=repr(error), **self._ids())

    # ---- from outside ---------------------------------------------------------------------------

    def stop(self, reason: str, *, gone: bool = False) -> None:
        """Stop the run on purpose; a second stop is a no-op. `gone` says that nobody reads any more.

        The agent is cancelled and may clean up. One that ignores it for longer than the grace period is left behind:
        the reader gets the end now, and what the agent yields later is dropped.
        """
        self._stream.gone = self._stream.gone or gone
        if self._stopped is not None or self._ending:
            return
        self._stopped = reason
        self._cancelled.set()
        self.task.cancel()
        asyncio.get_running_loop().call_later(self._runtime.stop_grace, self._leave_behind)

    def _is_over(self, task: asyncio.Task[None]) -> None:
        """End a run whose task ended without it: cancelled before its first step, or broken in a way of its own."""
        if not self._ending:
            error = None if task.cancelled() else task.exception()
            self._runtime.in_background(self._end_cancelled() if error is None else self._fail(error))

    def _leave_behind(self) -> None:
        if not self._ending:
            log.warning("the agent ignores its stop", detail="it is left behind", **self._ids())
            self._runtime.in_background(self._end_cancelled())
            self._runtime.left_behind.add(self.task)
            self.task.add_done_callback(self._runtime.left_behind.discard)

    # ---- the log --------------------------------------------------------------------------------

    def _ids(self) -> dict[str, Any]:
        run_input = self.request.run_input
        return {
            "agent": self.request.agent,
            "thread_id": run_input.thread_id,
            "run_id": run_input.run_id,
            "request_id": self.request.request_id,
        }

    def _log_end(self) -> None:
        log.info(
            "run ended",
            **self._ids(),
            outcome=self.status,
            **({"code": self.code} if self.code else {}),
            **({"stopped": self._stopped} if self._stopped else {}),
            events=self._stream.events,
            bytes=self._stream.bytes,
            duration_ms=round((time.perf_counter() - self._began) * 1000, 1),
        )


class Runtime:
    """All runs of this process."""

    def __init__(self, keep_alive: KeepAlive, *, stop_grace: float = 1.0, debug: bool = False) -> None:
        """Start with none. `stop_grace`: seconds that a stopped agent may take. `debug`: show errors to readers."""
        self.keep_alive = keep_alive
        self.stop_grace = stop_grace
        self.debug = debug
        self.is_stopping = False
        self.left_behind: set[asyncio.Task[None]] = set()
        """Tasks of agents that ignored their stop and still run."""
        self._enders: set[asyncio.Task[None]] = set()
        self._runs: dict[str, Run] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()

    def start(self, request: Request, send: Send) -> Run:
        """Start a run that answers by `send`.

        Raises:
            ServerIsStopping: No run starts any more.
            RunIsActive: One of this id is active. An ended one's id may come again: CopilotKit resumes that way.
        """
        if self.is_stopping:
            raise ServerIsStopping
        run_id = request.run_input.run_id
        if run_id in self._runs:
            raise RunIsActive(run_id)
        run = self._runs[run_id] = Run(request, send, self)
        return run

    async def cancel(self, run_id: str) -> str:
        """Stop a run and wait until it has ended, at most the grace period; say how it ended.

        Raises:
            UnknownRun: No run of this id is active or remembered.
        """
        run = self._runs.get(run_id)
        if run is None:
            if run_id not in self._ended:
                raise UnknownRun(run_id)
            return self._ended[run_id]
        run.stop("cancelled by request")
        await asyncio.wait({run.ended}, timeout=2 * self.stop_grace)
        return "cancelling" if run.status == "running" else run.status

    async def shutdown(self, seconds: float) -> None:
        """Stop every run and wait until their readers have the end, at most `seconds`."""
        self.is_stopping = True
        runs = list(self._runs.values())
        for run in runs:
            run.stop("the server is shutting down")
        if runs:
            await asyncio.wait({run.ended for run in runs}, timeout=seconds)

    def forget(self, run: Run) -> None:
        """Take note that a run ended."""
        run_id = run.request.run_input.run_id
        if self._runs.get(run_id) is run:
            del self._runs[run_id]
        self._ended[run_id] = run.status
        self._ended.move_to_end(run_id)
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def in_background(self, end: Coroutine[Any, Any, None]) -> None:
        """Let a run end in a task of its own, because its own task cannot."""
        task = asyncio.get_running_loop().create_task(end)
        self._enders.add(task)
        task.add_done_callback(self._enders.discard)


def _failure(error: BaseException, *, debug: bool) -> Failure:
    """Say what a reader may know of an error: nothing of its text, unless the agent meant it or `debug` shows all."""
    match error:
        case AdapterError():
            return Failure(str(error), error.code, error, is_fault=False)
        case StepRefused():
            message, code = "The agent sent something that cannot be sent.", "adapter_fault"
        case OrderBroken():
            message, code = "The agent's events do not fit together.", "protocol_breach"
        case _:
            message, code = "The agent failed.", "internal_error"
    return Failure(f"{message} {type(error).__name__}: {error}" if debug else message, code, error, is_fault=True)


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
