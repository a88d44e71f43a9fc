"""Scenarios that are run against our server and PydanticAI's own adapter, and what each of the two does in them.

    @beside(tried="...", peer="...", ours="...", fails="item-open-first")
    async def test_something(serve):
        async with serve(agent) as thread:
            ...

is one test per server. Ours has to pass. Where `fails` is given the peer must not: an assertion of the scenario has to
fail there, with a text that matches it, so that a peer that is mended, or fails for another reason, is noticed.
"""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from support.peer import ours as our_server
from support.peer import peer as peer_server

SAME = "the same"


@dataclass(frozen=True)
class Row:
    """What is said of a scenario."""

    tried: str
    peer: str
    ours: str


Scenario = Callable[[Any], Awaitable[None]]


def beside(*, tried: str, ours: str, peer: str = SAME, fails: str | None = None) -> Callable[[Scenario], Any]:
    """Make a scenario a test of both servers.

    Args:
        tried: What the scenario does, for the page.
        ours: What our server does then.
        peer: What the peer does then.
        fails: A pattern of the assertion's text that fails on the peer; None where it does the same.
    """
    assert (fails is None) == (peer == SAME), "a peer that does not do the same fails an assertion"

    def take(scenario: Scenario) -> Any:
        @pytest.mark.anyio
        @pytest.mark.parametrize("serve", [our_server, peer_server], ids=["ours", "peer"])
        @functools.wraps(scenario)
        async def test(serve: Any) -> None:
            if serve is our_server or fails is None:
                await scenario(serve)
                return
            with pytest.raises(AssertionError, match=fails):
                await scenario(serve)

        test.row = Row(tried, peer, ours)  # type: ignore[attr-defined]
        return test

    return take
