"""The documentation's pages, as their tests read them."""

import re

from support.command import ROOT


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of the tables under a heading, as their cells; without those that head them."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in lines if not set(cells[0]) <= {"-"}]


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
