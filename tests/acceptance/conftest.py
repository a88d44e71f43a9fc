"""The real server process and the real public clients."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

CLIENTS = Path(__file__).parent / "clients"
CURRENT, OLDER = "1.0.0", "0.0.59"
PATHS = {CURRENT: "/", OLDER: "/agents/demo"}
"""Where each client finds the agent. CopilotKit, which reads with the older one, has a URL per agent."""
OLDEST_NODE = 20
PATIENCE = 15.0
"""Seconds that a process may take to start or to stop."""


# ---- the server -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A running server and its log, one JSON object a line."""

    url: str
    """Without a path."""
    log: Path

    def lines(self, run_id: str, event: str) -> list[dict[str, Any]]:
        """The lines about one event of a run, as far as they are written."""
        lines = map(json.loads, self.log.read_text().split("\n")[:-1])
        return [line for line in lines if line.get("run_id") == run_id and line["event"] == event]

    def line(self, run_id: str, event: str) -> dict[str, Any]:
        """The first of them; it may be written after the run's reader has seen the end."""
        return _wait(lambda: self.lines(run_id, event), f"the log line {event!r} of run {run_id}")[0]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the demo agent; at the end, stop it and read its log."""
    place = tmp_path_factory.mktemp("server")
    log = place / "stderr.log"
    command = [sys.executable, "-m", "sidecar", "serve", "adapters.demo:demo", "--port", "0", "--log-format", "json"]
    # What the environment and the working directory say of settings is not under test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("AGUI_")}
    with log.open("wb") as stderr, _process(command, cwd=place, env=env, stderr=stderr) as process:
        yield Server(_wait(lambda: _ready(log, process), "a ready server"), log)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    # Uvicorn gives the signal back to the process when it has shut down.
    assert process.returncode in (0, -signal.SIGTERM)
    # A traceback that the server did not mean to log is no JSON.
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    raised = {line["exception"].splitlines()[-1] for line in lines if "exception" in line}
    assert all("a secret that no reader sees" in error for error in raised), raised  # the demo's `crash`
    assert lines[-1]["event"].startswith("Finished server process")


def _ready(log: Path, process: subprocess.Popen[Any]) -> str | None:
    """The server's URL, when it takes runs."""
    assert process.poll() is None, log.read_text()
    listening = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
    is_ready = listening and httpx.get(listening[0] + "/readyz").is_success
    return listening[0] if listening and is_ready else None


@contextmanager
def _process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a process; one that did not end by itself does not outlive the tests."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait(for_what: Any, name: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := for_what()):
        assert time.monotonic() < deadline, f"{name} did not come in {PATIENCE} s"
        time.sleep(0.02)
    return found


# ---- the clients ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What a client made of one run: what its subscriber saw, and what it holds afterwards."""

    events: list[dict[str, Any]]
    warnings: list[str]
    thread_id: str
    messages: list[dict[str, Any]]
    state: Any
    pending_interrupts: list[dict[str, Any]]
    finished: dict[str, Any] | None = None
    """What the client says of RUN_FINISHED; None where none came."""
    result: Any = None
    new_messages: list[dict[str, Any]] | None = None
    error: str | None = None
    """Why the client gave the run up; None where it did not."""
    cancelled: dict[str, Any] | None = None
    """The server's answer to the request to stop the run."""

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event["type"] for event in self.events]

    @property
    def run_id(self) -> str:
        """The run's id, as RUN_STARTED says it."""
        return self.events[0]["runId"]

    @property
    def outcome(self) -> str:
        """How the run ended for its reader: the outcome, or the code of the error."""
        last = self.events[-1]
        return last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"]

    def of(self, *types: str) -> list[dict[str, Any]]:
        """The events of some types, in order."""
        return [event for event in self.events if event["type"] in types]


class Client:
    """A process with one of the public clients; it plays one turn at a time."""

    def __init__(self, version: str, process: subprocess.Popen[str]) -> None:
        self.is_current = version == CURRENT
        self._process = process

    def play(self, turn: dict[str, Any]) -> Report:
        """Play a turn, as `run.mjs` describes it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(turn) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the client's process ended; its stderr says why"
        return Report(**{re.sub("[A-Z]", r"_\g<0>", name).lower(): value for name, value in json.loads(line).items()})


class Conversation:
    """One thread of a client."""

    def __init__(self, client: Client) -> None:
        self.is_current = client.is_current
        self._client = client
        self.name = str(uuid4())

    def say(self, text: str, **turn: Any) -> Report:
        """Add a user message and run."""
        return self.run(messages=[{"id": str(uuid4()), "role": "user", "content": text}], **turn)

    def run(self, **turn: Any) -> Report:
        """Run with a turn of `run.mjs`; the client must read to the end of the run and complain of nothing."""
        report = self.attempt(**turn)
        assert report.error is None
        assert report.warnings == []
        assert report.types[0] == "RUN_STARTED"
        assert report.types[-1] in ("RUN_FINISHED", "RUN_ERROR")
        return report

    def attempt(self, **turn: Any) -> Report:
        """Run, and take what comes."""
        return self._client.play({"conversation": self.name, **turn})


@contextmanager
def playing(version: str, url: str, node: dict[str, str]) -> Iterator[Client]:
    """Run a client's process; at the end it must have had nothing to say on stderr."""
    command = ["node", "run.mjs", f"ag-ui-{version}", url]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with _process(command, cwd=CLIENTS, env=node, encoding="utf-8", **pipes) as process:
        yield Client(version, process)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (0, "")


@pytest.fixture(scope="session", params=[CURRENT, OLDER])
def client(request: pytest.FixtureRequest, server: Server, node: dict[str, str]) -> Iterator[Client]:
    """Run each of the clients."""
    with playing(request.param, server.url + PATHS[request.param], node) as client:
        yield client


@pytest.fixture
def conversation(client: Client) -> Conversation:
    """A new conversation of the client."""
    return Conversation(client)


@pytest.fixture(scope="session")
def read_streams(node: dict[str, str]) -> Callable[[Iterable[list[Any]]], list[dict[str, Any]]]:
    """Let the current client read whole streams in one process; give what it made of each, as `verdicts.mjs` says it."""

    def read(streams: Iterable[list[Any]]) -> list[dict[str, Any]]:
        lines = "".join(json.dumps(events) + "\n" for events in streams)
        command = ["node", "verdicts.mjs", f"ag-ui-{CURRENT}"]
        pipes = {"input": lines, "capture_output": True, "encoding": "utf-8"}
        done = subprocess.run(command, cwd=CLIENTS, env=node, check=False, **pipes)
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


@pytest.fixture(scope="session")
def node() -> dict[str, str]:
    """An environment in which `node` runs the clients."""
    env = _node_environment()
    lock, installed = CLIENTS / "package-lock.json", CLIENTS / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm = subprocess.run(
            ["npm", "ci", "--no-audit"], cwd=CLIENTS, env=env, capture_output=True, text=True, check=False
        )
        assert npm.returncode == 0, npm.stdout + npm.stderr
    return env


def _node_environment() -> dict[str, str]:
    path = os.environ.get("PATH", "")
    for place in (path, os.environ.get("AGUI_NODE_BIN", "")):
        node = shutil.which("node", path=place)
        if node is None:
            continue
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.removeprefix("v").split(".")[0]) >= OLDEST_NODE:
            return {**os.environ, "PATH": str(Path(node).parent) + os.pathsep + path}
    # Not skipped: what was not tested must not look as if it had been.
    return pytest.fail(
        f"the public clients need Node {OLDEST_NODE} or newer: put node and npm on PATH, "
        "or name the directory that holds them in AGUI_NODE_BIN",
        pytrace=False,
    )
