"""One run of an agent, on its way: what its model said last, and what waits for something from outside."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Any

from pydantic_ai import DeferredToolRequests
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    DeferredToolRequestsEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelResponse,
    ToolCallPart,
)

from adapters.base import Interrupted, Outcome, ResumeRefused, RunContext, Step, Success
from adapters.pydantic_ai.claims import native_id
from adapters.pydantic_ai.dependencies import SharedState
from adapters.pydantic_ai.resume import Resumption, interrupts
from adapters.pydantic_ai.translate import Calls, Response, happening
from adapters.pydantic_ai.usage import Ledger


class Turn:
    """Runs the tools of one run's responses."""

    def __init__(
        self, run: RunContext, agent_run: Any, resumption: Resumption, state: SharedState, ledger: Ledger
    ) -> None:
        self._run = run
        self._agent_run = agent_run
        self._resumption = resumption
        self._state = state
        self._ledger = ledger
        self._calls = Calls(_call_ids(agent_run.all_messages()), run.ids, self._is_output)
        self._frontend = {tool.name for tool in run.input.tools or ()}
        self._response: Response | None = None
        self._requests = DeferredToolRequests()
        self._pending: dict[str, ToolCallPart] = {}
        self.is_over = False
        """Nothing more can be done before something comes from outside."""

    def response(self) -> Response:
        """Begin to read a response of the model."""
        self._response = Response(self._run.ids, self._calls)
        return self._response

    async def tools(self, node: Any) -> AsyncGenerator[Step, None]:
        """Run the calls of a response, or those that the run input answers.

        Raises:
            ResumeRefused: Edited arguments do not fit their tool. All are validated before any call
                is performed, so that none was.
        """
        self._ledger.tell()
        if self._response is not None:
            self._response.rename(node.model_response)
        try:
            async with node.stream(self._agent_run.ctx) as events:
                async for event in events:
                    self._watch(event)
                    for step in happening(event, self._run.ids):
                        yield step
                    if type(event) is FunctionToolResultEvent:
                        for snapshot in self._state.now():
                            yield snapshot
        except UserError:  # the agent's output has no room for calls that wait; what waits is known
            if not self._pending:
                raise
            self.is_over = True
        if self._response is None and self._resumption.is_partial:
            self.is_over = True

    def outcome(self) -> Outcome:
        """Say how the run ended."""
        asked = [call for call in self._pending.values() if call.tool_name not in self._frontend]
        open_interrupts = [*self._resumption.uncovered, *interrupts(self._requests, asked)]
        if open_interrupts:
            return Interrupted(open_interrupts)
        output = self._agent_run.result.output if self._agent_run.result is not None else None
        return Success(None if isinstance(output, str | DeferredToolRequests) else output)

    def _watch(self, event: Any) -> None:
        """Keep what waits: what was asked for and got no result."""
        if type(event) is DeferredToolRequestsEvent:
            self._requests = event.requests
            self._pending = {call.tool_call_id: call for call in [*event.requests.approvals, *event.requests.calls]}
        elif type(event) is FunctionToolResultEvent:
            self._pending.pop(event.part.tool_call_id, None)
        elif type(event) is FunctionToolCallEvent and event.args_valid is False:
            answer = self._resumption.results.approvals.get(event.part.tool_call_id)
            if getattr(answer, "override_args", None) is not None:
                name, call = event.part.tool_name, event.part.tool_call_id
                raise ResumeRefused(f"The edited arguments of call {call!r} do not fit the tool {name!r}.")

    def _is_output(self, name: str) -> bool:
        """Say whether a tool is how the model gives its output."""
        definition = self._agent_run.ctx.deps.tool_manager.get_tool_def(name)
        return definition is not None and definition.kind == "output"


def _call_ids(history: Iterable[ModelMessage]) -> Iterator[str]:
    for message in history:
        if isinstance(message, ModelResponse):
            yield from (call.tool_call_id for call in message.tool_calls)
            yield from (native_id(call) for call, _ in message.native_tool_calls)
