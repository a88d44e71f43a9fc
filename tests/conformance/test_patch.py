"""JSON Patch: applying a diff gives the new document, and nothing is applied in part."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.patch import PatchDoesNotApply, apply, diff, diff_by_library, diff_by_walk, same
from conformance.schema import EVENT
from conformance.shapes import Report

DIFFS = {differ.__name__: differ for differ in (diff_by_walk, diff_by_library)}
"""The short one, and that of the library: compiled where this Python has it, its pure ancestor elsewhere."""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "~", "/", "", "0", "-"]), inner, max_size=5)
    ),
    max_leaves=25,
)


@pytest.mark.parametrize("differ", DIFFS.values(), ids=DIFFS)
@given(old=DOCUMENTS, new=DOCUMENTS)
def test_applying_a_diff_gives_the_new_document(differ, old, new):
    before = copy.deepcopy(old)
    operations = differ(old, new)
    assert same(apply(old, operations), new)
    assert same(old, before)
    report = Report()
    EVENT.hold({"type": "STATE_DELTA", "delta": operations}, (), report)
    assert not report.malformed
    json.dumps(operations)


@pytest.mark.parametrize("differ", DIFFS.values(), ids=DIFFS)
@given(document=DOCUMENTS)
def test_the_same_document_makes_no_diff(differ, document):
    assert differ(document, copy.deepcopy(document)) == []


@pytest.mark.parametrize("differ", DIFFS.values(), ids=DIFFS)
@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ({"a": 1}, {"a": True}, 1),
        ({"a": [1, 2, 3]}, {"a": [1, 2, 3, 4]}, 1),
        ({"a": [1, 2, 3]}, {"a": [0, 1, 2, 3]}, 1),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, 1),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, 1),
        ({}, {"a": 1}, 1),
        ({"a": 1}, {}, 1),
        ([], {}, 1),
        ("x", None, 1),
    ],
)
def test_a_small_change_is_a_small_patch(differ, old, new, count):
    assert len(differ(old, new)) == count


@pytest.mark.parametrize("chosen", [diff, diff_by_walk])
def test_a_number_written_otherwise_is_no_change(chosen):
    assert chosen({"a": 1}, {"a": 1.0}) == []


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "replace", "path": "/b/c", "value": 1}],
        [{"op": "remove", "path": "/zz"}],
        [{"op": "remove", "path": ""}],
        [{"op": "test", "path": "/a", "value": True}],
        [{"op": "add", "path": "/list/9", "value": 1}],
        [{"op": "add", "path": "/list/01", "value": 1}],
        [{"op": "add", "path": "/a/b", "value": 1}],
        [{"op": "move", "from": "/list", "path": "/list/0"}],
        [{"op": "copy", "from": "/zz", "path": "/a"}],
        [{"op": "add", "path": "/new", "value": 1}, {"op": "remove", "path": "/zz"}],
    ],
)
def test_a_patch_that_does_not_apply_leaves_the_document_alone(operations):
    """read-patch-atomic."""
    document = {"a": 1, "list": [1]}
    with pytest.raises(PatchDoesNotApply):
        apply(document, operations)
    assert document == {"a": 1, "list": [1]}


def test_members_that_an_operation_does_not_define_are_ignored():
    assert apply({"a": 1}, [{"op": "remove", "path": "/a", "value": "left over"}]) == {}


def test_a_scalar_document_takes_only_a_root_replacement():
    assert apply(3, [{"op": "replace", "path": "", "value": {"a": 1}}]) == {"a": 1}
    with pytest.raises(PatchDoesNotApply):
        apply(3, [{"op": "add", "path": "/x", "value": 1}])


@pytest.mark.parametrize(
    ("old", "new", "are"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, [1], False),
        ([1], {"a": 1}, False),
        ("1", 1, False),
    ],
)
def test_sameness_is_that_of_json(old, new, are):
    assert same(old, new) is are
