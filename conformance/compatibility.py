"""Shapes that the protocol has retired, and what older peers are told: translation in both directions.

- `Boundary` translates what an older producer sends, as the first stage of reading. A retired shape says by itself
  that its sender is old, so it is translated whatever version is declared.
- `modernised` and `for_peer` are for what a consumer sends: the first knows no peer, the second a pinned one.

A translation repairs nothing: what was malformed is malformed after it. What it loses is named in a warning.

Source: basic/versioning#retired-shapes, basic/versioning#downgrading
"""

import re
from collections.abc import Callable
from operator import is_not
from typing import Any, Final, TypeAlias

from conformance.enforce import Tell
from conformance.events import Event

Version: TypeAlias = tuple[int, ...]
"""Compared component by component: 1.10 is newer than 1.9."""

EACH: Final = object()
"""The step of a path that stands for every element of a list."""

Steps: TypeAlias = tuple[Any, ...]

THE_FIRST: Final = (1, 0)
"""The version that first declares itself, and that content parts in results and file sources came with."""
BEFORE_SUBAGENTS: Final = (0, 0, 57)
BEFORE_PARTS: Final = (0, 0, 39)

SUBAGENT_EVENTS: Final = frozenset({"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"})

MEDIA: Final = frozenset({"image", "audio", "video", "document"})

_USAGE = ("provider", "reasoningTokens", "cachedInputTokens", "cacheWriteInputTokens")

NULLS: Final[dict[str, tuple[Steps, ...]]] = {
    "RUN_STARTED": (
        ("parentRunId",),
        ("input",),
        ("input", "state"),
        ("input", "forwardedProps"),
        ("input", "tools", EACH, "parameters"),
        ("input", "resume", EACH, "payload"),
    ),
    "RUN_FINISHED": (
        ("result",),
        ("outcome",),
        ("outcome", "pendingToolCallIds"),
        *(("usage", EACH, name) for name in _USAGE),
    ),
    "RUN_ERROR": (("usage",),),
    "SUBAGENT_FINISHED": (("result",),),
    "TOOL_CALL_START": (("parentMessageId",),),
    "TOOL_CALL_CHUNK": (("parentMessageId",),),
    "TOOL_CALL_RESULT": (("role",),),
}
"""The optional fields that older producers spell as null where they have no value, by event.

Besides these, `rawEvent` and `subagentRunId` of any event, and `metadata` of a media part. Every other null of an
optional field is malformed.
"""

MESSAGES: Final[dict[str, Steps]] = {
    "MESSAGES_SNAPSHOT": ("messages", EACH),
    "RUN_STARTED": ("input", "messages", EACH),
}
"""Where an event carries whole messages."""

INTERRUPTS: Final = ("outcome", "interrupts", EACH)


def declared_version(text: str) -> Version | None:
    """Read a declaration, MAJOR.MINOR; None for one that cannot be interpreted."""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", text) else None


def pinned_version(text: str) -> Version:
    """Read the version that a peer is pinned to, such as `0.0.39` or `1.0`.

    Raises:
        ValueError: It is no sequence of numbers between dots.
    """
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})+", text):
        raise ValueError(f"a peer's version is numbers between dots, like 0.0.39 or 1.0, not {text!r}")
    return tuple(map(int, text.split(".")))


class Boundary:
    """The compatibility boundary of one stream: gives for each event what it is in today's shapes."""

    def __init__(self, tell: Tell, peer: Version | None = None) -> None:
        """`peer` is the version that the producer is pinned to, if it is."""
        self._tell = tell
        self._knows_subagents = peer is None or peer > BEFORE_SUBAGENTS
        self._made = 0
        self._begin_run("")

    def _begin_run(self, run_id: Any) -> None:
        self._run_id = run_id
        self._span: str | None = None
        self._message: str | None = None

    def __call__(self, event: Any) -> tuple[Any, ...]:
        """Translate one JSON value; what is no event, or needs no translation, is returned as it is."""
        if type(event) is not dict or type(event.get("type")) is not str:
            return (event,)
        kind = event["type"]
        for name in ("rawEvent", "subagentRunId"):
            if event.get(name, kind) is None:
                event = self._omit_null(event, (name,), name)
        for steps in NULLS.get(kind, ()):
            event = self._omit_null(event, steps, f"{kind} {_written(steps)}")
        if kind in MESSAGES:
            event = self._messages(event, kind)
        if kind == "RUN_STARTED":
            self._begin_run(event.get("runId"))
        thinking = _THINKING.get(kind)
        if thinking is not None:
            event = thinking(self, event)
            self._tell(f"{kind} is retired, and read as {event['type']}", (kind, "retired"))
        return (event,) if self._knows_subagents else self._without_subagents(event, kind)

    def _omit_null(self, event: Event, steps: Steps, where: str) -> Event:
        name = steps[-1]
        changed: Event = _rewrite(event, steps[:-1], lambda holder: _without_null(holder, name))
        if changed is not event:
            self._tell(f"{where} is null, which is retired, and read as absent", (where, "null"))
        return changed

    def _messages(self, event: Event, kind: str) -> Event:
        parts = (*MESSAGES[kind], "content", EACH)
        changed = _rewrite(event, parts, _media_without_null)
        if changed is not event:
            where = f"{kind} {_written(parts)}/metadata"
            self._tell(f"{where} is null, which is retired, and read as absent", (where, "null"))
        upgraded: Event = _rewrite(changed, parts, _modern_part)
        if upgraded is not changed:
            self._tell(f"{kind} {_written(parts)} of type 'binary' is retired, and read as media", (kind, "binary"))
        return upgraded

    # ---- thinking, which became reasoning -------------------------------------------------------

    def _made_id(self) -> str:
        """An identifier that the retired shape does not carry: the same one on every reading of a stream."""
        self._made += 1
        return f"{self._run_id}:thinking:{self._made}"

    def _thinking_start(self, event: Event) -> Event:
        self._span = self._made_id()
        if "title" in event:
            title = event["title"]
            self._tell(f"the title {title!r} of THINKING_START is left out: REASONING_START has no place for it", None)
        return {**_without(event, "title"), "type": "REASONING_START", "messageId": self._span}

    def _thinking_end(self, event: Event) -> Event:
        span, self._span = self._span or self._made_id(), None
        return {**event, "type": "REASONING_END", "messageId": span}

    def _thinking_message_start(self, event: Event) -> Event:
        self._message = self._made_id()
        return {**event, "type": "REASONING_MESSAGE_START", "messageId": self._message, "role": "reasoning"}

    def _thinking_message_content(self, event: Event) -> Event:
        # One that nothing opened gets an id that nothing opened either: verification refuses it.
        return {**event, "type": "REASONING_MESSAGE_CONTENT", "messageId": self._message or self._made_id()}

    def _thinking_message_end(self, event: Event) -> Event:
        message, self._message = self._message or self._made_id(), None
        return {**event, "type": "REASONING_MESSAGE_END", "messageId": message}

    # ---- a producer from before subagents -------------------------------------------------------

    def _without_subagents(self, event: Event, kind: str) -> tuple[Event, ...]:
        if kind in SUBAGENT_EVENTS:
            name = event.get("subagentRunId")
            self._tell(f"{kind} of {name!r} is left out: the peer is pinned to a version without subagents", None)
            return ()
        for steps in ((), MESSAGES.get(kind), INTERRUPTS if kind == "RUN_FINISHED" else None):
            if steps is not None:
                event = _rewrite(event, steps, _untagged)
        return (event,)


_THINKING: Final[dict[str, Callable[[Boundary, Event], Event]]] = {
    "THINKING_START": Boundary._thinking_start,  # noqa: SLF001 - a table of the boundary's own methods
    "THINKING_END": Boundary._thinking_end,  # noqa: SLF001
    "THINKING_TEXT_MESSAGE_START": Boundary._thinking_message_start,  # noqa: SLF001
    "THINKING_TEXT_MESSAGE_CONTENT": Boundary._thinking_message_content,  # noqa: SLF001
    "THINKING_TEXT_MESSAGE_END": Boundary._thinking_message_end,  # noqa: SLF001
}


def modernised(run_input: Any) -> Any:
    """Return a run input with its retired content parts in today's shapes; they lose nothing."""
    return _rewrite(run_input, ("messages", EACH, "content", EACH), _modern_part)


def for_peer(run_input: dict[str, Any], peer: Version, warn: Callable[[str], None]) -> dict[str, Any]:
    """Return a well-formed run input as a pinned older peer understands it. (downgrade-pure, downgrade-warns)

    - before 1.0: no `protocolVersion`, the text of a tool message's parts, no `file` sources;
    - up to 0.0.57: no attribution;
    - up to 0.0.39: the text of every message's parts, an empty content where there is none, no `parentRunId`.
    """
    if peer >= THE_FIRST:
        return run_input
    run_input = _without(run_input, "protocolVersion")
    if peer <= BEFORE_PARTS:
        run_input = _without(run_input, "parentRunId")
    return {**run_input, "messages": [_message_for(message, peer, warn) for message in run_input["messages"]]}


def _message_for(message: dict[str, Any], peer: Version, warn: Callable[[str], None]) -> dict[str, Any]:
    if peer <= BEFORE_SUBAGENTS:
        message = _untagged(message)
    content = message.get("content", "" if peer <= BEFORE_PARTS else None)
    if type(content) is list:
        is_flat = peer <= BEFORE_PARTS or message["role"] == "tool"
        kept = [part for part in content if _fits(part, is_flat)]
        if len(kept) < len(content):
            lost = ", ".join(f"its {part['type']} part" for part in content if not _fits(part, is_flat))
            reads = "text only" if is_flat else "no provider's file handles"
            version = ".".join(map(str, peer))
            warn(f"message {message['id']!r} is sent without {lost}: the peer, AG-UI {version}, reads {reads}")
        content = "".join(part["text"] for part in kept) if is_flat else kept
    return message if content is None else {**message, "content": content}


def _fits(part: dict[str, Any], is_flat: bool) -> bool:
    return bool(part["type"] == "text" if is_flat else part.get("source", {}).get("type") != "file")


def _modern_part(part: Any) -> Any:
    """Turn a `binary` part into the media part that it is; one without data or URL has no modern form."""
    if type(part) is not dict or part.get("type") != "binary" or type(part.get("mimeType")) is not str:
        return part
    place = next((name for name in ("data", "url") if part.get(name) not in (None, "")), None)
    if place is None:
        return part
    media, mime_type = part["mimeType"].partition("/")[0], part["mimeType"]
    modern = {
        "type": media if media in ("image", "audio", "video") else "document",
        "source": {"type": place, "value": part[place], "mimeType": mime_type},
    }
    name = part.get("filename")
    return modern if name in (None, "") else {**modern, "metadata": {"filename": name}}


def _media_without_null(part: Any) -> Any:
    is_media = type(part) is dict and type(part.get("type")) is str and part["type"] in MEDIA
    return _without_null(part, "metadata") if is_media else part


def _without_null(holder: Any, name: str) -> Any:
    return _without(holder, name) if type(holder) is dict and holder.get(name, holder) is None else holder


def _untagged(holder: Any) -> Any:
    """Leave out the attribution: without it there is one conversation, and nothing is lost. A malformed one stays."""
    is_tagged = type(holder) is dict and type(holder.get("subagentRunId")) is str
    return _without(holder, "subagentRunId") if is_tagged else holder


def _without(holder: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in holder.items() if key != name} if name in holder else holder


def _rewrite(value: Any, steps: Steps, change: Callable[[Any], Any]) -> Any:
    """Change what stands at the end of `steps`, copying only what leads there; the value itself if nothing changes."""
    if not steps:
        return change(value)
    step, rest = steps[0], steps[1:]
    if step is EACH:
        if type(value) is not list:
            return value
        changed = [_rewrite(element, rest, change) for element in value]
        return changed if any(map(is_not, changed, value)) else value
    if type(value) is not dict or step not in value:
        return value
    inner = _rewrite(value[step], rest, change)
    return value if inner is value[step] else {**value, step: inner}


def _written(steps: Steps) -> str:
    """Write a path of this module: `/usage/*/provider`."""
    return "".join("/*" if step is EACH else f"/{step}" for step in steps)
