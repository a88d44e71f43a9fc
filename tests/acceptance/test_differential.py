"""The judge and the public client 1.0.0 read the same 2,000 near-valid streams, and agree but for a table of differences.

What the client refuses breaks a MUST here, at that event or before. What breaks an order here is refused there, at that
event or before. Every other case has a row in the table, with the page of the specification that says who is right.
Shapes are compared one way only: a client strips what it does not know, and for a producer it is a breach to send it.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.differences import (
    ORDER,
    Read,
    Test,
    breaks,
    either,
    is_a_result_too,
    is_about_a_result,
    is_an_activity_too,
    is_in_a_result,
    is_in_an_activity,
    is_in_another_lane,
    is_no_assistant_message,
    is_of_an_earlier_run,
    refuses,
    span_has_another_owner,
    warns,
    was_left_out,
)
from support.near_valid import RUN_INPUT, near_valid

from conformance.exchange import Exchange
from conformance.judge import Finding, judge
from conformance.rules import Level

SEED, COUNT = 3, 2_000

# ---- the differences ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One explained difference."""

    name: str
    explains: Test
    page: str
    """Of the specification."""
    why: str
    """Who is right."""


ROWS = [
    Row(
        "a stream that stops",
        breaks("run-ends"),
        "basic/transports",
        "The run is truncated: a producer owes its end, and how a consumer shows that it is missing is its own business.",
    ),
    Row(
        "a stream without events",
        breaks("run-opens-stream", where=lambda _, breach: breach.index is None),
        "events/lifecycle",
        "A stream begins with RUN_STARTED or RUN_ERROR; a consumer refuses another first event, and here none comes.",
    ),
    Row(
        "ids of a run",
        breaks("run-thread-echoed", "run-id-agrees"),
        "basic/run-input",
        "Both boundaries of a run carry the input's thread and one run id; no consumer is asked to compare them.",
    ),
    Row(
        "pending calls",
        breaks("pending-exact"),
        "events/tool-calls",
        "A list that is sent names exactly the unanswered calls; a consumer reads it, and derives it only where it is absent.",
    ),
    Row(
        "ids of interrupts",
        breaks("interrupt-ids-unique"),
        "basic/patterns/interrupt-resume",
        "Each interrupt of a run has an id of its own; a consumer answers by them and is not asked to compare them.",
    ),
    Row(
        "an activity's change without a snapshot",
        breaks("activity-baseline"),
        "events/activity",
        "A producer sends the snapshot first; a consumer skips the change and must not fail the run over it.",
    ),
    Row(
        "an activity's declined snapshot",
        breaks("owner-agrees", where=lambda _, breach: breach.event.get("replace") is False),
        "events/activity",
        "A snapshot that does not replace agrees about the owner; a consumer keeps the owner and need not refuse it.",
    ),
    Row(
        "an activity of an earlier run",
        breaks(
            "owner-agrees",
            where=lambda one, breach: breach.event["type"] == "ACTIVITY_DELTA" and is_of_an_earlier_run(one, breach),
        ),
        "events/subagents",
        "A change agrees with the snapshot that opened the activity; a consumer's tracking of owners starts anew with a run.",
    ),
    Row(
        "a reopened item's words",
        breaks(
            "reopen-agrees",
            where=lambda _, breach: bool(re.match("(role|name|toolCallName|parentMessageId) ", breach.expected)),
        ),
        "events/text-messages",
        "A start that reopens repeats role, name, tool and parent, and a consumer is not required to notice when it does not.",
    ),
    Row(
        "a late announcement",
        breaks("subagent-announced-first"),
        "events/subagents",
        "Who announces a subagent does so before its first event; a consumer accepts events of one that nobody announced.",
    ),
    Row(
        "a start after chunks",
        breaks("chunk-not-mixed", where=lambda _, breach: breach.event["type"].endswith("_START")),
        "basic/patterns/streaming",
        "One item keeps to one spelling; the start ends the chunks, so that a consumer sees a closed item that reopens.",
    ),
    Row(
        "chunks that go on in another lane",
        breaks(
            "chunk-not-mixed",
            where=lambda one, breach: (
                not breach.event["type"].endswith(("_START", "_CHUNK")) and is_in_another_lane(one, breach)
            ),
        ),
        "basic/patterns/streaming",
        "One item keeps to one spelling; without the chunks' tag the event ends another lane, and finds the item open.",
    ),
    Row(
        "chunks after their subagent",
        breaks("chunk-within-owner"),
        "basic/patterns/streaming",
        "A chunked item ends with its subagent; a chunk that names it again reads as a closed item that reopens.",
    ),
    Row(
        "a span that bears a message's id",
        refuses(
            r"Cannot send 'REASONING_\w+': subagentRunId '.*' does not match the (?:reasoning )?message '(.+?)' opener's",
            span_has_another_owner,
        ),
        "events/reasoning",
        "Spans and messages are namespaces of their own, so each has its own owner; the client keeps one for both.",
    ),
    Row(
        "a result that bears a message's id",
        either(
            refuses(
                r"Cannot send '\w+': (?:subagentRunId|tool call) '.*' (?:does not match|is owned by) "
                r"(?:the|its parent|'.*' but its parent) message '(.+?)' ",
                is_a_result_too,
            ),
            refuses(r"Cannot send '\w+': .* does not match the tool call '(.+?)' opener's", is_in_a_result),
            breaks("reopen-agrees", "owner-agrees", "call-owner-agrees", where=is_about_a_result),
        ),
        "events/tool-calls",
        "A result is a message with an id of its own and takes over no other; the client gives that id to the newest.",
    ),
    Row(
        "an activity that bears another message's id",
        either(
            warns(r"\w+: Message '(.+?)' is (?:an|not an) activity message", is_an_activity_too),
            warns(r"\w+: No message found containing tool call with ID '(.+?)'", is_in_an_activity),
        ),
        "events/activity",
        "A consumer skips with a warning what names no activity; no page forbids two kinds of message under one id.",
    ),
    Row(
        "a call of a message that is none of the assistant's",
        warns(r"TOOL_CALL_START: parentMessageId '(.+?)' matches a '\w+' message", is_no_assistant_message),
        "events/tool-calls",
        "parentMessageId attaches a call to an assistant message; no page says what another message there would mean.",
    ),
    Row(
        "a snapshot without what streams",
        warns(r"\w+: No message found (?:with|containing tool call with) ID '(.+?)'", was_left_out),
        "events/state",
        "A snapshot drops the messages that it leaves out, and no page forbids it while one of them is open.",
    ),
]


# ---- the comparison -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reads(read_streams: Callable[[Iterable[list[Any]]], list[dict[str, Any]]]) -> list[Read]:
    """Let both read every stream."""
    streams = list(near_valid(SEED, COUNT))
    said = read_streams(stream.events for stream in streams)
    return [
        Read(stream.events, stream.ways, _breaches(stream.events), **verdict)
        for stream, verdict in zip(streams, said, strict=True)
    ]


def _breaches(events: list[Any]) -> list[Finding]:
    exchange = Exchange(run_input=RUN_INPUT, events=events)
    return [finding for finding in judge(exchange) if finding.level is Level.MUST]


def _unexplained(reads: list[Read], is_asked: Test) -> list[str]:
    """The differences that no row explains, with the number of the stream."""
    return [
        f"stream {number} ({', '.join(read.ways)}): {one.breach or one.error or one.warning}"
        for number, read in enumerate(reads)
        for one in read.differences()
        if is_asked(one) and not any(row.explains(one) for row in ROWS)
    ]


def test_what_the_client_refuses_breaks_a_must_there_or_before(reads):
    assert _unexplained(reads, lambda one: bool(one.error)) == []
    assert sum(bool(read.breaches and read.error) for read in reads) > 500


def test_what_breaks_an_order_is_refused_by_the_client_there_or_before(reads):
    assert _unexplained(reads, lambda one: one.breach is not None) == []


def test_what_breaks_no_must_is_read_by_the_client_without_a_warning(reads):
    assert _unexplained(reads, lambda one: bool(one.warning)) == []
    assert sum(not read.breaches and read.error is None and not read.warnings for read in reads) > 500


def test_what_is_not_broken_is_clean_for_both(reads):
    unbroken = [read for read in reads if not read.ways]
    assert len(unbroken) > COUNT / 4
    assert [read for read in unbroken if read.breaches or read.error or read.warnings] == []


def test_every_order_is_broken_somewhere(reads):
    broken = {breach.rule.id for read in reads for breach in read.breaches}
    assert broken >= ORDER


def test_every_row_explains_some_difference(reads, capsys):
    explained = Counter(row.name for read in reads for one in read.differences() for row in ROWS if row.explains(one))
    with capsys.disabled():
        sys.stdout.write(_summary(reads, explained))
    assert [row.name for row in ROWS if row.name not in explained] == []


def _summary(reads: list[Read], explained: Counter[str]) -> str:
    sides = Counter((not read.breaches, read.error is None) for read in reads)
    out_of_order = sum(read.error is None and any(one.breach for one in read.differences()) for read in reads)
    lines = [
        f"{len(reads)} streams, {sum(len(read.events) for read in reads)} events",
        f"{sides[True, True]:6} break no MUST here, and the client reads them",
        f"{sides[False, False]:6} break a MUST here, and the client refuses them",
        f"{sides[False, True]:6} break a MUST here, and the client reads them; {out_of_order} of them break an order",
        f"{sides[True, False]:6} break no MUST here, and the client refuses them",
        "explained differences",
        *(f"{explained[row.name]:6} {row.name} ({row.page})" for row in ROWS),
    ]
    return "\n" + "\n".join(lines) + "\n"


GUIDE = Path(__file__).parents[2] / "docs" / "consumer.md"


def test_the_guide_has_the_differences():
    assert GUIDE.read_text().rpartition("\n\n")[2] == _table()


def _table() -> str:
    link = "https://docs.ag-ui.com/spec/1.0/"
    lines = [f"| {row.name} | {row.why} | [{row.page}]({link}{row.page}) |" for row in ROWS]
    return "\n".join(["| difference | who is right | page |", "|---|---|---|", *lines, ""])


if __name__ == "__main__":
    GUIDE.write_text(GUIDE.read_text().rpartition("\n\n")[0] + "\n\n" + _table())
