"""Recordings, held to the rules."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.exchange import Exchange
from conformance.judge import Finding, Judge
from conformance.recording import RecordingReader
from conformance.rules import CATALOGUE, Rule

RECORDINGS = Path(__file__).parents[1] / "conformance" / "recordings"
"""Two of each rule that is held: a stream that breaks it, and the same stream mended."""


@dataclass(frozen=True)
class Verdict:
    """What a recording was found to be."""

    findings: list[Finding]
    not_judged: dict[str, str]

    @property
    def broken(self) -> list[str]:
        """The ids of the rules that it breaks, finding by finding."""
        return [finding.rule.id for finding in self.findings]


def held(recorded: bytes, rules: Iterable[Rule] = CATALOGUE.values(), size: int | None = None) -> Verdict:
    """Hold a recording to the rules, in pieces of `size` bytes."""
    judge, reader = Judge(rules=rules), RecordingReader()
    size = size or len(recorded) or 1
    findings = []
    for start in range(0, len(recorded), size):
        findings += judge.take(reader.feed(recorded[start : start + size]))
    findings += judge.take(reader.close())
    return Verdict(findings + judge.close(), judge.not_judged)


def read_recording(path: Path) -> Exchange:
    """Read what a recording says: its events, whatever their framing, and what is known besides."""
    reader = RecordingReader()
    batches = [reader.feed(path.read_bytes()), reader.close()]
    known = {name: value for batch in batches for name, value in batch.known.items()}
    return Exchange(events=[document for batch in batches for document in batch.documents], **known)


def recording(*lines: Any, **exchange: Any) -> bytes:
    """Write a recording: its lines, after one that tells of the exchange where anything is known of it."""
    known = [{"exchange": exchange}] if exchange else []
    return "".join(json.dumps(line) + "\n" for line in [*known, *lines]).encode()
