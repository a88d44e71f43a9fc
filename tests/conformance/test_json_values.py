"""Any value becomes JSON by the documented policy."""

import dataclasses
import json
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from conformance.json_values import MAX_DEPTH, json_value, whole_text


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Count(int):
    pass


class Ratio(float):
    pass


class Node(BaseModel):
    name: str
    next: "Node | None" = None


class Point(BaseModel):
    x_value: int = Field(serialization_alias="xValue")
    other: Any = None


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


def converted(value):
    warnings = []
    result = json_value(value, warnings.append, "state")
    json.dumps(result, allow_nan=False).encode()
    return result, warnings


SILENT = [
    (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00Z"),
    (date(2026, 1, 2), "2026-01-02"),
    (time(3, 4), "03:04:00"),
    (timedelta(days=1, seconds=2), "P1DT2S"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Decimal("1.10"), "1.10"),
    (PurePosixPath("a/b"), "a/b"),
    (Color.RED, "red"),
    (Level.LOW, 1),
    (Name("n"), "n"),
    (Count(3), 3),
    (Ratio(0.5), 0.5),
    (Pair(1, [Color.RED]), {"left": 1, "right": ["red"]}),
    (Point(x_value=1), {"xValue": 1, "other": None}),
    ((1, 2), [1, 2]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (deque([1]), [1]),
    (OrderedDict(a=1), {"a": 1}),
    ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
    ({Color.RED: 1, Name("n"): 2}, {"red": 1, "n": 2}),
    ({False: 0, True: 2, 2.5: 1}, {"false": 0, "true": 2, "2.5": 1}),
    (2**63, 2**63),
    (2**70, 2**70),
    (True, True),
    (None, None),
    ("\N{GRINNING FACE}é", "\N{GRINNING FACE}é"),
]


@pytest.mark.parametrize(
    ("value", "expected"), SILENT, ids=[type(value).__name__ + str(i) for i, (value, _) in enumerate(SILENT)]
)
def test_values_with_a_natural_form_take_it_silently(value, expected):
    assert converted(value) == (expected, [])
    assert converted([{"v": value}]) == ([{"v": expected}], [])


WARNED = [
    (float("nan"), None, "nan has no place in JSON; sent as null"),
    (float("-inf"), None, "-inf has no place in JSON; sent as null"),
    (b"\xff\xfe", "//4=", "bytes are sent as base64 text"),
    (bytearray(b"a"), "YQ==", "bytes are sent as base64 text"),
    (object(), None, "object is no JSON value; sent as null"),
    (int, None, "type is no JSON value; sent as null"),
    ("a\ud83d", "a\N{REPLACEMENT CHARACTER}", "a lone surrogate became U+FFFD"),
    (10**5000, None, "it is too long; sent as null"),
]


@pytest.mark.parametrize(("value", "expected", "warning"), WARNED, ids=[w for _, _, w in WARNED])
def test_what_json_cannot_hold_is_replaced_with_a_warning_that_names_the_place(value, expected, warning):
    assert converted(value) == (expected, [f"state: {warning}"])
    assert converted({"list": [1, value], "none": None}) == (
        {"list": [1, expected], "none": None},
        [f"state/list/1: {warning}"],
    )


def test_keys_that_collide_warn_and_the_later_one_is_sent():
    assert converted({1: "a", "1": "b"}) == ({"1": "b"}, ["state: two keys are written '1'; the later one is sent"])
    assert converted({"\ud800": 1})[0] == {"\N{REPLACEMENT CHARACTER}": 1}


def test_a_value_inside_itself_is_cut():
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    assert converted(loop) == ({"a": 1, "self": None}, ["state/self: it contains itself; sent as null"])
    items: list[Any] = [1]
    items.append(items)
    assert converted(items)[0] == [1, None]
    pair = Pair(1, None)
    pair.right = pair
    assert converted(pair)[0] == {"left": 1, "right": None}
    point = Point(x_value=1)
    point.other = point
    written, warnings = converted(point)
    assert written["xValue"] == 1
    assert len(warnings) == 1


def test_a_model_that_cannot_be_dumped_is_read_field_by_field():
    node = Node(name="a")
    node.next = node
    written, warnings = converted(node)
    assert written == {"name": "a", "next": None}
    assert warnings == ["state/next: it contains itself; sent as null"]


def test_the_same_value_twice_is_no_cycle():
    shared = {"a": {1}}
    assert converted([shared, shared]) == ([{"a": [1]}, {"a": [1]}], [])


def test_deep_nesting_is_cut_and_can_still_be_written():
    deep: Any = {1}
    for _ in range(1000):
        deep = [deep]
    written, warnings = converted(deep)
    assert str(written).count("[") == MAX_DEPTH
    assert "nested deeper" in warnings[0]


def test_split_surrogate_pairs_are_joined():
    assert whole_text("\ud83d\ude00") == "\N{GRINNING FACE}"
    assert converted("\ud83d\ude00") == ("\N{GRINNING FACE}", [])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
        max_leaves=20,
    )
)
def test_whatever_comes_can_be_written_and_is_a_copy(value):
    written, _ = converted(value)
    again, warnings = converted(written)
    assert again == written
    assert warnings == []
    if isinstance(value, list):
        value.append(1)
        assert written == again
