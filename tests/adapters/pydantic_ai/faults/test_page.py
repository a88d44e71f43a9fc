"""`docs/beside-pydantic-ai.md` says what the scenarios say."""

from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from support.beside import SAME

PAGE = Path(__file__).parents[4] / "docs" / "beside-pydantic-ai.md"
MODULES = {
    "test_stream": "Text, calls, results, reasoning",
    "test_repeated_ids": "Call ids that come again",
    "test_retries": "What goes wrong at first",
    "test_frontend_tools": "Frontend tools",
    "test_interrupts": "Approvals",
    "test_resume_entries": "Resume entries",
    "test_forged_approvals": "Approvals of what nobody asked for",
    "test_history": "What a client sends",
    "test_state": "State",
    "test_stops": "Stops",
    "test_ends": "Ends, usage, capabilities",
    "test_any_conversation": "Any conversation",
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
    head = ["| tried | PydanticAI's own adapter | agui-sidecar |", "|---|---|---|"]
    return "\n".join([f"## {MODULES[module]}", "", *head, *lines, ""])


def test_every_module_is_on_the_page():
    found = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert found - {Path(__file__).stem} == set(MODULES)
    assert PAGE.read_text().count("\n## ") == len(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_the_page_says_what_the_scenarios_say(module):
    assert table(module) in PAGE.read_text(), f"the page has to say:\n\n{table(module)}"


def test_the_page_names_the_version_that_was_tried():
    assert f" version {version('pydantic-ai-slim')} of it" in PAGE.read_text()


def test_the_page_counts_them():
    rows = [row for module in MODULES for row in rows_of(module)]
    differ = sum(row.peer != SAME for row in rows)
    assert f"{len(rows)} scenarios, and the two differ in {differ}" in PAGE.read_text()
    assert all("|" not in text for row in rows for text in (row.tried, row.peer, row.ours))
