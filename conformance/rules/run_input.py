"""The rules of the page on the run input.

Source: basic/run-input
"""

import re
from collections.abc import Iterator

from conformance.order import Phase
from conformance.rules.refusals import OF_ITSELF, REFUSED, refused_for
from conformance.rules.rule import (
    BY_ORDER,
    Along,
    AtEnd,
    By,
    Case,
    Fact,
    Fault,
    Level,
    Rule,
    See,
    Unjudged,
    Watch,
    on_page,
)


def _run_id_echoed(case: Case) -> Watch:
    """What was cut off may have come to the requested run later: run-ends is about that."""
    last: list[str] = []
    notes: list[Fault] = []
    while True:
        event = yield notes
        if event is None:
            break
        last = [*(last if event["type"] == "RUN_FINISHED" else ()), event["runId"]]
    asked = case.run_input.get("runId")
    if last and asked not in (None, *last) and case.machine.phase is not Phase.ACTIVE:
        notes = [Fault(f"runId {asked!r} on the last run, as the input asked", repr(last[0]))]
    yield notes


def _malformed_rejected(case: Case) -> Iterator[Fault]:
    if case.machine.run_id is not None:
        yield Fault("a malformed run input refused before any run", "RUN_STARTED")


_OPTIONAL = ("tools", "context", "state")


def _lists_optional(case: Case) -> Iterator[Fault | Unjudged]:
    sent = case.exchange.run_input
    absent = [name for name in _OPTIONAL if isinstance(sent, dict) and name not in sent]
    if absent:
        names = " and ".join(absent)
        yield from refused_for(case, absent, f"a run: absent {names} means empty", f"no {names}")


def _part_unusable(case: Case) -> Watch:
    """A failure counts as one over a part where it names the part's kind or media type."""
    failure: str | None = None
    while True:
        event = yield ()
        if event is None:
            break
        failure = None if event["type"] != "RUN_ERROR" else f"{event.get('code', '')} {event['message']}"
    status = case.exchange.status
    if failure is None and status is not None and status >= REFUSED and status not in OF_ITSELF:
        failure = case.exchange.refusal.decode(errors="replace")
    names = "|".join(map(re.escape, _names_of_parts(case)))
    if failure is None or not names or Fact.MALFORMED_INPUT in case.facts:
        yield ()
    elif re.search(rf"\b({names})s?\b", failure, re.IGNORECASE):
        yield [Fault("a run that goes on without the part", f"it failed over it: {failure.strip()}")]
    else:
        yield [Unjudged("the run failed, and its error does not say over what")]


def _names_of_parts(case: Case) -> set[str]:
    names: set[str] = set()
    for message in case.run_input.get("messages", ()):
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] != "text":
                names |= {part["type"], part["source"].get("mimeType", part["type"])}
    return names


RULES = on_page(
    "basic/run-input",
    Rule(
        "run-thread-echoed",
        See.EXCHANGE,
        "RUN_STARTED and RUN_FINISHED of every run carry the input's threadId.",
        "Copy threadId from the run input; a thread of your framework keeps its own id elsewhere.",
        BY_ORDER,
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "run-id-agrees",
        See.STREAM,
        "A run's RUN_STARTED and RUN_FINISHED carry the same runId.",
        "Fix the runId once, before RUN_STARTED.",
        BY_ORDER,
    ),
    Rule(
        "run-id-echoed",
        See.EXCHANGE,
        "The requested run, the last of the stream, carries the input's runId.",
        "Copy runId from the run input; make none of your own.",
        Along(("RUN_STARTED", "RUN_FINISHED"), _run_id_echoed),
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "input-malformed-rejected",
        See.EXCHANGE,
        "Input that does not parse, or whose known field holds a value that the schema rejects, gets an HTTP error "
        "status before any stream.",
        "Validate the body before the response starts, and answer 400 or 422 with the field at fault.",
        AtEnd(_malformed_rejected),
        needs=(Fact.MALFORMED_INPUT,),
        by=By.SERVER,
    ),
    Rule(
        "input-lists-optional",
        See.EXCHANGE,
        "Absent tools and context mean the same as empty ones; absent state means {}.",
        "Give tools, context and state their defaults where the input is parsed.",
        AtEnd(_lists_optional),
        needs=(Fact.RUN_INPUT, Fact.RESPONSE),
        by=By.SERVER,
    ),
    Rule(
        "input-part-unusable",
        See.EXCHANGE,
        "A content part or file handle that the model cannot use does not fail the run.",
        "Leave such parts out with a warning, and call the model with the rest.",
        Along(("RUN_STARTED", "RUN_ERROR"), _part_unusable),
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "input-context-grounds",
        See.MODEL,
        "Every context entry reaches the model.",
        "Put the entries' descriptions and values into what the model is given.",
        level=Level.SHOULD,
    ),
    Rule(
        "input-forwarded-untouched",
        See.MODEL,
        "forwardedProps reaches the agent unaltered, inner nulls included.",
        "Hand the value on as it was parsed.",
        by=By.SERVER,
    ),
    Rule(
        "input-handles-opaque",
        See.MODEL,
        "A file source's value is never fetched or parsed, only handed to its provider.",
        "Compare the source's provider with the model's, and leave the part out where they differ.",
    ),
    Rule(
        "input-history-complete",
        See.MODEL,
        "messages is taken as the complete history being shown.",
        "Build the model's history from the input's messages.",
    ),
    Rule(
        "read-activity-not-sent",
        See.RUNS,
        "Activity messages are stripped from the messages of the next input.",
        by=By.CONSUMER,
    ),
)
