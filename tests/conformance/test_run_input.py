"""A request body becomes a run input, or a clear answer why not."""

import json

import pytest
from support.agents import run_input

from conformance.run_input import InputRejected, parse_document, parse_run_input


def body(**fields):
    return json.dumps(run_input(**fields)).encode()


def rejected(data, **options):
    with pytest.raises(InputRejected) as caught:
        parse_run_input(data, **options)
    return caught.value


def test_a_run_input_is_read():
    parsed = parse_run_input(body(state={"a": None}, forwardedProps={"x": [None]}))
    assert parsed.run_input.thread_id == "t1"
    assert parsed.run_input.state == {"a": None}
    assert parsed.run_input.forwarded_props == {"x": [None]}
    assert parsed.warnings == ()
    assert not parsed.is_older_peer


@pytest.mark.parametrize("absent", ["tools", "context", "state", "forwardedProps", "resume", "parentRunId"])
def test_optional_fields_may_be_absent(absent):
    document = run_input(tools=[], context=[], state={}, forwardedProps={}, resume=[], parentRunId="p")
    del document[absent]
    assert parse_document(document).warnings == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b'{"threadId": NaN}', "invalid_json"),
        (b'{"a": "\\ud800", "b": NaN}', "invalid_json"),
        (b'["\\ud800"' + b"[" * 5000, "invalid_json"),
        (b"[]", "invalid_input"),
        (b'"x"', "invalid_input"),
        (b"null", "invalid_input"),
        (b"[" * 100_000, "too_deep"),
        (b"[" * 150 + b"]" * 150, "too_deep"),
    ],
)
def test_what_is_no_run_input_is_refused_with_a_code(data, code):
    assert rejected(data).code == code


def test_nesting_is_limited_exactly():
    deep = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
    for levels, is_fine in ((9, True), (10, False)):
        state = json.loads("[" * levels + "]" * levels)
        data = json.dumps({**deep, "state": state}).encode()
        if is_fine:
            parse_run_input(data, max_depth=10)
        else:
            assert rejected(data, max_depth=10).code == "too_deep"


@pytest.mark.parametrize(
    ("fields", "path", "expected", "found"),
    [
        ({"runId": 5}, "/runId", "a string", "the number 5"),
        ({"messages": {}}, "/messages", "a list", "an object"),
        ({"messages": [{"role": "user", "content": "x"}]}, "/messages/0/id", "a string", "nothing"),
        (
            {"messages": [{"id": "1", "role": "user", "content": 5}]},
            "/messages/0/content",
            "a string or a list of content parts",
            "the number 5",
        ),
        ({"tools": [{"name": "a"}]}, "/tools/0/description", "a string", "nothing"),
        ({"tools": None}, "/tools", "a list, or no such field", "null"),
        ({"parentRunId": None}, "/parentRunId", "a string, or no such field", "null"),
        (
            {"resume": [{"interruptId": "i", "status": 5}]},
            "/resume/0/status",
            "one of 'resolved', 'cancelled'",
            "the number 5",
        ),
        ({"messages": ["hello"]}, "/messages/0", "an object", "'hello'"),
        ({"tools": [5]}, "/tools/0", "an object", "the number 5"),
        ({"messages": [{"id": "1", "content": "x"}]}, "/messages/0/role", "one of", "nothing"),
        ({"protocolVersion": 1.0}, "/protocolVersion", "a string", "the number 1.0"),
    ],
)
def test_a_malformed_known_field_is_refused_with_its_path(fields, path, expected, found):
    """input-malformed-rejected."""
    error = rejected(body(**fields))
    assert error.code == "invalid_input"
    assert str(error).startswith(f"{path}: expected {expected}")
    assert error.malformed[0].found.startswith(found)


def test_unknown_material_is_left_out_with_a_warning_and_the_run_starts():
    """input-unknown-stripped."""
    parsed = parse_run_input(
        body(
            shiny=True,
            messages=[
                {"id": "1", "role": "oracle", "content": "x"},
                {
                    "id": "2",
                    "role": "user",
                    "mood": "good",
                    "content": [
                        {"type": "hologram", "source": {}},
                        {"type": "text", "text": "hi", "glow": 1},
                        {"type": "image", "source": {"type": "beam", "value": "x"}},
                    ],
                },
            ],
            resume=[{"interruptId": "i", "status": "maybe"}],
        )
    )
    (message,) = parsed.run_input.messages
    assert [part.text for part in message.content] == ["hi"]
    assert parsed.run_input.resume == []
    paths = {warning.split(" ")[0] for warning in parsed.warnings}
    assert paths == {
        *("/shiny", "/messages/0", "/messages/1/mood", "/messages/1/content/0"),
        *("/messages/1/content/1/glow", "/messages/1/content/2", "/resume/0"),
    }


def test_a_null_where_any_value_may_stand_counts_as_absent():
    parsed = parse_run_input(
        body(state=None, forwardedProps=None, resume=[{"interruptId": "i", "status": "resolved", "payload": None}])
    )
    assert parsed.run_input.state is None
    assert parsed.run_input.resume[0].payload is None
    assert parsed.warnings == ()


def test_an_older_peer_may_spell_absence_as_null():
    document = run_input(parentRunId=None, tools=None, context=None, resume=None)
    del document["protocolVersion"]
    document["messages"][0]["name"] = None
    parsed = parse_document(document)
    assert parsed.is_older_peer
    assert parsed.run_input.tools is None


@pytest.mark.parametrize(("version", "warns"), [("1.0", False), ("1.7", True), ("1.10", True), ("banana", True)])
def test_versions_of_this_line_and_unreadable_ones_are_served(version, warns):
    """version-newer-minor-served."""
    assert bool(parse_run_input(body(protocolVersion=version)).warnings) == warns


@pytest.mark.parametrize("version", ["2.0", "0.9", "17.3"])
def test_another_major_version_is_refused(version):
    error = rejected(body(protocolVersion=version))
    assert error.code == "unsupported_version"
    assert version in str(error)


def test_lone_surrogates_in_the_body_are_made_whole():
    data = body().replace(b"hello", b"a \\ud83d b \\ud83d\\ude00")
    parsed = parse_run_input(data)
    assert parsed.run_input.messages[0].content == "a \N{REPLACEMENT CHARACTER} b \N{GRINNING FACE}"
    assert len(parsed.warnings) == 1


def test_long_integers_keep_their_digits():
    data = body().replace(b'"t1"', b'"t1", "state": {"n": 123456789012345678901234567890}')
    assert parse_run_input(data).run_input.state == {"n": 123456789012345678901234567890}
