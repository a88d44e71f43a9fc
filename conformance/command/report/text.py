"""Words of a stranger, safe to show: short, on one line, and without anything that a terminal would obey.

What a stream holds is untrusted, and so is what a finding quotes of it.
"""

import json
import math
from itertools import islice
from typing import Any

LONG, MANY, DEEP = 80, 12, 5
"""Characters of a string, elements of a list or object, and levels of nesting that are shown of an event."""

WHOLE = 400
"""Characters that are shown of one sentence."""

OBEYED = "##["
"""A GitHub runner takes what follows it for a command, wherever it stands in a line of the log."""


def visible(text: str, limit: int = WHOLE) -> str:
    r"""Write what does not print as an escape, as `\x1b`: controls, line ends, marks that turn text around."""
    text = cut(text, limit).replace(OBEYED, r"#\x23[")
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def cut(text: str, limit: int) -> str:
    """Shorten a text, and say that it was."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def abridged(value: Any, depth: int = 0) -> Any:
    """Shorten a JSON value: a long string, a long list, a large object, what is nested deep. It is valid JSON."""
    match value:
        case str():
            return cut(value, LONG)
        case float() if not math.isfinite(value):
            return str(value)
        case list() | dict() if depth == DEEP and value:
            return "..."
        case list():
            kept = [abridged(one, depth + 1) for one in value[:MANY]]
            return kept if len(value) <= MANY else [*kept, f"... {len(value) - MANY} more"]
        case dict():
            members = {cut(name, LONG): abridged(one, depth + 1) for name, one in islice(value.items(), MANY)}
            return members if len(value) <= MANY else {**members, "...": f"{len(value) - MANY} more"}
    return value


def compact(value: Any) -> str:
    """Write a JSON value on one line, safe to show."""
    return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def count(number: int, noun: str) -> str:
    """Write a number of things: `1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def json_text(document: Any) -> str:
    """Write a JSON document for programs, in ASCII, that does no harm in a log either."""
    return json.dumps(document, indent=2).replace(OBEYED, r"#\u0023[") + "\n"
