"""The public clients read all that was heard here: to its end, without a word, and to the same conversation.

Neither differs from our consumer in any of it. A difference that comes up is explained here by the page of the
specification that says who is right, stream by stream. Run the whole directory: alone, there is nothing to read here.
"""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from acceptance.conftest import CLIENTS, CURRENT, OLDER
from support.heard import Heard
from support.streams import parse_sse, sse

from conformance.consumer import Ending
from conformance.run_input import parse_document
from sidecar.wire.view import OlderPeer

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
        return [json.loads(line) for line in done.stdout.split("\n")[:-1]]

    return read_with


def expected(heard: Heard) -> Said:
    """What a client has to say of a stream, by what our own consumer made of it."""
    ours = heard.consumer
    failed = ours.error is not None
    return {
        "error": None,
        "warnings": [],
        "declares": heard.run_input.get("protocolVersion"),
        "ending": ["RUN_ERROR", ours.error["code"]] if failed else ["RUN_FINISHED", OUTCOMES[ours.ending]],
        "result": ours.result,
        "interrupts": ours.interrupts,
        "messages": ours.messages,
        "state": ours.state,
    }


def differences(heard: list[Heard], said: list[Said]) -> list[str]:
    """Where a client and our consumer differ."""
    return [
        f"{one}: {name}: expected {value!r}, the client has {client[name]!r}"
        for one, client in zip(heard, said, strict=True)
        for name, value in expected(one).items()
        if client[name] != value
    ]


@pytest.mark.parametrize("client", [CURRENT, OLDER])
def test_every_stream_is_read_by_the_real_client(client: str, streams: list[Heard], read: Read):
    heard = [one for one in streams if ("protocolVersion" in one.run_input) == (client == CURRENT)]
    assert heard, "nothing was played: run all of tests/adapters/pydantic_ai"
    said = read(client, heard)
    assert differences(heard, said) == []
    if client == CURRENT:  # the older client does not name them
        succeeded = [pair for pair in zip(heard, said, strict=True) if pair[0].consumer.ending is Ending.SUCCEEDED]
        assert [it["pending"] for _, it in succeeded] == [one.consumer.pending_tool_calls for one, _ in succeeded]


def test_the_downgraded_copy_of_every_other_stream_is_read_by_the_older_client(streams: list[Heard], read: Read):
    """What was played for a client of today only: its copy for an older one is made of it as the server makes it."""
    heard = [older(one) for one in streams if "protocolVersion" in one.run_input]
    assert heard, "nothing was played: run all of tests/adapters/pydantic_ai"
    assert differences(heard, read(OLDER, heard)) == []


def older(heard: Heard) -> Heard:
    """The same run input and stream as an older client sends and gets them."""
    document = {name: value for name, value in heard.run_input.items() if name != "protocolVersion"}
    view = OlderPeer(parse_document(document).run_input, lambda _: None)
    copy = sse([one for event in parse_sse(heard.body.encode()) for one in view(event)])
    return replace(heard, run_input=document, body=copy.decode())


START = 'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
TEXT = """\
data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}

data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}

data: {"type":"TEXT_MESSAGE_END","messageId":"m"}

"""
END = 'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}\n\n'
STATE = 'data: {"type":"STATE_SNAPSHOT","snapshot":{"n":1}}\n\n'
RESULT = 'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","result":1,"outcome":{"type":"success"}}\n\n'
ERROR = 'data: {"type":"RUN_ERROR","message":"no","code":"x"}\n\n'


@pytest.mark.parametrize(
    ("theirs", "names"),
    [
        (START + TEXT + END, []),
        (START + TEXT.replace("MESSAGE_START", "MESSAGE_END") + END, ["error", "warnings", "ending", "messages"]),
        (START + TEXT, ["ending"]),
        (START + TEXT.replace("Hello", "Hallo") + END, ["messages"]),
        (START + STATE + TEXT + END, ["state"]),
        (START + TEXT + RESULT, ["result"]),
        (START + TEXT + ERROR, ["ending"]),
    ],
    ids=["nothing", "an order", "an end", "a text", "a state", "a result", "an error"],
)
def test_what_differs_is_told(theirs: str, names: list[str], read: Read):
    ours = Heard("a test", {"threadId": "t", "runId": "r", "messages": []}, START + TEXT + END)
    told = differences([ours], read(OLDER, [replace(ours, body=theirs)]))
    assert [one.split(": ")[1] for one in told] == names
