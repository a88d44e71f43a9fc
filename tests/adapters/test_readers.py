"""The public clients as readers: that what differs from our consumer is told, and an explanation that nothing needs."""

from dataclasses import replace

import pytest
from support.heard import Heard
from support.readers import OLDER, Read, Streams, differences, node, read

__all__ = ["node", "read"]

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
    assert [one.name for one in told] == names


@pytest.mark.parametrize(
    ("theirs", "explained", "is_fine"),
    [
        (TEXT, {}, True),
        (TEXT.replace("Hello", "Hallo"), {}, False),
        (TEXT.replace("Hello", "Hallo"), {("test_it", "messages"): "why"}, True),
        (TEXT, {("test_it", "messages"): "why"}, False),
        (TEXT, {("test_another", "messages"): "why"}, True),
    ],
    ids=["the same", "another", "explained", "explained in vain", "explained, and not played"],
)
def test_only_what_is_explained_may_differ(theirs: str, explained: dict, is_fine: bool, read: Read):
    ours = Heard("a.py::test_it[a::b]", {"threadId": "t", "runId": "r", "messages": []}, START + TEXT + END)

    class Explained(Streams):
        pass

    Explained.explained = explained

    def read_otherwise(client: str, heard: list[Heard]) -> list[dict]:
        return read(client, [replace(one, body=START + theirs + END) for one in heard])

    try:
        Explained().test_every_stream_is_read_by_the_real_client(OLDER, [ours], read_otherwise)
    except AssertionError:
        assert not is_fine
    else:
        assert is_fine
