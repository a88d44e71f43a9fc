"""The protocol's public corpus of streams for consumers, every file of it, read where it lies.

A file says what any consumer must make of its stream. What it says in the words of its reference client is judged by
what the words are about: REJECTIONS names the requirement that refuses each stream, SUBJECTS what a warning must name.
"""

import json
import sys

import pytest
from support.corpus import corpus

from conformance.consumer import Consumer, Ending, StreamRejected
from conformance.request import request

FILES = 77

REJECTIONS = {
    "chunk-conflicting-role-fatal": "chunk-repeat-agrees",
    "chunk-conflicting-tool-name-fatal": "chunk-repeat-agrees",
    "content-without-start-fatal": "item-open-first",
    "custom-closes-chunk-stream-fatal": "chunk-first-complete",
    "duplicate-interrupt-id-fatal": "interrupt-ids-unique",
    "event-after-run-finished-fatal": "run-closed-is-closed",
    "first-chunk-missing-id-fatal": "chunk-first-complete",
    "first-event-not-run-started-fatal": "run-opens-stream",
    "first-tool-chunk-missing-name-fatal": "chunk-first-complete",
    "malformed-known-field-fatal": "event-described",
    "nested-run-started-fatal": "run-not-nested",
    "open-message-at-run-finished-fatal": "run-items-closed",
    "reasoning-discipline-verified": "reasoning-message-pairs",
    "reasoning-message-wrong-role-fatal": "event-described",
    "run-finished-with-active-subagent-fatal": "subagent-ends",
    "run-finished-wrong-run-id-fatal": "run-id-agrees",
    "run-finished-wrong-thread-id-fatal": "run-thread-echoed",
    "second-run-on-another-thread-fatal": "run-thread-echoed",
    "step-finished-without-start-fatal": "step-closes-open",
    "subagent-attribution-mismatch-fatal": "owner-agrees",
    "subagent-finished-unstarted-fatal": "subagent-ends",
    "subagent-started-missing-name-fatal": "event-described",
    "unknown-outcome-array-fatal": "event-described",
}
"""The requirement that each refused stream breaks, the only one it breaks."""

SUBJECTS = {
    "DROPS non-text parts": "image",  # the sentence of one client; the part is what is lost
    "dropping SUBAGENT_STARTED": "SUBAGENT_STARTED",  # the sentence of one client
    "cannot interpret": "'draft'",  # the sentence of one client; the declaration is what it is about
    "Failed to apply state patch": "STATE_DELTA",  # the sentence of one client
}
"""What a warning must name, where the file quotes the reference client instead of a path, a type or a version."""

ADMITTED_GAPS = {
    # An unknown member of a closed set is stripped, and the run goes on: basic/processing.
    "unknown-enum-value-role-fatal": {
        "outcome": "completed",
        "warnings": ["/role"],
        "messages": [{"role": "assistant", "content": "the role above is the only defect in this stream"}],
        "eventAbsentPaths": ["1.role"],
    },
    # A run without terminal event has not succeeded: basic/transports#truncation.
    "truncated-run-reported-as-completed": {"outcome": "failed"},
}
"""Where a file pins what its clients do against the specification: the specification's answer."""

COMPLETED = {Ending.SUCCEEDED, Ending.INTERRUPTED, Ending.CANCELLED, Ending.FAILED}
"""The stream was consumed. That the run itself failed is another matter, and the file's `runError`."""

NOTHING = object()


def files():
    return {path.stem: json.loads(path.read_text()) for path in sorted((corpus() / "agui" / "streams").glob("*.json"))}


def expectations(name, document):
    return {**document["expect"], **ADMITTED_GAPS.get(name, {})}


def run_input_of(document):
    """The run input that asks for the last run of the stream."""
    starts = [event for event in document["stream"] if event["type"] == "RUN_STARTED"]
    ids = {name: starts[position][name] for name, position in (("threadId", 0), ("runId", -1))} if starts else {}
    return {"threadId": "t", "runId": "r", "messages": [], **ids, **document.get("input", {})}


def read(document, consumer_class=Consumer):
    """What became of a file: the consumer, what it delivered, what refused it, the request and all warnings."""
    run_input = run_input_of(document)
    peer = document.get("client", {}).get("maxProtocolVersion")
    sent, warnings = request(run_input, peer=peer)
    consumer, delivered, rules = consumer_class(run_input, peer=peer), [], ()
    try:
        delivered += consumer.read(document["stream"])
    except StreamRejected as rejection:
        rules = rejection.rules
    return {
        "consumer": consumer,
        "delivered": delivered,
        "rules": rules,
        "request": sent,
        "warnings": [*warnings, *consumer.warnings],
    }


def at(value, path):
    for step in path.split("."):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return NOTHING
    return value


def contains(whole, part):
    """The corpus's match: of an object the named members, of a list every element, all else exactly."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], inner) for name, inner in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return type(whole) is type(part) and whole == part


CHECKS = {
    "outcome": lambda got, want, name: (got["consumer"].ending in COMPLETED) == (want == "completed"),
    "errorContains": lambda got, want, name: _is_refused_for_its_reason(got, name),
    "runError": lambda got, want, name: any(
        want in event["message"] for event in got["delivered"] if event["type"] == "RUN_ERROR"
    ),
    "eventTypes": lambda got, want, name: [event["type"] for event in got["delivered"]] == want,
    "eventTypesAbsent": lambda got, want, name: not {event["type"] for event in got["delivered"]} & set(want),
    "eventPaths": lambda got, want, name: all(at(got["delivered"], path) == value for path, value in want.items()),
    "eventAbsentPaths": lambda got, want, name: all(at(got["delivered"], path) is NOTHING for path in want),
    "warnings": lambda got, want, name: all(
        any(SUBJECTS.get(text, text) in warning for warning in got["warnings"]) for text in want
    ),
    "noWarnings": lambda got, want, name: not got["warnings"],
    "messageCount": lambda got, want, name: len(got["consumer"].messages) == want,
    "messages": lambda got, want, name: contains(got["consumer"].messages, want),
    "state": lambda got, want, name: contains(got["consumer"].state, want),
    "request": lambda got, want, name: contains(got["request"], want),
    "requestAbsentPaths": lambda got, want, name: all(at(got["request"], path) is NOTHING for path in want),
}
"""Each key of `expect`, and whether what we got satisfies it."""


def _is_refused_for_its_reason(got, name):
    if name in ADMITTED_GAPS:
        return True
    if name == "truncated-stream-fails-the-run":
        return got["consumer"].ending is Ending.TRUNCATED
    return got["rules"] == (REJECTIONS[name],)


def failures(name, document, got):
    return [
        f"{key}: {want!r}" for key, want in expectations(name, document).items() if not CHECKS[key](got, want, name)
    ]


def test_every_file_of_the_corpus_is_read_as_it_says(capsys):
    rows, red = [], {}
    for name, document in files().items():
        got = read(document)
        failed = failures(name, document, got)
        if failed:
            red[name] = failed
        wanted = expectations(name, document)["outcome"]
        outcome = f"{got['consumer'].ending.name.lower()} {' '.join(got['rules'])}"
        rows.append(f"{name:48} | {wanted:9} | {outcome:40} | {'ok' if not failed else '; '.join(failed)}")
    with capsys.disabled():
        sys.stdout.write("\n".join(["", f"{'file':48} | {'expected':9} | {'got':40} |", *rows, ""]))
        sys.stdout.write(f"{len(rows) - len(red)} of {len(rows)} files of the corpus\n")
    assert red == {}
    assert len(rows) == FILES


class WithoutEnforcement(Consumer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._enforcement.event = lambda event: event


class WithoutExpansion(Consumer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._expander.feed = lambda event: ([event], [])


class WithoutVerification(Consumer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._machine.feed = lambda event: []


class WithoutCompatibility(Consumer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._boundary = lambda event: (event,)


class WithoutFold(Consumer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._conversation.apply = lambda event: None


SABOTAGE = {
    WithoutCompatibility: {"era-0-0-45-thinking-translated", "era-0-0-57-subagent-dropped-with-warning"},
    WithoutEnforcement: {"unknown-event-dropped", "unknown-property-stripped", "malformed-known-field-fatal"},
    WithoutExpansion: {"chunk-expansion-assembles", "custom-closes-chunk-stream-fatal"},
    WithoutVerification: {"content-without-start-fatal", "run-finished-with-active-subagent-fatal"},
    WithoutFold: {"triad-assembles-message", "state-delta-applies", "messages-snapshot-reconciles-by-id"},
}


@pytest.mark.parametrize("broken", SABOTAGE, ids=lambda broken: broken.__name__)
def test_a_consumer_that_leaves_a_stage_out_turns_files_red(broken):
    """The judge is no rubber stamp."""
    red = set()
    for name, document in files().items():
        try:
            if failures(name, document, read(document, broken)):
                red.add(name)
        except (AttributeError, KeyError, TypeError):  # what enforcement would have refused
            red.add(name)
    assert red >= SABOTAGE[broken]
