"""The smallest adapter: it says what it was told, word by word."""

import re
from collections.abc import AsyncGenerator

from ag_ui.core import AgentCapabilities, IdentityCapabilities, TransportCapabilities

from adapters.base import RunContext, Step, Text
from adapters.messages import last_user_text


class Echo:
    """Answers with the text of the last user message."""

    def capabilities(self) -> AgentCapabilities:
        """It streams text."""
        return AgentCapabilities(
            identity=IdentityCapabilities(name="echo", description="Says what it is told."),
            transport=TransportCapabilities(streaming=True),
        )

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Say it."""
        for word in re.findall(r"\S+\s*|\s+", last_user_text(run.input.messages)):
            yield Text(word)
