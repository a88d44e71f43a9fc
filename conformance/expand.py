"""From chunks to whole items: each `*_CHUNK` becomes the start, content and end events that it stands for.

A lane is one owner's: the parent agent's, or one subagent's. A lane assembles at most one item from chunks, because a
chunk says only "the same as before". Events that are no chunks pass, after the ends that their arrival implies.

Source: basic/patterns/streaming#the-chunked-form
"""

from dataclasses import dataclass
from typing import Any

from conformance.events import CHUNK_TRIADS, TRIADS, Event, Triad
from conformance.order import Breach

RUN_LEVEL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""They speak of the whole run: every lane's item ends."""

ASIDE = frozenset(
    {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"},
)
"""They stand aside from assembly and end nothing."""


def _established(event: Event, triad: Triad) -> dict[str, Any]:
    """What the first event of an item establishes of it; a role left out means assistant."""
    fields = {name: event[name] for name in triad.opener_fields if name in event}
    return {"role": "assistant", **fields} if "role" in triad.opener_fields else fields


SUBAGENT_ENDS = frozenset({"SUBAGENT_FINISHED", "SUBAGENT_ERROR"})

FIRST = {
    "TEXT_MESSAGE_CHUNK": {"messageId"},
    "TOOL_CALL_CHUNK": {"toolCallId", "toolCallName"},
    "REASONING_MESSAGE_CHUNK": {"messageId"},
}
"""What the first chunk of an item must carry."""

ITEM_EVENTS = {kind: triad for triad in TRIADS.values() for kind in (triad.start, triad.content, triad.end)}


@dataclass(slots=True)
class Assembly:
    """The item that one lane assembles from chunks."""

    triad: Triad
    key: str
    owner: str | None
    fields: dict[str, Any]
    told: bool = False
    """It was told that some of its events are no chunks."""

    def end(self) -> Event:
        """The end event that the chunked form leaves out."""
        event = {"type": self.triad.end, self.triad.key: self.key}
        return event if self.owner is None else {**event, "subagentRunId": self.owner}


class Expander:
    """Expands one stream, event by event."""

    def __init__(self) -> None:
        self._lanes: dict[str | None, Assembly] = {}
        self._outlived: dict[str | None, Assembly] = {}
        """What each lane assembled when its subagent or its run ended."""
        self._ended: set[str | None] = set()
        """The subagents that ended while they assembled."""
        self._nameless: dict[str | None, Triad] = {}
        """Lanes whose chunks of a family have no first one to belong to, which was told."""
        self._explicit: dict[tuple[str, str], Assembly] = {}
        """Items that an explicit event may still close: those that one opened, and those of both spellings."""

    @property
    def assembling(self) -> bool:
        """Some lane assembles an item from chunks."""
        return bool(self._lanes)

    def feed(self, event: Event) -> tuple[list[Event], list[Breach]]:
        """Take the next event.

        Returns:
            The events that it stands for, and what it broke. A broken chunk is expanded as far as it can be.
        """
        kind = event["type"]
        triad = CHUNK_TRIADS.get(kind)
        if triad is not None:
            return self._chunk(event, triad)
        if kind in ASIDE:
            return [event], []
        if kind in RUN_LEVEL:
            lanes = dict(self._lanes)
            ends = [end for owner in lanes for end in self._end_lane(owner)]
            self._nameless.clear()
            if kind != "MESSAGES_SNAPSHOT":
                ends += [item.end() for item in self._explicit.values() if item.told]
                self._explicit.clear()
                self._outlived = lanes
                self._ended.clear()
            return [*ends, event], []
        return self._whole(event, kind)

    def _whole(self, event: Event, kind: str) -> tuple[list[Event], list[Breach]]:
        owner = event.get("subagentRunId")
        triad = ITEM_EVENTS.get(kind)
        if triad is None:
            if kind in SUBAGENT_ENDS and owner in self._lanes:
                self._outlived[owner] = self._lanes[owner]
                self._ended.add(owner)
            return [*self._end_lane(owner), event], []
        key = event[triad.key]
        mixed = self._holder(triad, key)
        breaches = []
        if mixed is not None and not mixed.told:
            mixed.told = True
            expected = f"{triad.chunk} for {triad.family} {key!r}, as it began"
            breaches.append(Breach("chunk-not-mixed", expected, kind))
        ends: list[Event] = []
        if kind == triad.start:
            ends = [] if mixed is None else self._end_lane(mixed.owner)
            fields = _established(event, triad)
            self._explicit[triad.family, key] = Assembly(triad, key, owner, fields, told=mixed is not None)
        elif kind == triad.end:
            self._explicit.pop((triad.family, key), None)
            if mixed is not None:
                del self._lanes[mixed.owner]
        elif mixed is not None:
            self._explicit[triad.family, key] = mixed
            if mixed.owner == owner:
                return [event], breaches
        return [*ends, *self._end_lane(owner), event], breaches

    def _chunk(self, event: Event, triad: Triad) -> tuple[list[Event], list[Breach]]:
        key = event.get(triad.key)
        if key is not None and (triad.family, key) in self._explicit:
            return self._mixed(event, self._explicit[triad.family, key])
        lane, breaches = self._lane(event, triad)
        assembly = self._lanes.get(lane)
        if assembly is not None and assembly.triad is triad and key in (None, assembly.key):
            breaches += self._agree(event, assembly)
            return self._content(event, triad, assembly.key, assembly.owner), breaches
        outlived = self._outliving(event, triad)
        if outlived is not None:
            if outlived.owner in self._ended:
                expected = f"the last chunk of {triad.family} {outlived.key!r} before subagent {outlived.owner!r} ended"
                breaches.append(Breach("chunk-within-owner", expected, f"{triad.chunk} after it"))
            event = {**outlived.fields, **event, triad.key: outlived.key, "subagentRunId": outlived.owner}
        told = self._nameless.get(lane) is triad
        ends = self._end_lane(lane)
        missing = sorted(FIRST[triad.chunk] - event.keys())
        if missing and not breaches and not told:
            expected = f"{' and '.join(sorted(FIRST[triad.chunk]))} on the first {triad.chunk}"
            breaches.append(Breach("chunk-first-complete", expected, f"no {' and no '.join(missing)}"))
        if triad.key in missing:
            self._nameless[lane] = triad
            return ends, breaches
        return [*ends, *self._begin(event, triad)], breaches

    def _outliving(self, event: Event, triad: Triad) -> Assembly | None:
        """Find what a chunk continues though the subagent or the run that it belongs to has ended; each is found once."""
        key, tag = event.get(triad.key), event.get("subagentRunId")
        for owner, item in self._outlived.items():
            if item.triad is triad and (item.key == key if key is not None else owner == tag):
                return self._outlived.pop(owner)
        return None

    def _mixed(self, event: Event, item: Assembly) -> tuple[list[Event], list[Breach]]:
        """Go on in chunks with an item that a start event opened: no matter now how it ends, as this was told."""
        triad = item.triad
        expected = f"{triad.content} for {triad.family} {item.key!r}, as it began"
        breaches = [] if item.told else [Breach("chunk-not-mixed", expected, triad.chunk)]
        item.told = True
        ends = [] if self._lanes.get(item.owner) is item else self._end_lane(item.owner)
        self._lanes[item.owner] = item
        return [*ends, *self._content(event, triad, item.key, event.get("subagentRunId"))], breaches

    def _begin(self, event: Event, triad: Triad) -> list[Event]:
        key, owner = event[triad.key], event.get("subagentRunId")
        fields = _established(event, triad)
        self._lanes[owner] = Assembly(triad, key, owner, fields)
        start: Event = {"type": triad.start, triad.key: key, **fields}
        if triad.chunk == "REASONING_MESSAGE_CHUNK":
            start["role"] = "reasoning"
        for name in ("subagentRunId", "metadata"):
            if name in event:
                start[name] = event[name]
        content = self._content(event, triad, key, owner) if "delta" in event or "rawEvent" in event else []
        return [start, *content]

    def _content(self, event: Event, triad: Triad, key: str, owner: str | None) -> list[Event]:
        """The content event of a chunk: none for one that adds nothing to what is open."""
        carried = {name: value for name, value in event.items() if name in ("rawEvent", "metadata")}
        if "delta" not in event and not carried:
            return []
        content: Event = {"type": triad.content, triad.key: key, "delta": event.get("delta", ""), **carried}
        if owner is not None:
            content["subagentRunId"] = owner
        return [content]

    def _lane(self, event: Event, triad: Triad) -> tuple[str | None, list[Breach]]:
        """Find the lane that a chunk belongs to: by its identifier, its tag, or as the only one of its kind."""
        key, tag = event.get(triad.key), event.get("subagentRunId")
        if key is not None:
            held = self._holder(triad, key)
            if held is None:
                return tag, []
            if tag is not None and tag != held.owner:
                expected = f"the owner of {triad.family} {key!r}, or no subagentRunId"
                return held.owner, [Breach("owner-agrees", expected, f"{tag!r} on {triad.chunk}")]
            return held.owner, []
        if tag is not None:
            return tag, []
        lanes = [owner for owner, assembly in self._lanes.items() if assembly.triad is triad]
        if None in lanes or not lanes:
            return None, []
        if len(lanes) > 1:
            expected = f"{triad.key} or subagentRunId, as {len(lanes)} subagents each have an open {triad.family}"
            return lanes[0], [Breach("chunk-unambiguous", expected, f"{triad.chunk} with neither")]
        return lanes[0], []

    def _agree(self, event: Event, assembly: Assembly) -> list[Breach]:
        unnamed = FIRST[assembly.triad.chunk] - assembly.fields.keys()
        return [
            Breach(
                "chunk-repeat-agrees",
                f"{name} {assembly.fields.get(name)!r}, as the first chunk of {assembly.key!r} established",
                repr(event[name]),
            )
            for name in assembly.triad.opener_fields
            if name in event and name not in unnamed and event[name] != assembly.fields.get(name)
        ]

    def _holder(self, triad: Triad, key: str) -> Assembly | None:
        return next((item for item in self._lanes.values() if item.triad is triad and item.key == key), None)

    def _end_lane(self, owner: str | None) -> list[Event]:
        self._nameless.pop(owner, None)
        assembly = self._lanes.pop(owner, None)
        if assembly is None or (assembly.triad.family, assembly.key) in self._explicit:
            return []
        return [assembly.end()]
