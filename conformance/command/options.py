"""The options of the command line, as argparse knows them. What they mean together is `conformance.command.cli`'s business."""

import argparse
import math
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from conformance.command.probes import ACCEPT, PROBES
from conformance.command.recognise import READERS
from conformance.command.report import NAME
from conformance.schema import EVENTS

MISTAKE = 2
"""Exit code where the tool could not do its work."""

FORMATS = ("pretty", "json", "junit", "sarif", "github")

EXAMPLES = """\
examples:
  agui-conformance check run.sse
  agui-conformance check http://127.0.0.1:8000/ --probe --header 'Authorization: Bearer TOKEN'

exit code: 0 nothing new is broken, 1 a MUST is (with --strict, or a SHOULD), 2 the check could not be made
"""

RULES_EXAMPLES = """\
examples:
  agui-conformance rules
  agui-conformance rules run-ends
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"{NAME}: {message}; {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. It sets `command`."""
    top = _Parser(prog=NAME, description="Judge AG-UI producers by the rules of the protocol.", allow_abbrev=False)
    top.add_argument("--version", action="version", version=version("agui-sidecar"))
    commands = top.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _check(
        commands.add_parser(
            "check",
            help="judge a recorded stream or a live endpoint",
            description="Judge a recorded stream, or an endpoint by asking it for a run.",
            epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
    )
    rules = commands.add_parser(
        "rules",
        help="list the rules, or explain one",
        description="List the rules that this suite knows, or explain one of them.",
        epilog=RULES_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    rules.add_argument("rule", nargs="?", metavar="ID", help="the rule to explain (default: list all)")
    rules.add_argument("--markdown", action="store_true", help="write docs/rules.md (default: false)")
    return top


def _check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "target",
        metavar="FILE|-|URL",
        help="a recorded stream (an SSE capture, a recording or events as JSON lines, protobuf frames), - for the "
        "standard input, or an endpoint (http, https)",
    )
    _exchange(check.add_argument_group("the exchange"))
    _endpoint(check.add_argument_group("an endpoint"))
    _rules(check.add_argument_group("the rules"))
    _report(check.add_argument_group("the report"))


def _exchange(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--read-as",
        choices=READERS,
        metavar="|".join(READERS),
        help="what a recorded stream is (default: by its beginning)",
    )
    group.add_argument(
        "--run-input",
        "--input",
        type=Path,
        metavar="FILE",
        help="the run input as JSON: what to send to an endpoint (default: a minimal one), or what a recorded stream "
        "answers (default: unknown)",
    )
    group.add_argument(
        "--capabilities", metavar="FILE|URL", help="what the server declares of its agent, as JSON (default: unknown)"
    )
    group.add_argument(
        "--stopped",
        action="store_true",
        help="the run was stopped on purpose before it could complete (default: false)",
    )


def _endpoint(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="a header of every request; may be repeated (default: none)",
    )
    group.add_argument(
        "--accept",
        choices=ACCEPT,
        default="sse",
        metavar="|".join(ACCEPT),
        help="the transport to ask for (default: sse)",
    )
    group.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for the connection, and for each next piece of the answer (default: 60)",
    )
    group.add_argument(
        "--end-within",
        type=_seconds,
        default=3.0,
        metavar="SECONDS",
        help="how long the body may stay open after the terminal event (default: 3)",
    )
    group.add_argument(
        "--probe",
        action="store_true",
        help="after the run, send each of these once and judge the answers too: "
        f"{', '.join(one.name for one in PROBES)} (default: false)",
    )
    group.add_argument(
        "--record", type=Path, metavar="FILE", help="write the run, without probes, as a recording (default: none)"
    )


def _rules(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--select",
        type=_names,
        action="extend",
        default=[],
        metavar="ID[,ID]",
        help="judge these rules only: ids, pages as events/lifecycle, patterns as 'chunk-*' (default: all)",
    )
    group.add_argument(
        "--ignore", type=_names, action="extend", default=[], metavar="ID[,ID]", help="leave these out (default: none)"
    )
    group.add_argument(
        "--protocol",
        choices=EVENTS,
        metavar="|".join(EVENTS),
        help="the version to judge by (default: what the stream declares)",
    )
    group.add_argument("--strict", action="store_true", help="a broken SHOULD fails the check, too (default: false)")


def _report(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--format", choices=FORMATS, default="pretty", metavar="|".join(FORMATS), help="of the report (default: pretty)"
    )
    group.add_argument(
        "--max-findings",
        type=_number,
        default=100,
        metavar="N",
        help="show at most so many findings of a rule, and say how many more there are (default: 100)",
    )
    group.add_argument(
        "--verbose",
        action="store_true",
        help="pretty: list what was not judged, and why, and show known findings (default: false)",
    )
    group.add_argument(
        "--baseline", type=Path, metavar="FILE", help="findings that are known and fail nothing (default: none)"
    )
    group.add_argument(
        "--write-baseline",
        type=Path,
        metavar="FILE",
        help="write what is found as a baseline, and pass (default: none)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds, found {text!r}")
    return seconds


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1, found {text!r}")
    return int(text)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
