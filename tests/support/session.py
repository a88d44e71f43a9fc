"""A client that goes on with its thread: run after run, each judged, folded, and answered by the next input."""

import itertools
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from conformance.consumer import Consumer, Ending
from conformance.exchange import Exchange
from conformance.judge import judge
from conformance.rules import CATALOGUE, Level
from support.server import Served, serving

MUSTS = [rule for rule in CATALOGUE.values() if rule.level is Level.MUST]


_declared: list[str | None] = ["1.0"]
"""The protocol version that a session's client declares; the innermost block's last. None is one from before 1.0."""


@contextmanager
def declaring(version: str | None) -> Iterator[None]:
    """Make the sessions that begin in the block those of a client that declares this version."""
    _declared.append(version)
    try:
        yield
    finally:
        _declared.pop()


@dataclass
class Played:
    """One run, as its client saw it. What an older peer is told in other words stands here as it was meant."""

    events: list[dict[str, Any]]
    consumer: Consumer

    @property
    def ending(self) -> Ending:
        is_stopped = self.events[-1].get("outcome") == {"type": "cancelled"}
        return Ending.CANCELLED if is_stopped else self.consumer.ending

    @property
    def asked(self) -> list[dict[str, Any]]:
        return self.consumer.interrupts

    @property
    def pending(self) -> list[str]:
        return self.of("RUN_FINISHED")[-1]["outcome"].get("pendingToolCallIds", [])

    @property
    def usage(self) -> list[dict[str, Any]]:
        return self.consumer.usage

    @property
    def error(self) -> tuple[str, str]:
        (error,) = self.of("RUN_ERROR")
        return error["code"], error["message"]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def results(self) -> dict[str, Any]:
        return {event["toolCallId"]: event["content"] for event in self.of("TOOL_CALL_RESULT")}

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))


@dataclass
class Session:
    """One thread of one client. `messages` and `state` are the client's copy."""

    served: Served
    thread: str = "t1"
    messages: list[dict[str, Any]] = field(default_factory=list)
    state: Any = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    """Further members of each run input."""
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    version: str | None = field(default_factory=lambda: _declared[-1])
    """The protocol version that the client declares."""

    async def say(self, content: Any, **more: Any) -> Played:
        """Send a user message."""
        self.messages.append({"id": f"u{next(self.numbers)}", "role": "user", "content": content})
        return await self.run(**more)

    async def answer(self, results: Mapping[str, Any], **more: Any) -> Played:
        """Answer frontend calls; a mapping is a whole tool message without its ids."""
        for call, content in results.items():
            message = content if isinstance(content, dict) else {"content": content}
            self.messages.append({"id": f"r{next(self.numbers)}", "role": "tool", "toolCallId": call, **message})
        return await self.run(**more)

    async def resume(self, payloads: Mapping[str, Any], **more: Any) -> Played:
        """Answer interrupts by id; the text `cancelled` dismisses one."""
        entries = [
            {"interruptId": name, "status": "cancelled"}
            if payload == "cancelled"
            else {"interruptId": name, "status": "resolved", "payload": payload}
            for name, payload in payloads.items()
        ]
        return await self.run(resume=entries, **more)

    def document(self, **more: Any) -> dict[str, Any]:
        """The next run input."""
        state = {} if self.state is None else {"state": self.state}
        ids = {"threadId": self.thread, "runId": f"run-{next(self.numbers)}"}
        declared = {} if self.version is None else {"protocolVersion": self.version}
        return {**ids, **declared, "messages": list(self.messages), "tools": self.tools, **state, **self.more, **more}

    async def run(self, **more: Any) -> Played:
        """Run on what the client holds, judge the stream, and hold what came."""
        document = self.document(**more)
        response, events = await self.served.run(document)
        assert response.status_code == 200, response.text
        return self.read(document, events)

    def read(self, document: dict[str, Any], events: list[dict[str, Any]]) -> Played:
        """Judge a stream and hold what came."""
        assert [str(one) for one in judge(Exchange(run_input=document, events=events), MUSTS)] == []
        consumer = Consumer(document)
        list(consumer.read(events))
        self.messages, self.state = list(consumer.messages), consumer.state
        if self.version is None:
            events = [as_meant(event, consumer) for event in events]
        return Played(events, consumer)


def as_meant(event: dict[str, Any], consumer: Consumer) -> dict[str, Any]:
    """Say an event of an older peer in today's words, where that peer has none for what is meant."""
    match event:
        case {"type": "RUN_ERROR", "code": "cancelled", "message": _, **rest}:
            return {**rest, "type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}
        case {"type": "RUN_FINISHED", "outcome": {"type": "success", **more}} if consumer.pending_tool_calls:
            assert more == {}
            return {**event, "outcome": {"type": "success", "pendingToolCallIds": consumer.pending_tool_calls}}
    return event


@asynccontextmanager
async def session(adapter: Any, **fields: Any) -> AsyncGenerator[Session, None]:
    """A client of one served adapter."""
    async with serving({"agent": adapter}) as served:
        yield Session(served, **fields)
