"""What is measured: the servers, and where each row of the tables is asked of."""

from dataclasses import dataclass

AGENTS = ["tick", "burst", "idle", "pydantic_tick", "pydantic_burst", "pydantic_idle"]
SIDECAR = ["-m", "sidecar", "serve", "--log-level", "warning"]
SERVERS = {
    **{name: ["baselines.py", name] for name in ("raw", "sse", "pydantic_ai", "langgraph")},
    "sidecar": [*SIDECAR, *(f"{agent}=bench_agents:{agent}" for agent in AGENTS)],
    "sidecar_langgraph": [*SIDECAR, *(f"{way}=graphs:{way}" for way in ("tick", "burst"))],
}
"""Per server: its command line, as a user would write it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where one row of the tables is asked of: `path` of `server`."""

    title: str
    server: str
    path: str


RAW_TICK = Target("raw Starlette, tick", "raw", "/tick")
RAW_BURST = Target("raw Starlette, burst", "raw", "/burst")
SSE_TICK = Target("sse-starlette, tick", "sse", "/tick")
SSE_BURST = Target("sse-starlette, burst", "sse", "/burst")
OURS_TICK = Target("sidecar, native, tick", "sidecar", "/agents/tick")
OURS_BURST = Target("sidecar, native, burst", "sidecar", "/agents/burst")
PYDANTIC_PEER_TICK = Target("PydanticAI's AGUIAdapter, tick", "pydantic_ai", "/tick")
PYDANTIC_PEER_BURST = Target("PydanticAI's AGUIAdapter, burst", "pydantic_ai", "/burst")
OURS_PYDANTIC_TICK = Target("sidecar, PydanticAI, tick", "sidecar", "/agents/pydantic_tick")
OURS_PYDANTIC_BURST = Target("sidecar, PydanticAI, burst", "sidecar", "/agents/pydantic_burst")
GRAPH_PEER_RAW = Target("ag-ui-langgraph, tick", "langgraph", "/raw/tick")
GRAPH_PEER_TICK = Target("ag-ui-langgraph, no raw events, tick", "langgraph", "/tick")
GRAPH_PEER_BURST = Target("ag-ui-langgraph, no raw events, burst", "langgraph", "/burst")
OURS_GRAPH_TICK = Target("sidecar, LangGraph, tick", "sidecar_langgraph", "/agents/tick")
OURS_GRAPH_BURST = Target("sidecar, LangGraph, burst", "sidecar_langgraph", "/agents/burst")
STREAMING = [
    RAW_TICK,
    OURS_TICK,
    SSE_TICK,
    RAW_BURST,
    OURS_BURST,
    SSE_BURST,
    PYDANTIC_PEER_TICK,
    OURS_PYDANTIC_TICK,
    PYDANTIC_PEER_BURST,
    OURS_PYDANTIC_BURST,
    GRAPH_PEER_RAW,
    OURS_GRAPH_TICK,
    GRAPH_PEER_TICK,
    GRAPH_PEER_BURST,
    OURS_GRAPH_BURST,
]
"""In the order in which they are loaded: what is compared stands side by side."""

ALONE = [RAW_TICK, OURS_TICK, PYDANTIC_PEER_TICK, OURS_PYDANTIC_TICK, GRAPH_PEER_RAW, GRAPH_PEER_TICK, OURS_GRAPH_TICK]
"""What is asked by one stream at a time."""

GROWING = [GRAPH_PEER_TICK, OURS_GRAPH_TICK]
SIZES = {
    "10 messages": {"history": 10},
    "1,000 messages": {"history": 1000},
    "1 KB of state": {"documents": 1},
    "1 MB of state": {"documents": 1000},
}
"""What a run input holds, by the heads of the table: each pair is a size, and a hundred or a thousand times it."""

RAW_IDLE = Target("raw Starlette", "raw", "/idle")
OURS_IDLE = Target("sidecar, native", "sidecar", "/agents/idle")
IDLE = [
    RAW_IDLE,
    OURS_IDLE,
    Target("sse-starlette", "sse", "/idle"),
    Target("PydanticAI's AGUIAdapter", "pydantic_ai", "/idle"),
    Target("sidecar, PydanticAI", "sidecar", "/agents/pydantic_idle"),
]
