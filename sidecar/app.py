"""The application: agents and settings in, an ASGI application out."""

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from adapters.detect import NoAdapter, adapter_for
from sidecar.agents import Agents
from sidecar.http.agui import RunRoute
from sidecar.http.boundary import Boundary
from sidecar.http.operations import Operations
from sidecar.runs.runtime import Runtime
from sidecar.settings import Settings
from sidecar.wire.keepalive import KeepAlive


def create_runtime(settings: Settings) -> Runtime:
    """Make the runtime that the settings ask for."""
    return Runtime(KeepAlive(settings.keep_alive), stop_grace=settings.stop_grace, debug=settings.debug)


def create_app(agents: Agents, settings: Settings | None = None, runtime: Runtime | None = None) -> ASGIApp:
    """Make the application.

    Args:
        agents: What to serve.
        settings: How; without them, the defaults.
        runtime: Where the runs live, if the caller wants to stop them before it stops serving.
    """
    settings = Settings() if settings is None else settings
    runtime = create_runtime(settings) if runtime is None else runtime
    run = RunRoute(agents, runtime, settings)
    operations = Operations(agents, runtime)
    routes = [
        Route("/", run, methods=["POST"]),
        Route("/agents", operations.agents),
        Route("/agents/{name}", run, methods=["POST"]),
        Route("/agents/{name}/capabilities", operations.capabilities),
        Route("/healthz", operations.health),
        Route("/readyz", operations.ready),
        Route("/v1/runs/{run_id}/cancel", operations.cancel, methods=["POST"]),
    ]
    app: ASGIApp = Boundary(Router(routes))
    if settings.cors_origins:
        app = CORSMiddleware(
            app,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["X-Request-Id"],
        )
    return app


def app_of(agent: object) -> ASGIApp | None:
    """Make the application that serves one agent at `/`; None for an object that is no agent.

    This is what the conformance suite records agents with.
    """
    try:
        return create_app(Agents({"agent": adapter_for(agent)}))
    except NoAdapter:
        return None
