"""The benchmark: the sidecar beside what its users would pick instead, in one run on one machine. See README.md."""

import argparse
import asyncio
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass

import uvloop
from load import Idlers, cpu_per_delta, load
from report import Measured, Row, print_alone, print_growth, print_idle, print_streaming, print_targets
from servers import NotMeasured, Server, allow_many_connections, cores
from targets import ALONE, GROWING, IDLE, SERVERS, SIZES, STREAMING
from workload import run_input

STREAMS = 10
"""Runs at a time."""

FILLED_FIRST = 64 * 1024 * 1024
"""Bytes that a server grows by before its memory per stream is measured.

One that just started has some megabytes free within what it holds. The first streams live there and seem small.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    rounds: int
    seconds: float
    """Length of one load."""
    warm_up: float
    """Length of the load before the first round, which is of one stream."""
    alone: float
    """Length of the loads of one stream, in seconds."""
    runs_of_a_size: int
    """Runs for each size of history and state."""
    idle_streams: int
    idle_targets: int
    """How many of the idle targets, from the first."""


THOROUGH = Plan(rounds=5, seconds=0.8, warm_up=0.5, alone=1.5, runs_of_a_size=16, idle_streams=1000, idle_targets=5)
QUICK = Plan(rounds=2, seconds=0.3, warm_up=0.0, alone=0.3, runs_of_a_size=4, idle_streams=500, idle_targets=2)


async def measure(plan, core):
    with ExitStack() as stack:
        servers = start(stack, SERVERS, core)
        rows = await measure_streaming(plan, servers)
        alone = await measure_alone(plan, servers)
        growth = await measure_growth(plan, servers)
    idle = {}
    for target in IDLE[: plan.idle_targets]:
        say(f"idle: {target.title}")
        with ExitStack() as stack:  # a process of its own: memory that another load left free would hide the growth
            server = start(stack, [target.server], core)[target.server]
            idle[target] = await measure_idle(target, server, plan.idle_streams)
    return Measured(rows, alone, growth, idle)


async def measure_streaming(plan, servers):
    """Load every target in turn, round by round; every second round backwards, so that no drift favours a place."""
    rows = {target: Row() for target in STREAMING}
    say("warming up")
    for target in STREAMING:
        await load(servers[target.server].port, target.path, streams=1, seconds=plan.warm_up)
    for number in range(plan.rounds):
        say(f"round {number + 1} of {plan.rounds}")
        for target in STREAMING if number % 2 == 0 else reversed(STREAMING):
            server = servers[target.server]
            before = server.cpu_seconds()
            rows[target].loads.append(await load(server.port, target.path, streams=STREAMS, seconds=plan.seconds))
            rows[target].cpu_seconds.append(server.cpu_seconds() - before)
    return rows


async def measure_alone(plan, servers):
    """Ask some targets by one stream at a time: how soon something comes, where nothing else is going on."""
    say("one run at a time")
    return {
        target: await load(servers[target.server].port, target.path, streams=1, seconds=plan.alone) for target in ALONE
    }


async def measure_growth(plan, servers):
    """CPU time per delta, in microseconds, by what the run input holds. The sizes take turns."""
    growth = {}
    for target in GROWING:
        say(f"history and state: {target.title}")
        growth[target] = {size: [] for size in SIZES}
        for _ in range(plan.runs_of_a_size):
            for size, holds in SIZES.items():
                seconds = await cpu_per_delta(servers[target.server], target.path, run_input(**holds))
                growth[target][size].append(seconds * 1e6)
    return growth


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
        measured = uvloop.run(measure(plan, servers_core))
    except NotMeasured as reason:
        print(f"not measured: {reason}", file=sys.stderr)
        return 1
    print_streaming(measured.rows, STREAMS)
    print_alone(measured.alone)
    print_growth(measured.growth)
    print_idle(measured.idle, plan.idle_streams)
    print_targets(measured)
    print(f"\n{plan.rounds} rounds, {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
