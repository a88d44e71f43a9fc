"""The blocks of code in the documentation."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Block:
    """One block, with the heading that it stands under."""

    heading: str
    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def blocks(page: str, language: str) -> list[Block]:
    """The blocks of a language, in the order of the page. `page` is its path from the root."""
    pieces = re.finditer(r"^#+ ([^\n]+)$|^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    found, heading = [], ""
    for piece in pieces:
        if piece[1] is not None:
            heading = piece[1]
        elif piece[2] == language:
            found.append(Block(heading, language, piece[3]))
    return found
