"""Reading the messages of a run input."""

from collections.abc import Sequence

from ag_ui.core import Message, TextPart


def text_of(message: Message) -> str:
    """The text of a message: its own, or that of its text parts, one after the other."""
    content = getattr(message, "content", None)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.text for part in content if isinstance(part, TextPart))
    return ""


def last_user_text(messages: Sequence[Message]) -> str:
    """The text of the last user message; empty where there is none."""
    return next((text_of(message) for message in reversed(messages) if message.role == "user"), "")
