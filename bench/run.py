"""The benchmark: the sidecar beside what its users would pick instead, in one run on one machine. See README.md."""

import argparse
import asyncio
import os
import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

import uvloop
from load import Idlers, Load, load
from servers import NotMeasured, Server, allow_many_connections, cores
from workload import DELTAS

STREAMS = 10
"""Runs at a time."""

UNDISTURBED = 0.9
"""Share of its core that a server has under these loads, if nobody else is busy there."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    rounds: int
    seconds: float
    """Length of one load."""
    warm_up: float
    """Length of the load before the first round."""
    idle_streams: int
    idle_targets: int
    """How many of the idle targets, from the first."""


THOROUGH = Plan(rounds=7, seconds=1.2, warm_up=2.0, idle_streams=1000, idle_targets=5)
QUICK = Plan(rounds=2, seconds=0.3, warm_up=0.0, idle_streams=500, idle_targets=2)

FILLED_FIRST = 64 * 1024 * 1024
"""Bytes that a server grows by before its memory per stream is measured.

One that just started has some megabytes free within what it holds. The first streams live there and seem small.
"""

BASELINES = ["raw", "sse", "pydantic_ai"]
AGENTS = ["tick", "burst", "idle", "pydantic_tick", "pydantic_burst", "pydantic_idle"]
SERVERS = {
    **{name: ["baselines.py", name] for name in BASELINES},
    "sidecar": ["-m", "sidecar", "serve", *(f"{a}=bench_agents:{a}" for a in AGENTS), "--log-level", "warning"],
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
PEER_TICK = Target("PydanticAI's AGUIAdapter, tick", "pydantic_ai", "/tick")
PEER_BURST = Target("PydanticAI's AGUIAdapter, burst", "pydantic_ai", "/burst")
OURS_TICK = Target("sidecar, native, tick", "sidecar", "/agents/tick")
OURS_BURST = Target("sidecar, native, burst", "sidecar", "/agents/burst")
OURS_PYDANTIC_TICK = Target("sidecar, PydanticAI, tick", "sidecar", "/agents/pydantic_tick")
OURS_PYDANTIC_BURST = Target("sidecar, PydanticAI, burst", "sidecar", "/agents/pydantic_burst")
STREAMING = [
    RAW_TICK,
    OURS_TICK,
    SSE_TICK,
    RAW_BURST,
    OURS_BURST,
    SSE_BURST,
    PEER_TICK,
    OURS_PYDANTIC_TICK,
    PEER_BURST,
    OURS_PYDANTIC_BURST,
]
"""In the order in which they are loaded: what is compared stands side by side."""

RAW_IDLE = Target("raw Starlette", "raw", "/idle")
OURS_IDLE = Target("sidecar, native", "sidecar", "/agents/idle")
IDLE = [
    RAW_IDLE,
    OURS_IDLE,
    Target("sse-starlette", "sse", "/idle"),
    Target("PydanticAI's AGUIAdapter", "pydantic_ai", "/idle"),
    Target("sidecar, PydanticAI", "sidecar", "/agents/pydantic_idle"),
]


@dataclass(frozen=True, slots=True)
class Row:
    """What the rounds measured of one target: per round the load, and the CPU seconds that it cost the server."""

    loads: list[Load] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def rates(self):
        """Deltas per second, per round."""
        return [load.deltas / load.seconds for load in self.loads]

    @property
    def cpu_per_delta(self):
        """CPU time of the server per delta, in microseconds."""
        return sum(self.cpu_seconds) / sum(load.deltas for load in self.loads) * 1e6

    def first_event(self, percent):
        """A percentile of the time to the first event, in milliseconds: the median of the rounds."""
        return statistics.median(percentile(load.first_events, percent) for load in self.loads) * 1e3

    @property
    def server_share(self):
        """How much of its core the server used. All of it, unless somebody else was busy there or on the consumer's."""
        return statistics.median(cpu / load.seconds for cpu, load in zip(self.cpu_seconds, self.loads, strict=True))

    @property
    def consumer_share(self):
        """How much of its core the consumer used."""
        return statistics.median(load.consumer_cpu for load in self.loads)


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


# ---- measuring --------------------------------------------------------------------------------------


async def measure_streaming(plan, servers):
    """Load every target in turn, round by round; every second round backwards, so that no drift favours a place."""
    rows = {target: Row() for target in STREAMING}
    for target in STREAMING:
        await load(servers[target.server].port, target.path, streams=STREAMS, seconds=plan.warm_up)
    for number in range(plan.rounds):
        say(f"round {number + 1} of {plan.rounds}")
        for target in STREAMING if number % 2 == 0 else reversed(STREAMING):
            server = servers[target.server]
            before = server.cpu_seconds()
            rows[target].loads.append(await load(server.port, target.path, streams=STREAMS, seconds=plan.seconds))
            rows[target].cpu_seconds.append(server.cpu_seconds() - before)
    return rows


async def measure_idle(target, server, streams):
    """Memory per open stream that waits, in KiB: growth of the process over `streams`, after `FILLED_FIRST`."""
    idlers = Idlers(server.port, target.path)
    started = server.resident_bytes()
    while server.resident_bytes() < started + FILLED_FIRST:
        await idlers.grow(100)
    await asyncio.sleep(0.5)
    before = server.resident_bytes()
    await idlers.grow(streams)
    await asyncio.sleep(0.5)
    after = server.resident_bytes()
    idlers.close()
    return (after - before) / streams / 1024


async def measure(plan, core):
    with ExitStack() as stack:
        servers = start(stack, SERVERS, core)
        rows = await measure_streaming(plan, servers)
    idle = {}
    for target in IDLE[: plan.idle_targets]:
        say(f"idle: {target.title}")
        with ExitStack() as stack:  # a process of its own: memory that another load left free would hide the growth
            server = start(stack, [target.server], core)[target.server]
            idle[target] = await measure_idle(target, server, plan.idle_streams)
    return rows, idle


def start(stack, names, core):
    """Start servers at once and wait for all; they stop when `stack` is left."""
    servers = {}
    for name in names:
        servers[name] = Server(name, SERVERS[name], core)
        stack.callback(servers[name].stop)
    for server in servers.values():
        server.wait_until_it_listens()
    return servers


def say(what):
    print(f"  {what}", file=sys.stderr, flush=True)


# ---- reporting --------------------------------------------------------------------------------------


def print_streaming(rows):
    print(f"\nStreaming: {STREAMS} runs at a time, {DELTAS} deltas each")
    head = ["deltas/s", "of raw tick", "CPU µs/delta", "first event p50 ms", "p99 ms", "server CPU", "consumer CPU"]
    table = [["", *head]]
    for target, row in rows.items():
        of_raw, *_ = ratio(row, rows[RAW_TICK])
        table.append(
            [
                target.title,
                f"{statistics.median(row.rates):,.0f}",
                f"{of_raw:.2f}",
                f"{row.cpu_per_delta:.2f}",
                f"{row.first_event(50):.2f}",
                f"{row.first_event(99):.2f}",
                f"{row.server_share:.0%}",
                f"{row.consumer_share:.0%}",
            ]
        )
    print_table(table)
    if min(row.server_share for row in rows.values()) < UNDISTURBED:
        print("Something else was busy on these cores: repeat this on a quiet machine.")


def print_idle(idle, streams):
    print(f"\nIdle: growth of the server's memory over {streams:,} streams more that are open and wait")
    print_table([["", "KiB/stream"], *([target.title, f"{kib:.1f}"] for target, kib in idle.items())])


def print_targets(rows, idle):
    def at_least(title, target, ours, baseline):
        middle, lowest, highest = ratio(rows[ours], rows[baseline])
        rates = [f"{statistics.median(rows[row].rates):,.0f}" for row in (baseline, ours)]
        spread = f"{lowest:.2f}..{highest:.2f}"
        return [title, *rates, f"{middle:.2f}", spread, f"ratio >= {target:.2f}", yes_or_no(middle >= target)]

    def at_most(title, target, unit, ours, baseline):
        values = [f"{baseline:.2f} {unit}", f"{ours:.2f} {unit}", f"{ours / baseline:.2f}", ""]
        return [title, *values, f"ours <= {target} {unit}", yes_or_no(ours <= target)]

    first_events = [rows[row].first_event(50) for row in (OURS_TICK, RAW_TICK)]
    print("\nTargets")
    print_table(
        [
            ["", "baseline", "ours", "ratio", "lowest..highest", "target", "met"],
            at_least("deltas/s: native tick to raw Starlette tick", 0.8, OURS_TICK, RAW_TICK),
            at_least("deltas/s: native burst to raw Starlette burst", 4.0, OURS_BURST, RAW_BURST),
            at_least("deltas/s: PydanticAI tick to its AGUIAdapter", 1.5, OURS_PYDANTIC_TICK, PEER_TICK),
            at_least("deltas/s: PydanticAI burst to its AGUIAdapter", 1.5, OURS_PYDANTIC_BURST, PEER_BURST),
            at_most("memory of an idle native stream, and of a raw one", 24, "KiB", idle[OURS_IDLE], idle[RAW_IDLE]),
            at_most("first event p50: native tick, and raw tick", 2, "ms", *first_events),
        ]
    )


def ratio(ours, baseline):
    """The rates' ratio, taken within each round: the median, the lowest and the highest."""
    ratios = [mine / theirs for mine, theirs in zip(ours.rates, baseline.rates, strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)


def yes_or_no(is_met):
    return "yes" if is_met else "no"


def print_table(lines):
    """Print with aligned columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        print("  ".join([first.ljust(widths[0]), *(o.rjust(w) for o, w in zip(others, widths[1:], strict=True))]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: a first impression")
    plan = QUICK if parser.parse_args().quick else THOROUGH
    allow_many_connections()
    servers_core, consumer_core = cores() or (None, None)
    if consumer_core is not None:
        os.sched_setaffinity(0, {consumer_core})
    else:
        say("no two cores to pin to: servers and consumer may disturb each other")
    began = time.perf_counter()
    try:
        rows, idle = uvloop.run(measure(plan, servers_core))
    except NotMeasured as reason:
        print(f"not measured: {reason}", file=sys.stderr)
        return 1
    print_streaming(rows)
    print_idle(idle, plan.idle_streams)
    print_targets(rows, idle)
    print(f"\n{plan.rounds} rounds, {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
