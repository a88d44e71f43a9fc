"""Whatever is played here is heard by both kinds of clients, and at the end read by the public ones."""

import pytest
from support.readers import heard, node, play_for_both, read, read_last, streams

__all__ = ["heard", "node", "read", "streams"]

FLATTENED = ("test_files_of_tools_are_parts",)
"""It looks at the files in a result: an older client gets the text of its parts."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play what uses sessions once for each kind of client."""
    play_for_both(metafunc, FLATTENED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the public clients read when everything has been played."""
    read_last(items)
