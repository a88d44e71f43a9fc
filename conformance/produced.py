"""What a producer gave, in whatever form, as an exchange: events as objects or models, or the text or bytes of a body.

Source: basic/transports
"""

import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from conformance.exchange import Exchange


def exchange_of(produced: Any, run_input: Any = None) -> Exchange:
    """Read what was produced.

    Args:
        produced: An exchange; the text or the bytes of an SSE body, whole or in pieces; or events: JSON objects or
            models of the SDK, which are written as the SDK's encoder writes them.
        run_input: The JSON object that was sent, or the SDK's model of it.

    Raises:
        TypeError: It is none of these.
    """
    sent = _plain(run_input)
    if isinstance(produced, Exchange):
        return produced
    if isinstance(produced, str | bytes):
        return Exchange(run_input=sent, body=[_bytes(produced)])
    if not isinstance(produced, Iterable) or isinstance(produced, dict):
        message = f"expected events, an SSE body, or an exchange; {type(produced).__name__} came"
        raise TypeError(message)
    pieces = list(produced)
    if pieces and all(isinstance(piece, str | bytes) for piece in pieces):
        return Exchange(run_input=sent, body=[_bytes(piece) for piece in pieces])
    return Exchange(run_input=sent, events=[_plain(piece) for piece in pieces])


def _bytes(piece: str | bytes) -> bytes:
    return piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece


def _plain(value: Any) -> Any:
    """A model as it would travel: by alias, without what has no value."""
    return (
        json.loads(value.model_dump_json(by_alias=True, exclude_none=True)) if isinstance(value, BaseModel) else value
    )
