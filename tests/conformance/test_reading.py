"""From bytes to events, whatever the pieces."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.streams import RUN_FINISHED, RUN_STARTED, sse

from conformance import reading
from conformance.protobuf import encode, frame
from conformance.reading import LinesReader, ProtobufReader, SseReader, Unreadable, parse_json
from conformance.rules import Fact


def read(reader, chunks):
    """Every document with its line, and every breach with its line and the document that it stands before."""
    documents, breaches = [], []
    for batch in (*map(reader.feed, chunks), reader.close()):
        breaches += [(one.breach.rule, one.line, len(documents) + one.index) for one in batch.breaches]
        documents += [(document, batch.line_of(index)) for index, document in enumerate(batch.documents)]
    return documents, breaches


def test_each_data_payload_is_a_document_and_knows_its_line():
    assert read(SseReader(), [sse([RUN_STARTED, RUN_FINISHED])]) == ([(RUN_STARTED, 1), (RUN_FINISHED, 3)], [])


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"a": 1}\n\n',
        b'data:{"a": 1}\n\n',
        b'data: {"a":\ndata: 1}\n\n',
        b'event: message\nid: 7\nretry: 10\ndata: {"a": 1}\n\n',
        b': keep-alive\n\ndata: {"a": 1}\n\n: bye\n\n',
        b'\n\n\ndata: {"a": 1}\n\n\n\n',
        b'\xef\xbb\xbfdata: {"a": 1}\n\n',
        b'data: {"a": 1}\n\n: the last comment may lack its blank line',
    ],
)
def test_the_grammar_of_server_sent_events_is_read_whole(body):
    documents, breaches = read(SseReader(), [body])
    assert ([document for document, _ in documents], breaches) == ([{"a": 1}], [])
    documents, breaches = read(SseReader(), [body[at : at + 1] for at in range(len(body))])
    assert ([document for document, _ in documents], breaches) == ([{"a": 1}], [])


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_other_line_ends_are_read_and_told_once(end):
    body = (b": hi\n\n" + sse([RUN_STARTED, RUN_FINISHED])).replace(b"\n", end)
    for chunks in ([body], [body[at : at + 1] for at in range(len(body))]):
        documents, breaches = read(SseReader(), chunks)
        assert [document for document, _ in documents] == [RUN_STARTED, RUN_FINISHED]
        assert [rule for rule, _, _ in breaches] == ["sse-lf"]


@pytest.mark.parametrize(
    "data",
    [b"[DONE]", b"", b'{"a": 1}{"b": 2}', b"[5]", b"5", b"{'a': 1}", b'{"a": NaN}', b'{"a": "\xff"}', b'{"a'],
)
def test_data_that_is_not_one_object_is_a_breach(data):
    body = sse([RUN_STARTED]) + b"data: " + data + b"\n\n" + sse([RUN_FINISHED])
    documents, breaches = read(SseReader(), [body])
    assert documents == [(RUN_STARTED, 1), (RUN_FINISHED, 5)]
    assert breaches == [("sse-one-event-per-data", 3, 1)]


STARTED, FINISHED = (json.dumps(event).encode() for event in (RUN_STARTED, RUN_FINISHED))


@pytest.mark.parametrize(
    "block",
    [
        b"data: [" + STARTED + b", 5, " + FINISHED + b"]\n\n",
        b"data: " + STARTED + b"\ndata: " + FINISHED + b"\n\n",
        STARTED + b"\n" + FINISHED + b"\n\n",
        STARTED + b"\n" + FINISHED,
    ],
)
def test_events_that_are_not_in_a_data_field_each_are_one_breach_and_are_judged(block):
    """Clients drop them, some without a word."""
    documents, breaches = read(SseReader(), [b": hi\n\n", block])
    assert documents == [(RUN_STARTED, 3), (RUN_FINISHED, 3)]
    assert breaches == [("sse-one-event-per-data", 3, 0)]


def test_an_event_outside_a_data_field_is_a_breach():
    body = sse([RUN_STARTED]) + sse([RUN_FINISHED]).removeprefix(b"data: ")
    assert read(SseReader(), [body])[1] == [("sse-one-event-per-data", 3, 1)]


def test_lines_are_counted_over_what_holds_no_event():
    body = b": a\n\n" + sse([RUN_STARTED]) + b": b\n: c\n\ndata: x\n\n" + sse([RUN_FINISHED])
    assert read(SseReader(), [body]) == ([(RUN_STARTED, 3), (RUN_FINISHED, 10)], [("sse-one-event-per-data", 8, 1)])


@pytest.mark.parametrize(("cut", "comes"), [(1, True), (2, True), (9, False)])
def test_an_event_without_its_blank_line_is_not_complete(cut, comes):
    body = sse([RUN_STARTED, RUN_FINISHED])[:-cut]
    documents, breaches = read(SseReader(), [body])
    assert documents == [(RUN_STARTED, 1), *([(RUN_FINISHED, 3)] if comes else [])]
    assert breaches == [("transport-ordered", 3, 1)]
    assert read(SseReader(), [b"data: 5\n"]) == ([], [("transport-ordered", 1, 0)])


def test_escaped_lone_surrogates_are_json():
    assert parse_json(b'{"a": "\\ud800"}') == {"a": "\ud800"}


@pytest.mark.parametrize("text", [b"[" * 100_000, b"Infinity", b"", b"\xff"])
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_each_line_is_a_document():
    text = b'{"a": 1}\n\n  \n[2]\n"x"'
    for chunks in ([text], [text[at : at + 1] for at in range(len(text))], [text + b"\n"]):
        assert read(LinesReader(), chunks) == ([({"a": 1}, 1), ([2], 4), ("x", 5)], [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"a": 1}\n{"a": \n', "line 2: expected one JSON value a line, found '{\"a\": ' ("),
        (b"[\n{}\n]", r"line 1: expected one JSON value a line (jq -c '.[]' writes a JSON list so), found '['"),
        (b"x" * 200, "line 1: expected one JSON value a line, found '" + "x" * 80 + "...'"),
    ],
)
def test_a_line_that_is_no_json_is_named(text, says):
    with pytest.raises(Unreadable) as error:
        read(LinesReader(), [text])
    assert str(error.value).startswith(says)


@pytest.mark.parametrize("reader", [SseReader, LinesReader])
def test_an_event_without_end_is_not_gathered_for_ever(reader, monkeypatch):
    monkeypatch.setattr(reading, "MAX_EVENT", 100)
    with pytest.raises(Unreadable, match=r"line 1: .*over 100 bytes"):
        read(reader(), [b"x" * 60, b"x" * 60])


def test_frames_are_read_and_compared_with_the_reference_bytes():
    body = frame(encode(RUN_STARTED)) + frame(encode(RUN_FINISHED))
    assert read(ProtobufReader(), [body]) == ([(RUN_STARTED, None), (RUN_FINISHED, None)], [])
    # A field that the reference does not write: the same event in other bytes.
    message = encode(RUN_STARTED)
    more = bytes([message[0], message[1] + 3]) + message[2:] + b"\xfa\x07\x00"
    assert read(ProtobufReader(), [frame(more)]) == ([(RUN_STARTED, None)], [("proto-parity", None, 0)])


def test_what_the_protocol_does_not_know_has_no_reference_bytes():
    message = encode({"type": "STATE_DELTA", "delta": [{"op": "test", "path": "/a", "value": 1}]})
    known = bytes([8, 5])
    assert message.count(known) == 1
    ((document, _),), breaches = read(ProtobufReader(), [frame(message.replace(known, bytes([8, 41])))])
    assert (document["delta"][0]["op"], breaches) == ("41", [])


def test_the_order_of_an_open_objects_members_is_no_matter_of_parity():
    message = encode({"type": "STATE_SNAPSHOT", "snapshot": {"list": [{"1": True, "2": True}]}})
    (one, two) = (message.index(b"\n\x011"), message.index(b"\n\x012"))
    swapped = message[: one + 2] + b"2" + message[one + 3 : two + 2] + b"1" + message[two + 3 :]
    ((document, _),), breaches = read(ProtobufReader(), [frame(swapped)])
    assert (document["snapshot"], breaches) == ({"list": [{"1": True, "2": True}]}, [])


def test_the_framing_is_a_fact():
    assert SseReader().feed(b"").framing is Fact.SSE
    assert ProtobufReader().feed(b"").framing is Fact.PROTOBUF
    assert LinesReader().feed(b"").framing is None


def test_what_the_framing_of_frames_breaks():
    whole = frame(encode(RUN_STARTED))
    assert read(ProtobufReader(), [whole, whole[:-1]]) == ([(RUN_STARTED, None)], [("proto-framing", None, 1)])
    unknown = frame(bytes([(99 << 3 | 2) & 0x7F | 0x80, 99 >> 4, 0]))
    assert read(ProtobufReader(), [unknown, whole]) == ([(RUN_STARTED, None)], [("event-described", None, 0)])
    with pytest.raises(Unreadable, match="frame 2: "):
        read(ProtobufReader(), [whole, frame(b"\xff\xff\xff")])
    with pytest.raises(Unreadable, match="frame 1: "):
        read(ProtobufReader(), [b"\xff\xff\xff\xff"])


@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_read_or_named(data, size):
    for reader in (SseReader, LinesReader, ProtobufReader):
        with suppress(Unreadable):
            read(reader(), [data[at : at + size] for at in range(0, len(data), size)])


@given(
    st.lists(
        st.sampled_from(
            [
                b"data: {}\n\n",
                b"data: x\n\n",
                b"data: {}\n",
                b": c\n\n",
                b"\n",
                b"\r\n",
                b"data: {\n",
                b"}\n\n",
                b"{}\n",
            ]
        ),
        max_size=9,
    )
)
def test_the_pieces_make_no_difference(parts):
    body = b"".join(parts)
    whole = read(SseReader(), [body])
    singles = read(SseReader(), [body[at : at + 1] for at in range(len(body))])
    assert whole[0] == singles[0]
    assert sorted(breach[:2] for breach in whole[1]) == sorted(breach[:2] for breach in singles[1])
    assert json.dumps(whole[0])
