"""The report for programs. docs/conformance.md describes its members."""

from typing import Any

from conformance.command.report import NAME, Entry, State, Verdict
from conformance.command.report.text import json_text
from conformance.rules import Level

FORMAT = f"{NAME}/1"
"""Names the shape of the report: another number where a member goes or changes its meaning."""


def report(verdict: Verdict) -> str:
    """Write a verdict as one JSON object, in ASCII."""
    document = {
        "format": FORMAT,
        "suite": verdict.suite,
        "source": verdict.source.name,
        "passed": verdict.passed,
        "strict": verdict.strict,
        "events": verdict.events,
        "counts": {
            "must": verdict.new.get(Level.MUST, 0),
            "should": verdict.new.get(Level.SHOULD, 0),
            "known": verdict.known,
            "kept": len(verdict.of(State.KEPT)),
            "broken": len(verdict.of(State.BROKEN)),
            "notJudged": len(verdict.of(State.NOT_JUDGED)),
        },
        "findings": [_finding(one) for one in verdict.entries],
        "more": dict(verdict.omitted or {}),
        "rules": [
            {"id": one.rule.id, "level": one.rule.level, "state": one.state}
            | ({"reason": one.reason} if one.reason else {})
            for one in verdict.standings
        ],
    }
    return json_text(document)


def _finding(one: Entry) -> dict[str, Any]:
    finding = {
        "rule": one.rule.id,
        "level": one.level,
        "index": one.index,
        "line": one.line,
        "probe": one.probe,
        "event": one.event,
        "expected": one.expected,
        "found": one.found,
        "mend": one.rule.mend,
        "link": one.rule.link,
        "known": one.known,
    }
    return {name: value for name, value in finding.items() if value is not None}
