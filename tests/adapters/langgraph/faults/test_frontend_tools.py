"""Frontend tools: beside the best-known LangGraph adapter.

A graph of one's own binds the client's tools where it asks its model, as either adapter documents.
"""

from typing import Any

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from support.graphs import Script, call, ill_formed, more
from support.peer_langgraph import beside

from adapters.langgraph.frontend import await_frontend, each_call, frontend_tools


def offers(*names):
    """The client's tools."""
    return [{"name": name, "description": "", "parameters": {"type": "object"}} for name in names]


class State(MessagesState):
    tools: list[Any]
    """Where the peer puts the client's tools."""


def graph_with(model, *tools):
    """A graph whose model is offered the client's tools beside the server's."""
    theirs = each_call("tools")

    async def talk(state):
        given = [{"type": "function", "function": one} for one in state.get("tools") or ()]
        bound = model.bind_tools([*tools, *(given or frontend_tools(tools))])
        return {"messages": [await bound.ainvoke(state["messages"])]}

    def way(state):
        frontend = {one["name"] for one in state.get("tools") or ()}
        if not frontend:
            return theirs(state)
        calls = [one for one in state["messages"][-1].tool_calls if one["name"] not in frontend]
        return [Send("tools", [{**one, "type": "tool_call"}]) for one in calls] or END

    def back(state):
        """For the peer: stop where a call beside those of the server's tools is the client's."""
        frontend = {one["name"] for one in state.get("tools") or ()}
        called = next(message for message in reversed(state["messages"]) if message.type == "ai").tool_calls
        return END if frontend & {one["name"] for one in called} else "talk"

    build = StateGraph(State)
    build.add_node("talk", talk)
    build.add_node("tools", ToolNode(list(tools), awrap_tool_call=await_frontend))
    build.add_edge(START, "talk")
    build.add_conditional_edges("talk", way, ["tools", END])
    build.add_conditional_edges("tools", back, ["talk", END])
    return build.compile(checkpointer=InMemorySaver())


def looking():
    """A server tool, and what it was asked."""
    looked = []

    @tool
    async def look(what: str) -> str:
        """Look."""
        looked.append(what)
        return f"saw {what}"

    return look, looked


def pending(answer):
    """What the run says that its client has to answer."""
    return answer.outcome.get("pendingToolCallIds", [])


@beside(
    tried="The client offers a tool, and the model calls it",
    peer="Nothing says that the call waits",
    ours="The model sees it beside the server's; the run ends as success with the call pending",
    fails=r"\[\] == \['c1'\]",
)
async def test_the_model_calls_a_frontend_tool(serve):
    """B15; fault 13 of the peer."""
    look, _ = looking()
    model = Script([call("confirm", ""), more('{"a":1}')])
    async with serve(graph_with(model, look)) as thread:
        answer = await thread.say("go", tools=offers("confirm"))
    assert model.offered == [["look", "confirm"]]
    assert answer.breaches == []
    assert (answer.calls, answer.results, answer.ended) == ({"c1": '{"a":1}'}, {}, "success")
    assert pending(answer) == ["c1"]


@beside(
    tried="The client answers, and the run goes on",
    ours="The model gets the answer; neither the call nor the answer is on the stream again",
)
async def test_the_client_answers(serve):
    """B15, B31 c."""
    model = Script([call("confirm", ""), more('{"a":1}')])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("confirm"))
        await thread.answer("c1", "yes")
        answer = await thread.run(tools=offers("confirm"))
    assert (answer.ended, answer.text) == ("success", "done")
    assert [message.text for message in model.seen[-1]] == ["go", "", "yes"]
    assert (answer.calls, answer.results) == ({}, {})
    assert answer.breaches == []


@beside(
    tried="The model calls three frontend tools at once",
    peer="Nothing says that they wait",
    ours="All three are announced and pending, in the order of the calls",
    fails=r"\[\] == \['c0'",
)
async def test_three_frontend_tools_at_once(serve):
    """B15."""
    model = Script([piece for at in range(3) for piece in (call(f"f{at}", "", f"c{at}", at), more("{}", at))])
    async with serve(graph_with(model)) as thread:
        answer = await thread.say("go", tools=offers("f0", "f1", "f2"))
    assert answer.breaches == []
    assert list(answer.calls) == ["c0", "c1", "c2"]
    assert pending(answer) == ["c0", "c1", "c2"]


@beside(
    tried="Two server tools and a frontend tool in one turn; the client answers",
    peer="Nothing says that the call waits",
    ours="The server's run once; the next run goes on with all three results, and announces nothing again",
    fails=r"\[\] != \['c2'\]",
)
async def test_server_tools_beside_a_frontend_tool(serve):
    """B16."""
    look, looked = looking()
    first = [call("look", "", "c1", 0), more('{"what":"a"}', 0)]
    last = [call("look", "", "c3", 2), more('{"what":"b"}', 2)]
    model = Script([*first, call("confirm", "", "c2", 1), more("{}", 1), *last])
    async with serve(graph_with(model, look)) as thread:
        first = await thread.say("go", tools=offers("confirm"))
        await thread.answer("c2", "yes")
        second = await thread.run(tools=offers("confirm"))
    assert (sorted(looked), len(model.seen)) == (["a", "b"], 2)
    assert {key: one.content for key, one in model.results.items()} == {"c1": "saw a", "c2": "yes", "c3": "saw b"}
    assert ill_formed(model.seen[-1]) == []
    assert first.breaches == second.breaches == []
    assert (first.results, pending(first)) == ({"c1": "saw a", "c3": "saw b"}, ["c2"])
    assert (second.calls, second.results, second.text) == ({}, {}, "done")


@beside(
    tried="The user declines a frontend tool: no content, and an error",
    peer="The model reads an empty result",
    ours="The model reads the error, as that of a failed call",
    fails="the user said no",
)
async def test_the_user_declines(serve):
    """B18."""
    model = Script([call("confirm", ""), more("{}")])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("confirm"))
        await thread.answer("c1", "", error="the user said no")
        answer = await thread.run(tools=offers("confirm"))
    assert answer.ended == "success"
    assert "the user said no" in model.results["c1"].text
    assert model.results["c1"].status == "error"


@beside(
    tried="The answer to a frontend call is a list of parts with an image",
    peer="The model is sent the representation of Python's objects",
    ours="The model gets the text and the image",
    fails="type='text' id=None",
)
async def test_an_answer_of_parts(serve):
    """B39."""
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    model = Script([call("draw", ""), more("{}")])
    async with serve(graph_with(model)) as thread:
        await thread.say("draw", tools=offers("draw"))
        await thread.answer("c1", [{"type": "text", "text": "a dot"}, image])
        answer = await thread.run(tools=offers("draw"))
    assert (answer.ended, answer.breaches) == ("success", [])
    assert "type='text' id=None" not in str(model.results["c1"].content)
    text, drawn = model.results["c1"].content_blocks
    assert (text["type"], text["text"]) == ("text", "a dot")
    assert (drawn["type"], drawn["base64"], drawn["mime_type"]) == ("image", "iVBORw0KGgo=", "image/png")


@beside(
    tried="The user writes something else instead of answering a frontend call",
    peer="The model is sent a call without a result, which providers refuse",
    ours="The model reads that the call was not answered, then the message",
    fails="HumanMessage",
)
async def test_the_user_writes_something_else(serve):
    """B18 a."""
    model = Script([call("confirm", ""), more("{}")])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("confirm"))
        answer = await thread.say("never mind", tools=offers("confirm"))
    assert answer.ended == "success"
    assert ill_formed(model.seen[-1]) == []
    assert [message.type for message in model.seen[-1]] == ["human", "ai", "tool", "human"]
    assert model.results["c1"].status == "error"
    assert answer.breaches == []
    assert answer.calls == {}


@beside(
    tried="The result of a frontend call comes after the next user message",
    peer="The model is sent the result apart from its call, which providers refuse",
    ours="The model reads it beside its call",
    fails="HumanMessage",
)
async def test_a_result_comes_late(serve):
    """B18 b."""
    model = Script([call("confirm", ""), more("{}")])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("confirm"))
        thread.messages.append({"id": "late", "role": "user", "content": "so?"})
        await thread.answer("c1", "yes")
        answer = await thread.run(tools=offers("confirm"))
    assert answer.ended == "success"
    assert ill_formed(model.seen[-1]) == []
    assert [message.text for message in model.seen[-1] if message.type != "ai"] == ["go", "yes", "so?"]


@beside(
    tried="The client runs again while a frontend call has no answer and no message follows",
    peer="The model is asked with a call that has no result",
    ours="The run ends with the call pending still; the model is not called",
    fails="2 == 1",
)
async def test_nothing_follows(serve):
    """B18."""
    model = Script([call("confirm", ""), more("{}")])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("confirm"))
        answer = await thread.run(tools=offers("confirm"))
        assert len(model.seen) == 1
        assert (answer.breaches, answer.ended, answer.calls, answer.results) == ([], "success", {}, {})
        await thread.answer("c1", "yes")
        answer = await thread.run(tools=offers("confirm"))
    assert (answer.breaches, answer.text, model.results["c1"].text) == ([], "done", "yes")


@beside(
    tried="Two frontend calls wait, and the client answers one",
    peer="The model is asked with a call that has no result",
    ours="The other stays pending; the model goes on when it is answered too",
    fails="2 == 1",
)
async def test_one_of_two_calls_is_answered(serve):
    """B16."""
    model = Script([call("f0", "", "c0", 0), more("{}", 0), call("f1", "", "c1", 1), more("{}", 1)])
    async with serve(graph_with(model)) as thread:
        await thread.say("go", tools=offers("f0", "f1"))
        await thread.answer("c0", "zero")
        partly = await thread.run(tools=offers("f0", "f1"))
        assert len(model.seen) == 1
        assert (partly.breaches, partly.ended, partly.calls, partly.results) == ([], "success", {}, {})
        await thread.answer("c1", "one")
        answer = await thread.run(tools=offers("f0", "f1"))
    assert (answer.breaches, answer.text) == ([], "done")
    assert {key: one.content for key, one in model.results.items()} == {"c0": "zero", "c1": "one"}
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="The client offers a tool under the name of a server tool",
    peer="The model is offered both",
    ours="Refused with 422 before the stream, naming the tool",
    fails="200 == 422",
)
async def test_a_name_is_taken_by_the_server(serve):
    """B20."""
    look, looked = looking()
    model = Script([call("look", ""), more('{"what":"a"}')])
    async with serve(graph_with(model, look)) as thread:
        answer = await thread.say("go", tools=offers("look"))
    assert answer.response.status_code == 422
    assert "look" in answer.response.text
    assert (model.seen, looked) == ([], [])


@beside(
    tried="The client offers two tools under one name",
    peer="The first one wins silently",
    ours="Refused with 422 before the stream, naming the tool",
    fails="200 == 422",
)
async def test_a_name_is_given_twice(serve):
    """B20."""
    model = Script()
    async with serve(graph_with(model)) as thread:
        answer = await thread.say("go", tools=offers("pick", "pick"))
    assert answer.response.status_code == 422
    assert "pick" in answer.response.text
    assert model.seen == []


@beside(
    tried="The tools are absent, and an empty list",
    ours="Only the server's tools are offered",
)
async def test_there_are_no_frontend_tools(serve):
    """B15."""
    for given in (None, []):
        look, _ = looking()
        model = Script()
        async with serve(graph_with(model, look)) as thread:
            answer = await thread.say("go", tools=given)
        assert (answer.breaches, answer.ended, model.offered) == ([], "success", [["look"]])
