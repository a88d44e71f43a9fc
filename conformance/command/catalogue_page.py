"""The catalogue as text: a table for the terminal, the page of one rule, and docs/rules.md."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby

from conformance.rules import Rule, See
from conformance.rules.rule import SITE

CHECKED, LISTED, IMPOSSIBLE = "checked", "listed", "impossible"
STATES = {
    CHECKED: "this suite holds streams to it",
    LISTED: "nothing in this suite holds it yet: it takes several runs, a scripted model, or a consumer to see",
    IMPOSSIBLE: "nothing can see it from outside",
}
"""How far this suite goes with a rule."""

LINES = 40
"""Lines of an example that are shown."""

_SEEN = {
    See.EVENT: "one event",
    See.STREAM: "the events of one response",
    See.EXCHANGE: "a request and its response",
    See.RUNS: "several runs of one thread",
    See.MODEL: "what the agent's model was given",
    See.NONE: "nothing that can be seen from outside",
}


def state(rule: Rule) -> str:
    """How far this suite goes with a rule, as a key of `STATES`."""
    if rule.held is not None:
        return CHECKED
    return IMPOSSIBLE if rule.see is See.NONE else LISTED


def counts(rules: Iterable[Rule]) -> str:
    """How many rules are in which state: `75 checked, 35 listed, 4 impossible`."""
    numbers = Counter(map(state, rules))
    return ", ".join(f"{numbers[one]} {one}" for one in STATES)


def table(rules: Iterable[Rule]) -> str:
    """Write the catalogue, one line a rule."""
    rules = list(rules)
    head = ("id", "level", "by", "seen in", "page", "state")
    rows = [head, *((rule.id, rule.level, rule.by, rule.see, rule.page, state(rule)) for rule in rules)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", counts(rules), ""])


def page(rule: Rule, examples: Mapping[str, str]) -> str:
    """Write the page of one rule. `examples` holds recordings: one that breaks it, one that keeps it."""
    facts = [
        ("level", rule.level),
        ("owed by", f"the {rule.by}"),
        ("seen in", _SEEN[rule.see]),
        ("judged with", "the events alone" if not rule.needs else ", ".join(fact.value for fact in rule.needs)),
        ("state", f"{state(rule)}: {rule.why or STATES[state(rule)]}"),
        ("since", f"protocol {rule.since}"),
        ("link", rule.link),
    ]
    if state(rule) is not CHECKED:
        facts = [fact for fact in facts if fact[0] != "judged with"]
    parts = [rule.id, "", rule.sentence, "", *(f"{name:<11}  {value}" for name, value in facts)]
    if rule.mend:
        parts += ["", "How to mend it:", f"  {rule.mend}"]
    for name, title in (("break", "A stream that breaks it:"), ("keep", "A stream that keeps it:")):
        if name in examples:
            parts += ["", title, *_example(examples[name])]
    return "\n".join([*parts, ""])


def _example(text: str) -> list[str]:
    lines = text.splitlines()
    more = [f"  ... {len(lines) - LINES} more lines"] if len(lines) > LINES else []
    return [f"  {line}" for line in lines[:LINES]] + more


def markdown(rules: Iterable[Rule]) -> str:
    """Write docs/rules.md."""
    rules = list(rules)
    parts = [_HEAD.format(total=len(rules), counts=counts(rules))]
    parts += [f"- **{name}**: {meaning}" for name, meaning in STATES.items()]
    for name, group in groupby(rules, key=lambda rule: rule.page):
        parts += [
            "",
            f"## [{name}]({SITE}/1.0/{name})",
            "",
            "| rule | level | by | seen in | state |",
            "|---|---|---|---|---|",
        ]
        parts += [_row(rule) for rule in group]
    return "\n".join([*parts, ""])


_HEAD = """\
# The rules

What AG-UI asks of a producer, of the server in front of it, and of a consumer: {total} rules in our words, {counts}.

`agui-conformance rules ID` says of one rule what must be known for it to be judged, and shows a stream that breaks it \
and one that keeps it. This page is written by `agui-conformance rules --markdown`.
"""


def _row(rule: Rule) -> str:
    said = [f"**`{rule.id}`**", _plain(rule.sentence)]
    said += [f"*Mend:* {_plain(rule.mend)}"] if rule.mend else []
    said += [f"*Needs:* {', '.join(fact.value for fact in rule.needs)}."] if rule.needs else []
    said += [f"*Why:* {_plain(rule.why)}."] if rule.why else []
    since = "" if rule.since == "1.0" else f" since {rule.since}"
    return f"| {'<br>'.join(said)} | {rule.level}{since} | {rule.by} | {rule.see} | {state(rule)} |"


def _plain(text: str) -> str:
    """Take the meaning from what Markdown would read."""
    return re.sub(r"([*|<\\`])", r"\\\1", text)
