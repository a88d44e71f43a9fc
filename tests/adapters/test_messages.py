"""Reading the messages of a run input."""

from ag_ui.core import ActivityMessage, AssistantMessage, DataSource, ImagePart, TextPart, UserMessage

from adapters.messages import last_user_text, text_of

PICTURE = ImagePart(source=DataSource(value="eA==", mime_type="image/png"))


def test_the_text_of_a_message():
    assert text_of(UserMessage(id="1", content="a")) == "a"
    assert text_of(UserMessage(id="1", content=[TextPart(text="a"), PICTURE, TextPart(text="b")])) == "ab"
    assert text_of(AssistantMessage(id="1")) == ""
    assert text_of(ActivityMessage(id="1", activity_type="x", content={"a": 1})) == ""


def test_the_last_user_message_counts():
    messages = [
        UserMessage(id="1", content="a"),
        UserMessage(id="2", content="b"),
        AssistantMessage(id="3", content="c"),
    ]
    assert last_user_text(messages) == "b"
    assert last_user_text([]) == ""
