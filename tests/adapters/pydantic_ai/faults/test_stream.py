"""Text, calls, results and reasoning, as they stream: beside PydanticAI's own adapter."""

import json

from pydantic_ai import Agent, BinaryContent, ToolReturn
from pydantic_ai.messages import (
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall
from pydantic_ai.usage import RequestUsage
from support.beside import beside
from support.peer import Provider, Script, call


def say(word: str) -> str:
    return word


@beside(
    tried="The argument deltas of two parallel calls alternate",
    peer="The second call closes the first, whose next delta names no open call: clients reject the stream",
    ours="Both calls stay open, and each gets its own arguments and result",
    fails="item-open-first",
)
async def test_arguments_of_parallel_calls_alternate(serve):
    """Fault 1 of PydanticAI's own adapter."""
    model = Script(
        [
            {0: DeltaToolCall(name="say", json_args='{"word":', tool_call_id="c1")},
            {1: DeltaToolCall(name="say", json_args='{"word":', tool_call_id="c2")},
            {0: DeltaToolCall(json_args='"a"}', tool_call_id="c1")},
            {1: DeltaToolCall(json_args='"b"}', tool_call_id="c2")},
        ]
    )
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("say a and b")
    assert answer.breaches == []
    assert answer.calls == {"c1": '{"word":"a"}', "c2": '{"word":"b"}'}
    assert answer.results == {"c1": "a", "c2": "b"}


@beside(
    tried="Text goes on after a call of the same response",
    peer="Content for a message that is closed: clients reject the stream",
    ours="The message is opened again under its id, and the text is appended",
    fails="item-open-first",
)
async def test_text_goes_on_after_a_call(serve):
    """Fault 2 of PydanticAI's own adapter."""
    model = Script(["Let me look. ", call("say", '{"word":"x"}'), "One moment."])
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("look")
    assert answer.breaches == []
    assert answer.messages[0]["content"] == "Let me look. One moment."
    assert [one["id"] for one in answer.messages[0]["toolCalls"]] == ["c1"]


@beside(
    tried="Text goes on after an empty piece of reasoning, and reasoning after text",
    peer="Content for a message that is closed: clients reject the stream",
    ours="Every span and message opens once and closes; nothing is sent for the empty piece but a closed pair",
    fails="item-open-first",
)
async def test_reasoning_and_text_alternate(serve):
    """B44."""
    model = Script(
        [
            {0: DeltaThinkingPart(content="a")},
            "x",
            {2: DeltaThinkingPart(content="", signature="S")},
            "y",
            {3: DeltaThinkingPart(content="b")},
        ]
    )
    async with serve(model.agent()) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert answer.text == "xy"
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT")] == ["a", "b"]
    for kind in ("REASONING", "REASONING_MESSAGE"):
        opened = [one["messageId"] for one in answer.of(f"{kind}_START")]
        assert sorted(set(opened)) == sorted(one["messageId"] for one in answer.of(f"{kind}_END")) == sorted(opened)


@beside(
    tried="The model fails in the middle of its reasoning",
    ours="RUN_ERROR at once; what was open may stay so",
)
async def test_the_model_fails_while_it_reasons(serve):
    """B44."""
    model = Script([{0: DeltaThinkingPart(content="a")}, ValueError("no")])
    async with serve(model.agent()) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert (answer.ended, len(answer.of("RUN_ERROR"))) == ("RUN_ERROR", 1)
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT")] == ["a"]


@beside(
    tried="Arguments come whole, in pieces, and not at all",
    ours="They are forwarded piece by piece, and add up to what the model wrote",
)
async def test_arguments_come_whole_in_pieces_and_not_at_all(serve):
    """B12."""

    def ping() -> str:
        return "pong"

    model = Script(
        [
            call("say", '{"word":"Paris"}', "whole", 0),
            {1: DeltaToolCall(name="say", json_args='{"wo', tool_call_id="pieces")},
            {1: DeltaToolCall(json_args='rd":1}', tool_call_id="pieces")},
            call("ping", None, "none", 2),
        ]
    )
    async with serve(model.agent(tools=[say, ping])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.calls["whole"] == '{"word":"Paris"}'
    pieces = [one["delta"] for one in answer.of("TOOL_CALL_ARGS") if one["toolCallId"] == "pieces"]
    assert pieces == ['{"wo', 'rd":1}']
    assert answer.calls["none"] in ("", "{}")
    assert answer.results["none"] == "pong"


@beside(
    tried="Text and a call, then a call without text, then the answer; the client sends it all back",
    ours="Each call belongs to an assistant message, directly followed by its result, under ids that stay",
)
async def test_a_rebuilt_history_keeps_its_order(serve):
    """B35, B36."""
    model = Script(["one ", call("say", '{"word":"x"}')], [call("say", '{"word":"y"}', "c2")], ["two"])
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("go")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    calling = [message for message in answer.messages if message.get("toolCalls")]
    assert [message["role"] for message in answer.messages] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert [call["id"] for message in calling for call in message["toolCalls"]] == ["c1", "c2"]
    assert len({message["id"] for message in thread.messages}) == len(thread.messages)
    results = [message["id"] for message in answer.messages if message["role"] == "tool"]
    assert results == [event["messageId"] for event in answer.of("TOOL_CALL_RESULT")]
    assert again.text == "done"
    kinds = [part.part_kind for part in model.parts]
    assert kinds == [
        "user-prompt",
        "text",
        "tool-call",
        "tool-return",
        "tool-call",
        "tool-return",
        "text",
        "user-prompt",
    ]


@beside(
    tried="A tool message ends the history, and the model makes two new calls",
    ours="Both are announced, with their arguments and results",
)
async def test_calls_after_a_tool_message_are_announced(serve):
    """B31 c."""
    tools = [{"name": "pick", "description": "", "parameters": {"type": "object"}}]
    model = Script([call("pick")], [call("say", '{"word":"x"}', "c2", 0), call("say", '{"word":"y"}', "c3", 1)])
    async with serve(model.agent(tools=[say])) as thread:
        await thread.say("pick", tools=tools)
        await thread.answer("c1", "red")
        answer = await thread.run(tools=tools)
    assert answer.breaches == []
    assert answer.calls == {"c2": '{"word":"x"}', "c3": '{"word":"y"}'}
    assert answer.results == {"c2": "x", "c3": "y"}


@beside(
    tried="Reasoning with a signature, before a call; the client sends it back",
    ours="The signature travels with its reasoning message, and the model gets both back unchanged, once",
)
async def test_a_signature_comes_back(serve):
    """B42."""
    model = Script(
        [{0: DeltaThinkingPart(content="hm")}, {0: DeltaThinkingPart(signature="SIG")}, call("say", '{"word":"x"}')]
    )
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("think")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    thoughts = [part for part in model.parts if isinstance(part, ThinkingPart)]
    assert [(thought.content, thought.signature) for thought in thoughts] == [("hm", "SIG")]


@beside(
    tried="Reasoning that is a signature only",
    peer="The signature names no message, so consumers drop it, and the model never gets it back",
    ours="It comes with an empty reasoning message, and the model gets it back",
    fails=r"\[\] == \[\('', 'SIG'\)\]",
)
async def test_a_signature_without_text_comes_back(serve):
    """Fault 9 of PydanticAI's own adapter; B42."""
    model = Script([{0: DeltaThinkingPart(signature="SIG")}, "hi"])
    async with serve(model.agent()) as thread:
        answer = await thread.say("think")
        await thread.say("and?")
    assert answer.breaches == []
    thoughts = [part for part in model.parts if isinstance(part, ThinkingPart)]
    assert [(thought.content, thought.signature) for thought in thoughts] == [("", "SIG")]


@beside(
    tried="Reasoning that the provider has redacted",
    peer="What stands for it names no message, so consumers drop it, and the model never gets it back",
    ours="It comes with an empty reasoning message, and the model gets it back as it was",
    fails=r"\[\] == \[ThinkingPart",
)
async def test_redacted_reasoning_comes_back(serve):
    """Fault 9 of PydanticAI's own adapter; B42."""
    redacted = ThinkingPart("", id="redacted_thinking", signature="R", provider_name="house")
    model = Provider(([redacted, TextPart("hi")], RequestUsage()))
    async with serve(Agent(model)) as thread:
        answer = await thread.say("think")
        await thread.say("and?")
    assert answer.breaches == []
    assert [part for message in model.seen[-1] for part in message.parts if isinstance(part, ThinkingPart)] == [
        redacted
    ]


@beside(
    tried="The provider runs a tool of its own",
    ours="Its call and result are on the stream, and the model gets both back",
)
async def test_the_provider_runs_a_tool(serve):
    """B42."""
    searched = NativeToolCallPart("web_search", {"query": "sky"}, tool_call_id="n1", provider_name="house")
    found = NativeToolReturnPart("web_search", {"sky": "blue"}, tool_call_id="n1", provider_name="house")
    model = Provider(([searched, found, TextPart("It is blue.")], RequestUsage()))
    async with serve(Agent(model)) as thread:
        answer = await thread.say("which colour?")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    ((key, arguments),) = answer.calls.items()
    assert json.loads(arguments) == {"query": "sky"}
    assert json.loads(answer.results[key]) == {"sky": "blue"}
    assert answer.outcome == {"type": "success"}
    parts = [part for message in model.seen[-1] for part in message.parts]
    assert [part.part_kind for part in parts] == [
        *("user-prompt", "builtin-tool-call", "builtin-tool-return", "text", "user-prompt")
    ]
    assert (parts[1].tool_call_id, parts[2].content, parts[2].provider_name) == ("n1", {"sky": "blue"}, "house")


@beside(
    tried="Tools return an object, a list, nothing, and text with an image",
    ours="Each result is JSON text, text or parts; never a representation of Python's",
)
async def test_results_of_every_shape(serve):
    """B39."""
    returned = {
        "object": {"sky": "sunny", "wind": None},
        "list": [1, "two"],
        "nothing": None,
        "image": ["a dot", BinaryContent(b"\x89PNG", media_type="image/png")],
    }

    def give(kind: str) -> object:
        return returned[kind]

    model = Script([call("give", json.dumps({"kind": kind}), kind, at) for at, kind in enumerate(returned)])
    async with serve(model.agent(tools=[give])) as thread:
        answer = await thread.say("give")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    assert json.loads(answer.results["object"]) == returned["object"]
    assert json.loads(answer.results["list"]) == returned["list"]
    assert answer.results["nothing"] in ("", "null")
    assert "a dot" in str(answer.results["image"])
    assert "BinaryContent(" not in str(answer.results)
    backs = {part.tool_call_id: part for part in model.parts if isinstance(part, ToolReturnPart)}
    assert backs["object"].content == returned["object"]
    assert [file.data for file in backs["image"].files] == [b"\x89PNG"]


@beside(
    tried="A tool returns content for the model beside its return value",
    peer="On the next run the model does not get it any more",
    ours="The model gets both, on the next run as well; metadata stays on the server",
    fails="what was seen",
)
async def test_a_result_with_content_for_the_model(serve):
    """B39."""

    def look() -> ToolReturn:
        return ToolReturn("seen", content=["what was seen"], metadata={"private": True})

    model = Script([call("look")])
    async with serve(model.agent(tools=[look])) as thread:
        answer = await thread.say("look")
        first = str(model.requests)
        await thread.say("and?")
    assert answer.breaches == []
    assert "private" not in answer.response.text
    for requests in (first, str(model.requests)):
        assert "'seen'" in requests
        assert "what was seen" in requests
