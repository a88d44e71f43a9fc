"""What an agent depends on, for one run: where it comes from, and the state in it that is shared with the consumer."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin, get_type_hints

from ag_ui.core import StateSnapshotEvent
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.ui import StateDeps

from adapters.base import AdapterError, InputRefused, RunContext
from adapters.detect import NoAdapter
from conformance.json_values import json_value
from conformance.shapes import describe

DepsFactory = Callable[[RunContext], Any]
"""Makes the dependencies of one run, or a coroutine that gives them. `run.headers` are the caller's claims."""


class Dependencies:
    """Makes the dependencies of each run of one agent."""

    def __init__(self, agent: AbstractAgent[Any, Any], factory: DepsFactory | None) -> None:
        """Take the factory, or find one that needs no more than the agent's `deps_type`.

        Raises:
            NoAdapter: Only its author can make what the agent depends on.
        """
        self.state_type = _state_type(agent.deps_type)
        """The type of the shared state; None where there is none, or the type of the dependencies does not say."""
        self._factory = factory or _own_factory(agent.deps_type)

    def admit(self, state: Any) -> None:
        """Refuse a state that the agent's does not take.

        Raises:
            InputRefused: With the path of the first misfit.
        """
        if self.state_type is not None and state is not None:
            read_state(self.state_type, state)

    async def of(self, run: RunContext) -> Any:
        """Make the dependencies of a run, with the state of its input in them.

        Raises:
            AdapterError: The state does not fit (`invalid_state`), and only the dependencies could tell.
        """
        state = run.input.state
        try:
            made = self._factory(run)
            deps = await made if inspect.isawaitable(made) else made
            if has_state(deps) and state is not None:
                deps.state = read_state(self.state_type or type(deps.state), state)
        except InputRefused as refused:
            raise AdapterError(str(refused), "invalid_state") from None
        if state and not has_state(deps):
            run.warn("the run input has a state, but the agent's dependencies have none: it stays as it is")
        return deps


class SharedState:
    """The state in the dependencies of one run, and what the consumer's state has that the agent's does not know."""

    def __init__(self, deps: Any, run: RunContext) -> None:
        """Take the dependencies of a run."""
        self.deps = deps
        self._warn = run.warn
        given = run.input.state if isinstance(run.input.state, dict) else {}
        document = self._document() if given and has_state(deps) else None
        self._more = {key: given[key] for key in given if key not in document} if isinstance(document, dict) else {}

    def now(self) -> Iterator[StateSnapshotEvent]:
        """Give the state as it is, whole: what of it the consumer lacks is the server's to find out."""
        if has_state(self.deps):
            document = self._document()
            yield StateSnapshotEvent(snapshot={**self._more, **document} if self._more else document)

    def _document(self) -> Any:
        return json_value(self.deps.state, self._warn, "the state")


def has_state(deps: Any) -> bool:
    """Say whether dependencies hold a state."""
    return deps is not None and hasattr(deps, "state")


def read_state(kind: Any, state: Any) -> Any:
    """Read a state of the given type.

    Raises:
        InputRefused: It is none; the path is that in the run input.
    """
    try:
        return TypeAdapter(kind).validate_python(state)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        expected = f"what the agent's state takes ({first['msg']})"
        raise InputRefused(("state", *first["loc"]), expected, describe(first["input"])) from None


def _own_factory(deps_type: Any) -> DepsFactory:
    if deps_type in (object, type(None)):  # the agent says nothing, or that it needs none
        return lambda _: None
    if get_origin(deps_type) is StateDeps:
        kind = get_args(deps_type)[0]
        return lambda run: StateDeps(read_state(kind, {} if run.input.state is None else run.input.state))
    if _needs_nothing(deps_type):
        return lambda _: deps_type()
    name = getattr(deps_type, "__name__", deps_type)
    raise NoAdapter(
        f"the agent depends on {name}; name an object PydanticAI(agent, deps_factory=...) of adapters.pydantic_ai, "
        "whose factory makes one for each run"
    )


def _needs_nothing(deps_type: Any) -> bool:
    """Say whether a type can be made without arguments."""
    if isinstance(deps_type, type) and issubclass(deps_type, BaseModel):
        return not any(info.is_required() for info in deps_type.model_fields.values())
    if dataclasses.is_dataclass(deps_type):
        missing = dataclasses.MISSING
        fields = [field for field in dataclasses.fields(deps_type) if field.init]
        return all(field.default is not missing or field.default_factory is not missing for field in fields)
    return False


def _state_type(deps_type: Any) -> Any:
    if get_origin(deps_type) is StateDeps:
        return get_args(deps_type)[0]
    try:
        return get_type_hints(deps_type).get("state") if isinstance(deps_type, type) else None
    except (NameError, TypeError):  # an annotation that only its own module can read
        return None
