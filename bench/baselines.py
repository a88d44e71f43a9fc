"""What the sidecar is compared with, one server each: `python baselines.py raw|sse|pydantic_ai --port N`.

- raw: bytes that are ready, through Starlette's StreamingResponse, one send per event. The limit of one send per event.
- sse: the same bytes through sse-starlette
- pydantic_ai: PydanticAI's own AG-UI server side

Each answers `POST /tick`, `/burst` and `/idle`, under the same loop, HTTP parser and collector as the sidecar.
"""

import argparse
import asyncio
import gc

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


SERVERS = {"raw": raw, "sse": sse, "pydantic_ai": pydantic_ai}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", choices=SERVERS)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    endpoint = SERVERS[given.server]
    app = Starlette(routes=[Route(f"/{way}", endpoint(way), methods=["POST"]) for way in SOURCES])
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
