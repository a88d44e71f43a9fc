"""Beside the public ag-ui-validate: what it finds in its own recordings is ours too, or legal for a named reason.

`docs/ag-ui-validate.md` says so to users; the tests hold it to what both of them find.
"""

import json
from pathlib import Path

import ag_ui_validate
import pytest
from ag_ui_validate.pytest_plugin import validate_agui
from support.recordings import RECORDINGS, read_recording

from conformance.exchange import Ending, Exchange
from conformance.judge import judge
from conformance.rules import CATALOGUE

FIXTURES = Path(ag_ui_validate.__file__).parent / "spec" / "fixtures"
PAGE = Path(__file__).parents[2] / "docs" / "ag-ui-validate.md"
PATHS = sorted([*FIXTURES.glob("valid/*.jsonl"), *FIXTURES.glob("invalid/*")])

OURS = {
    "AGUI001": "run-opens-stream",
    "AGUI002": "run-not-nested",
    "AGUI003": "run-ends",
    "AGUI004": "run-closed-is-closed",
    "AGUI006": "step-closes-open",
    "AGUI007": "run-items-closed",
    "AGUI008": "run-id-agrees",
    "AGUI101": "item-open-first",
    "AGUI102": "item-open-first",
    "AGUI103": "run-items-closed",
    "AGUI106": "item-opens-once",
    "AGUI201": "item-open-first",
    "AGUI202": "item-open-first",
    "AGUI203": "run-items-closed",
    "AGUI302": "patch-applies",
    "AGUI303": "patch-well-formed",
    "AGUI401": "reasoning-message-pairs",
    "AGUI402": "run-items-closed",
    "AGUI501": "sse-one-event-per-data",
    "AGUI502": "sse-one-event-per-data",
    "AGUI503": "event-described",
    "AGUI504": "event-described",
    "AGUI505": "sse-status-and-type",
    "AGUI508": "sse-fails-inside",
    "AGUI601": "subagent-starts-once",
    "AGUI602": "subagent-ends",
    "AGUI603": "subagent-ends",
    "AGUI604": "subagent-ends",
    "AGUI605": "subagent-parent-known",
    "AGUI606": "owner-agrees",
    "AGUI903": "custom-prefixed",
}
"""The rule of ours that stands for one of theirs."""

LEGAL = {
    "AGUI005": ("events/lifecycle", "A failure that surfaces after RUN_FINISHED may be reported by a late RUN_ERROR."),
    "AGUI104": ("events/text-messages", "A closed message may be opened again under its id; what comes is appended."),
    "AGUI105": ("basic/patterns/streaming", "An item has any number of deltas, and none has to hold text."),
    "AGUI204": ("events/tool-calls", "Closed arguments are complete, not valid; they are text, of whatever kind."),
    "AGUI205": ("events/tool-calls", "A closed call may be opened again under its id; its arguments go on."),
    "AGUI206": ("events/tool-calls", "A result is a message of its own; it does not touch whether its call is open."),
    "AGUI207": ("events/tool-calls", "A result may answer a call of an earlier run, which only the input holds."),
    "AGUI208": (
        "events/tool-calls",
        "The parent message may be one of the history, or one that the call itself brings.",
    ),
    "AGUI301": ("basic/patterns/snapshots", "A run's state starts from the input's, or from the empty object."),
    "AGUI304": ("basic/patterns/snapshots", "A snapshot may come at any time."),
    "AGUI305": ("events/state", "No feature has to be shown in any one run."),
    "AGUI506": (
        "basic/transports/http-sse",
        "Comments that keep a connection alive may come at any cadence, or never.",
    ),
    "AGUI507": ("basic/transports", "A transport owes order and completeness, not pieces."),
    "AGUI901": ("events/passthrough", "RAW carries any value; what it stands beside cannot be seen from it."),
    "AGUI902": ("schema", "timestamp is optional."),
}
"""Theirs that breaks nothing, with the page of the specification and what it says, in our words."""


def exchange(path):
    if path.is_file():
        return Exchange(body=[_as_sse(path)])
    if (path / "stream.jsonl").exists():
        return Exchange(body=[_as_sse(path / "stream.jsonl")])
    scenario = json.loads((path / "scenario.json").read_text())
    return Exchange(
        body=[chunk["text"].encode() for chunk in scenario["chunks"]],
        status=200,
        headers={"content-type": scenario["contentType"]},
        ending=Ending.BROKEN if scenario.get("abnormalEof") else Ending.CLOSED,
    )


def _as_sse(path):
    return b"".join(b"data: " + line + b"\n\n" for line in path.read_bytes().splitlines() if line.strip())


def theirs(path):
    expected = path / "expected.json" if path.is_dir() else path.with_suffix(".expected.json")
    return {one["rule"] for one in json.loads(expected.read_text())} if expected.exists() else set()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_each_of_its_findings_is_ours_or_legal(path):
    found = {finding.rule.id for finding in judge(exchange(path))}
    owed = {OURS[one] for one in theirs(path) if one in OURS and not (one == "AGUI003" and "AGUI508" in theirs(path))}
    assert owed <= found
    assert theirs(path) <= {*OURS, *LEGAL}


def test_every_rule_of_its_catalogue_is_compared():
    catalogue = json.loads((FIXTURES.parent / "catalog.json").read_text())
    assert {rule["id"] for rule in catalogue["rules"]} == {*OURS, *LEGAL}
    assert len(PATHS) > 50


def missed():
    """Our rules that it says nothing about, though a recording breaks them."""
    names = []
    for rule in CATALOGUE.values():
        if rule.held is not None and rule.id not in OURS.values():
            events = read_recording(RECORDINGS / f"{rule.id}.break.jsonl").events
            report = validate_agui(list(map(json.dumps, events)))
            if {one.rule for one in report.diagnostics} <= {"AGUI902"}:
                names.append(rule.id)
    return names


def test_the_page_says_what_both_of_them_find():
    page = PAGE.read_text()
    for rule, (where, says) in LEGAL.items():
        assert f"| {rule} | {where} | {says} |" in page
    for rule, ours in OURS.items():
        assert f"| {rule} | `{ours}` |" in page
    listed = [line.split("`")[1] for line in page.split("## What it misses")[1].splitlines() if line.startswith("- `")]
    assert listed == missed()
