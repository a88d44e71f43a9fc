"""Whatever is played here is heard by both kinds of clients, and at the end read by the public ones.

A test that plays a `session` runs twice: for a client that declares version 1.0, and for one from before it, which gets
the downgraded copy. `test_real_clients.py` hands all that was heard to the two public clients.
"""

import inspect
from collections.abc import Iterator

import pytest
from acceptance.conftest import CURRENT, OLDER, node
from support import session
from support.heard import Heard, listening

__all__ = ["node"]

VERSIONS = {CURRENT: "1.0", OLDER: None}
"""What the public clients declare."""

READERS = "test_real_clients.py"

FLATTENED = {
    "test_files_of_tools_are_parts": "the files in a result: the older client gets the text of its parts",
}
"""What a test looks at that an older client is not given. It fails there when it looks, after the stream was heard."""


@pytest.fixture(scope="session")
def streams() -> list[Heard]:
    """All that has been heard so far."""
    return []


@pytest.fixture(autouse=True)
def heard(request: pytest.FixtureRequest, streams: list[Heard]) -> Iterator[None]:
    """Play as a client, today's where nothing else is asked for, and keep what is heard."""
    client = getattr(request, "param", CURRENT)
    with session.declaring(VERSIONS[client]), listening(request.node.nodeid, streams):
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play what uses sessions once for each kind of client."""
    uses_sessions = getattr(metafunc.module, "session", None) is session.session
    if not uses_sessions or not inspect.iscoroutinefunction(metafunc.function):
        return
    reason = FLATTENED.get(metafunc.function.__name__)
    marks = [pytest.mark.xfail(raises=TypeError, strict=True, reason=reason)] if reason else []
    metafunc.parametrize("heard", [CURRENT, pytest.param(OLDER, marks=marks)], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the public clients read when everything has been played."""
    items.sort(key=lambda item: item.path.name == READERS)
