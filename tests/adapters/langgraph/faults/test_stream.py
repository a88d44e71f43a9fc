"""Text, calls, results and reasoning, as they stream: beside the best-known LangGraph adapter."""

import asyncio
import json

from langchain.agents.middleware import ModelRetryMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import MessagesState
from support.graphs import (
    Script,
    agent,
    call,
    graph_of,
    more,
    redacted,
    says,
    thinking,
    together,
    written,
)
from support.peer_langgraph import beside


@tool
async def say(word: str) -> str:
    """Say a word."""
    return word


@tool
async def ping() -> str:
    """Answer."""
    return "pong"


@beside(
    tried="A run of a client that declares its protocol version",
    peer="Neither is declared",
    ours="RUN_STARTED declares the version, RUN_FINISHED its outcome",
    fails="is_versioned",
)
async def test_the_version_is_declared(serve):
    """Fault 13 of the peer."""
    async with serve(agent(Script(["hi"]))) as thread:
        answer = await thread.say("hello")
    assert answer.breaches == []
    assert answer.text == "hi"
    assert answer.is_versioned
    assert answer.outcome == {"type": "success"}


@beside(
    tried="The first piece of a call's arguments comes with its name",
    peer="The first piece is lost: clients get arguments that are no JSON",
    ours="The pieces add up to what the model wrote, and are forwarded as they come",
    fails="""'rd":"x"}'""",
)
async def test_arguments_begin_with_the_name(serve):
    """Fault 5 of the peer; B12."""
    model = Script([call("say", '{"wo'), more('rd":'), more('"x"}')])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("say x")
    assert answer.breaches == []
    assert answer.results == {"c1": "x"}
    assert answer.calls == {"c1": '{"word":"x"}'}
    assert [one["delta"] for one in answer.of("TOOL_CALL_ARGS")] == ['{"wo', 'rd":', '"x"}']


@beside(
    tried="A call comes whole in one piece, and one without arguments",
    peer="They are announced without their arguments",
    ours="Both are announced with their arguments",
    fails="assert '' == ",
)
async def test_calls_come_whole(serve):
    """Fault 5 of the peer; B12 a, c."""
    model = Script([call("say", '{"word":"Paris"}'), call("ping", "", "c2", 1)])
    async with serve(agent(model, [say, ping])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.results == {"c1": "Paris", "c2": "pong"}
    assert answer.calls["c1"] == '{"word":"Paris"}'
    assert answer.calls["c2"] in ("", "{}")


@beside(
    tried="The model does not stream",
    peer="Its text is on no event but the closing snapshot",
    ours="Its text and its calls are announced all the same",
    fails="'' == 'I say: done'",
)
async def test_the_model_does_not_stream(serve):
    """B12 a."""
    model = Script(["I say: ", call("say", '{"word":"Paris"}')], disable_streaming=True)
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert {key: json.loads(arguments) for key, arguments in answer.calls.items()} == {"c1": {"word": "Paris"}}
    assert answer.results == {"c1": "Paris"}
    assert answer.text == "I say: done"


@beside(
    tried="The argument deltas of two parallel calls alternate",
    peer="All of them go to the second call",
    ours="Each call gets its own arguments and result",
    fails="'c1': ''",
)
async def test_arguments_of_parallel_calls_alternate(serve):
    """Fault 5 of the peer."""
    begun = [call("say", "", "c1", 0), call("say", "", "c2", 1)]
    model = Script([*begun, more('{"word":', 0), more('{"word":', 1), more('"a"}', 0), more('"b"}', 1)])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("say a and b")
    assert answer.breaches == []
    assert answer.results == {"c1": "a", "c2": "b"}
    assert answer.calls == {"c1": '{"word":"a"}', "c2": '{"word":"b"}'}


@beside(
    tried="Two calls come in one chunk",
    peer="The first one is announced without its arguments",
    ours="Both are announced",
    fails="'c1': ''",
)
async def test_two_calls_come_in_one_chunk(serve):
    """Fault 5 of the peer."""
    model = Script([together(call("say", '{"word":"a"}', "c1", 0), call("say", '{"word":"b"}', "c2", 1))])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("say a and b")
    assert answer.breaches == []
    assert answer.results == {"c1": "a", "c2": "b"}
    assert answer.calls == {"c1": '{"word":"a"}', "c2": '{"word":"b"}'}


@beside(
    tried="One call follows another without anything between them",
    ours="Each has its own arguments",
)
async def test_calls_follow_each_other(serve):
    """B10."""
    model = Script([call("say", "", "cA", 0), more('{"word":"a"}'), call("say", "", "cB", 1), more('{"word":"b"}', 1)])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("say a and b")
    assert answer.breaches == []
    assert answer.results == {"cA": "a", "cB": "b"}
    assert answer.calls == {"cA": '{"word":"a"}', "cB": '{"word":"b"}'}


@beside(
    tried="One call follows another at the same place of the message, as some providers number them",
    ours="Each is announced with its own arguments",
)
async def test_calls_follow_each_other_at_one_place(serve):
    """B10."""
    model = Script([call("say", "", "cA", 0), more('{"word":"a"}'), call("say", "", "cB", 0), more('{"word":"b"}')])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("say a and b")
    assert answer.breaches == []
    assert answer.calls == {"cA": '{"word":"a"}', "cB": '{"word":"b"}'}


@beside(
    tried="The last piece of text comes with the reason to finish",
    peer="It is lost",
    ours="It is forwarded as any other",
    fails="'It is ' == 'It is blue.'",
)
async def test_text_comes_with_the_reason_to_finish(serve):
    """Fault 6 of the peer."""
    model = Script(["It is ", AIMessageChunk("blue.", response_metadata={"finish_reason": "stop"})])
    async with serve(agent(model)) as thread:
        answer = await thread.say("which colour?")
    assert answer.breaches == []
    assert answer.text == "It is blue."


@beside(
    tried="Text goes on after a call of the same response",
    peer="It is lost",
    ours="It is appended to the message",
    fails="'Let me look. done' == ",
)
async def test_text_goes_on_after_a_call(serve):
    """Fault 6 of the peer."""
    model = Script(["Let me look. ", call("say", ""), more('{"word":"x"}'), "One moment."])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("look")
    assert answer.breaches == []
    assert answer.text == "Let me look. One moment.done"
    assert answer.messages[0]["content"] == "Let me look. One moment."
    assert [one["id"] for one in answer.messages[0]["toolCalls"]] == ["c1"]


@beside(
    tried="Two nodes stream at once",
    peer="The words of one are appended to the other's message",
    ours="Each writes a message of its own",
    fails=r"\['a1 b1",
)
async def test_two_nodes_stream_at_once(serve):
    """Fault 7 of the peer."""
    graph = graph_of(
        says(Script(["a1 ", _turn, "a2 ", _turn, "a3"]), "one"),
        says(Script(["b1 ", _turn, "b2 ", _turn, "b3"]), "two"),
        side_by_side=True,
    )
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    texts: dict[str, str] = {}
    for event in answer.of("TEXT_MESSAGE_CONTENT"):
        texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    assert sorted(texts.values()) == ["a1 a2 a3", "b1 b2 b3"]
    assert sorted(message["content"] for message in answer.messages) == ["a1 a2 a3", "b1 b2 b3"]


async def _turn() -> None:
    """Let the other node write."""
    await asyncio.sleep(0)


@beside(
    tried="A tool is called; the client sends everything back",
    peer="The result has one id on the stream and another in the snapshot, so that clients put it behind the answer",
    ours="The result has one id, on the stream and in the checkpoint, and the order stays",
    fails="'assistant' != 'tool'",
)
async def test_results_keep_their_ids(serve):
    """Fault 8 of the peer; B36."""
    model = Script(["one ", call("say", ""), more('{"word":"x"}')], ["two"])
    graph = agent(model, [say])
    async with serve(graph) as thread:
        answer = await thread.say("go")
        again = await thread.say("and?")
    assert again.breaches == []
    assert [message["role"] for message in answer.messages] == ["assistant", "tool", "assistant"]
    state = await graph.aget_state({"configurable": {"thread_id": "t1"}})
    assert [message["id"] for message in thread.messages] == [message.id for message in state.values["messages"]]
    assert [message.type for message in model.seen[-1]] == ["human", "ai", "tool", "ai", "human"]


@beside(
    tried="A tool message ends the history, and the model makes two new calls",
    ours="Both are announced, with their arguments and results",
)
async def test_calls_after_a_tool_message_are_announced(serve):
    """B31 c."""
    history = [
        {"id": "u1", "role": "user", "content": "pick"},
        {"id": "a1", "role": "assistant", "toolCalls": [_picked("f1")]},
        {"id": "r1", "role": "tool", "toolCallId": "f1", "content": "red"},
    ]
    model = Script([call("say", "", "c2"), more('{"word":"x"}'), call("say", "", "c3", 1), more('{"word":"y"}', 1)])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.run(messages=history)
    assert answer.breaches == []
    assert answer.results == {"c2": "x", "c3": "y"}
    assert answer.calls == {"c2": '{"word":"x"}', "c3": '{"word":"y"}'}


def _picked(key: str) -> dict[str, object]:
    return {"id": key, "type": "function", "function": {"name": "pick", "arguments": "{}"}}


@beside(
    tried="A node returns a message that no model wrote",
    peer="It is on no event but the closing snapshot",
    ours="It is on the stream, once",
    fails="'' == 'Good day.'",
)
async def test_a_message_that_no_model_wrote(serve):
    """B04."""

    async def greet(state):
        return {"messages": [AIMessage("Good day.", id="g1")]}

    async with serve(graph_of(greet)) as thread:
        answer = await thread.say("hello")
    assert answer.breaches == []
    assert [(message["id"], message["content"]) for message in answer.messages] == [("g1", "Good day.")]
    assert answer.text == "Good day."


# ---- what the model says to itself ----------------------------------------------------------------


@beside(
    tried="A node asks a model in silence, with the `nostream` tag, before another one answers",
    peer="What it says is on the stream",
    ours="Nothing of it is on the stream, and the answer is whole",
    fails="weather",
)
async def test_a_model_is_asked_in_silence(serve):
    """B04."""
    router, speaker = Script(["weather"]), Script(["Hel", "lo"])

    async def route(state):
        quiet = router.with_config(tags=["nostream"])
        return {"intent": (await quiet.ainvoke(state["messages"])).text}

    class State(MessagesState):
        intent: str

    async with serve(graph_of(route, says(speaker), state=State)) as thread:
        answer = await thread.say("hi")
    assert answer.breaches == []
    assert "weather" not in str([answer.of(kind) for kind in ("TEXT_MESSAGE_CONTENT", "MESSAGES_SNAPSHOT")])
    assert answer.text == "Hello"
    assert [message["content"] for message in answer.messages] == ["Hello"]


@beside(
    tried="A node asks a model for an object, and keeps the object only",
    peer="The object is a call that nobody answers",
    ours="No call is on the stream, and the answer is whole",
    fails=r"sky.* == \{\}",
)
async def test_a_model_is_asked_for_an_object(serve):
    """B04."""
    schema = {"title": "Intent", "type": "object", "properties": {"topic": {"type": "string"}}}
    router, speaker = Script([call("Intent", ""), more('{"topic":'), more('"sky"}')]), Script(["Hel", "lo"])

    async def route(state):
        return {"intent": (await router.with_structured_output(schema).ainvoke(state["messages"]))["topic"]}

    class State(MessagesState):
        intent: str

    async with serve(graph_of(route, says(speaker), state=State)) as thread:
        answer = await thread.say("hi")
    assert answer.breaches == []
    assert answer.calls == {}
    assert answer.text == "Hello"
    assert [message["content"] for message in answer.messages] == ["Hello"]


@beside(
    tried="The graph replaces its old messages by a summary; the client sends its whole history again",
    peer="The closing snapshot wipes the client's conversation",
    ours="The client keeps what its user saw, and the checkpoint its summary",
    fails="'three' != 'a'",
)
async def test_the_graph_compacts_its_messages(serve):
    """B40."""
    model = Script(["one"], ["two"], ["three"])

    async def compact(state):
        old = state["messages"][:-1]
        if len(old) < 4:
            return {}
        return {"messages": [*(RemoveMessage(message.id) for message in old), SystemMessage("summary", id="s1")]}

    graph = graph_of(says(model), compact)
    async with serve(graph) as thread:
        await thread.say("a")
        await thread.say("b")
        compacted = await thread.say("c")
        held = [message["content"] for message in thread.messages]
        again = await thread.say("d")
    assert compacted.breaches == again.breaches == []
    assert held == ["a", "one", "b", "two", "c", "three"]
    assert [message.text for message in model.seen[-1]] == ["three", "summary", "d"]


@beside(
    tried="LangChain's middleware summarises the thread with a model of its own",
    peer="The summary is on the stream, and the closing snapshot wipes the client's conversation",
    ours="The client sees nothing of it, and keeps what its user saw",
    fails="SUMMARY",
)
async def test_the_middleware_summarises(serve):
    """B04, B40."""
    model, summariser = Script(["one"], ["two"], ["three"]), Script(["SUMMARY"])
    middleware = SummarizationMiddleware(summariser, trigger=("messages", 4), keep=("messages", 2))
    async with serve(agent(model, middleware=[middleware])) as thread:
        answers = [await thread.say(word) for word in "abc"]
    assert [answer.breaches for answer in answers] == [[], [], []]
    assert "SUMMARY" in model.seen[-1][0].text
    texts = [answer.text for answer in answers]
    assert texts == ["one", "two", "three"]
    assert [message["content"] for message in thread.messages] == ["a", "one", "b", "two", "c", "three"]


@beside(
    tried="A model call fails in the middle, and LangChain's middleware asks again",
    peer="What it says then is appended to what the failed call said",
    ours="The run goes on with what the model says then, in a message of its own",
    fails="'hmfine' == 'fine'",
)
async def test_the_middleware_asks_again(serve):
    """B67."""
    model = Script(["hm", ValueError("no")], ["fine"])
    async with serve(agent(model, middleware=[ModelRetryMiddleware(max_retries=1, initial_delay=0)])) as thread:
        answer = await thread.say("go")
        await thread.say("and?")
    assert (answer.breaches, answer.ended) == ([], "success")
    texts: dict[str, str] = {}
    for event in answer.of("TEXT_MESSAGE_CONTENT"):
        texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    assert list(texts.values())[-1] == "fine"
    assert [message.text for message in model.seen[-1]] == ["go", "fine", "and?"]


# ---- reasoning ------------------------------------------------------------------------------------


@beside(
    tried="The model only thinks",
    ours="The reasoning is on the stream, and closed before the run ends",
)
async def test_the_model_only_thinks(serve):
    """Fault 10 of the peer; B44."""
    async with serve(agent(Script([thinking("hm"), thinking("m")]))) as thread:
        answer = await thread.say("think")
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT")] == ["hm", "m"]
    assert answer.breaches == []
    assert answer.ended == "success"
    assert [message["content"] for message in answer.messages if message["role"] == "reasoning"] == ["hmm"]


@beside(
    tried="Reasoning, text and reasoning again, in one response",
    ours="Every span and message opens once and closes",
)
async def test_reasoning_and_text_alternate(serve):
    """B44."""
    model = Script([thinking("a"), written("x"), thinking("", index=2), written("y", 3), thinking("b", index=4)])
    async with serve(agent(model)) as thread:
        answer = await thread.say("think")
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT") if one["delta"]] == ["a", "b"]
    assert answer.text == "xy"
    assert answer.breaches == []
    for kind in ("REASONING", "REASONING_MESSAGE"):
        opened = [one["messageId"] for one in answer.of(f"{kind}_START")]
        assert sorted(set(opened)) == sorted(one["messageId"] for one in answer.of(f"{kind}_END")) == sorted(opened)


@beside(
    tried="A provider puts the reasoning beside the text, as `reasoning_content`",
    ours="It is on the stream as any other",
)
async def test_reasoning_comes_beside_the_text(serve):
    """B42."""
    thought = [AIMessageChunk("", additional_kwargs={"reasoning_content": piece}) for piece in ("h", "m")]
    async with serve(agent(Script([*thought, "hi"]))) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert answer.text == "hi"
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT")] == ["h", "m"]


@beside(
    tried="Reasoning with a signature, before a call; the client sends it back to another process",
    peer="It is lost",
    ours="The signature travels with its reasoning message, and the model gets both back unchanged, once",
    fails=r"'SIG' in '\[\]'",
)
async def test_a_signature_comes_back(serve):
    """Fault 11 of the peer; B42."""
    thought = [thinking("h"), thinking("m"), thinking(signature="SIG")]
    model = Script([*thought, call("say", "", index=1), more('{"word":"x"}', 1)])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert "SIG" in str(answer.of("REASONING_ENCRYPTED_VALUE"))
    await _begins_again(serve, model, thread.messages)
    assert _thoughts(model) == [{"type": "thinking", "thinking": "hm", "signature": "SIG"}]


@beside(
    tried="Reasoning that the provider has redacted; the client sends it back to another process",
    peer="The model does not get it back",
    ours="It comes with an empty reasoning message, and the model gets it back as it was",
    fails=r"\[\] == \[\{'type': 're",
)
async def test_redacted_reasoning_comes_back(serve):
    """Fault 11 of the peer; B42."""
    model = Script([redacted("R"), written("hi")])
    async with serve(agent(model)) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert answer.text == "hi"
    await _begins_again(serve, model, thread.messages)
    assert _thoughts(model) == [{"type": "redacted_thinking", "data": "R"}]


async def _begins_again(serve, model, history):
    """Send a history to a graph that knows nothing of its thread."""
    async with serve(agent(model, [say])) as thread:
        thread.messages = [*history, {"id": "again", "role": "user", "content": "and?"}]
        answer = await thread.run()
    assert answer.ended == "success"


def _thoughts(model):
    blocks = [block for message in model.seen[-1] if isinstance(message.content, list) for block in message.content]
    kept = [block for block in blocks if isinstance(block, dict) and "thinking" in block["type"]]
    return [{key: value for key, value in block.items() if key != "index"} for block in kept]


@beside(
    tried="The model fails in the middle of its reasoning",
    ours="RUN_ERROR at once; what was open may stay so",
)
async def test_the_model_fails_while_it_reasons(serve):
    """B44."""
    async with serve(agent(Script([thinking("a"), ValueError("no")]))) as thread:
        answer = await thread.say("think")
    assert answer.breaches == []
    assert (answer.ended, len(answer.of("RUN_ERROR"))) == ("RUN_ERROR", 1)
    assert [one["delta"] for one in answer.of("REASONING_MESSAGE_CONTENT")] == ["a"]


# ---- results, and what else is on the stream ------------------------------------------------------


@beside(
    tried="Tools return an object, a list of text blocks, nothing, and text with an image",
    peer="A file is JSON within the text",
    ours="Each result is JSON text, text or parts; never a representation of Python's",
    fails="isinstance",
)
async def test_results_of_every_shape(serve):
    """B39."""
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    returned = {
        "object": {"sky": "sunny", "wind": None},
        "blocks": [{"type": "text", "text": "one"}],
        "nothing": None,
        "image": [{"type": "text", "text": "a dot"}, image],
    }

    @tool
    async def give(kind: str) -> object:
        """Give something."""
        return returned[kind]

    pieces = [(call("give", "", kind, at), more(json.dumps({"kind": kind}), at)) for at, kind in enumerate(returned)]
    model = Script([piece for pair in pieces for piece in pair])
    async with serve(agent(model, [give])) as thread:
        answer = await thread.say("give")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    assert json.loads(answer.results["object"]) == returned["object"]
    assert answer.results["nothing"] in ("", "null")
    assert answer.results["blocks"] == "one"
    parts = answer.results["image"]
    assert isinstance(parts, list)
    assert [part["type"] for part in parts] == ["text", "image"]
    assert parts[1]["source"] == {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}


@beside(
    tried="A tool reports its progress with LangGraph's stream writer",
    peer="Nothing is sent",
    ours="It comes as a custom event",
    fails=r"\[\] == \[\{'progress'",
)
async def test_a_tool_reports_its_progress(serve):
    """B31 d."""

    @tool
    async def work() -> str:
        """Work."""
        get_stream_writer()({"progress": 0.5})
        return "worked"

    async with serve(agent(Script([call("work", "")]), [work])) as thread:
        answer = await thread.say("work")
    assert answer.breaches == []
    assert answer.results == {"c1": "worked"}
    assert [event["value"] for event in answer.of("CUSTOM")] == [{"progress": 0.5}]


@beside(
    tried="A tool returns 34 kB, and the model answers in 500 pieces; the peer with its defaults",
    peer="A copy of each of LangGraph's events goes out, with the operator's system prompt",
    ours="The stream is less than twice what was said",
    fails="operator's secret",
)
async def test_a_stream_is_not_amplified(serve):
    """B73."""
    large = "x" * 34_000

    @tool
    async def fetch() -> str:
        """Fetch a page."""
        return large

    model = Script([call("fetch", "")], ["word "] * 500)
    graph = agent(model, [fetch], system_prompt="the operator's secret")
    async with serve(graph, theirs={}) as thread:
        answer = await thread.say("fetch")
    assert answer.breaches == []
    assert answer.results == {"c1": large}
    assert "the operator's secret" not in answer.response.text
    bare = sum(len(json.dumps(event)) + 8 for event in answer.of("TEXT_MESSAGE_CONTENT"))
    assert len(answer.response.content) < 2 * (bare + len(large))


@beside(
    tried="A short answer, on a thread of 2 messages and on one of 100",
    peer="The whole thread comes twice with it",
    ours="The stream does not grow with the thread",
    fails=r"< \(2 \* ",
)
async def test_a_stream_does_not_grow_with_its_thread(serve):
    """B73."""
    sizes = []
    for turns in (1, 50):
        history = [
            {"id": f"m{at}", "role": ("user", "assistant")[at % 2], "content": f"{at} " + "x" * 500}
            for at in range(2 * turns)
        ]
        async with serve(agent(Script(["short"]))) as thread:
            thread.messages = history
            answer = await thread.say("go")
        assert answer.breaches == []
        assert answer.text == "short"
        sizes.append(len(answer.response.content))
    assert sizes[1] < 2 * sizes[0]
