"""Events as they travel, in few words: `text("Hello")` is a whole message, `run(...)` a whole run."""

import json
from typing import Any

Event = dict[str, Any]

INPUT: Event = {"threadId": "thread-1", "runId": "run-1", "protocolVersion": "1.0", "messages": []}
"""The smallest run input of a current peer; what `run` answers."""


def started(run: str = "run-1", **more: Any) -> Event:
    return {"type": "RUN_STARTED", "threadId": "thread-1", "runId": run, "protocolVersion": "1.0", **more}


def finished(run: str = "run-1", **more: Any) -> Event:
    return {"type": "RUN_FINISHED", "threadId": "thread-1", "runId": run, **more}


def failed(message: str = "The model stopped answering.", **more: Any) -> Event:
    return {"type": "RUN_ERROR", "message": message, **more}


def run(*events: Event, key: str = "run-1", **end: Any) -> list[Event]:
    return [started(key), *events, finished(key, **end)]


def pending(*calls: str) -> Event:
    return {"type": "success", "pendingToolCallIds": list(calls)}


CANCELLED = {"type": "cancelled"}


def asks(**interrupt: Any) -> Event:
    return {"type": "interrupt", "interrupts": [{"id": "interrupt-1", "reason": "confirmation", **interrupt}]}


def opens(message: str = "msg-1", **more: Any) -> Event:
    return {"type": "TEXT_MESSAGE_START", "messageId": message, **more}


def says(delta: str, message: str = "msg-1", **more: Any) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta, **more}


def closes(message: str = "msg-1", **more: Any) -> Event:
    return {"type": "TEXT_MESSAGE_END", "messageId": message, **more}


def text(delta: str = "It is sunny.", message: str = "msg-1", **more: Any) -> list[Event]:
    return [opens(message, **more), says(delta, message), closes(message)]


def chunk(delta: str | None = None, message: str | None = None, **more: Any) -> Event:
    return _without_none(type="TEXT_MESSAGE_CHUNK", messageId=message, delta=delta, **more)


def call_chunk(delta: str | None = None, key: str | None = None, **more: Any) -> Event:
    return _without_none(type="TOOL_CALL_CHUNK", toolCallId=key, delta=delta, **more)


def _without_none(**fields: Any) -> Event:
    return {name: value for name, value in fields.items() if value is not None}


def calls(name: str = "get_weather", key: str = "call-1", **more: Any) -> Event:
    return {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": name, **more}


def argues(delta: str, key: str = "call-1", **more: Any) -> Event:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": delta, **more}


def called(key: str = "call-1", **more: Any) -> Event:
    return {"type": "TOOL_CALL_END", "toolCallId": key, **more}


def call(name: str = "get_weather", key: str = "call-1", arguments: str = "{}", **more: Any) -> list[Event]:
    return [calls(name, key, **more), argues(arguments, key), called(key)]


def result(key: str = "call-1", message: str = "msg-9", content: Any = "Sunny", **more: Any) -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": key, "content": content, **more}


def thinks(act: str, key: str = "msg-1", **more: Any) -> Event:
    """`START` and `END` of a span, `MESSAGE_START`, `MESSAGE_CONTENT`, `MESSAGE_END` and `MESSAGE_CHUNK` of a message."""
    extra = {"MESSAGE_START": {"role": "reasoning"}, "MESSAGE_CONTENT": {"delta": "Hm."}}.get(act, {})
    return {"type": f"REASONING_{act}", "messageId": key, **extra, **more}


def thought(message: str = "msg-1", **more: Any) -> list[Event]:
    acts = ("MESSAGE_START", "MESSAGE_CONTENT", "MESSAGE_END")
    return [thinks(act, message, **(more if act == "MESSAGE_START" else {})) for act in acts]


def artefact(entity: str, subtype: str = "message", **more: Any) -> Event:
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": subtype,
        "entityId": entity,
        "encryptedValue": "ZW5j",
        **more,
    }


def step(act: str, name: str = "search", **more: Any) -> Event:
    return {"type": f"STEP_{act}", "stepName": name, **more}


def subagent(act: str, key: str = "sub-1", **more: Any) -> Event:
    extra = {"STARTED": {"name": "weather"}, "ERROR": {"message": "no"}}.get(act, {})
    return {"type": f"SUBAGENT_{act}", "subagentRunId": key, **extra, **more}


def activity(content: Any, message: str = "activity-1", **more: Any) -> Event:
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": message,
        "activityType": "web_search",
        "content": content,
        **more,
    }


def amends(*operations: Event, message: str = "activity-1", **more: Any) -> Event:
    return {
        "type": "ACTIVITY_DELTA",
        "messageId": message,
        "activityType": "web_search",
        "patch": list(operations),
        **more,
    }


def state(value: Any, **more: Any) -> Event:
    return {"type": "STATE_SNAPSHOT", "snapshot": value, **more}


def changes(*operations: Event, **more: Any) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations), **more}


def op(kind: str, path: str, **more: Any) -> Event:
    return {"op": kind, "path": path, **more}


def messages(*held: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(held)}


def custom(name: str = "com.example.cart", value: Any = 1, **more: Any) -> Event:
    return {"type": "CUSTOM", "name": name, "value": value, **more}


def raw(event: Any = None, **more: Any) -> Event:
    return {"type": "RAW", "event": event, **more}


def user(content: Any = "What is the weather?", key: str = "msg-0", **more: Any) -> Event:
    return {"id": key, "role": "user", "content": content, **more}


def assistant(content: str | None = None, key: str = "msg-1", **more: Any) -> Event:
    return {**_without_none(id=key, role="assistant", content=content), **more}


def has_called(name: str = "get_weather", key: str = "call-1", arguments: str = "{}", **more: Any) -> Event:
    """A call as a message of the history holds it."""
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def tool_message(key: str = "call-1", content: Any = "Sunny", message: str = "msg-2", **more: Any) -> Event:
    return {"id": message, "role": "tool", "toolCallId": key, "content": content, **more}


def tool(name: str, **more: Any) -> Event:
    return {"name": name, "description": "", "parameters": {"type": "object"}, **more}


def sse_line(event: Event, end: str = "\n\n", **dumped: Any) -> Event:
    """A line of a recording: one event as bytes of SSE."""
    return {"bytes": f"data: {json.dumps(event, **dumped)}{end}"}
