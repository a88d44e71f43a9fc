"""JSON Patch between two JSON documents: the smallest useful diff, and application as a whole or not at all.

Application is a library's. Two differs stand behind one name: a compiled library where there is one for this Python, an
own short one elsewhere. Both are held to the same law by the tests: applying `diff(a, b)` to `a` gives `b`.

Source: basic/patterns/snapshots, RFC 6902
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jsonpatch

try:
    import fastjsonpatch as differ
except ImportError:
    differ = jsonpatch

Operation: TypeAlias = dict[str, Any]
"""One RFC 6902 operation, such as `{"op": "replace", "path": "/a", "value": 1}`."""

LAW_ERRORS = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError, IndexError)


class PatchDoesNotApply(Exception):  # noqa: N818 - a sentence about the patch
    """A well-formed patch that the document has no place for. The document is unchanged."""


def apply(document: Any, patch: list[Operation], *, in_place: bool = False) -> Any:
    """Apply a well-formed patch and return the new document; as a whole, or not at all.

    Args:
        document: Left as it is, unless `in_place`.
        patch: Its operations, in order. What they add is copied.
        in_place: Change `document` itself, at the cost of what changes; without it, at the cost of a copy.

    Raises:
        PatchDoesNotApply: One operation failed; nothing was applied.
    """
    try:
        return jsonpatch.apply_patch(document, patch, in_place=in_place, atomic=in_place)
    except LAW_ERRORS as error:
        raise PatchDoesNotApply(str(error)) from error


def diff_by_library(old: Any, new: Any) -> list[Operation]:
    """Diff with the compiled library."""
    operations: list[Operation] = differ.make_patch(old, new).patch
    return operations


def diff_by_walk(old: Any, new: Any) -> list[Operation]:
    """Diff in one walk: objects by key, lists by what is left between a common head and a common tail."""
    operations: list[Operation] = []
    _walk(old, new, "", operations.append)
    return operations


diff: Callable[[Any, Any], list[Operation]] = diff_by_library if differ is not jsonpatch else diff_by_walk
"""The operations that turn the first document into the second; an empty list when they are the same JSON."""


def same(old: Any, new: Any) -> bool:
    """Say whether two values are the same JSON: 1 and 1.0 are, 1 and true are not."""
    if old is new:
        return True
    kind = type(old)
    if kind is dict:
        return (
            type(new) is dict
            and len(old) == len(new)
            and all(key in new and same(value, new[key]) for key, value in old.items())
        )
    if kind is list:
        return type(new) is list and len(old) == len(new) and all(map(same, old, new))
    return bool(old == new) and (kind is bool) == (type(new) is bool)


def _walk(old: Any, new: Any, path: str, write: Callable[[Operation], None]) -> None:
    if old is new:
        return
    if type(old) is dict and type(new) is dict:
        _walk_object(old, new, path, write)
    elif type(old) is list and type(new) is list:
        _walk_list(old, new, path, write)
    elif not same(old, new):
        write({"op": "replace", "path": path, "value": new})


def _walk_object(old: dict[str, Any], new: dict[str, Any], path: str, write: Callable[[Operation], None]) -> None:
    for key in old:
        if key not in new:
            write({"op": "remove", "path": f"{path}/{_token(key)}"})
    for key, value in new.items():
        if key in old:
            _walk(old[key], value, f"{path}/{_token(key)}", write)
        else:
            write({"op": "add", "path": f"{path}/{_token(key)}", "value": value})


def _walk_list(old: list[Any], new: list[Any], path: str, write: Callable[[Operation], None]) -> None:
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    gone, come = len(old) - head - tail, len(new) - head - tail
    both = min(gone, come)
    for index in range(head, head + both):
        _walk(old[index], new[index], f"{path}/{index}", write)
    for index in reversed(range(head + both, head + gone)):
        write({"op": "remove", "path": f"{path}/{index}"})
    for index in range(head + both, head + come):
        write({"op": "add", "path": f"{path}/{index}", "value": new[index]})


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
