"""The AG-UI routes: a run input comes in, the run's events go out.

Source: basic/transports/http-sse
"""

import asyncio
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from conformance.run_input import InputRejected, ParsedInput, parse_run_input
from sidecar.agents import Agents
from sidecar.errors import BadBody, BadInput
from sidecar.http.body import check_accept, check_content_type, read_body
from sidecar.runs.runtime import Request, Run, Runtime
from sidecar.settings import Settings

LARGE = 256 * 1024
"""Bodies of more bytes than this are parsed in a thread, so that other streams go on."""


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
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        agent = self.agents.get(scope["path_params"].get("name"))
        check_content_type(headers)
        check_accept(headers)
        try:
            body = await read_body(headers, receive, self.settings.max_body_bytes)
        except ClientDisconnect:
            return
        request = Request(agent.name, agent.adapter, await self._parse(body), scope["state"]["request_id"], headers)
        run = self.runtime.start(request, send)
        scope["state"]["is_streaming"] = True
        await _attend(run, receive)

    async def _parse(self, body: bytes) -> ParsedInput:
        depth = self.settings.max_depth
        try:
            if len(body) > LARGE:
                return await asyncio.to_thread(parse_run_input, body, depth)
            return parse_run_input(body, depth)
        except InputRejected as rejected:
            if rejected.code == "invalid_input":
                raise BadInput(str(rejected), rejected.malformed) from None
            raise BadBody(str(rejected), rejected.code) from None


async def _attend(run: Run, receive: Receive) -> None:
    """Wait until the run has ended, or its client has left: then the run is stopped and waited for."""
    left = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({left, run.ended}, return_when=asyncio.FIRST_COMPLETED)
        if not run.ended.done():
            run.stop("the client went away", gone=True)
            await run.ended
    except asyncio.CancelledError:
        run.stop("the server dropped the connection", gone=True)
        raise
    finally:
        left.cancel()


async def _left(receive: Receive) -> None:
    """Wait until the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
