"""The AG-UI routes: a run input comes in, the run's events go out.

Source: basic/transports/http-sse
"""

import asyncio
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from adapters.base import Adapter, Admits, InputRefused
from conformance.run_input import InputRejected, ParsedInput, parse_run_input
from sidecar.agents import Agents
from sidecar.errors import BadBody, BadInput, NotAdmitted
from sidecar.http.body import check_accept, check_content_type, read_body
from sidecar.runs.run import Request, Run
from sidecar.runs.runtime import Runtime
from sidecar.settings import Settings

LARGE = 256 * 1024
"""Bodies of more bytes than this are parsed and admitted in a thread, so that other streams go on."""


@dataclass(frozen=True, slots=True)
class RunRoute:
    """`POST /` and `POST /agents/{name}`, as a bare ASGI application: its `send` is the server's own."""

    agents: Agents
    runtime: Runtime
    settings: Settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one run.

        Raises:
            Refused: Before the stream opened.
        """
        try:
            run = self.runtime.start(await self._read(scope, receive), send)
        except ClientDisconnect:
            return
        scope["state"]["is_streaming"] = True
        await _attend(run, receive)

    async def _read(self, scope: Scope, receive: Receive) -> Request:
        """Read what is asked. The bytes of the body are let go here: a run may take long."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        agent = self.agents.get(scope["path_params"].get("name"))
        check_content_type(headers)
        check_accept(headers)
        body = await read_body(headers, receive, self.settings.max_body_bytes)
        parsed = await self._admit(agent.adapter, body)
        return Request(agent.name, agent.adapter, parsed, scope["state"]["request_id"], headers)

    async def _admit(self, adapter: Adapter, body: bytes) -> ParsedInput:
        depth = self.settings.max_depth
        try:
            if len(body) > LARGE:
                return await asyncio.to_thread(_parse, adapter, body, depth)
            return _parse(adapter, body, depth)
        except InputRejected as rejected:
            if rejected.code == "invalid_input":
                raise BadInput(str(rejected), rejected.malformed) from None
            raise BadBody(str(rejected), rejected.code) from None
        except InputRefused as refused:
            raise NotAdmitted(refused) from None


def _parse(adapter: Adapter, body: bytes, max_depth: int) -> ParsedInput:
    """Read a run input and show it to the adapter, if that wants to see it before its run."""
    parsed = parse_run_input(body, max_depth)
    if isinstance(adapter, Admits):
        adapter.admit(parsed.run_input)
    return parsed


async def _attend(run: Run, receive: Receive) -> None:
    """Wait until the run has ended, or its client has left: then the run is stopped and waited for.

    The request's own task waits on `receive`, and the end of the run wakes it: a second task for that would be a tenth
    of what an idle stream holds in memory.
    """
    waking = _Waking(asyncio.current_task(), run)
    try:
        while not run.ended.done() and (await receive())["type"] != "http.disconnect":
            pass
    except asyncio.CancelledError:
        if not waking.took_place():
            run.stop("the server dropped the connection", gone=True)
            raise
    finally:
        waking.is_wanted = False
    if not run.ended.done():
        run.stop("the client went away", gone=True)
        await run.ended


class _Waking:
    """Wakes a task when a run ends, by cancelling what it waits for."""

    def __init__(self, task: asyncio.Task[None] | None, run: Run) -> None:
        self.is_wanted = True
        self._task = task
        self._took_place = False
        run.ended.add_done_callback(self._wake)

    def _wake(self, _: object) -> None:
        if self.is_wanted and self._task is not None:
            self._took_place = self._task.cancel()

    def took_place(self) -> bool:
        """Say whether a cancellation was this one's, and take it back."""
        return self._took_place and self._task is not None and self._task.uncancel() == 0
