"""The real command in the checkout, as a person at a terminal starts it."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from acceptance.conftest import PATIENCE, Server, _process, _ready, _wait

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(place: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run `agui-sidecar serve` until the block ends; it must end cleanly, and fail at nothing.

    Args:
        place: A directory for its log.
        arguments: Of the command; the port is any that is free.
        env: Added to the environment, which has no settings and no keys.
    """
    log = place / "stderr.log"
    command = [Path(sys.executable).with_name("agui-sidecar"), "serve", *arguments]
    options = ["--port", "0", "--log-format", "json"]
    kept = {name: value for name, value in os.environ.items() if not re.match("AGUI_|.*_(KEY|TOKEN)$", name)}
    with (
        log.open("wb") as stderr,
        _process([*command, *options], cwd=ROOT, env={**kept, **(env or {})}, stderr=stderr) as running,
    ):
        yield Server(_wait(lambda: _ready(log, running), "a ready server"), log)
        running.send_signal(signal.SIGTERM)
        running.wait(PATIENCE)
    assert running.returncode in (0, -signal.SIGTERM)
    assert [line for line in map(json.loads, log.read_text().splitlines()) if "exception" in line] == []
