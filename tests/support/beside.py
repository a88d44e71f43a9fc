"""Scenarios that are run against our server and a peer, a framework's best-known adapter, and what each does in them.

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

Server = Callable[..., Any]
"""Serves an agent, and gives a thread with it: `async with serve(agent) as thread`."""


@dataclass(frozen=True)
class Row:
    """What is said of a scenario."""

    tried: str
    peer: str
    ours: str


Scenario = Callable[[Any], Awaitable[None]]


def compare(*servers: Server) -> Callable[..., Callable[[Scenario], Any]]:
    """Make the decorator for scenarios that two servers serve: ours, and the peer."""

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
            @pytest.mark.parametrize("serve", servers, ids=["ours", "peer"])
            @functools.wraps(scenario)
            async def test(serve: Any) -> None:
                if serve is servers[0] or fails is None:
                    await scenario(serve)
                    return
                with pytest.raises(AssertionError, match=fails):
                    await scenario(serve)

            test.row = Row(tried, peer, ours)  # type: ignore[attr-defined]
            return test

        return take

    return beside


beside = compare(our_server, peer_server)
"""Make a scenario a test of our server and PydanticAI's own adapter."""
