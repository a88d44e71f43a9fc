"""What every producer streams in a run: one message of `DELTAS` pieces of text.

Two ways to produce them:
- tick: the source gives up the event loop once per piece, as it does when each comes from a model
- burst: it never suspends
"""

import asyncio
import json
from uuid import uuid4

DELTAS = 1000
"""Pieces of text in one run."""

TOKENS = [f" tok{number}" for number in range(DELTAS)]


def _sse(**event):
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


_MESSAGE = str(uuid4())
_RUN = {"threadId": str(uuid4()), "runId": str(uuid4())}

OPENING = [
    _sse(type="RUN_STARTED", **_RUN),
    _sse(type="TEXT_MESSAGE_START", messageId=_MESSAGE, role="assistant"),
]
CONTENT = [_sse(type="TEXT_MESSAGE_CONTENT", messageId=_MESSAGE, delta=token) for token in TOKENS]
CLOSING = [
    _sse(type="TEXT_MESSAGE_END", messageId=_MESSAGE),
    _sse(type="RUN_FINISHED", **_RUN),
]
READY = [*OPENING, *CONTENT, *CLOSING]
"""The events of one run, encoded beforehand."""


async def forever():
    """Wait for something that does not come: how an idle stream spends its time."""
    await asyncio.get_running_loop().create_future()
