"""What an adapter is: an object with `capabilities()` and `run(run)`, and the steps that `run` yields.

It may have two methods more: `admit(run_input)` refuses what its agent cannot take, before any stream; and
`with_model(model)` makes the same agent with another model.

An adapter says what happened. Identifiers, opening and closing of items, state patches, pending calls, usage totals,
outcomes, versions and encoding are the server's. The whole of a small adapter:

    class Hello:
        def capabilities(self):
            return AgentCapabilities()

        async def run(self, run):
            yield Text("Hello")

An adapter object serves many runs at once: nothing of a run is kept on it.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ag_ui.core import AgentCapabilities, BaseEvent, Interrupt, ResumeEntry, RunAgentInput

from conformance.shapes import pointer


class AdapterError(Exception):
    """A failure of the run with a message that its user may read.

    Any other exception is reported to the user without its text. `code` is stable and machine-readable.
    """

    def __init__(self, message: str, code: str = "agent_error") -> None:
        super().__init__(message)
        self.code = code


class ResumeRefused(AdapterError):  # noqa: N818 - a sentence about the answer
    """An answer does not fit what it answers. Nothing was performed, and what was asked stays open."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "invalid_resume")


class InputRefused(Exception):  # noqa: N818 - a sentence about the input
    """A run input that this agent cannot take: its client is told before any stream opens.

    `path` leads to what is at fault, as `("messages", 3, "content")`: fields by their names on the wire, members of
    lists by their place. `expected` and `found` are phrases for the client's developer. `code` is stable and
    machine-readable.
    """

    def __init__(self, path: tuple[str | int, ...], expected: str, found: str, code: str = "invalid_input") -> None:
        super().__init__(f"{pointer(path) or 'the run input'}: expected {expected}, found {found}")
        self.path = path
        self.expected = expected
        self.found = found
        self.code = code


# ---- what a run yields ----------------------------------------------------------------------------
# Plain classes with slots: one comes per token, and an event model costs ten times as much.


class Text:
    """A piece of an assistant message's text.

    Without an `id` it continues the message of its owner, or begins one. `subagent` is the invocation that wrote it.
    """

    __slots__ = ("delta", "id", "subagent")

    def __init__(self, delta: str, id: str | None = None, subagent: str | None = None) -> None:  # noqa: A002
        self.delta = delta
        self.id = id
        self.subagent = subagent


class Reasoning:
    """A piece of the model's reasoning. Identified as `Text` is."""

    __slots__ = ("delta", "id", "subagent")

    def __init__(self, delta: str, id: str | None = None, subagent: str | None = None) -> None:  # noqa: A002
        self.delta = delta
        self.id = id
        self.subagent = subagent


class ToolCall:
    """A tool call, or a piece of its arguments.

    A `name` begins a call where its `id` names none that is open; a missing `id` is made up. Without either it
    continues the last call of its owner. `parent` is the assistant message that holds the call, if not the current.
    """

    __slots__ = ("delta", "id", "name", "parent", "subagent")

    def __init__(
        self,
        delta: str = "",
        id: str | None = None,  # noqa: A002
        name: str | None = None,
        parent: str | None = None,
        subagent: str | None = None,
    ) -> None:
        self.delta = delta
        self.id = id
        self.name = name
        self.parent = parent
        self.subagent = subagent


@dataclass(frozen=True, slots=True)
class Success:
    """The run completed. `result` is any value that JSON can hold."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run asks for something from outside: at least one interrupt."""

    interrupts: Sequence[Interrupt]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was stopped before it completed, by a person or by a limit. `reason` is for the reader of the log."""

    reason: str


Outcome: TypeAlias = Success | Interrupted | Cancelled
"""How a run ended. An adapter yields at most one, at its end; none means success without a result."""

Step: TypeAlias = Text | Reasoning | ToolCall | Outcome | BaseEvent
"""What an adapter yields.

Of `ag_ui.core`'s events all but RUN_STARTED, RUN_FINISHED and RUN_ERROR: results of tools, STATE_SNAPSHOT with the
whole state whenever it may have changed, steps, activities, subagents, MESSAGES_SNAPSHOT, CUSTOM, RAW. Start, content
and end events and chunks of items are taken too; an end event closes what the adapter named.
"""


# ---- what a run is given --------------------------------------------------------------------------


class Cancellation(Protocol):
    """Tells whether the run is being stopped; `asyncio.Event` is one."""

    def is_set(self) -> bool:
        """Say whether the run is being stopped."""

    async def wait(self) -> Any:
        """Wait until it is."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model call cost, in tokens. None means that the provider did not say.

    `input_tokens` counts everything read, caches included; `output_tokens` everything written, reasoning included;
    the other three are parts of them. Source: events/lifecycle#token-usage
    """

    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


def _untold(call: ModelUsage) -> None:
    """What a run costs that nobody asks."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run, as its adapter sees it."""

    input: RunAgentInput
    """The run input, without unknown material."""
    cancelled: Cancellation
    """The run's stop. The adapter's task is cancelled as well: only work outside of it has to look here."""
    ids: Callable[[], str]
    """A new identifier, unique in the thread, at each call."""
    clock: Callable[[], datetime]
    """The time now, aware of its zone."""
    warn: Callable[[str], None]
    """Tell the operator of something that was left out or repaired, in one sentence."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The request's headers, names in lower case. They are the caller's claims, not facts."""
    spent: Callable[[ModelUsage], None] = _untold
    """Tell what a model call cost, as soon as it is known, from anywhere in the run and any thread.

    Every ending carries what was told, also that of a run that is cancelled or fails. Once the run has ended it does
    nothing.
    """
    asked: Mapping[str, Interrupt] = field(default_factory=dict)
    """The interrupts that were open on the thread when the run began, by id, as the adapter made them.

    Their tool calls go by the ids that travelled, which are those of the history. Whatever else an input answers was
    raised elsewhere, or by nobody: what needs consent is performed only for an interrupt that stands here. One that
    this run answers is open for no other run, unless this one ends with `ResumeRefused`.
    """

    @property
    def answers(self) -> dict[str, ResumeEntry]:
        """What the client answers, by interrupt id; of several answers to one interrupt, the last."""
        return {entry.interrupt_id: entry for entry in self.input.resume or ()}


@runtime_checkable
class Adapter(Protocol):
    """An agent, ready to be served."""

    def capabilities(self) -> AgentCapabilities:
        """Declare what the agent does; what is declared holds."""

    def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Run once and yield what happens.

        An asynchronous generator, so that it can be closed. It is entered, cancelled and left in one task.

        Raises:
            AdapterError: With a message that the user may read. Any other exception hides its text.
        """


@runtime_checkable
class Admits(Protocol):
    """An adapter that looks at a run input before its stream opens. Optional."""

    def admit(self, run_input: RunAgentInput) -> None:
        """Refuse an input that the agent could only fail on. It is pure, and quick.

        Other streams wait for it, except for that of a large input, which is looked at in a thread.

        Raises:
            InputRefused: The client is told where the fault is. Anything else is a fault of the adapter: the client
                is told of it without its text.
        """


@runtime_checkable
class TakesModel(Protocol):
    """An adapter whose agent can be served with another model. Optional."""

    def with_model(self, model: str) -> Adapter:
        """Make the adapter that asks `model`, named `provider:name`; this one stays as it is.

        Raises:
            Exception: There is no such model, or it cannot be asked here; the text says what to do.
        """
