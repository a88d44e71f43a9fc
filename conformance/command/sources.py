"""The bytes of a recorded stream: from a file, or from the standard input.

They are read as they come, in pieces, and handed to the reader of what they are.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit, urlunsplit

from conformance.command.cannot import CannotCheck
from conformance.command.recognise import ENOUGH, READERS, recognised
from conformance.command.report import Source
from conformance.command.report.text import visible
from conformance.reading import Batch, Unreadable, parse_json

STANDARD_INPUT = "-"
PIECE = 64 * 1024
"""Bytes that are read at once."""


def is_url(target: str) -> bool:
    """Say whether a target is a live endpoint."""
    return target.lower().startswith(("http://", "https://"))


def source(target: str) -> Source:
    """Name what is checked, without what a URL may hold of secrets.

    Raises:
        CannotCheck: It looks like a URL and is none.
    """
    if is_url(target):
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise CannotCheck(f"{target}: it is no URL ({error})") from None
        shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        return Source(shown, uri=shown)
    if target == STANDARD_INPUT:
        return Source("standard input")
    path = Path(target)
    return Source(target, path.as_uri() if path.is_absolute() else quote(path.as_posix()), target)


def recorded(target: str, kind: str | None = None) -> Iterator[Batch]:
    """Read a recorded stream, batch by batch.

    Args:
        target: A path, or `-`.
        kind: What it is, a key of `READERS`; None where its beginning is to tell.

    Raises:
        CannotCheck: It cannot be opened, or is not what it was taken for.
    """
    name = source(target).name
    try:
        with _opened(target) as file:
            yield from _batches(file, kind)
    except OSError as error:
        raise CannotCheck(f"{name}: it cannot be read ({error.strerror})") from None
    except Unreadable as error:
        raise CannotCheck(f"{name}: {visible(str(error))}") from None


def _opened(target: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if target == STANDARD_INPUT else Path(target).open("rb")


def _batches(file: BinaryIO, kind: str | None) -> Iterator[Batch]:
    beginning = file.read(ENOUGH)
    kind = kind or recognised(beginning)
    if kind is None:
        found = f"it begins with {beginning!r}" if beginning else "it is empty"
        kinds = "an SSE capture, JSON lines or protobuf frames"
        raise Unreadable(f"{found}, and {kinds} are expected; --read-as {'|'.join(READERS)} says what it is")
    reader = READERS[kind]()
    yield reader.feed(beginning)
    while piece := file.read1(PIECE):  # type: ignore[attr-defined]  # every buffered reader has it
        yield reader.feed(piece)
    yield reader.close()


def json_file(path: Path) -> Any:
    """Read a file that holds one JSON value.

    Raises:
        CannotCheck: It cannot be read, or is no JSON.
    """
    try:
        return parse_json(text_file(path).encode())
    except ValueError as error:
        raise CannotCheck(f"{path}: it is no JSON ({error})") from None


def text_file(path: Path) -> str:
    """Read a text file.

    Raises:
        CannotCheck: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CannotCheck(f"{path}: it cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise CannotCheck(f"{path}: it is no UTF-8 text") from None
