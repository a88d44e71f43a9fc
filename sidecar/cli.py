"""The command line: `agui-sidecar serve module:object`. Every setting is a flag; a mistake is one line and exit 2."""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

from pydantic.fields import FieldInfo

from sidecar.errors import ConfigurationError
from sidecar.settings import DEFAULT_FILE, PREFIX, Settings, load

MISTAKE = 2
"""Exit code when the server cannot start as asked."""

EPILOG = f"""\
Settings may stand in the environment ({PREFIX}PORT=8000), in {DEFAULT_FILE} (port = 8000), or be flags (--port 8000);
the later source wins. Agents may stand in {DEFAULT_FILE} too:

  [agents]
  support = "my_module:agent"

  [models]
  support = "openai:gpt-5.2"
"""

TABLES = frozenset({"agents", "models"})
"""Settings that are tables, and no flags."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except ConfigurationError as error:
        print(f"agui-sidecar: {error}", file=sys.stderr)  # noqa: T201 - this is the command line
        return MISTAKE


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"agui-sidecar: {message}; {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="agui-sidecar", description="Run Python agents and speak AG-UI 1.0 to any frontend.")
    parser.add_argument("--version", action="version", version=version("agui-sidecar"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="serve agents",
        description="Serve agents over HTTP. The first one answers at /, each at /agents/NAME.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.set_defaults(run=_serve)
    serve.add_argument(
        "agents",
        nargs="*",
        metavar="[NAME=]MODULE:OBJECT",
        help="a pydantic_ai.Agent, a LangGraph graph, any object with capabilities() and run(), or an asynccontextmanager "
        "function that yields one; for example adapters.demo:demo",
    )
    serve.add_argument("--config", type=Path, metavar="FILE", help=f"settings file (default: {DEFAULT_FILE}, if there)")
    for name, field in Settings.model_fields.items():
        if name not in TABLES:
            _add_flag(serve, name, field)
    return parser


def _add_flag(parser: argparse.ArgumentParser, name: str, field: FieldInfo) -> None:
    """Add the flag of one setting. Values are checked by the settings, not here."""
    flag, dest = f"--{name.replace('_', '-')}", f"set_{name}"
    default = field.get_default(call_default_factory=True)
    shown = "none" if default in ([], None) else str(default).lower() if isinstance(default, bool) else default
    text = f"{(field.description or '').rstrip('.')} (default: {shown})"
    options: dict[str, Any] = {"dest": dest, "default": argparse.SUPPRESS, "help": text.replace("%", "%%")}
    if isinstance(default, bool):
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
    elif isinstance(default, list):
        parser.add_argument(flag, nargs="+", metavar="VALUE", **options)
    else:
        is_choice = get_origin(field.annotation) is Literal
        choices = "|".join(get_args(field.annotation)) if is_choice else name.upper()
        parser.add_argument(flag, metavar=choices, **options)


def _serve(given: argparse.Namespace) -> int:
    from sidecar.agents import load_agents, name_targets  # noqa: PLC0415 - help and mistakes need no server
    from sidecar.logs import configure  # noqa: PLC0415
    from sidecar.server import serve  # noqa: PLC0415

    flags = {name.removeprefix("set_"): value for name, value in vars(given).items() if name.startswith("set_")}
    if given.agents:
        flags["agents"] = name_targets(given.agents)
    settings = load(flags, given.config)
    configure(settings)
    serve(load_agents(settings.agents, settings.model, settings.models), settings)
    return 0
