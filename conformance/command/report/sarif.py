"""The report for code scanning: SARIF 2.1.0.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from typing import Any

from conformance.command.report import HOME, NAME, Entry, State, Verdict
from conformance.command.report.text import compact, json_text, visible
from conformance.rules import Level, Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Level.MUST: "error", Level.SHOULD: "warning"}


def report(verdict: Verdict) -> str:
    """Write a verdict as a log with one run, in ASCII."""
    places = {one.rule.id: place for place, one in enumerate(verdict.standings)}
    run = {
        "tool": {
            "driver": {
                "name": NAME,
                "version": verdict.suite,
                "informationUri": HOME,
                "rules": [_rule(one.rule) for one in verdict.standings],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "note",
                        "message": {"text": visible(f"not judged: {one.reason}")},
                        "associatedRule": {"id": one.rule.id, "index": places[one.rule.id]},
                    }
                    for one in verdict.of(State.NOT_JUDGED)
                ],
            }
        ],
        "results": [_result(one, verdict, places[one.rule.id]) for one in verdict.entries],
        "columnKind": "utf16CodeUnits",
        "properties": {"events": verdict.events, "more": dict(verdict.omitted or {})},
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": rule.sentence},
        "help": {"text": rule.mend},
        "helpUri": rule.link,
        "defaultConfiguration": {"level": LEVELS[rule.level]},
        "properties": {"tags": [str(rule.level), str(rule.by), rule.page]},
    }


def _result(one: Entry, verdict: Verdict, place: int) -> dict[str, Any]:
    where = f" ({one.place})" if one.place else ""
    event = "" if one.event is None else f"\n{compact(one.event)}"
    told = {"index": one.index, "line": one.line, "probe": one.probe, "event": one.event}
    result: dict[str, Any] = {
        "ruleId": one.rule.id,
        "ruleIndex": place,
        "level": LEVELS[one.level],
        "message": {"text": f"Expected {visible(one.expected)}, found {visible(one.found)}{where}.{event}"},
        "partialFingerprints": {"ruleAndType/v1": f"{one.rule.id}/{one.kind}/{one.nth}"},
        "properties": {name: value for name, value in told.items() if value is not None},
    }
    if verdict.source.uri is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": verdict.source.uri}}
        if one.line is not None and one.probe is None:
            physical["region"] = {"startLine": one.line}
        result["locations"] = [{"physicalLocation": physical}]
    if one.known:
        result["baselineState"] = "unchanged"
        result["suppressions"] = [{"kind": "external", "justification": "it is in the baseline"}]
    return result
