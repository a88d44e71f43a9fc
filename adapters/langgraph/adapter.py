"""Runs a compiled LangGraph graph on a thread of its checkpointer."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from ag_ui.core import AgentCapabilities, MessagesSnapshotEvent, RunAgentInput
from langchain_core.messages import BaseMessage
from langgraph.errors import GraphRecursionError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from adapters.base import AdapterError, Cancelled, InputRefused, Interrupted, Outcome, RunContext, Step, Success
from adapters.frontend import refuse_taken_names
from adapters.langgraph.breakpoints import Graph, abandon
from adapters.langgraph.capabilities import capabilities_of
from adapters.langgraph.checkpoint import Place, forked, place_of
from adapters.langgraph.frontend import CONFIG_KEY, configured, tool_names
from adapters.langgraph.history import fork_point, new_messages, to_langchain, whole_history
from adapters.langgraph.resume import Resumption, ask, refused, resume
from adapters.langgraph.source import parts_of
from adapters.langgraph.state import SharedState
from adapters.langgraph.translate import Translator
from adapters.langgraph.usage import Meter
from adapters.media import Trust, refuse_private

Config: TypeAlias = Any
"""LangChain's `RunnableConfig`, with whatever an author puts in."""

NO_CHECKPOINTER = "no_checkpointer"
NOTHING_TRUSTED = Trust()

WAIT_FOR_THREAD = 5.0
"""How long a run waits for the one before it on its thread, in seconds: one whose client just left is ending."""


class LangGraph:
    """Serves one compiled graph, or one functional entrypoint."""

    def __init__(
        self,
        graph: Graph,
        *,
        config: Callable[[RunContext], Mapping[str, Any]] | None = None,
        context: Callable[[RunContext], Any] | None = None,
        hidden: Collection[str] = (),
        edits: Literal["ignore", "fork"] = "ignore",
        steps: bool = True,
        subagents: bool = True,
        trust: Trust = NOTHING_TRUSTED,
    ) -> None:
        """Take the graph as its author compiled it.

        Args:
            graph: The graph.
            config: Gives the configuration of each run, such as `{"configurable": {...}, "recursion_limit": 50}`. The
                thread and its checkpoints are the server's to say, and a client's words get in only through this.
            context: Gives the graph's runtime context of each run.
            hidden: Keys of the state that the consumer does not see.
            edits: What a client's history means that lacks or changes messages of the checkpoint: nothing, or that the
                thread goes on from before them.
            steps: Tell when nodes start and finish.
            subagents: Attribute what graphs within the graph do to subagents.
            trust: What clients may do.
        """
        self._graph = graph
        self._config = config
        self._context = context
        self._edits = edits
        self._steps = steps
        self._subagents = subagents
        self._trust = trust
        self._state = SharedState(graph, hidden=hidden)
        self._tools = tool_names(graph)
        self._has_breakpoints = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes)
        self._takes_messages = self._state.takes_messages
        self._threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def capabilities(self) -> AgentCapabilities:
        """What follows from the graph."""
        return capabilities_of(self._graph, has_state=self._state.is_shared, subagents=self._subagents)

    def admit(self, run_input: RunAgentInput) -> None:
        """Refuse what no run can be made of.

        Raises:
            InputRefused: The state is none of the graph's, a tool's name is taken, a URL leads to a private address,
                or there are answers to a graph that cannot have asked.
        """
        refuse_taken_names(self._tools or (), run_input.tools)
        refuse_private(run_input.messages, self._trust)
        self._state.admit(run_input.state)
        if run_input.resume and not self._graph.checkpointer:
            expected = "no answers: the graph has no checkpointer, so that nothing is open"
            raise InputRefused(("resume",), expected, f"a list of {len(run_input.resume)}", NO_CHECKPOINTER)

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Run the graph on its thread and yield what it does.

        Raises:
            AdapterError: Another run is on the thread (`thread_is_busy`), the graph asks and has no checkpointer
                (`no_checkpointer`), or an answer does not fit (`invalid_resume`).
        """
        async with self._alone_on(run.input.thread_id):
            try:
                async for step in self._steps_of(run):
                    yield step
            except GraphRecursionError as limit:
                yield Cancelled(str(limit).partition("\n")[0])
            except Exception as error:
                told = refused(error)
                if told is None:
                    raise
                raise told from error

    @asynccontextmanager
    async def _alone_on(self, thread: str) -> AsyncGenerator[None, None]:
        """Have the thread alone: of two runs at once one would be lost."""
        lock = self._threads.get(thread)
        if lock is None:
            lock = self._threads[thread] = asyncio.Lock()
        try:
            async with asyncio.timeout(WAIT_FOR_THREAD):
                await lock.acquire()
        except TimeoutError:
            raise AdapterError("Another run is on this thread.", "thread_is_busy") from None
        try:
            yield
        finally:
            lock.release()

    async def _steps_of(self, run: RunContext) -> AsyncGenerator[Step, None]:
        meter = Meter(run.spent)
        config = self._configured(run, meter)
        place = await place_of(self._graph, config)
        own = config["configurable"][CONFIG_KEY] = configured(run.input, place.interrupts)
        resumption = resume(run, place.interrupts, place.breakpoints, place.step, place.messages, trust=self._trust)
        if resumption.restated is not None:
            yield MessagesSnapshotEvent(messages=resumption.restated)
        if not resumption.goes_on:
            yield Interrupted(resumption.uncovered) if resumption.uncovered else Success()
            return
        if resumption.is_abandoned:
            await abandon(self._graph, config)
        payloads, config = await self._payloads(run, resumption, place, config)
        beside = self._state.beside(run.input.state)

        def shown(values: Any) -> Any:
            own = self._state.shown(values)
            return {**beside, **own} if own is not None and beside else own

        translator = Translator(
            held={message.id for message in run.input.messages},
            calls=place.calls(run.input.messages),
            is_silent=meter.is_silent,
            shown=shown,
            returned=self._returned,
            steps=self._steps,
            subagents=self._subagents,
        )
        context = self._context(run) if self._context is not None else None
        for number, payload in enumerate(payloads):
            if number and (translator.asked or (await place_of(self._graph, config)).breakpoints):
                run.warn("what the client said beside its answers is left out: the graph asks for something again")
                break
            async for part in parts_of(self._graph, payload, config, context):
                for step in translator.read(part):
                    yield step
        if run.input.tools and not own["offered"]:
            run.warn("the run input has tools, but the graph offers its model none of them")
        yield await self._outcome(config, place, translator)

    def _configured(self, run: RunContext, meter: Meter) -> Config:
        """The configuration of a run. The thread and its checkpoints are never a client's to say."""
        own = dict(self._config(run)) if self._config is not None else {}
        configurable = {
            name: value
            for name, value in own.get("configurable", {}).items()
            if not name.startswith(("checkpoint_", "__pregel"))
        }
        callbacks = [*own.get("callbacks", ()), meter]
        return {**own, "configurable": {**configurable, "thread_id": run.input.thread_id}, "callbacks": callbacks}

    async def _payloads(
        self, run: RunContext, resumption: Resumption, place: Place, config: Config
    ) -> tuple[list[Any], Config]:
        """What the graph gets, one after the other, and where on its thread.

        Answers come first, and what was said beside them after that: the results of the answered calls are then where
        a model wants them. Nothing (None) is what goes on from a breakpoint.
        """
        new: list[BaseMessage] = []
        if self._takes_messages:
            new, config = await self._new(run, resumption, place, config)
        held = place if config["configurable"].get("checkpoint_id") is None else await place_of(self._graph, config)
        values: dict[str, Any] = self._state.update(run.input.state, held.values or None, run.warn)
        later = [{"messages": new}] if new else []
        if resumption.answers:
            return [Command(resume=resumption.answers, update=values or None), *later], config
        if resumption.continues:
            return [None, *later], config
        if resumption.is_abandoned:
            return [{**values, "messages": new}] if new else [], config
        return [{**values, "messages": [*place.finished, *new]} if self._takes_messages else values], config

    async def _new(
        self, run: RunContext, resumption: Resumption, place: Place, config: Config
    ) -> tuple[list[BaseMessage], Config]:
        """What of the client's history the thread lacks, and where it goes on if the client changed it."""
        if not place.messages:
            is_going_on = resumption.answers or resumption.continues  # what was said before is with what waits
            return [] if is_going_on else whole_history(resumption.messages, run.warn, trust=self._trust), config
        given, known = to_langchain(resumption.messages, run.warn, trust=self._trust), place.messages
        kept = fork_point(given, known) if self._edits == "fork" and not resumption.answers else None
        if kept is not None:
            earlier = await forked(self._graph, {"configurable": {"thread_id": run.input.thread_id}}, kept)
            config = {**config, "configurable": {**config["configurable"], **earlier["configurable"]}}
            known = known[:kept]
        new = new_messages(given, known, run.warn, closing=not resumption.answers)
        return [message for message in new if message.id not in resumption.taken], config

    def _returned(self, values: Any) -> Any:
        """The result in a graph's values: an agent's structured response, or what an entrypoint returned."""
        if not isinstance(self._graph, CompiledStateGraph):
            return values
        return values.get("structured_response") if isinstance(values, Mapping) else None

    async def _outcome(self, config: Config, before: Place, translator: Translator) -> Outcome:
        """Say how the run ended.

        The thread is read again only where something may be open: it may be long, and its checkpointer far away.

        Raises:
            AdapterError: The graph asked for something, and nothing keeps its place (`no_checkpointer`).
        """
        if not self._graph.checkpointer and translator.asked:
            raise AdapterError("The graph asks for something, and has no checkpointer to wait with.", NO_CHECKPOINTER)
        if not (before.interrupts or self._has_breakpoints or translator.asked or translator.unfinished):
            return Success(translator.result)
        place = await place_of(self._graph, _latest(config))
        asked = ask(place.interrupts, place.breakpoints, place.step, place.messages)
        return Interrupted(asked) if asked else Success(translator.result)


def _latest(config: Config) -> Config:
    """The configuration of a thread's end, wherever on it the run began."""
    configurable = {name: value for name, value in config["configurable"].items() if name != "checkpoint_id"}
    return {**config, "configurable": configurable}
