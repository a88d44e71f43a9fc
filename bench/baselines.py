"""What the sidecar is compared with, one server each: `python baselines.py raw --port N`, and so on.

- raw: bytes that are ready, through Starlette's StreamingResponse, one send per event. The limit of one send per event.
- sse: the same bytes through sse-starlette
- pydantic_ai: PydanticAI's own AG-UI server side
- langgraph: ag-ui-langgraph, as it comes (`/raw/tick`) and without the copies of LangGraph's own events (`/tick`)

Each answers `POST /tick` and `/burst`, most also `/idle`, under the same loop, HTTP parser and collector as the sidecar.
"""

import argparse
import asyncio
import gc
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from workload import CONTENT, OPENING, READY, forever


async def tick():
    for event in READY:
        await asyncio.sleep(0)
        yield event


async def burst():
    for event in READY:
        yield event


async def idle():
    for event in [*OPENING, CONTENT[0]]:
        yield event
    await forever()


SOURCES = {"tick": tick, "burst": burst, "idle": idle}


def raw(way):
    async def endpoint(request):
        await request.body()
        return StreamingResponse(SOURCES[way](), media_type="text/event-stream")

    return endpoint


def sse(way):
    from sse_starlette import EventSourceResponse  # noqa: PLC0415 - each process holds what it needs, no more

    async def endpoint(request):
        await request.body()
        return EventSourceResponse(SOURCES[way]())

    return endpoint


def pydantic_ai(way):
    from model import PYDANTIC_AI  # noqa: PLC0415
    from pydantic_ai.ui.ag_ui import AGUIAdapter  # noqa: PLC0415

    async def endpoint(request):
        return await AGUIAdapter.dispatch_request(request, agent=PYDANTIC_AI[way])

    return endpoint


def streamed(endpoint):
    """An app that has one endpoint per source."""
    return Starlette(routes=[Route(f"/{way}", endpoint(way), methods=["POST"]) for way in SOURCES])


def langgraph():
    import graphs  # noqa: PLC0415
    from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint  # noqa: PLC0415
    from fastapi import FastAPI  # noqa: PLC0415

    app = FastAPI()
    for way, graph in (("tick", graphs.tick), ("burst", graphs.burst)):
        add_langgraph_fastapi_endpoint(app, LangGraphAgent(name=way, graph=graph), f"/raw/{way}")
        agent = LangGraphAgent(name=way, graph=graph, emit_raw_events=False)
        add_langgraph_fastapi_endpoint(app, agent, f"/{way}")
    return app


APPS = {
    "raw": partial(streamed, raw),
    "sse": partial(streamed, sse),
    "pydantic_ai": partial(streamed, pydantic_ai),
    "langgraph": langgraph,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", choices=APPS)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    app = APPS[given.server]()
    settle_memory()
    uvicorn.run(
        app,
        port=given.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        backlog=8192,
        timeout_graceful_shutdown=1,
    )


def settle_memory():
    """The sidecar's own settings of the collector (`sidecar.server`): without them a baseline is up to a third slower."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)


if __name__ == "__main__":
    main()
