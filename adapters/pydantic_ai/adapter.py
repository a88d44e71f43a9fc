"""Runs a PydanticAI agent, node by node.

`agent.iter` is the source: it hands over the agent's events in the task that asks for them, at two thirds of the cost
of `run_stream_events`, which passes them between two tasks.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from ag_ui.core import AgentCapabilities, MessagesSnapshotEvent, RunAgentInput
from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AgentCapability, ReinjectSystemPrompt
from pydantic_ai.exceptions import RunCancelled, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.run import AgentRun
from pydantic_ai.usage import UsageLimits

from adapters.base import AdapterError, Cancelled, Interrupted, Outcome, RunContext, Step, Success
from adapters.frontend import refuse_taken_names
from adapters.pydantic_ai.capabilities import capabilities_of
from adapters.pydantic_ai.dependencies import Dependencies, DepsFactory, SharedState
from adapters.pydantic_ai.failures import EXPLAINED, explained
from adapters.pydantic_ai.files import UsableFiles
from adapters.pydantic_ai.frontend import frontend_toolsets, tool_names
from adapters.pydantic_ai.history import Trust, load_messages, refuse_private, user_content, with_context
from adapters.pydantic_ai.resume import Resumption, resume
from adapters.pydantic_ai.turn import Turn
from adapters.pydantic_ai.usage import Ledger

NOTHING_TRUSTED = Trust()


class PydanticAI:
    """Serves one `pydantic_ai.Agent`."""

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        *,
        deps_factory: DepsFactory | None = None,
        model: Model | str | None = None,
        trust: Trust = NOTHING_TRUSTED,
        usage_limits: UsageLimits | None = None,
        timeout: float | None = None,
    ) -> None:
        """Take the agent as its author made it.

        Args:
            agent: The agent.
            deps_factory: Makes the dependencies of each run. Not needed where their type can be made without
                arguments: `StateDeps`, a dataclass or model with defaults, none.
            model: Used in the place of the agent's own.
            trust: What clients may do.
            usage_limits: A run that reaches one ends as cancelled.
            timeout: How long a run may take, in seconds; then it ends as cancelled.

        Raises:
            NoAdapter: The agent's dependencies take a factory, and there is none.
        """
        self._agent = agent
        self._dependencies = Dependencies(agent, deps_factory)
        self._options: dict[str, Any] = {
            "deps_factory": deps_factory,
            "model": model,
            "trust": trust,
            "usage_limits": usage_limits,
            "timeout": timeout,
        }
        self._model = model
        self._trust = trust
        self._limits = usage_limits
        self._timeout = timeout

    def with_model(self, model: str) -> "PydanticAI":
        """Return the same agent with another model, such as `openai:gpt-5`.

        Raises:
            Exception: PydanticAI knows no such model, or lacks its package or its key; its text says which.
        """
        return PydanticAI(self._agent, **{**self._options, "model": infer_model(model)})

    def capabilities(self) -> AgentCapabilities:
        """What follows from the agent."""
        return capabilities_of(self._agent, self._model, has_state=self._dependencies.state_type is not None)

    def admit(self, run_input: RunAgentInput) -> None:
        """Refuse what no run can be made of.

        Raises:
            InputRefused: A tool's name is taken, the state is none of the agent's, or a URL leads to a private address.
        """
        refuse_taken_names(tool_names(self._agent), run_input.tools)
        self._dependencies.admit(run_input.state)
        refuse_private(run_input.messages, self._trust)

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Run the agent on the input's history and yield what it does.

        Raises:
            AdapterError: There is nothing to answer (`no_messages`), an answer does not fit (`invalid_resume`), the
                state does not (`invalid_state`), a tool's name is taken (`tool_name_taken`), or the model's provider
                failed (`model_error`).
        """
        resumption = resume(run)
        if resumption.restated is not None:
            yield MessagesSnapshotEvent(messages=resumption.restated)
        if resumption.is_partial and not resumption.answers:
            yield _left_open(resumption)
            return
        ledger = Ledger(run.spent)
        try:
            deps = await self._dependencies.of(run)
            state = SharedState(deps, run)
            for snapshot in state.now():
                yield snapshot
            async for step in self._steps(run, resumption, state, ledger):
                yield step
        except (UsageLimitExceeded, RunCancelled) as stopped:
            yield Cancelled(str(stopped).partition(". ")[0])
        except EXPLAINED as error:
            told = explained(error, run.input.tools)
            if told is None:
                raise
            raise told from error
        finally:
            ledger.close()

    async def _steps(
        self, run: RunContext, resumption: Resumption, state: SharedState, ledger: Ledger
    ) -> AsyncGenerator[Step, None]:
        async with self._start(run, resumption, state.deps) as agent_run:
            ledger.agent_run = agent_run
            turn = Turn(run, agent_run, resumption, state, ledger)
            async for node in agent_run:
                if Agent.is_model_request_node(node):
                    response = turn.response()
                    async with node.stream(agent_run.ctx) as events:
                        async for event in events:
                            for step in response.read(event):
                                yield step
                    for step in response.end():
                        yield step
                elif Agent.is_call_tools_node(node):
                    async for step in turn.tools(node):
                        yield step
                    if turn.is_over:
                        break
        for snapshot in state.now():
            yield snapshot
        yield turn.outcome()

    def _start(
        self, run: RunContext, resumption: Resumption, deps: Any
    ) -> AbstractAsyncContextManager[AgentRun[Any, Any]]:
        answers = resumption.answers
        return self._agent.iter(
            user_content(resumption.conversation.later, trust=self._trust, warn=run.warn) if answers else None,
            message_history=self._history(run, resumption),
            deferred_tool_results=resumption.results if answers else None,
            conversation_id=run.input.thread_id,
            model=self._model,
            deps=deps,
            usage_limits=self._limits,
            timeout=self._timeout,
            toolsets=frontend_toolsets(run.input.tools),
            capabilities=[UsableFiles(run.warn), *self._own_prompt()],
            infer_name=False,
        )

    def _own_prompt(self) -> Iterable[AgentCapability[Any]]:
        """Make the agent's system prompt the only one: the client's history has none, or one of its own."""
        if not self._trust.system_messages:
            yield ReinjectSystemPrompt(replace_existing=True, id=None)

    def _history(self, run: RunContext, resumption: Resumption) -> list[ModelMessage]:
        """What the model gets to see, the open calls last.

        Raises:
            AdapterError: That is nothing (`no_messages`).
        """
        conversation = resumption.conversation
        history = load_messages(
            self._agent,
            conversation.messages if resumption.answers else [*conversation.messages, *conversation.later],
            trust=self._trust,
            warn=run.warn,
            keep_calls=[call.id for call in conversation.open_calls],
        )
        if not history:
            raise AdapterError("The run input has no messages to answer.", "no_messages")
        answered = {*resumption.results.approvals, *resumption.results.calls}
        left = [call for call in conversation.open_calls if call.id not in answered]
        if left:  # to the agent they look answered, and the run ends before its model would see that
            history.append(ModelRequest([ToolReturnPart(call.function.name, "", call.id) for call in left]))
        return with_context(history, run.input.context or [])


def _left_open(resumption: Resumption) -> Outcome:
    """How a run ends that can do nothing yet: what it waits for is still to come."""
    return Interrupted(resumption.uncovered) if resumption.uncovered else Success()
