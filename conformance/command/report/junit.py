"""The report for CI servers that read JUnit: one test case per rule.

A rule is skipped where it was not judged, and fails where what breaks it makes the check fail.
"""

from html import escape

from conformance.command.report import NAME, Entry, Standing, State, Verdict
from conformance.command.report.text import compact, visible


def report(verdict: Verdict) -> str:
    """Write a verdict as one test suite."""
    entries: dict[str, list[Entry]] = {}
    for one in verdict.entries:
        entries.setdefault(one.rule.id, []).append(one)
    cases = [_case(one, entries.get(one.rule.id, []), verdict) for one in verdict.standings]
    numbers = {
        "tests": len(cases),
        "failures": sum("<failure" in case for case in cases),
        "errors": 0,
        "skipped": sum("<skipped" in case for case in cases),
    }
    counted = "".join(f' {name}="{number}"' for name, number in numbers.items())
    name = _attribute(verdict.source.name)
    document = "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="{NAME}"{counted}>',
            f'<testsuite name="{name}"{counted}>',
            *cases,
            "</testsuite>",
            "</testsuites>",
            "",
        ]
    )
    return document.encode("ascii", "xmlcharrefreplace").decode()


def _case(one: Standing, entries: list[Entry], verdict: Verdict) -> str:
    rule = one.rule
    inner = ""
    if one.state is State.NOT_JUDGED:
        inner = f'<skipped message="{_attribute(one.reason)}"/>'
    elif one.state is State.BROKEN:
        lines = [_line(entry) for entry in entries]
        lines += [f"{verdict.more(rule)} more"] if verdict.more(rule) else []
        text = escape("\n".join([*lines, f"mend: {rule.mend}", f"see: {rule.link}"]))
        fails = verdict.fails(rule.level) and any(not entry.known for entry in entries)
        message = _attribute(rule.sentence)
        inner = (
            f'<failure type="{rule.level}" message="{message}">{text}</failure>'
            if fails
            else f"<system-out>{text}</system-out>"
        )
    return f'<testcase classname="{rule.page.replace("/", ".")}" name="{rule.id}">{inner}</testcase>'


def _line(entry: Entry) -> str:
    place = f"{entry.place}: " if entry.place else ""
    event = "" if entry.event is None else f" in {compact(entry.event)}"
    known = " (known)" if entry.known else ""
    return f"{place}expected {visible(entry.expected)}, found {visible(entry.found)}{event}{known}"


def _attribute(text: str) -> str:
    return escape(visible(text))
