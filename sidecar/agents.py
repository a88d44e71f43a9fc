"""The agents of one server, by name; the first is the default. And where they come from: `name=module:object`."""

import importlib
import inspect
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from adapters.base import Adapter, RunContext, TakesModel
from adapters.detect import NoAdapter, adapter_for
from sidecar.errors import ConfigurationError, UnknownAgent

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

EXTRAS = {"pydantic_ai": "pydantic-ai", "langgraph": "langgraph", "langchain": "langgraph"}
"""The extra of this package that brings a module."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent as it is served."""

    name: str
    adapter: Adapter


@dataclass(frozen=True, slots=True)
class Opening:
    """An agent that is there only while the server runs, such as a graph whose checkpointer holds a connection.

    It comes from a function that `contextlib.asynccontextmanager` made: what that yields is the agent.
    """

    name: str
    target: str
    enter: Callable[[], AbstractAsyncContextManager[Any]]
    model: str | None

    def capabilities(self) -> NoReturn:
        """Raise: nobody asks before it is open."""
        raise RuntimeError(f"agent {self.name!r} is not open")

    def run(self, run: RunContext) -> NoReturn:  # noqa: ARG002 - an adapter's
        """Raise: nobody asks before it is open."""
        raise RuntimeError(f"agent {self.name!r} is not open")


class Agents:
    """All agents of one server. Those that have to be opened are so while `opened()` is entered."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        """Serve these, at least one. The first is the default.

        Raises:
            ConfigurationError: There is none, or a name cannot be part of a path.
        """
        if not adapters:
            raise ConfigurationError("there is no agent to serve; name one: agui-sidecar serve module:object")
        for name in adapters:
            if not NAME.fullmatch(name):
                raise ConfigurationError(f"agent name {name!r}: use letters, digits, '.', '_' and '-', at most 64")
        self._agents = {name: Agent(name, adapter) for name, adapter in adapters.items()}

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None, None]:
        """Open the agents that have to be, the first first, and close them again in the other order.

        Raises:
            ConfigurationError: One cannot be opened, or is none.
        """
        async with AsyncExitStack() as stack:
            for agent in list(self):
                opening = agent.adapter
                if isinstance(opening, Opening):
                    found = await stack.enter_async_context(_told(opening))
                    adapter = _asking(opening.model, agent.name, _adapter(found, opening.target))
                    self._agents[agent.name] = Agent(agent.name, adapter)
            yield

    @property
    def default(self) -> Agent:
        """The agent at `/`."""
        return next(iter(self))

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents.values())

    def get(self, name: str | None) -> Agent:
        """The agent of a name; without one, the default.

        Raises:
            UnknownAgent: None is called so.
        """
        if name is None:
            return self.default
        if name not in self._agents:
            raise UnknownAgent(name, list(self._agents))
        return self._agents[name]


def load_agents(
    targets: Mapping[str, str], model: str | None = None, models: Mapping[str, str] = MappingProxyType({})
) -> Agents:
    """Import the agents that `targets` names.

    Args:
        targets: Where they are: `{"support": "my_module:agent"}`.
        model: What all of them ask instead of their own model: `"openai:gpt-5.2"`.
        models: What single ones ask, by their names.

    Raises:
        ConfigurationError: One cannot be imported, is no agent, or cannot ask that model.
    """
    for name in models:
        if targets and name not in targets:
            raise ConfigurationError(f"models: no agent is called {name!r}; this server has {', '.join(targets)}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return Agents({name: _agent(name, target, models.get(name, model)) for name, target in targets.items()})


def name_targets(arguments: list[str]) -> dict[str, str]:
    """Read the arguments of `serve`: `module:object`, which is named after the object, or `name=module:object`.

    Raises:
        ConfigurationError: Two agents have one name.
    """
    named: dict[str, str] = {}
    for argument in arguments:
        name, equals, target = argument.rpartition("=")
        name = name if equals else target.rpartition(":")[2].rpartition(".")[2]
        if name in named:
            raise ConfigurationError(f"two agents are called {name!r}; name them: NAME={target}")
        named[name] = target
    return named


def _agent(name: str, target: str, model: str | None) -> Adapter:
    found = _load(target)
    opens = inspect.isfunction(found) and inspect.isasyncgenfunction(getattr(found, "__wrapped__", None))
    return Opening(name, target, found, model) if opens else _asking(model, name, _adapter(found, target))


@asynccontextmanager
async def _told(opening: Opening) -> AsyncGenerator[Any, None]:
    """Open an agent; what goes wrong is the operator's to read."""
    try:
        entered = opening.enter()
        found = await entered.__aenter__()
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{opening.target!r}: opening it failed: {type(error).__name__}: {reason}") from error
    try:
        yield found
    finally:
        await entered.__aexit__(None, None, None)


def _load(target: str) -> Any:
    module_name, colon, attribute = target.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigurationError(f"{target!r} names no agent; write module:object, for example my_module:agent")
    found: Any = _import(module_name, target)
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = ", ".join(sorted(name for name in vars(found) if not name.startswith("_"))[:10])
            raise ConfigurationError(f"{target!r}: {module_name} has no {part!r}; it has {names or 'nothing'}")
        found = getattr(found, part)
    return found


def _adapter(found: Any, target: str) -> Adapter:
    try:
        return adapter_for(found)
    except NoAdapter as error:
        raise ConfigurationError(f"{target!r}: {error}") from None


def _asking(model: str | None, name: str, adapter: Adapter) -> Adapter:
    """The same agent, asking `model` if there is one."""
    if model is None:
        return adapter
    if not isinstance(adapter, TakesModel):
        kind = type(adapter).__name__
        raise ConfigurationError(
            f"model {model!r}: agent {name!r} ({kind}) has a model of its own, or none, and takes no other; "
            f"leave --model out and name the agents that do under [models] in sidecar.toml"
        )
    try:
        return adapter.with_model(model)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"model {model!r} of agent {name!r}: {type(error).__name__}: {reason}") from error


def _import(module_name: str, target: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if missing == module_name or module_name.startswith(missing + "."):
            raise ConfigurationError(f"{target!r}: there is no module {missing!r} here or in the environment") from None
        extra = EXTRAS.get(missing.partition(".")[0])
        hint = f"pip install 'agui-sidecar[{extra}]'" if extra else f"pip install {missing}"
        raise ConfigurationError(f"{target!r}: {module_name} needs {missing!r}; install it: {hint}") from None
    except Exception as error:
        raise ConfigurationError(f"{target!r}: importing it failed with {type(error).__name__}: {error}") from error
