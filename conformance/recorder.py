"""Records what a producer does with one run input: an endpoint, an ASGI application, an agent object.

A producer is one of these:

- a URL, as `http://127.0.0.1:8000/`;
- an ASGI application;
- an object whose `run(run_input)` gives the run's events, as they are or as SSE text, at once or asynchronously;
- whatever a package of the entry point group `GROUP` makes an ASGI application of.

Source: basic/transports
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any
from uuid import uuid4

import orjson
from ag_ui.core import RunAgentInput

from conformance.command.cannot import CannotCheck
from conformance.command.live import Endpoint, in_process
from conformance.command.probes import ACCEPT, minimal_input
from conformance.command.sources import is_url
from conformance.exchange import Exchange
from conformance.produced import exchange_of

GROUP = "agui_conformance.producers"
"""Entry points: from an object to the ASGI application that serves it at `/`, or to None where it is none of theirs."""


async def record(
    producer: Any,
    run_input: dict[str, Any] | None = None,
    *,
    accept: str = ACCEPT["sse"],
    timeout: float = 60,  # noqa: ASYNC109
) -> Exchange:
    """Send a run input to a producer and keep what comes.

    Args:
        producer: One of those above.
        run_input: What to send; without it, an ordinary one with one message of its user.
        accept: The Accept header, where the producer speaks HTTP.
        timeout: Seconds to wait for each next piece, where the producer speaks HTTP.

    Raises:
        CannotCheck: It gave no answer, or is no producer.
    """
    sent = minimal_input(lambda: str(uuid4())) if run_input is None else run_input
    if isinstance(producer, str):
        if not is_url(producer):
            raise CannotCheck(f"{producer!r} is no URL; expected http:// or https://")
        return await _asked(Endpoint(producer, timeout=timeout), sent, accept)
    app = _served(producer)
    if app is not None:
        return await _asked(Endpoint("http://producer/", timeout=timeout, transport=in_process(app)), sent, accept)
    events = producer.run(RunAgentInput.model_validate(sent))
    return exchange_of([one async for one in events] if isinstance(events, AsyncIterator) else events, sent)


def _served(producer: Any) -> Any:
    """The ASGI application that a producer is or is served by; None for an object that gives events itself."""
    for entry in entry_points(group=GROUP):
        made: Callable[[Any], Any] = entry.load()
        app = made(producer)
        if app is not None:
            return app
    run = getattr(producer, "run", None)
    is_object = not isinstance(producer, type)
    if is_object and (inspect.isasyncgenfunction(run) or inspect.isgeneratorfunction(run)):
        return None
    if is_object and callable(producer):
        return producer
    raise CannotCheck(
        f"{type(producer).__name__} is no producer; expected a URL, an ASGI application, or an object with run(run_input)"
    )


async def _asked(endpoint: Endpoint, run_input: dict[str, Any], accept: str) -> Exchange:
    parts: list[Exchange] = []
    async for _ in endpoint.ask(orjson.dumps(run_input), accept, parts.append):
        pass
    return merged(Exchange(run_input=run_input), parts)


def merged(known: Exchange, parts: Iterable[Exchange]) -> Exchange:
    """Put the parts of one exchange together, in the order in which they came."""
    body: list[bytes] | None = None
    for part in parts:
        told = {
            name: getattr(part, name)
            for name in ("accept", "status", "headers", "ending", "refusal")
            if getattr(part, name) not in (None, b"")
        }
        known = replace(known, **told)
        if part.body is not None:
            body = [*(body or ()), *part.body]
    return replace(known, body=body)
