"""The report for the log of a GitHub workflow: one annotation per finding, then the line that sums them up.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from conformance.command.report import NAME, Entry, Verdict
from conformance.command.report.pretty import Pretty
from conformance.command.report.text import compact, visible


def report(verdict: Verdict) -> str:
    """Write a verdict as workflow commands. What is known gets no annotation."""
    commands = [_command(one, verdict) for one in verdict.entries if not one.known]
    return "".join(commands) + Pretty().summary(verdict)


def _command(one: Entry, verdict: Verdict) -> str:
    properties = {"title": f"{NAME}: {one.rule.id} ({one.level})"}
    if verdict.source.path is not None:
        properties["file"] = verdict.source.path
        if one.line is not None and one.probe is None:
            properties["line"] = str(one.line)
    place = f"{one.place}: " if one.place else ""
    lines = [f"{place}expected {visible(one.expected)}, found {visible(one.found)}"]
    lines += [] if one.event is None else [compact(one.event)]
    lines += [f"Mend: {one.rule.mend}", one.rule.link]
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    command = "error" if verdict.fails(one.level) else "warning"
    return f"::{command} {named}::{_data(chr(10).join(lines))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
