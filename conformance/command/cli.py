"""The command line: `agui-conformance check FILE|-|URL` and `agui-conformance rules [ID]`.

A mistake is one line on stderr and exit code 2.
"""

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import conformance
from conformance.command import baseline, catalogue_page
from conformance.command.cannot import CannotCheck
from conformance.command.checking import Checking
from conformance.command.options import MISTAKE, parser
from conformance.command.probes import ACCEPT, can_deviate
from conformance.command.report import NAME, Entry, Verdict, github, junit, sarif
from conformance.command.report import json as json_report
from conformance.command.report.pretty import Pretty
from conformance.command.report.text import count, visible
from conformance.command.selection import rule_called, selected
from conformance.command.sources import is_url, json_file, recorded, source, text_file
from conformance.exchange import Exchange
from conformance.recording import written
from conformance.rules import CATALOGUE

CLEAN, BROKEN = 0, 1
"""Exit codes of a check that was made."""

WHOLE_REPORTS: Mapping[str, Callable[[Verdict], str]] = {
    "json": json_report.report,
    "junit": junit.report,
    "sarif": sarif.report,
    "github": github.report,
}
"""The reports that are written once the verdict stands."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _check(given) if given.command == "check" else _rules(given)
        sys.stdout.flush()
    except CannotCheck as error:
        return _mistake(str(error))
    except KeyboardInterrupt:
        return _mistake("stopped before the end; nothing is said of the whole")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter fails to flush at its end
        return _mistake("whoever reads the report went away before its end")
    return code


def _mistake(message: str) -> int:
    _say(visible(message, 1000))
    return MISTAKE


def _say(message: str) -> None:
    print(f"{NAME}: {message}", file=sys.stderr)  # noqa: T201 - this is the command line


# ---- rules ------------------------------------------------------------------------------------------


def _rules(given: argparse.Namespace) -> int:
    rules = CATALOGUE.values()
    if given.rule is not None:
        rule = rule_called(given.rule)
        sys.stdout.write(catalogue_page.page(rule, _examples(rule.id)))
    else:
        sys.stdout.write(catalogue_page.markdown(rules) if given.markdown else catalogue_page.table(rules))
    return CLEAN


def _examples(rule: str) -> dict[str, str]:
    """Recordings that break and keep a rule: packaged ones, or those of the source tree."""
    package = Path(conformance.__file__).parent
    folders = (package / "recordings", package.parent / "tests" / "conformance" / "recordings")
    return {
        name: path.read_text(encoding="utf-8")
        for folder in reversed(folders)
        for name in ("break", "keep")
        if (path := folder / f"{rule}.{name}.jsonl").is_file()
    }


# ---- check ------------------------------------------------------------------------------------------

ENDPOINT_ONLY = ("header", "accept", "timeout", "end_within", "probe", "record")
RECORDED_ONLY = ("read_as",)
"""Options that say nothing of the other kind of target."""


def _check(given: argparse.Namespace) -> int:
    _fits(given)
    checking = Checking(
        selected(given.select, given.ignore),
        protocol=given.protocol,
        known=_known_findings(given.baseline),
        limit=given.max_findings,
    )
    pretty = Pretty(colour=_shows_colour(), verbose=given.verbose)
    show = _writer(pretty) if given.format == "pretty" else _keep_quiet
    if is_url(given.target):
        _check_endpoint(given, checking, show)
    else:
        checking.begin(Exchange(run_input=_run_input(given), **_known(given)))
        for batch in recorded(given.target, given.read_as):
            show(checking.take(batch))
        show(checking.end())
    verdict = checking.verdict(source(given.target), version("agui-sidecar"), strict=given.strict)
    if given.write_baseline is not None:
        _write(given.write_baseline, baseline.written(checking.seen))
        found = count(checking.seen.total(), "finding")
        _say(f"{given.write_baseline}: {found} written; --baseline {given.write_baseline} takes them as known")
        verdict = verdict.accepted()
    sys.stdout.write(WHOLE_REPORTS.get(given.format, pretty.summary)(verdict))
    return CLEAN if verdict.passed else BROKEN


def _fits(given: argparse.Namespace) -> None:
    """Refuse options that would say nothing of this target."""
    ordinary = parser().parse_args(["check", "--", given.target])
    live = is_url(given.target)
    for name in RECORDED_ONLY if live else ENDPOINT_ONLY:
        if getattr(given, name) != getattr(ordinary, name):
            needed = "a recorded stream" if live else "an endpoint (http://... or https://...)"
            raise CannotCheck(f"--{name.replace('_', '-')} is for {needed}, and {given.target} is none; leave it out")


def _writer(pretty: Pretty) -> Callable[[list[Entry]], None]:
    def show(entries: list[Entry]) -> None:
        if entries:
            sys.stdout.write("".join(map(pretty.entry, entries)))
            sys.stdout.flush()

    return show


def _keep_quiet(_: list[Entry]) -> None:
    """Leave the findings for the report at the end."""


def _shows_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _run_input(given: argparse.Namespace) -> Any:
    return None if given.run_input is None else json_file(given.run_input)


def _known(given: argparse.Namespace) -> dict[str, Any]:
    """What the user tells of every exchange, as fields of `Exchange`."""
    declared = given.capabilities
    if declared is not None:
        declared = _fetched(given) if is_url(declared) else json_file(Path(declared))
    return {"capabilities": declared, "stopped": given.stopped}


def _known_findings(path: Path | None) -> baseline.Counts:
    if path is None:
        return {}
    try:
        return baseline.read(text_file(path))
    except baseline.NoBaseline as error:
        raise CannotCheck(f"{path}: {error}") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotCheck(f"{path}: it cannot be written ({error.strerror})") from None


# ---- an endpoint ------------------------------------------------------------------------------------


def _needs_httpx() -> None:
    if find_spec("httpx") is None:
        raise CannotCheck("checking a URL needs httpx: pip install 'agui-sidecar[conformance]'")


def _fetched(given: argparse.Namespace) -> Any:
    _needs_httpx()
    from conformance.command.live import capabilities  # noqa: PLC0415 - httpx is an extra

    return asyncio.run(capabilities(given.capabilities, _headers(given), given.timeout))


def _check_endpoint(given: argparse.Namespace, checking: Checking, show: Callable[[list[Entry]], None]) -> None:
    _needs_httpx()
    from conformance.command.endpoint import LiveCheck  # noqa: PLC0415 - httpx is an extra
    from conformance.command.live import Endpoint  # noqa: PLC0415

    endpoint = Endpoint(given.target, _headers(given), given.timeout, given.end_within)
    run_input = _run_input(given)
    if given.probe and run_input is not None and not can_deviate(run_input):
        raise CannotCheck(f"{given.run_input}: --probe needs a run input with a list of messages")
    check = LiveCheck(endpoint, checking, show, lambda: str(uuid4()), run_input, _known(given))

    async def run() -> None:
        with _recording(given.record) as record:
            ran = await check.run(ACCEPT[given.accept], record)
        if given.probe:
            await check.probe(ran)

    asyncio.run(run())


def _headers(given: argparse.Namespace) -> dict[str, str]:
    headers = {}
    for line in given.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or not line.isascii():
            raise CannotCheck("--header takes 'Name: value' in ASCII, and one of them is none")
        headers[name.strip()] = value.strip()
    return headers


@contextmanager
def _recording(path: Path | None) -> Iterator[Callable[[Exchange], None]]:
    """Write each part of an exchange to a file as it comes."""
    if path is None:
        yield lambda _: None
        return
    try:
        # A lone surrogate becomes the escape that JSON has for it.
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            yield lambda part: file.writelines(f"{line}\n" for line in written(part))
    except OSError as error:
        raise CannotCheck(f"{path}: it cannot be written ({error.strerror})") from None
