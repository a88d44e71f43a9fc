"""Whatever a recording holds, the command judges it or says in one line why not: it never crashes."""

import contextlib
import io
import json
from random import Random
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recordings import RECORDINGS

from conformance.command.cli import WHOLE_REPORTS, main

LINES = [path.read_text().splitlines() for path in sorted(RECORDINGS.glob("*.jsonl"))]
VALUES = ["null", "true", "5", "-1", "1.5", '""', '"x"', "[]", "{}", "[1]", '{"type": 5}', '{"type": "x"}', '"\\ud800"']
READ_AS_TEXT = {"json": json.loads, "sarif": json.loads, "junit": ET.fromstring}


def places(value):
    """Each container of a JSON value, with its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def changed(line, chance):
    """A line with one value replaced, taken out, or put in."""
    value = json.loads(line)
    container, key = chance.choice([*places(value), ([value], 0)])
    match chance.randrange(4):
        case 0 if isinstance(container, dict):
            del container[key]
        case 1 if isinstance(container, dict):
            container[chance.choice(["new", "type", "content", "id"])] = json.loads(chance.choice(VALUES))
        case _:
            container[key] = json.loads(chance.choice(VALUES))
    return json.dumps(value)


def odd_recording(seed):
    """A recording with lines changed, repeated and cut."""
    chance = Random(seed)
    lines = list(chance.choice(LINES))
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(lines))
        lines[place] = changed(lines[place], chance)
        if chance.random() < 0.2:
            lines.insert(place, chance.choice(lines))
    text = "\n".join(lines) + "\n"
    return text[: chance.randrange(len(text))] if chance.random() < 0.1 else text


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("odd") / "odd.jsonl"


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["pretty", *WHOLE_REPORTS]))
def test_an_odd_recording_is_judged_or_refused_in_one_line(file, seed, kind):
    file.write_text(odd_recording(seed))
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(["check", str(file), "--format", kind, "--verbose"])
    assert code in (0, 1, 2)
    assert said.getvalue().count("\n") == (code == 2)
    if code < 2 and kind in READ_AS_TEXT:
        READ_AS_TEXT[kind](out.getvalue())


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=200), kind=st.sampled_from(["sse", "jsonl", "protobuf"]))
def test_any_bytes_are_judged_or_refused_in_one_line(file, content, kind):
    file.write_bytes(content)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(["check", str(file), "--read-as", kind])
    assert code in (0, 1, 2)
    assert said.getvalue().count("\n") == (code == 2)
