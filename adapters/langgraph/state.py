"""The state that a graph shares with its consumer: which of its keys are shown, and which a client may write.

A graph's own schemas decide. What is shown is its output schema, what may be written is what of that its input schema
has as well:

| key | shown | a client may write it |
|---|---|---|
| of the output and the input schema | yes | yes |
| of the output schema only | yes | no |
| of the input schema only | no | no |
| `messages` | no: it is the conversation | no |
| that begins with an underscore, or is named in `hidden` | no | no |
| managed, ephemeral, untracked | no: a value of one step, or of one process | no |
| `structured_response` of an agent | no: it is the run's result | no |
| whose type holds LangChain's messages | yes, each as the object of LangChain's own fields | no |
| whose type JSON cannot make | yes, as far as JSON holds it | no |

A functional entrypoint has no state between its runs: it shows nothing, and a client may write what its input type
declares.

What is written:

| the client's value | the graph |
|---|---|
| equals what the thread shows, as JSON | gets nothing, so that nothing is added twice |
| differs | gets it as a value of the key's type, in the place of its own: no reducer runs |
| is null, for a key of a typed dict or dataclass without a reducer | gets None: neither holds its values to their types |
| of a key that may not be written | keeps its own, with a warning if it differs |
| is missing | keeps its own |
| does not fit its type | is never run: `admit` refuses it |

A graph that should own a key alone has it in its output schema only. A client whose copy is old writes what is old.
"""

import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.channels import (
    AnyValue,
    BinaryOperatorAggregate,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    UntrackedValue,
)
from langgraph.channels.base import BaseChannel
from langgraph.channels.last_value import LastValueAfterFinish
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import Overwrite
from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import ReadOnly, TypedDict, is_typeddict

from adapters.base import InputRefused
from adapters.conversation import Notes
from conformance.json_values import json_value
from conformance.patch import same
from conformance.shapes import describe

_CONVERSATION = "messages"
_RESULT = "structured_response"

_PASSING = (EphemeralValue, UntrackedValue)
_REPLACED = (LastValue, LastValueAfterFinish, AnyValue)
"""Channels to which a value that is written is the new one."""
_REDUCED = (BinaryOperatorAggregate, DeltaChannel)
"""Channels that take a value as the new one where it is an `Overwrite`."""

_NOT_ITS_OWN = "Left out keys of the client's state that the graph does not let it write"


def _untold(sentence: str) -> None:
    """What nobody asks."""


class SharedState:
    """Which of a graph's values its consumer shares, by the tables above. Nothing of a run is kept on it."""

    def __init__(self, graph: Pregel[Any, Any, Any, Any], *, hidden: Collection[str] = ()) -> None:
        """Read the graph's schemas.

        Args:
            graph: A compiled graph, or a functional entrypoint.
            hidden: Keys that stay the graph's own.
        """
        channels = _channels(graph)
        inputs, outputs = _schemas(graph)
        self.takes_messages = _CONVERSATION in inputs or not inputs
        """Whether the graph's input has the conversation in it; one that declares nothing is given it."""
        own = {_CONVERSATION, *hidden, *({_RESULT} - inputs.keys())}
        self._shown = [key for key in outputs if _is_shared(key, channels, own)]
        self._reduced = {key: channel for key, channel in channels.items() if isinstance(channel, _REDUCED)}
        self._is_held_to_its_types = _is_model(_input_type(graph))
        may_write = inputs.keys() & self._shown if outputs else inputs.keys() - own
        self._writable = {
            key: kind
            for key, declared in inputs.items()
            if key in may_write and not key.startswith("_")
            if isinstance(channels.get(key), _REPLACED + _REDUCED) or not outputs
            if not _holds_messages(declared) and (kind := _reader(declared)) is not None
        }

    @property
    def is_shared(self) -> bool:
        """Whether the consumer sees anything of it."""
        return bool(self._shown)

    def admit(self, state: Any) -> None:
        """Refuse a state that the graph does not take. Where a client may write nothing, any is taken and left out.

        Raises:
            InputRefused: With the path of the first misfit.
        """
        if state is None or not self._writable:
            return
        if not isinstance(state, dict):
            raise InputRefused(("state",), "an object", describe(state))
        for key in self._writable:
            if key in state:
                self._read(key, state[key])

    def update(self, state: Any, values: Any = None, warn: Callable[[str], None] = _untold) -> dict[str, Any]:
        """Return what of a client's state goes into the graph's input.

        Args:
            state: The run input's state.
            values: What the thread holds; None for a thread without a checkpoint.
            warn: Is told which keys are left out.

        Raises:
            InputRefused: The state is not one that `admit` lets through.
        """
        self.admit(state)
        notes = Notes()
        shown = self.shown(values) or {}
        written: dict[str, Any] = {}
        for key, value in state.items() if isinstance(state, dict) else ():
            if key in shown and same(json_value(shown[key], _untold), value):
                continue
            if key not in self._writable:
                notes.note(_NOT_ITS_OWN, key)
                continue
            written[key] = self._written(key, self._read(key, value), has_value=key in shown)
        if state is not None and not isinstance(state, dict):
            warn("The run input's state is no object, and the graph takes none: it stays as it is.")
        notes.tell(warn)
        return written

    def shown(self, values: Any) -> dict[str, Any] | None:
        """Return what of the graph's values the consumer sees: the live values, not their JSON.

        Args:
            values: The graph's values, as a mapping or an object of its schema; None where there are none yet.

        Returns:
            The values by key, without those that have none; None where nothing is shared.
        """
        if not self._shown or values is None:
            return None
        if isinstance(values, Mapping):
            return {key: values[key] for key in self._shown if key in values}
        return {key: getattr(values, key) for key in self._shown if hasattr(values, key)}

    def beside(self, state: Any) -> dict[str, Any]:
        """Return what of a client's state is none of the graph's: a consumer that keeps more there keeps it."""
        return {key: value for key, value in state.items() if key not in self._shown} if isinstance(state, dict) else {}

    def _read(self, key: str, value: Any) -> Any:
        """A client's value as one of the key's type."""
        if value is None and not self._is_held_to_its_types and key not in self._reduced:
            return None
        try:
            return self._writable[key].validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            path = _path(value, first["loc"], is_missing=first["type"] == "missing")
            expected = f"what the graph's state takes ({first['msg']})"
            raise InputRefused(("state", key, *path), expected, describe(first["input"])) from None

    def _written(self, key: str, value: Any, *, has_value: bool) -> Any:
        """A value as it replaces the graph's. An empty channel of some types takes the wrapper for the value."""
        channel = self._reduced.get(key)
        return value if channel is None or not (has_value or channel.is_available()) else Overwrite(value)


# ---- schemas --------------------------------------------------------------------------------------


def _schemas(graph: Pregel[Any, Any, Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """The types of the keys of a graph's input, and the keys of its output; an entrypoint's output has none."""
    if isinstance(graph, CompiledStateGraph):
        builder = graph.builder
        declared = _fields(builder.input_schema)
        inputs = {key: declared.get(key, Any) for key in builder.schemas[builder.input_schema]}
        return inputs, list(builder.schemas[builder.output_schema])
    if isinstance(graph.input_channels, str):
        return _fields(_input_type(graph)), []
    outputs = [graph.output_channels] if isinstance(graph.output_channels, str) else list(graph.output_channels)
    return {
        key: channel.UpdateType for key, channel in _channels(graph).items() if key in graph.input_channels
    }, outputs


def _input_type(graph: Pregel[Any, Any, Any, Any]) -> Any:
    if isinstance(graph, CompiledStateGraph):
        return graph.builder.input_schema
    return _channels(graph)[graph.input_channels].UpdateType if isinstance(graph.input_channels, str) else None


def _channels(graph: Pregel[Any, Any, Any, Any]) -> dict[str, BaseChannel[Any, Any, Any]]:
    """The channels of a graph, without its managed values."""
    return {key: channel for key, channel in graph.channels.items() if isinstance(channel, BaseChannel)}


def _fields(schema: Any) -> dict[str, Any]:
    """The types of a model's, a typed dict's or a dataclass's keys; nothing of what its module does not define."""
    if _is_model(schema):
        return {key: Annotated[info.annotation, info] for key, info in schema.model_fields.items()}
    if not is_typeddict(schema) and not is_dataclass(schema):
        return {}
    try:
        return get_type_hints(schema, include_extras=True)
    except NameError:
        return {}


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _is_shared(key: str, channels: Mapping[str, BaseChannel[Any, Any, Any]], own: Collection[str]) -> bool:
    if key in own or key.startswith("_"):
        return False
    return key in channels and not isinstance(channels[key], _PASSING)


# ---- types ----------------------------------------------------------------------------------------


def _reader(declared: Any) -> TypeAdapter[Any] | None:
    """What reads a client's value of a type; None where JSON has no value of it."""
    try:
        return TypeAdapter(_open(declared))
    except PydanticSchemaGenerationError:
        return None
    except (PydanticUserError, NameError):  # a type that only its own module can read: anything may be one
        return TypeAdapter(Any)


def _open(declared: Any, inside: tuple[Any, ...] = ()) -> Any:
    """The type with its typed dicts as ones that every Python's pydantic reads, and that keep keys they do not know."""
    origin, arguments = get_origin(declared), get_args(declared)
    if is_typeddict(origin or declared):
        return _open_dict(origin or declared, inside)
    if origin in (Required, NotRequired, ReadOnly):
        return _open(arguments[0], inside)
    if origin is Annotated:
        return Annotated[_open(arguments[0], inside), *arguments[1:]]
    if origin in (Union, types.UnionType):
        return Union[tuple(_open(argument, inside) for argument in arguments)]  # noqa: UP007 - made at run time
    if origin in _CONTAINERS:
        return origin[tuple(_open(argument, inside) for argument in arguments)]
    return declared


_CONTAINERS = frozenset({list, dict, tuple, set, frozenset, Sequence, Mapping})


def _open_dict(declared: Any, inside: tuple[Any, ...]) -> Any:
    if declared in inside:
        return dict[str, Any]
    fields = {
        key: (Required if key in declared.__required_keys__ else NotRequired)[_open(hint, (*inside, declared))]
        for key, hint in get_type_hints(declared, include_extras=True).items()
    }
    return with_config(ConfigDict(extra="allow"))(TypedDict(declared.__name__, fields))  # type: ignore[operator]


def _holds_messages(declared: Any) -> bool:
    """Say whether a type is one of LangChain's messages, or holds one."""
    if isinstance(declared, type) and issubclass(declared, BaseMessage):
        return True
    return any(_holds_messages(argument) for argument in get_args(declared))


def _path(value: Any, location: tuple[int | str, ...], *, is_missing: bool) -> Iterator[int | str]:
    """What of an error's location leads into the value: it also names the members of unions."""
    for step in location:
        members = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if step in members:
            value = members[step]
            yield step
    if is_missing:
        yield location[-1]
