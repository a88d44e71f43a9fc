"""What a reader of the documentation has at hand: the checkout, a terminal, Node with the client of today."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from acceptance.conftest import CLIENTS, CURRENT, Server, node
from support.command import ROOT, serving

__all__ = ["node"]


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the example."""
    with serving(tmp_path_factory.mktemp("example"), "examples.pydantic_ai_agent:agent") as served:
        yield served


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the example of a graph, its threads in a file of its own."""
    place = tmp_path_factory.mktemp("graph")
    with serving(place, "examples.langgraph_agent:graph", env={"TEA_SHOP": str(place / "tea-shop.db")}) as served:
        yield served


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve what `make demo` serves."""
    with serving(tmp_path_factory.mktemp("demo"), "adapters.demo:demo") as served:
        yield served


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A directory in which @ag-ui/client is installed."""
    (tmp_path / "node_modules" / "@ag-ui").mkdir(parents=True)
    (tmp_path / "node_modules" / "@ag-ui" / "client").symlink_to(CLIENTS / "node_modules" / f"ag-ui-{CURRENT}")
    return tmp_path


@pytest.fixture
def execute(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict]:
    """Execute a block of Python as a module that stands in the checkout; give its names."""
    monkeypatch.syspath_prepend(ROOT)

    def execute_block(block: str) -> dict:
        names: dict = {"__name__": "block"}
        exec(compile(block, "a block of the documentation", "exec"), names)
        return names

    return execute_block
