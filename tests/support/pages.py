"""The documentation's pages, as their tests read them."""

import ast
import importlib
import re
from collections.abc import Iterator

from support.command import ROOT

CODES = {
    "AdapterError": (1, "agent_error"),
    "ResumeRefused": (1, "invalid_resume"),
    "InputRefused": (3, "invalid_input"),
}
"""Which argument of an error is its code, and the code of one that is made without."""


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of the tables under a heading, as their cells; without those that head them."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in lines if not set(cells[0]) <= {"-"}]


def codes_raised(package: str, *kinds: str) -> set[str]:
    """The codes with which an adapter's modules, and those that adapters share, make errors of some kinds."""
    return {code for name in _modules(package) for code in _codes(name, kinds)}


def _modules(package: str) -> Iterator[str]:
    yield from ("adapters.frontend", "adapters.media")
    yield from (f"adapters.{package}.{path.stem}" for path in (ROOT / "adapters" / package).glob("*.py"))


def _codes(name: str, kinds: tuple[str, ...]) -> Iterator[str]:
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse((ROOT / name.replace(".", "/")).with_suffix(".py").read_text())):
        kind = getattr(getattr(node, "func", None), "id", None)
        if kind in kinds:
            place, code = CODES[kind]
            given = node.args[place:]
            yield eval(ast.unparse(given[0]), vars(module)) if given else code


def dead_links(page: str) -> list[str]:
    """The links of a page that lead to no file of the repository, or to no heading of theirs."""
    text, place = (ROOT / page).read_text(), (ROOT / page).parent
    dead = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
        there = (place / target).resolve() if target else ROOT / page
        if not there.exists() or (anchor and anchor not in _anchors(there.read_text())):
            dead.append(f"{target}#{anchor}")
    return dead


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in headings}
