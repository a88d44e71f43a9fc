"""Whatever is played here is heard by both kinds of clients, and at the end read by the public ones."""

import pytest
from support.readers import heard, node, play_for_both, read, read_last, streams

__all__ = ["heard", "node", "read", "streams"]

LOST = (
    "test_a_failure_that_is_handled_fails_its_subagent_and_not_the_run",
    "test_a_graph_within_is_a_subagent",
    "test_a_subagent_that_asks_is_suspended_and_goes_on",
    "test_an_agent_as_a_tool_is_a_subagent_and_so_is_one_within_it",
    "test_two_graphs_in_one_node_are_two_subagents",
)
"""They look at whose words a subagent's are: an older client gets the words only."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play what uses sessions once for each kind of client."""
    play_for_both(metafunc, LOST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the public clients read when everything has been played."""
    read_last(items)
