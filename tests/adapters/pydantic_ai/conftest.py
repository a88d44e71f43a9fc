"""Whatever a session plays here is played by both kinds of clients, and at the end read by the public ones.

A test that uses `session` runs twice: for a client that declares version 1.0, and for one from before it, which gets the
downgraded copy. `test_real_clients.py` hands all streams to the two clients.
"""

import inspect
from collections.abc import Iterator

import pytest
from acceptance.conftest import CURRENT, OLDER, node
from support import session
from support.session import Peer, played_by

__all__ = ["node"]

READERS = "test_real_clients.py"

FLATTENED = {
    "test_files_of_tools_are_parts": "the files in a result: the older client gets the text of its parts",
}
"""What a test looks at that an older client is not given."""


@pytest.fixture(scope="session")
def peers() -> dict[str, Peer]:
    """The two kinds of clients, by the public one that reads for them, with all that they have heard so far."""
    return {CURRENT: Peer("1.0"), OLDER: Peer(None)}


@pytest.fixture(autouse=True)
def peer(request: pytest.FixtureRequest, peers: dict[str, Peer]) -> Iterator[None]:
    """Play as this client; a test without sessions has none."""
    with played_by(peers[getattr(request, "param", CURRENT)]):
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play what uses a session once for each kind of client."""
    if getattr(metafunc.module, "session", None) is not session.session or not _is_async(metafunc):
        return
    reason = FLATTENED.get(metafunc.function.__name__)
    # The stream of such a test is heard before the test looks at it.
    marks = [pytest.mark.xfail(raises=TypeError, strict=True, reason=reason)] if reason else []
    metafunc.parametrize("peer", [CURRENT, pytest.param(OLDER, marks=marks)], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the clients read when everything has been played."""
    items.sort(key=lambda item: item.path.name == READERS)


def _is_async(metafunc: pytest.Metafunc) -> bool:
    return inspect.iscoroutinefunction(metafunc.function)
