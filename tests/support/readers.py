"""The public clients as readers of what was heard: to its end, without a word, and to the same conversation as ours.

A directory whose tests play sessions has that by its conftest taking over the fixtures, and the hooks with what differs
there. Each test that plays a `session` then runs twice: for a client that declares version 1.0, and for one from before
it, which gets the downgraded copy. `test_real_clients.py` comes last and hands all that was heard to both clients:

    class TestStreams(Streams):
        explained = {("test_numbers", "state"): "JavaScript has no such number"}
"""

import inspect
import json
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from acceptance.conftest import CLIENTS, CURRENT, OLDER, node

from conformance.consumer import Ending
from conformance.run_input import parse_document
from sidecar.wire.view import OlderPeer
from support import session
from support.heard import Heard, listening
from support.streams import parse_sse, sse

__all__ = ["heard", "node", "play_for_both", "read", "read_last", "streams"]

Said = dict[str, Any]
Read = Callable[[str, list[Heard]], list[Said]]

VERSIONS = {CURRENT: "1.0", OLDER: None}
"""What the public clients declare."""

OUTCOMES = {Ending.SUCCEEDED: "success", Ending.INTERRUPTED: "interrupt", Ending.CANCELLED: "cancelled"}

READERS = "test_real_clients.py"


# ---- for a conftest -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def streams() -> list[Heard]:
    """All that has been heard in the directory so far."""
    return []


@pytest.fixture(autouse=True)
def heard(request: pytest.FixtureRequest, streams: list[Heard]) -> Iterator[None]:
    """Play as a client, today's where nothing else is asked for, and keep what is heard."""
    client = getattr(request, "param", CURRENT)
    with session.declaring(VERSIONS[client]), listening(request.node.nodeid, streams):
        yield


@pytest.fixture(scope="session")
def read(node: dict[str, str]) -> Read:
    """Let a client read streams in one process; give what it made of each, as `streams.mjs` says it."""

    def read_with(client: str, streams: list[Heard]) -> list[Said]:
        exchanges = [{"runInput": one.run_input, "body": one.body} for one in streams]
        pipes = {"input": "".join(json.dumps(one) + "\n" for one in exchanges), "capture_output": True}
        command = ["node", "streams.mjs", f"ag-ui-{client}"]
        done = subprocess.run(command, cwd=CLIENTS, env=node, check=False, encoding="utf-8", **pipes)
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.split("\n")[:-1]]

    return read_with


def play_for_both(metafunc: pytest.Metafunc, lost: Collection[str]) -> None:
    """Play what uses sessions once for each kind of client. For `pytest_generate_tests`.

    Args:
        metafunc: A test.
        lost: The tests that look at what an older client is not given. They are played for today's only; the older
            client reads the downgraded copies of their streams all the same.
    """
    uses_sessions = getattr(metafunc.module, "session", None) is session.session
    if not uses_sessions or not inspect.iscoroutinefunction(metafunc.function):
        return
    peers = [CURRENT] if metafunc.function.__name__ in lost else [CURRENT, OLDER]
    metafunc.parametrize("heard", peers, indirect=True)


def read_last(items: list[pytest.Item]) -> None:
    """Let the public clients read when everything has been played. For `pytest_collection_modifyitems`."""
    items.sort(key=lambda item: item.path.name == READERS)


# ---- what they make of it -------------------------------------------------------------------------


def expected(heard: Heard) -> Said:
    """What a client has to say of a stream, by what our own consumer made of it."""
    ours = heard.consumer
    failed = ours.error is not None
    said = {
        "error": None,
        "warnings": [],
        "declares": heard.run_input.get("protocolVersion"),
        "ending": ["RUN_ERROR", ours.error["code"]] if failed else ["RUN_FINISHED", OUTCOMES[ours.ending]],
        "result": ours.result,
        "interrupts": ours.interrupts,
        "messages": ours.messages,
        "state": ours.state,
    }
    names_pending = ours.ending is Ending.SUCCEEDED and heard.run_input.get("protocolVersion")
    return {**said, "pending": ours.pending_tool_calls} if names_pending else said


class Difference(NamedTuple):
    """Where a client and our consumer differ."""

    heard: Heard
    name: str
    ours: Any
    theirs: Any

    @property
    def key(self) -> tuple[str, str]:
        """The test's name, and what differs."""
        return self.heard.name, self.name

    def __str__(self) -> str:
        return f"{self.heard}: {self.name}: expected {self.ours!r}, the client has {self.theirs!r}"


def differences(heard: list[Heard], said: list[Said]) -> list[Difference]:
    """Where a client and our consumer differ."""
    return [
        Difference(one, name, value, client[name])
        for one, client in zip(heard, said, strict=True)
        for name, value in expected(one).items()
        if client[name] != value
    ]


def older(heard: Heard) -> Heard:
    """The same run input and stream as an older client sends and gets them."""
    document = {name: value for name, value in heard.run_input.items() if name != "protocolVersion"}
    view = OlderPeer(parse_document(document).run_input, lambda _: None)
    copy = sse([one for event in parse_sse(heard.body.encode()) for one in view(event)])
    return replace(heard, run_input=document, body=copy.decode())


class Streams:
    """The tests of a directory's streams, for a class of its `test_real_clients.py`."""

    explained: Mapping[tuple[str, str], str] = {}
    """What a client may make another thing of, and why: by the test that plays it, and what differs."""

    @pytest.mark.parametrize("client", [CURRENT, OLDER])
    def test_every_stream_is_read_by_the_real_client(self, client: str, streams: list[Heard], read: Read):
        self._hold(client, [one for one in streams if one.run_input.get("protocolVersion") == VERSIONS[client]], read)

    def test_the_downgraded_copy_of_every_other_stream_is_read_by_the_older_client(
        self, streams: list[Heard], read: Read
    ):
        """What was played for a client of today only: its copy for an older one is made of it as the server makes it."""
        self._hold(OLDER, [older(one) for one in streams if "protocolVersion" in one.run_input], read)

    def _hold(self, client: str, heard: list[Heard], read: Read) -> None:
        assert heard, "nothing was played: run the whole directory"
        found = differences(heard, read(client, heard))
        assert [str(one) for one in found if one.key not in self.explained] == []
        played = {one.name for one in heard}
        needed = {one.key for one in found}
        assert [key for key in self.explained if key[0] in played and key not in needed] == []
