"""The process as an operator sees it: it starts, logs, stops in time, and shows no traceback."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
from support.agents import run_input
from support.streams import parse_sse, types

AGENTS = """
import asyncio, time
from ag_ui.core import AgentCapabilities
from adapters.base import Text
from adapters.echo import Echo

class Agent:
    def __init__(self, wait): self.wait = wait
    def capabilities(self): return AgentCapabilities()
    async def run(self, run):
        yield Text("began")
        await self.wait()

async def patient(): await asyncio.sleep(60)
async def stubborn():
    while True:
        try: await asyncio.sleep(60)
        except asyncio.CancelledError: pass
async def threaded(): await asyncio.to_thread(time.sleep, 60)
async def broken(): raise KeyError("sk-secret")

echo, patient, stubborn, threaded, broken = Echo(), Agent(patient), Agent(stubborn), Agent(threaded), Agent(broken)
"""
NAMES = ["echo", "patient", "stubborn", "threaded", "broken"]


class Process:
    """One server process and what it says."""

    def __init__(self, folder, *arguments, names=(), **environment):
        (folder / "agents.py").write_text(AGENTS)
        command = [
            sys.executable,
            "-m",
            "sidecar",
            "serve",
            *(names or [f"agents:{name}" for name in NAMES]),
            "--port",
            "0",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self._reader.start()
        self.url = self.wait_for(r"running on (http://[\w.:]+)")[1]

    def wait_for(self, pattern, seconds=20):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for line in list(self.lines):
                found = re.search(pattern, line)
                if found:
                    return found
            time.sleep(0.01)
        raise AssertionError(f"{pattern} is not in {self.said}")

    @property
    def said(self):
        return "".join(self.lines)

    def stop(self, by=signal.SIGTERM):
        began = time.monotonic()
        self.process.send_signal(by)
        code = self.process.wait(20)
        self._reader.join(5)
        return code, time.monotonic() - began


@pytest.fixture
def serve(tmp_path):
    @contextmanager
    def started(*arguments, **environment):
        process = Process(tmp_path, *arguments, **environment)
        try:
            yield process
        finally:
            process.process.kill()
            process.process.wait()
            process.process.stdout.close()
            process._reader.join()
            process.process.stderr.close()

    return started


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("agent", ["patient", "stubborn", "threaded"])
def test_a_stop_gives_the_run_its_end_and_the_process_goes_in_time(serve, agent, by):
    """B65: whatever the agent does."""
    with serve("--shutdown-grace", "2", "--stop-grace", "0.3") as process:
        with httpx.stream("POST", f"{process.url}/agents/{agent}", json=run_input(), timeout=20) as response:
            chunks = response.iter_bytes()
            body = b""
            while b"began" not in body:
                body += next(chunks)
            code, seconds = process.stop(by)
            body += b"".join(chunks)
        events = parse_sse(body)
        assert (types(events)[-1], events[-1]["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
        assert seconds < 2.5
        assert code in (0, -by)
        assert "Traceback" not in process.said


OPENED = """
from contextlib import asynccontextmanager
from pathlib import Path
from adapters.echo import Echo

def note(what):
    with Path("notes").open("a") as notes: notes.write(what)

class Noted(Echo):
    async def run(self, run):
        note("run ")
        async for step in super().run(run): yield step

@asynccontextmanager
async def outer():
    note("open ")
    yield Noted()
    note("close ")

@asynccontextmanager
async def refused():
    raise OSError("no database")
    yield

@asynccontextmanager
async def nothing():
    yield 5
"""


def test_an_agent_is_opened_with_the_server_and_closed_after_its_runs(serve, tmp_path):
    (tmp_path / "opened.py").write_text(OPENED)
    with serve("--shutdown-grace", "2", names=["a=opened:outer", "b=opened:outer"]) as process:
        response = httpx.post(f"{process.url}/agents/b", json=run_input())
        assert types(parse_sse(response.content))[-1] == "RUN_FINISHED"
        process.stop()
        assert "Traceback" not in process.said
    assert (tmp_path / "notes").read_text() == "open open run close close "


@pytest.mark.parametrize(
    ("name", "told"), [("refused", "opening it failed: OSError: no database"), ("nothing", "int is no agent")]
)
def test_an_agent_that_cannot_be_opened_is_told_in_one_line(tmp_path, name, told):
    (tmp_path / "opened.py").write_text(OPENED)
    command = [sys.executable, "-m", "sidecar", "serve", f"opened:{name}", "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"agui-sidecar: 'opened:{name}': ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_idle_server_stops_at_once(serve):
    with serve() as process:
        _, seconds = process.stop()
        assert seconds < 1.5
        assert "Traceback" not in process.said


def test_one_line_per_run_with_ids_outcome_and_size(serve):
    with serve("--log-format", "json") as process:
        response = httpx.post(process.url, json=run_input(), headers={"X-Request-Id": "req-1"})
        process.wait_for("run ended")
        process.stop()
        line = next(json.loads(line) for line in process.lines if "run ended" in line)
    expected = {
        "agent": "echo",
        "thread_id": "t1",
        "run_id": "r1",
        "request_id": "req-1",
        "outcome": "succeeded",
        "level": "info",
    }
    assert expected.items() <= line.items()
    assert line["events"] == len(parse_sse(response.content))
    assert line["bytes"] == len(response.content)
    assert line["duration_ms"] > 0
    assert all(json.loads(line) for line in process.lines)


def test_a_failure_is_in_the_log_with_its_text_and_the_request_id(serve):
    """B68: the reader gets the id, the operator the text."""
    with serve() as process:
        response = httpx.post(f"{process.url}/agents/broken", json=run_input())
        process.wait_for("sk-secret")
        assert "sk-secret" not in response.text
        assert response.headers["x-request-id"] in process.said


def test_what_it_says_at_its_start_works_as_pasted(serve):
    with serve() as process:
        line = ""
        while not line.startswith("  curl"):
            line = process.process.stdout.readline()
        said = subprocess.run(line, shell=True, capture_output=True, timeout=20, check=True)
    assert types(parse_sse(said.stdout))[-1] == "RUN_FINISHED"


def test_settings_come_from_the_environment_too(serve):
    with serve(AGUI_MAX_BODY_BYTES="2048") as process:
        assert (
            httpx.post(process.url, content=b"x" * 3000, headers={"Content-Type": "application/json"}).status_code
            == 413
        )


def test_frameworks_are_not_imported_without_need(tmp_path):
    """A core install stays light: no framework is loaded for an agent that uses none."""
    code = "import sys; from sidecar.agents import load_agents; load_agents({'e': 'adapters.demo:demo'});"
    code += "print([m for m in ('pydantic_ai', 'langgraph', 'langchain_core') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
