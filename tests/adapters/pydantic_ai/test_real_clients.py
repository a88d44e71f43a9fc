"""The public clients read all that sessions played here: to its end, without a word, and to the same conversation.

Run the whole directory: alone, there is nothing to read here.
"""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from acceptance.conftest import CLIENTS, CURRENT, OLDER
from support.session import Heard, Peer

from conformance.consumer import Ending

Said = dict[str, Any]
Read = Callable[[str, list[Heard]], list[Said]]

OUTCOMES = {Ending.SUCCEEDED: "success", Ending.INTERRUPTED: "interrupt", Ending.CANCELLED: "cancelled"}


@pytest.fixture(scope="module")
def read(node: dict[str, str]) -> Read:
    """Let a client read streams in one process; give what it made of each, as `streams.mjs` says it."""

    def read_with(client: str, streams: list[Heard]) -> list[Said]:
        exchanges = [{"runInput": one.run_input, "body": one.body} for one in streams]
        pipes = {"input": "".join(json.dumps(one) + "\n" for one in exchanges), "capture_output": True}
        command = ["node", "streams.mjs", f"ag-ui-{client}"]
        done = subprocess.run(command, cwd=CLIENTS, env=node, check=False, encoding="utf-8", **pipes)
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read_with


def expected(heard: Heard) -> Said:
    """What a client has to say of a stream, by what our own consumer made of it."""
    failed = heard.ending is Ending.FAILED
    return {
        "error": None,
        "warnings": [],
        "declares": heard.run_input.get("protocolVersion"),
        "ending": ["RUN_ERROR", heard.error["code"]] if failed else ["RUN_FINISHED", OUTCOMES[heard.ending]],
        "result": heard.result,
        "interrupts": heard.interrupts,
        "messages": heard.messages,
        "state": heard.state,
    }


def differences(streams: list[Heard], said: list[Said]) -> list[str]:
    """Where a client and our consumer differ, each with the stream's number and run input."""
    return [
        f"stream {number}, {one.run_input}: expected {name} {value!r}, the client has {client[name]!r}"
        for number, (one, client) in enumerate(zip(streams, said, strict=True))
        for name, value in expected(one).items()
        if client[name] != value
    ]


@pytest.mark.parametrize("client", [CURRENT, OLDER])
def test_every_stream_is_read_by_the_real_client(client: str, peers: dict[str, Peer], read: Read):
    streams = peers[client].heard
    assert streams, "nothing was played: run all of tests/adapters/pydantic_ai"
    said = read(client, streams)
    assert differences(streams, said) == []
    if client == CURRENT:  # the older client does not name them
        succeeded = [(one, it) for one, it in zip(streams, said, strict=True) if one.ending is Ending.SUCCEEDED]
        assert [it["pending"] for _, it in succeeded] == [one.pending for one, _ in succeeded]


BODY = """\
data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}

data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}

data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}

data: {"type":"TEXT_MESSAGE_END","messageId":"m"}

data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}

"""
SOUND = Heard(
    run_input={"threadId": "t", "runId": "r", "messages": []},
    body=BODY,
    ending=Ending.SUCCEEDED,
    error=None,
    interrupts=[],
    pending=[],
    result=None,
    messages=[{"id": "m", "role": "assistant", "content": "Hello"}],
    state={},
)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({}, []),
        ({"body": BODY.replace("MESSAGE_START", "MESSAGE_END")}, ["error", "warnings", "ending", "messages"]),
        ({"body": BODY.replace("Hello", "Hallo")}, ["messages"]),
        ({"body": BODY.replace('"r","outcome":{"type":"success"}', '"r","result":1')}, ["result"]),
        ({"ending": Ending.CANCELLED}, ["ending"]),
        ({"state": {"n": 1}}, ["state"]),
        ({"interrupts": [{"id": "i", "reason": "x"}]}, ["interrupts"]),
    ],
)
def test_what_differs_is_told(change: dict[str, Any], names: list[str], read: Read):
    stream = replace(SOUND, **change)
    told = differences([stream], read(OLDER, [stream]))
    assert [one.partition("expected ")[2].partition(" ")[0] for one in told] == names
