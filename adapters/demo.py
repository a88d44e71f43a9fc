"""An agent without a model that shows every kind of event on request: build a frontend against it.

A word in the last user message chooses the scenario; `help` lists them. It is deterministic, needs no key and no
network, and keeps nothing between runs: what it resumes, it reads from the run input.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, TypeAlias

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AgentCapabilities,
    AssistantMessage,
    CustomEvent,
    DataSource,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    ImagePart,
    Interrupt,
    MessagesSnapshotEvent,
    MultiAgentCapabilities,
    RawEvent,
    ReasoningCapabilities,
    ReasoningEncryptedValueEvent,
    ReasoningMessageEndEvent,
    StateCapabilities,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentInfo,
    SubagentStartedEvent,
    TextPart,
    Tool,
    ToolCallResultEvent,
    ToolMessage,
    ToolsCapabilities,
    TransportCapabilities,
    UserMessage,
)

from adapters.base import (
    AdapterError,
    Interrupted,
    ModelUsage,
    Reasoning,
    RunContext,
    Step,
    Success,
    Text,
    ToolCall,
)
from adapters.messages import last_user_text, text_of

PAUSE = None
"""The time between two words."""

Cue: TypeAlias = Step | str | float | None
"""What a scenario is made of: a step, a sentence to say word by word, a pause in seconds, or PAUSE."""

Cues = Iterator[Cue]

TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}

WEATHER = Tool(
    name="get_weather",
    description="The weather of a city, always the same.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
DELETE = Tool(
    name="delete_file",
    description="Deletes nothing, after asking.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class Demo:
    """The demo agent. `pace` is the pause between pieces of text, in seconds."""

    def __init__(self, pace: float = 0.02) -> None:
        self._pace = pace

    def capabilities(self) -> AgentCapabilities:
        """It does nearly everything, except thinking."""
        return AgentCapabilities(
            identity=IdentityCapabilities(name="demo", description="Shows every kind of event. Say help."),
            transport=TransportCapabilities(streaming=True),
            tools=ToolsCapabilities(supported=True, items=[WEATHER, DELETE], parallel_calls=True, client_provided=True),
            state=StateCapabilities(snapshots=True, deltas=True),
            multi_agent=MultiAgentCapabilities(
                supported=True,
                delegation=True,
                subagents=[SubagentInfo(name="researcher", description="Finds one fact.")],
            ),
            reasoning=ReasoningCapabilities(supported=True, streaming=True, encrypted=True),
            human_in_the_loop=HumanInTheLoopCapabilities(supported=True, approvals=True, interrupts=True),
        )

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Play what the input asks for."""
        try:
            for cue in _choose(run):
                if isinstance(cue, str):
                    for word in _words(cue):
                        await asyncio.sleep(self._pace)
                        yield Text(word)
                elif cue is PAUSE or isinstance(cue, float):
                    await asyncio.sleep(self._pace if cue is PAUSE else cue)
                else:
                    yield cue
        finally:  # a run that is cancelled or fails has cost something too
            asked = _words(last_user_text(run.input.messages))
            run.spent(ModelUsage("demo", "script-1", input_tokens=len(asked), output_tokens=7))


def _choose(run: RunContext) -> Cues:
    if _open_approvals(run):
        return _resume(run)
    for interrupt in run.answers:
        run.warn(f"the resume entry for {interrupt!r} is left out: nothing is open")  # resume-unknown-ignored
    match run.input.messages[-1:]:
        case [ToolMessage() as answer]:
            return _answered(answer)
        case [UserMessage()]:
            asked = re.findall(r"[a-z]+", last_user_text(run.input.messages).lower())
            return SCENARIOS[next((word for word in asked if word in SCENARIOS), "help")](run)
    return iter(["There is nothing to answer."])


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


# ---- scenarios: what each shows is its docstring ---------------------------------------------------


def help(run: RunContext) -> Cues:
    """This list."""
    yield Text("Say one of these words:\n\n")
    for word, scenario in SCENARIOS.items():
        yield Text(f"- `{word}`: {scenario.__doc__}\n")


def text(run: RunContext) -> Cues:
    """A streamed answer."""
    yield "This is a plain answer: it arrives word by word, as a model writes. Ünïcode too: 🌍."


def reasoning(run: RunContext) -> Cues:
    """Reasoning with an encrypted value, then an answer."""
    thought = run.ids()
    for piece in ("The user wants ", "to see me think. ", "I pretend."):
        yield PAUSE
        yield Reasoning(piece, thought)
    yield ReasoningEncryptedValueEvent(subtype="message", entity_id=thought, encrypted_value="b3BhcXVl")
    yield ReasoningMessageEndEvent(message_id=thought)
    yield "I thought about it, and here is the answer."


def tool(run: RunContext) -> Cues:
    """A server tool: streamed arguments, a result."""
    call = run.ids()
    yield "Let me look. "
    for piece in ('{"city":', ' "Lis', 'bon"}'):
        yield PAUSE
        yield ToolCall(piece, call, WEATHER.name)
    yield ToolCallResultEvent(message_id=run.ids(), tool_call_id=call, content='{"sky": "clear", "celsius": 21}')
    yield "It is 21 degrees in Lisbon."


def parallel(run: RunContext) -> Cues:
    """Two tool calls at once, answered in another order."""
    first, second = run.ids(), run.ids()
    for left, right in (('{"city":', '{"city":'), (' "Oslo"}', ' "Rome"}')):
        yield ToolCall(left, first, WEATHER.name)
        yield ToolCall(right, second, WEATHER.name)
        yield PAUSE
    yield ToolCallResultEvent(message_id=run.ids(), tool_call_id=second, content="sunny")
    yield ToolCallResultEvent(message_id=run.ids(), tool_call_id=first, content="snow")
    yield "Snow in Oslo, sun in Rome."


def image(run: RunContext) -> Cues:
    """A tool result with a picture."""
    call = run.ids()
    yield ToolCall('{"city": "Lisbon"}', call, WEATHER.name)
    picture = ImagePart(source=DataSource(value=TINY_PNG, mime_type="image/png"))
    yield ToolCallResultEvent(message_id=run.ids(), tool_call_id=call, content=[TextPart(text="The sky:"), picture])
    yield "The result has a picture."


def frontend(run: RunContext) -> Cues:
    """A call of the first tool that your run input advertises."""
    if not run.input.tools:
        yield Text("The run input advertises no tools; add one and say `frontend` again.")
        return
    tool = run.input.tools[0]
    yield ToolCall(json.dumps(_example(tool.parameters)), name=tool.name)


def approval(run: RunContext) -> Cues:
    """An interrupt that asks for consent; resume it."""
    call = run.ids()
    yield "This needs your consent. "
    yield ToolCall('{"path": "/tmp/old"}', call, DELETE.name)
    yield Interrupted([_approval(call)])


def state(run: RunContext) -> Cues:
    """A state snapshot and its deltas."""
    given = run.input.state if isinstance(run.input.state, dict) else {}
    plan = {**given, "tasks": ["plan", "build", "test"], "done": []}
    yield StateSnapshotEvent(snapshot=plan)
    for task in plan["tasks"]:
        yield PAUSE
        plan["done"].append(task)
        yield StateSnapshotEvent(snapshot=plan)
    yield "All tasks are done; look at the state."


def activity(run: RunContext) -> Cues:
    """An activity that changes."""
    activity = run.ids()
    content = {"query": "AG-UI", "found": 0}
    yield ActivitySnapshotEvent(message_id=activity, activity_type="web_search", content=content)
    for found in (2, 5):
        yield PAUSE
        patch = [{"op": "replace", "path": "/found", "value": found}]
        yield ActivityDeltaEvent.model_validate({"messageId": activity, "activityType": "web_search", "patch": patch})
    yield "I found five pages."


def subagent(run: RunContext) -> Cues:
    """Work delegated to a subagent."""
    researcher = run.ids()
    yield SubagentStartedEvent(subagent_run_id=researcher, name="researcher", description="Finds one fact.")
    yield StepStartedEvent(step_name="research", subagent_run_id=researcher)
    for word in _words("The fact is 42."):
        yield PAUSE
        yield Text(word, subagent=researcher)
    yield StepFinishedEvent(step_name="research", subagent_run_id=researcher)
    yield SubagentFinishedEvent(subagent_run_id=researcher, result={"fact": 42})
    yield "My researcher says: 42."


def steps(run: RunContext) -> Cues:
    """Steps that overlap."""
    yield StepStartedEvent(step_name="plan")
    yield "Planning. "
    yield StepStartedEvent(step_name="act")
    yield StepFinishedEvent(step_name="plan")
    yield "Acting."
    yield StepFinishedEvent(step_name="act")


def custom(run: RunContext) -> Cues:
    """A custom and a raw event."""
    yield CustomEvent(name="demo.celebrate", value={"confetti": True})
    yield RawEvent(event={"provider": "demo", "kind": "heartbeat"}, source="demo")
    yield "I sent a custom event and a raw one."


def result(run: RunContext) -> Cues:
    """A structured result."""
    yield Text("The result is in RUN_FINISHED.")
    yield Success({"answer": 42, "unit": "none"})


def error(run: RunContext) -> Cues:
    """A failure with a message for the user."""
    yield Text("This will not ")
    raise AdapterError("The demo failed, as you asked.", code="demo_error")


def crash(run: RunContext) -> Cues:
    """A failure whose text stays in the log."""
    yield Text("This will not ")
    raise RuntimeError("a secret that no reader sees: /etc/demo sk-0123")


def slow(run: RunContext) -> Cues:
    """A minute of counting, to be cancelled."""
    for count in range(1, 121):
        yield Text(f"{count} ")
        yield 0.5


# ---- continuing -----------------------------------------------------------------------------------


def _answered(answer: ToolMessage) -> Cues:
    said = f"error: {answer.error}" if answer.error else answer.content
    yield f"Your tool answered: {said}"


def _resume(run: RunContext) -> Cues:
    """Act on the answers; a call without one is never run and never given up: the run asks for it again."""
    approvals = _open_approvals(run)
    for interrupt in run.answers.keys() - {_interrupt_id(call) for call in approvals}:
        run.warn(f"the resume entry for {interrupt!r} is left out: it is not open")  # resume-unknown-ignored
    unanswered = [call for call in approvals if _interrupt_id(call) not in run.answers]
    for call in approvals:
        entry = run.answers.get(_interrupt_id(call))
        if entry is None:
            continue
        payload = entry.payload if entry.status == "resolved" and isinstance(entry.payload, dict) else {}
        is_approved = payload.get("approved") is True  # resume-cancelled-not-performed
        result = "deleted" if is_approved else f"not deleted: {payload.get('reason') or 'no consent'}"
        yield ToolCallResultEvent(message_id=run.ids(), tool_call_id=call, content=result)
        restated = _without_echo(run, call, result)
        if restated is not None:
            yield restated
        yield "Done: " + result + ". "
    if unanswered:  # resume-uncovered-stays-open
        yield Interrupted([_approval(call) for call in unanswered])


def _interrupt_id(call: str) -> str:
    return f"demo-approval-{call}"


def _approval(call: str) -> Interrupt:
    return Interrupt(
        id=_interrupt_id(call),
        reason="tool_call",
        message="May I delete /tmp/old?",
        tool_call_id=call,
        response_schema=APPROVAL_SCHEMA,
    )


def _open_approvals(run: RunContext) -> list[str]:
    """The gated calls of the history that this server asked about, without a result."""
    answered = {m.tool_call_id for m in run.input.messages if isinstance(m, ToolMessage) and not _is_echo(m)}
    return [
        call.id
        for message in run.input.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls or ()
        if _interrupt_id(call.id) in run.asked and call.id not in answered
    ]


def _is_echo(message: ToolMessage) -> bool:
    """Say whether a tool message is the answer to an approval rather than a result: some clients insert it so."""
    return text_of(message).lstrip().startswith("{") and "approved" in text_of(message)


def _without_echo(run: RunContext, call: str, result: str) -> MessagesSnapshotEvent | None:
    """Restate the history with the real result in the place of the client's echo of the approval, if it has one."""
    messages = [
        m.model_copy(update={"content": result}) if isinstance(m, ToolMessage) and m.tool_call_id == call else m
        for m in run.input.messages
    ]
    return MessagesSnapshotEvent(messages=messages) if messages != run.input.messages else None


def _example(schema: Any) -> Any:
    """Make arguments that fit a simple JSON Schema."""
    match schema:
        case {"enum": [first, *_]} | {"const": first} | {"default": first}:
            return first
        case {"type": "object"} | {"properties": {}}:
            return {name: _example(inner) for name, inner in schema.get("properties", {}).items()}
        case {"type": "array"}:
            return [_example(schema.get("items", {}))]
        case {"type": "number" | "integer"}:
            return 1
        case {"type": "boolean"}:
            return True
        case {"type": "string"}:
            return "demo"
    return {}


SCENARIOS: dict[str, Callable[[RunContext], Cues]] = {
    "help": help,
    "text": text,
    "reasoning": reasoning,
    "tool": tool,
    "parallel": parallel,
    "image": image,
    "frontend": frontend,
    "approval": approval,
    "state": state,
    "activity": activity,
    "subagent": subagent,
    "steps": steps,
    "custom": custom,
    "result": result,
    "error": error,
    "crash": crash,
    "slow": slow,
}
"""What each word plays; a scenario's docstring says what it shows."""

demo = Demo()
"""The agent of `make demo`."""
