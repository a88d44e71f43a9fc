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


QUESTION = {"role": "user", "content": "Count."}
EARLIER = ({"role": "user", "content": "And now? " * 10}, {"role": "assistant", "content": "Nothing yet. " * 10})
"""What the messages before the question are, in turns."""


def run_input(*, history=0, documents=0):
    """A run input of a new thread.

    Args:
        history: How many messages come before the question.
        documents: How many are in its state, of 1,000 bytes each.
    """
    said = [*(EARLIER[place % 2] for place in range(history)), QUESTION]
    return {
        "protocolVersion": "1.0",
        "threadId": str(uuid4()),
        "runId": str(uuid4()),
        "messages": [{"id": str(uuid4()), **message} for message in said],
        "state": {"documents": [_document(number) for number in range(documents)]} if documents else {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


def _document(number):
    return {"id": f"document-{number:06}", "title": f"Report {number}", "text": "All is well. " * 72}


async def forever():
    """Wait for something that does not come: how an idle stream spends its time."""
    await asyncio.get_running_loop().create_future()
