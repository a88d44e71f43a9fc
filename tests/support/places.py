"""Places in a stream: where it can be changed, and the stream with a change there. What is not named stays."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

Events = list[Any]


class NothingFits(Exception):  # noqa: N818 - no error: the way is not there to be taken
    """The stream has no place in which it can be broken in that way."""


def place_of(events: Events, chance: Random, fits: Callable[[Any], bool] = lambda _: True) -> int:
    """The index of an event that fits, each type as likely as any other."""
    kinds: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        if isinstance(event, dict) and fits(event):
            kinds.setdefault(kind_of(event), []).append(index)
    return chance.choice(kinds[one_of(sorted(kinds), chance)])


def one_of(options: Sequence[Any], chance: Random) -> Any:
    if not options:
        raise NothingFits
    return chance.choice(options)


def kind_of(event: Any) -> str:
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else ""


def values_of(events: Events, *names: str) -> list[str]:
    """What some fields hold anywhere, each once."""
    found = (event.get(name) for event in events if isinstance(event, dict) for name in names)
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))


def replaced(events: Events, place: int, event: Any) -> Events:
    return [*events[:place], event, *events[place + 1 :]]


def inserted(events: Events, place: int, event: Any) -> Events:
    return [*events[:place], event, *events[place:]]


def changed_field(
    events: Events, chance: Random, change: Callable[[Any, str], Any], names: tuple[str, ...] | None = None
) -> Events:
    """Change one field of one event, at any depth."""
    place = place_of(events, chance)
    fields = [path for path in _paths(events[place]) if names is None or path[-1] in names]
    inner = [path for path in fields if len(path) > 1]
    *path, name = one_of(inner if inner and chance.random() < 0.5 else fields, chance)
    return replaced(events, place, _changed(events[place], path, lambda holder: change(holder, name)))


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """Where each member of each object stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (name,)
            yield from ((name, *path) for path in _paths(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ((index, *path) for path in _paths(inner))


def _changed(value: Any, path: list[Any], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], change)
    return copy
