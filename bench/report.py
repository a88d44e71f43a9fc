"""What was measured, as tables."""

import statistics
from dataclasses import dataclass, field

from load import Load
from targets import (
    GRAPH_PEER_BURST,
    GRAPH_PEER_RAW,
    GRAPH_PEER_TICK,
    OURS_BURST,
    OURS_GRAPH_BURST,
    OURS_GRAPH_TICK,
    OURS_IDLE,
    OURS_PYDANTIC_BURST,
    OURS_PYDANTIC_TICK,
    OURS_TICK,
    PYDANTIC_PEER_BURST,
    PYDANTIC_PEER_TICK,
    RAW_BURST,
    RAW_IDLE,
    RAW_TICK,
    SIZES,
)
from workload import DELTAS

UNDISTURBED = 0.9
"""Share of its core that a server has under these loads, if nobody else is busy there."""


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


@dataclass(frozen=True, slots=True)
class Measured:
    """All of it."""

    rows: dict
    """By target: what it did under load."""
    alone: dict
    """By target: the `Load` of one stream at a time."""
    growth: dict
    """By target: by size, the CPU time of each run per delta, in microseconds."""
    idle: dict
    """By target: the memory of a stream that waits, in KiB."""


def middle_mean(values):
    """The mean of the middle half: the clock of another process goes in steps, so that a median would too."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    return statistics.mean(ordered[cut : len(ordered) - cut])


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


# ---- what was measured ------------------------------------------------------------------------------


def print_streaming(rows, streams):
    print(f"\nStreaming: {streams} runs at a time, {DELTAS} deltas each")
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


def print_alone(alone):
    print("\nOne run at a time: from its request to what comes first of it")
    table = [["", "event p50 ms", "p99 ms", "delta p50 ms", "p99 ms", "runs"]]
    for target, load in alone.items():
        times = [
            f"{percentile(some, percent) * 1e3:.2f}"
            for some in (load.first_events, load.first_deltas)
            for percent in (50, 99)
        ]
        table.append([target.title, *times, str(len(load.first_events))])
    print_table(table)


def print_growth(growth):
    print(
        "\nCPU µs of a delta, by what the run input holds, from the first to the last: the mean of the middle half of the runs"
    )
    table = [["", *SIZES, "runs of each"]]
    for target, by_size in growth.items():
        means = [f"{middle_mean(by_size[size]):.1f}" for size in SIZES]
        table.append([target.title, *means, str(min(map(len, by_size.values())))])
    print_table(table)


def print_idle(idle, streams):
    print(f"\nIdle: growth of the server's memory over {streams:,} streams more that are open and wait")
    print_table([["", "KiB/stream"], *([target.title, f"{kib:.1f}"] for target, kib in idle.items())])


# ---- what is asked for ------------------------------------------------------------------------------


def print_targets(measured):
    rows, idle = measured.rows, measured.idle
    first = {target: percentile(load.first_events, 50) * 1e3 for target, load in measured.alone.items()}
    own = {size: middle_mean(runs) for size, runs in measured.growth[OURS_GRAPH_TICK].items()}
    small, long, little, large = own.values()

    def at_least(title, target, ours, baseline):
        middle, lowest, highest = ratio(rows[ours], rows[baseline])
        rates = [f"{statistics.median(rows[row].rates):,.0f}" for row in (baseline, ours)]
        spread = f"{lowest:.2f}..{highest:.2f}"
        return [title, *rates, f"{middle:.2f}", spread, f"ratio >= {target:.2f}", yes_or_no(middle >= target)]

    def at_most(title, target, unit, ours, baseline):
        values = [f"{baseline:.2f} {unit}", f"{ours:.2f} {unit}", f"{ours / baseline:.2f}", ""]
        return [title, *values, f"ours <= {target} {unit}", yes_or_no(ours <= target)]

    def as_cheap(title, ours, baseline):
        values = [f"{baseline:.1f} µs", f"{ours:.1f} µs", f"{ours / baseline:.2f}", ""]
        return [title, *values, "ratio <= 1.10", yes_or_no(ours <= 1.1 * baseline)]

    under_load = [rows[row].first_event(50) for row in (OURS_TICK, RAW_TICK)]
    print("\nTargets")
    print_table(
        [
            ["", "baseline", "ours", "ratio", "lowest..highest", "target", "met"],
            at_least("deltas/s: native tick to raw Starlette tick", 0.8, OURS_TICK, RAW_TICK),
            at_least("deltas/s: native burst to raw Starlette burst", 4.0, OURS_BURST, RAW_BURST),
            at_least("deltas/s: PydanticAI tick to its AGUIAdapter", 1.7, OURS_PYDANTIC_TICK, PYDANTIC_PEER_TICK),
            at_least("deltas/s: PydanticAI burst to its AGUIAdapter", 1.7, OURS_PYDANTIC_BURST, PYDANTIC_PEER_BURST),
            at_least("deltas/s: LangGraph tick to ag-ui-langgraph", 4.0, OURS_GRAPH_TICK, GRAPH_PEER_RAW),
            at_least("deltas/s: ... to it without raw events", 2.2, OURS_GRAPH_TICK, GRAPH_PEER_TICK),
            at_least("deltas/s: LangGraph burst to the same", 2.2, OURS_GRAPH_BURST, GRAPH_PEER_BURST),
            at_most("memory of an idle native stream, and of a raw one", 24, "KiB", idle[OURS_IDLE], idle[RAW_IDLE]),
            at_most("first event p50: native tick, and raw tick", 2, "ms", *under_load),
            at_most(
                "first event p50, alone: LangGraph, and ag-ui-langgraph",
                3,
                "ms",
                first[OURS_GRAPH_TICK],
                first[GRAPH_PEER_TICK],
            ),
            as_cheap("CPU of a delta: LangGraph, 1,000 messages to 10", long, small),
            as_cheap("CPU of a delta: LangGraph, 1 MB of state to 1 KB", large, little),
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
