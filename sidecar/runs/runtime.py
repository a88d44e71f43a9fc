"""All runs of this process: which are active, how the last ones ended, and stopping them."""

import asyncio
from collections import OrderedDict

from sidecar.errors import RunIsActive, ServerIsStopping, UnknownRun
from sidecar.runs.asked import Asked
from sidecar.runs.background import Background
from sidecar.runs.run import Request, Run, Terms
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.writer import Send

REMEMBERED = 4096
"""How many ended runs are known by id, so that a late cancel is told how they ended."""


class Runtime:
    """Starts and stops runs."""

    def __init__(self, keep_alive: KeepAlive, *, stop_grace: float = 1.0, debug: bool = False) -> None:
        """Start with none. `stop_grace`: seconds that an agent may take to stop. `debug`: show errors to readers."""
        self.is_stopping = False
        self.terms = Terms(keep_alive, Background(), Asked(), stop_grace, debug)
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
        run = self._runs[run_id] = Run(request, send, self.terms, self._forget)
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
        await asyncio.wait({run.ended}, timeout=2 * self.terms.stop_grace)
        return "cancelling" if run.status == "running" else run.status

    async def shutdown(self, seconds: float) -> None:
        """Stop every run and wait until their readers have the end, at most `seconds`."""
        self.is_stopping = True
        runs = list(self._runs.values())
        for run in runs:
            run.stop("the server is shutting down")
        if runs:
            await asyncio.wait({run.ended for run in runs}, timeout=seconds)

    def _forget(self, run: Run) -> None:
        """Take note that a run ended."""
        run_id = run.request.run_input.run_id
        del self._runs[run_id]
        self._ended[run_id] = run.status
        self._ended.move_to_end(run_id)
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
