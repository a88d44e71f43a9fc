"""The routes beside the runs: which agents there are, whether the server is well, and stopping a run."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sidecar.agents import Agents
from sidecar.errors import ServerIsStopping
from sidecar.runs.runtime import Runtime


class Operations:
    """Small JSON answers."""

    def __init__(self, agents: Agents, runtime: Runtime) -> None:
        self._agents = agents
        self._runtime = runtime

    async def agents(self, request: Request) -> Response:
        """`GET /agents`: the agents, and which of them answers at `/`."""
        listed = [
            {
                "name": agent.name,
                "path": f"/agents/{agent.name}",
                "isDefault": agent is self._agents.default,
                "capabilities": f"/agents/{agent.name}/capabilities",
            }
            for agent in self._agents
        ]
        return _json(request, {"agents": listed})

    async def capabilities(self, request: Request) -> Response:
        """`GET /agents/{name}/capabilities`, in the schema's shape. (capabilities-shape)"""
        agent = self._agents.get(request.path_params["name"])
        return _json(request, agent.adapter.capabilities().model_dump(mode="json", by_alias=True))

    async def health(self, request: Request) -> Response:
        """`GET /healthz`: the process lives."""
        return _json(request, {"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """`GET /readyz`: new runs are taken."""
        if self._runtime.is_stopping:
            raise ServerIsStopping
        return _json(request, {"status": "ready"})

    async def cancel(self, request: Request) -> Response:
        """`POST /v1/runs/{run_id}/cancel`: stop a run; one that has ended stays as it is."""
        run_id = request.path_params["run_id"]
        return _json(request, {"runId": run_id, "status": await self._runtime.cancel(run_id)})


def _json(request: Request, body: object) -> JSONResponse:
    return JSONResponse(body, headers={"X-Request-Id": request.scope["state"]["request_id"]})
