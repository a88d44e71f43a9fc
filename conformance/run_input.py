"""From the bytes of a request to a run input: unknown material is left out with a warning, malformed is refused.

A run input without `protocolVersion` comes from a peer older than 1.0. Such peers, the older Python SDK among them,
spell an absent field as null; newer ones may not.

Source: basic/run-input, basic/processing, basic/versioning
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from ag_ui.core import PROTOCOL_VERSION, RunAgentInput
from pydantic_core import from_json

from conformance.json_values import json_value
from conformance.schema import RUN_INPUT
from conformance.shapes import Deviation, Kind, Nulls, Report, describe, pointer

MAX_DEPTH = 100
"""How many levels of lists and objects an input may nest, unless the caller says otherwise (at most 200)."""


class InputRejected(Exception):  # noqa: N818 - the run never starts; the exception is the answer
    """An input that starts no run.

    `code` is stable: `invalid_json`, `too_deep`, `invalid_input`, `unsupported_version`. `malformed` lists the
    fields at fault, if it is one of fields.
    """

    def __init__(self, code: str, message: str, malformed: tuple[Deviation, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.malformed = malformed


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """A run input that may start a run, and what was noticed on the way to it."""

    run_input: RunAgentInput
    warnings: tuple[str, ...]

    @property
    def is_older_peer(self) -> bool:
        """The peer speaks a protocol from before 1.0: it declared no version."""
        return self.run_input.protocol_version is None


def parse_run_input(body: bytes, max_depth: int = MAX_DEPTH) -> ParsedInput:
    """Read a request body.

    Raises:
        InputRejected: It is no JSON, nests too deep, holds a malformed known field, or speaks an unknown major
            version. (input-malformed-rejected, version-newer-minor-served)
    """
    warnings: list[str] = []
    document = _read_json(body, warnings)
    if _is_deeper_than(max_depth, document):
        raise InputRejected("too_deep", f"The body nests more than {max_depth} levels of lists and objects.")
    return parse_document(document, warnings)


def parse_document(document: Any, warnings: list[str] | None = None) -> ParsedInput:
    """Read a run input that is JSON already.

    Raises:
        InputRejected: As `parse_run_input`.
    """
    warnings = [] if warnings is None else warnings
    if type(document) is not dict:
        raise InputRejected("invalid_input", f"The body must be a run input object; it is {describe(document)}.")
    version = document.get("protocolVersion")
    report = Report(nulls=Nulls.ABSENT if version is None else Nulls.ABSENT_WHERE_OPAQUE)
    known = RUN_INPUT.hold(document, (), report)
    if report.malformed:
        first = report.malformed[0]
        raise InputRejected("invalid_input", f"{first}.", tuple(report.malformed))
    if version is not None:
        warnings += _check_version(version)
    # input-unknown-stripped
    warnings += [
        f"{pointer(path)} is not part of AG-UI {PROTOCOL_VERSION} and was left out" for path in report.stripped
    ]
    return ParsedInput(RunAgentInput.model_validate(known), tuple(warnings))


def _read_json(body: bytes, warnings: list[str]) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise InputRejected("too_deep", "The body nests too many levels of lists and objects.") from None
        if "hex escape" not in str(error) and "surrogate" not in str(error):
            raise InputRejected("invalid_json", f"The body is not JSON: {error}.") from None
    # Escaped lone surrogates are JSON, and browsers send them: read them slowly and make them whole.
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputRejected("invalid_json", f"The body is not JSON: {error}.") from None
    return json_value(document, warnings.append, "the run input")


def _refuse_constant(name: str) -> Any:
    message = f"{name} has no place in JSON"
    raise ValueError(message)


def _is_deeper_than(limit: int, document: Any) -> bool:
    level = [document] if type(document) in _CONTAINERS else []
    for _ in range(limit):
        level = [
            inner
            for value in level
            for inner in (value.values() if type(value) is dict else value)
            if type(inner) in _CONTAINERS
        ]
        if not level:
            return False
    return True


_CONTAINERS = frozenset({dict, list})


def _check_version(version: str) -> list[str]:
    """Accept this major line, warn of what is newer or cannot be read. (version-newer-minor-served)"""
    ours = tuple(map(int, PROTOCOL_VERSION.split(".")))
    if not re.fullmatch(r"\d{1,9}\.\d{1,9}", version):
        return [f"protocolVersion {version!r} is not MAJOR.MINOR; served as AG-UI {PROTOCOL_VERSION}"]
    theirs = tuple(map(int, version.split(".")))
    if theirs[0] != ours[0]:
        raise InputRejected(
            "unsupported_version",
            f"/protocolVersion: this server speaks AG-UI {ours[0]}.x, the run input {version}.",
            (Deviation(Kind.MALFORMED, ("protocolVersion",), f"a version of the {ours[0]}.x line", repr(version)),),
        )
    if theirs > ours:
        return [f"the run input speaks AG-UI {version}; served as {PROTOCOL_VERSION}"]
    return []
