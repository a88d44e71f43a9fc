"""`docs/beside-langgraph.md` says what the scenarios say."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from support.beside import SAME

PAGE = Path(__file__).parents[4] / "docs" / "beside-langgraph.md"
MODULES = {
    "test_stream": "Text, calls, results, reasoning",
    "test_repeated_ids": "Call ids that come again",
    "test_frontend_tools": "Frontend tools",
    "test_interrupts": "Interrupts and approvals",
    "test_resume_entries": "Resume entries",
    "test_history": "What a client sends",
    "test_state": "State",
    "test_stops": "Stops, and clients that leave",
    "test_at_once": "Runs at once",
    "test_ends": "Ends, usage, capabilities",
}
"""The modules with scenarios, and the heading of each on the page."""


def rows_of(module):
    """What a module's scenarios say, in their order."""
    spec = spec_from_file_location(module, Path(__file__).with_name(f"{module}.py"))
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return [test.row for name, test in vars(loaded).items() if name.startswith("test_")]


def table(module):
    """The page's part about a module."""
    lines = [f"| {row.tried} | {row.peer} | {row.ours} |" for row in rows_of(module)]
    head = ["| tried | ag-ui-langgraph | agui-sidecar |", "|---|---|---|"]
    return "\n".join([f"## {MODULES[module]}", "", *head, *lines, ""])


def test_every_module_is_on_the_page():
    found = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert found - {Path(__file__).stem} == set(MODULES)
    assert PAGE.read_text().count("\n## ") == len(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_the_page_says_what_the_scenarios_say(module):
    assert table(module) in PAGE.read_text()


def test_the_page_counts_them():
    rows = [row for module in MODULES for row in rows_of(module)]
    differ = sum(row.peer != SAME for row in rows)
    assert f"{len(rows)} scenarios, and the two differ in {differ}" in PAGE.read_text()
    assert all("|" not in text for row in rows for text in (row.tried, row.peer, row.ours))
