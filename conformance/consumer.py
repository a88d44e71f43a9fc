"""The reading side of the protocol: from the events of a stream to what an application may see of them.

    compatibility → middleware → enforcement → expansion → verification → fold

is the order of every path, a replay's included, because there is one method that events go through. (read-order)
Nothing here does I/O: events come from whoever reads them, off a socket or out of a recording.

    >>> consumer = Consumer()
    >>> stream = [
    ...     {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1", "protocolVersion": "1.0"},
    ...     {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "Hello"},
    ...     {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1"},
    ... ]
    >>> [event["type"] for event in consumer.read(stream)][1:4]
    ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']
    >>> consumer.messages, consumer.ending
    ([{'id': 'm1', 'role': 'assistant', 'content': 'Hello'}], <Ending.SUCCEEDED: 'the run completed'>)

Source: basic/processing, basic/versioning, basic/transports#truncation, events/lifecycle
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn, TypeAlias

from conformance.compatibility import Boundary, declared_version, modernised, pinned_version
from conformance.enforce import Enforcement, Malformed, run_input_shape
from conformance.events import TEXT, Event
from conformance.expand import Expander
from conformance.machine import Machine
from conformance.order import ITEMS, KEYS, Breach
from conformance.reduce import Conversation, Message
from conformance.schema import NEWEST

Middleware: TypeAlias = Callable[[Event], Iterable[Event]]
"""From one event to what the next stage sees in its place: itself, others, or nothing.

It sees events before enforcement, unknown material included, and items in either of their two forms.
"""

TOLERATED = frozenset(
    {
        ("activity-baseline", "ACTIVITY_DELTA"),  # the fold skips it, with a warning
        ("owner-agrees", "ACTIVITY_SNAPSHOT"),  # with replace false: the established owner stands
        ("pending-exact", "RUN_FINISHED"),  # what is pending follows from the stream
        ("subagent-announced-first", "SUBAGENT_STARTED"),  # attribution alone is legal
    }
)
"""What a producer must not do and a consumer lives with: the requirement, and the event that breaks it."""


class Ending(Enum):
    """How the last run of a stream ended, as far as it has been read."""

    NOT_STARTED = "no run has started"
    RUNNING = "the run goes on"
    SUCCEEDED = "the run completed"
    INTERRUPTED = "the run waits for answers to its interrupts"
    CANCELLED = "the run was stopped on purpose, neither completed nor failed"
    FAILED = "the run reported its own failure"
    REJECTED = "the stream broke the protocol, and is not trustworthy"
    TRUNCATED = "the stream ended before the run did; the run has no outcome"


_ENDINGS = {"interrupt": Ending.INTERRUPTED, "cancelled": Ending.CANCELLED}  # read-cancelled-apart


class StreamRejected(Exception):  # noqa: N818 - a sentence about the stream
    """The producer broke the protocol: this stream is read no further.

    `index` counts the events of the stream from 0, as they were fed. Each breach has the id of a requirement, what it
    asks, and what came. What was delivered before stays delivered.
    """

    def __init__(self, breaches: Sequence[Breach], index: int, event: Any) -> None:
        super().__init__(f"event {index}: " + "; ".join(map(str, breaches)))
        self.breaches = tuple(breaches)
        self.index = index
        self.event = event

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the broken requirements."""
        return tuple(breach.rule for breach in self.breaches)


@dataclass(slots=True)
class _Run:
    """What the last run of the stream said of itself."""

    ending: Ending = Ending.NOT_STARTED
    run_id: str | None = None
    protocol_version: str | None = None
    interrupts: list[dict[str, Any]] = field(default_factory=list)
    result: Any = None
    usage: list[dict[str, Any]] = field(default_factory=list)
    error: Event | None = None


class Consumer:
    """Reads one stream. `feed` costs the same per event however long it is, but for snapshots, which are folded."""

    def __init__(
        self,
        run_input: Mapping[str, Any] | None = None,
        *,
        peer: str | None = None,
        protocol: str = NEWEST,
        middleware: Iterable[Middleware] = (),
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """Start before the first event.

        Args:
            run_input: The JSON object that was or will be sent: messages, state and threadId are taken from what is
                well-formed of it.
            peer: The version that the producer is pinned to, like `0.0.39`, where it is known to be older.
            protocol: The version that this consumer speaks: what a later one added is unknown.
            middleware: Applied in this order.
            warn: Told each warning as it arises; all of them are in `warnings` as well.

        Raises:
            ValueError: `peer` is no version, or `protocol` none that is known here.
        """
        self.warnings: list[str] = []
        self._tell = warn
        self._told: set[Hashable] = set()
        self._boundary = Boundary(self._warn, None if peer is None else pinned_version(peer))
        self._middleware = tuple(middleware)
        self._enforcement = Enforcement(protocol, self._warn)
        self._protocol = protocol
        seed = {} if run_input is None else run_input_shape(protocol).remains(modernised(dict(run_input)))
        self._expander, self._machine = Expander(), Machine(thread_id=seed.get("threadId"))
        state = seed.get("state", None if run_input is None else {})
        self._conversation = Conversation(seed.get("messages", ()), state, self._warn)
        self._run = _Run()
        self._fed = 0
        self._rejected: StreamRejected | None = None
        self._is_closed = False

    # ---- what has been read ---------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """The messages of the thread, in order: the run input's, and all that came since.

        They go on changing with what is fed, and are to be read only: copy what is to be kept.
        """
        return self._conversation.messages

    @property
    def state(self) -> Any:
        """The state of the thread, any JSON value. It goes on changing, and is to be read only, as `messages`."""
        return self._conversation.state

    @property
    def ending(self) -> Ending:
        """How the last run ended."""
        return Ending.REJECTED if self._rejected is not None else self._run.ending

    @property
    def run_id(self) -> str | None:
        """The runId of the last run."""
        return self._run.run_id

    @property
    def protocol_version(self) -> str | None:
        """The version that the producer declares for the last run; None for one from before 1.0."""
        return self._run.protocol_version

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        """The interrupts that the last run ended with: the next run input answers or abandons each of them."""
        return self._run.interrupts

    @property
    def pending_tool_calls(self) -> list[str]:
        """The calls that the last run started and did not answer, in the order they were made.

        They follow from the stream, whether the producer lists them or not: no list does not mean that nothing is
        pending, and a wrong one is warned about.
        """
        return [call for call, is_answered in self._machine.calls.items() if not is_answered]

    @property
    def result(self) -> Any:
        """The return value of the last run; None where it has none."""
        return self._run.result

    @property
    def usage(self) -> list[dict[str, Any]]:
        """The token usage of the last run, one entry per provider and model. An absent count is unknown, not zero."""
        return self._run.usage

    @property
    def error(self) -> Event | None:
        """The RUN_ERROR of the last run, if it failed."""
        return self._run.error

    # ---- reading --------------------------------------------------------------------------------

    def read(self, events: Iterable[Any]) -> Iterator[Event]:
        """Feed all events, give what the application gets, and close: at their end, or where the reader leaves.

        Raises:
            StreamRejected: As `feed`.
        """
        try:
            for event in events:
                yield from self.feed(event)
        finally:
            self.close()

    def feed(self, event: Any) -> list[Event]:
        """Take the next event, a JSON value as it came, and return what the application gets of it.

        What it gets are whole items without unknown material. They may share their parts with what was fed.

        Raises:
            StreamRejected: The stream broke the protocol, with this event or an earlier one.
            RuntimeError: The stream was closed.
        """
        if self._rejected is not None:
            raise self._rejected
        if self._is_closed:
            raise RuntimeError("the stream is closed: each stream needs a Consumer of its own")
        delivered: list[Event] = []
        seen = list(self._boundary(event))
        for middleware in self._middleware:
            seen = [after for before in seen for after in middleware(before)]
        for each in seen:
            delivered += self._take(each)
        self._fed += 1
        return delivered

    def close(self) -> Ending:
        """Take the end of the stream, wanted or not. A run that is not over is truncated. (read-truncated)"""
        self._is_closed = True
        if self._run.ending in (Ending.NOT_STARTED, Ending.RUNNING):
            self._run.ending = Ending.TRUNCATED
        return self.ending

    def _take(self, event: Any) -> list[Event]:
        try:
            known = self._enforcement.event(event)
        except Malformed as error:
            self._reject(error.breaches, event)
        if known is None:
            return []
        whole, breaches = self._expander.feed(known)
        self._judge(breaches, known)
        for each in whole:
            self._judge(self._machine.feed(each), each)
        for each in whole:
            self._conversation.apply(each)
            if each["type"] in _RUN_EVENTS:
                _RUN_EVENTS[each["type"]](self, each)
        return whole

    def _judge(self, breaches: Sequence[Breach], event: Event) -> None:
        fatal = [one for one in breaches if not self._is_tolerated(one, event)]
        if fatal:
            self._reject(fatal, event)
        for one in breaches:
            if one.rule != "activity-baseline":
                self._warn(f"{event['type']}: {one}")

    def _is_tolerated(self, breach: Breach, event: Event) -> bool:
        if breach.rule == "reopen-agrees":  # what was established stands, but an owner's content is nobody else's
            return not self._is_of_another_owner(event)
        return (breach.rule, event["type"]) in TOLERATED

    def _is_of_another_owner(self, start: Event) -> bool:
        _, family = ITEMS[start["type"]]
        established = self._machine.items[family][start[KEYS[family]]].owner
        if "subagentRunId" in start:
            return bool(start["subagentRunId"] != established)
        parent = self._machine.items[TEXT].get(start.get("parentMessageId"))
        return parent is not None and parent.owner != established

    def _reject(self, breaches: Sequence[Breach], event: Any) -> NoReturn:
        self._rejected = StreamRejected(breaches, self._fed, event)
        raise self._rejected from None

    def _warn(self, what: str, key: Hashable = None) -> None:
        """Say it; what has a key is said once."""
        if key is not None:
            if key in self._told:
                return
            self._told.add(key)
        sentence = f"event {self._fed}: {what}"
        self.warnings.append(sentence)
        if self._tell is not None:
            self._tell(sentence)

    # ---- runs -----------------------------------------------------------------------------------

    def _run_started(self, event: Event) -> None:
        declared = event.get("protocolVersion")
        self._run = _Run(Ending.RUNNING, event["runId"], declared)
        if declared is None:
            return
        version = declared_version(declared)
        if version is None:
            self._warn(f"protocolVersion {declared!r} is not MAJOR.MINOR; read as AG-UI {self._protocol}")
        elif version > pinned_version(self._protocol):
            self._warn(f"the producer speaks AG-UI {declared}; what it adds to {self._protocol} is left out")

    def _run_finished(self, event: Event) -> None:
        outcome = event.get("outcome", {})
        self._run.ending = _ENDINGS.get(outcome.get("type"), Ending.SUCCEEDED)
        self._run.interrupts = outcome.get("interrupts", [])
        self._run.result = event.get("result")
        self._run.usage = event.get("usage", [])

    def _run_failed(self, event: Event) -> None:
        """Also after RUN_FINISHED: then the failure surfaced late, and the run has failed all the same."""
        self._run.ending, self._run.error = Ending.FAILED, event
        self._run.usage = event.get("usage", self._run.usage)


_RUN_EVENTS: dict[str, Callable[[Consumer, Event], None]] = {
    "RUN_STARTED": Consumer._run_started,  # noqa: SLF001 - a table of the consumer's own methods
    "RUN_FINISHED": Consumer._run_finished,  # noqa: SLF001
    "RUN_ERROR": Consumer._run_failed,  # noqa: SLF001
}
