"""Events become SSE bytes; the SDK's own encoder is the oracle."""

import json

import pytest
from ag_ui.core import BaseEvent
from ag_ui.encoder import EventEncoder
from hypothesis import given, settings
from support.events import EVENT_MODELS, events_of
from support.streams import parse_sse

from conformance.order import Item, content_event
from sidecar.runs.values import wire_event
from sidecar.wire.sse import Encoder


def ours(event):
    return Encoder().encode(event)


@pytest.mark.parametrize("model", EVENT_MODELS, ids=lambda model: model.__name__)
def test_every_event_is_written_as_the_sdk_writes_it(model: type[BaseEvent]):
    @settings(max_examples=60, deadline=None)
    @given(events_of(model))
    def check(event):
        written = ours(wire_event(event, lambda _: None))
        (read,) = parse_sse(written)
        (expected,) = parse_sse(EventEncoder().encode(event).encode())
        assert read == expected
        assert next(iter(read)) == "type"

    check()


@pytest.mark.parametrize("family", ["text message", "tool call", "reasoning message"])
@pytest.mark.parametrize("owner", [None, "sub"])
def test_a_delta_of_an_item_is_written_as_its_content_event(family, owner):
    encoder, item = Encoder(), Item(family, 'k"é', owner, open=True)
    for delta in ("tok", "", 'quote " and \\', "é\N{GRINNING FACE}", "line\nend\r", "a\u2028b\u2029c\u0085d"):
        (read,) = parse_sse(encoder.encode_delta(item, delta))
        assert read == content_event(item, delta)


def test_characters_that_some_clients_take_for_line_ends_are_escaped():
    """B54."""
    text = "a\u2028b\u2029c\u0085d\n\r\x0b\x0c\x1c\x1d\x1ee"
    written = ours({"type": "CUSTOM", "name": text, "value": {text: text}})
    assert len(written.decode().splitlines()) == 2  # the event and the empty line behind it
    assert json.loads(written.removeprefix(b"data: "))["value"] == {text: text}


def test_integers_of_any_length_are_written():
    """B46: as given."""
    (read,) = parse_sse(ours({"type": "STATE_SNAPSHOT", "snapshot": {"n": 2**200, "é": "\u2028"}}))
    assert read["snapshot"] == {"n": 2**200, "é": "\u2028"}
