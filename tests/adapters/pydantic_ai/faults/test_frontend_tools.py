"""Tools that the client runs: beside PydanticAI's own adapter."""

import json

from pydantic_ai.messages import ModelRequest, ToolReturnPart
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, call, ill_formed

PICK = {"name": "pick", "description": "Pick one.", "parameters": {"type": "object", "properties": {"n": {}}}}


def results(model):
    """What the model was last sent as results, by call id."""
    return {part.tool_call_id: part for part in model.parts if isinstance(part, ToolReturnPart)}


def noted():
    """A server tool, and how often it ran."""
    notes = []

    def note(text: str) -> str:
        notes.append(text)
        return f"noted {text}"

    return note, notes


@beside(
    tried="The client offers a tool, and the model calls it",
    ours="The model sees it beside the server's; the run ends as success with the call pending",
)
async def test_the_model_calls_a_frontend_tool(serve):
    """B15."""
    note, _ = noted()
    for tools in ([PICK], [], None):
        model = Script([call("pick", '{"n":1}')] if tools else ["hi"])
        async with serve(model.agent(tools=[note])) as thread:
            answer = await thread.say("pick", tools=tools)
        assert answer.breaches == []
        assert sorted(tool.name for tool in model.infos[0].function_tools) == sorted(
            ["note", *(["pick"] if tools else [])]
        )
        assert (answer.ended, answer.results) == ("success", {})
        assert answer.outcome.get("pendingToolCallIds", []) == (["c1"] if tools else [])


@beside(
    tried="The model calls three frontend tools at once",
    ours="All three are announced and pending, in the order of the calls",
)
async def test_the_model_calls_three_frontend_tools(serve):
    """B17."""
    model = Script([call("pick", f'{{"n":{at}}}', f"f{at}", at) for at in (1, 2, 3)])
    async with serve(model.agent()) as thread:
        answer = await thread.say("pick", tools=[PICK])
    assert answer.breaches == []
    assert list(answer.calls) == answer.outcome["pendingToolCallIds"] == ["f1", "f2", "f3"]
    assert (answer.ended, answer.results) == ("success", {})


@beside(
    tried="Two server tools and a frontend tool in one turn; the client answers",
    ours="The server's run once; the next run continues with all three results, and announces nothing again",
)
async def test_server_and_frontend_tools_in_one_turn(serve):
    """B16."""
    note, notes = noted()
    model = Script(
        [call("note", '{"text":"a"}', "c1", 0), call("pick", "{}", "c2", 1), call("note", '{"text":"b"}', "c3", 2)]
    )
    async with serve(model.agent(tools=[note])) as thread:
        first = await thread.say("go", tools=[PICK])
        await thread.answer("c2", "yes")
        second = await thread.run(tools=[PICK])
    assert first.breaches == second.breaches == []
    assert first.results == {"c1": "noted a", "c3": "noted b"}
    assert first.outcome == {"type": "success", "pendingToolCallIds": ["c2"]}
    assert (second.calls, second.results, second.text) == ({}, {}, "done")
    assert sorted(notes) == ["a", "b"]
    assert {key: part.content for key, part in results(model).items()} == {**first.results, "c2": "yes"}
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="A server tool, a frontend tool and a call to approve in one turn; the approval comes first",
    peer="RUN_ERROR: nothing can be approved before the frontend call is answered",
    ours="The approved call runs, the frontend call stays pending, and the model goes on when it is answered",
    fails=r"\(\[\], \{\}, \{\}\) == \(\[5\]",
)
async def test_three_kinds_of_calls_in_one_turn(serve):
    """B16, B11."""
    bank = Bank([call("look", '{"what":"a"}', "c1", 0), pays(5, "c2", 1), call("pick", "{}", "c3", 2)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("go", tools=[PICK])
        assert (asked.breaches, list(asked.open), asked.results) == ([], ["c2"], {"c1": "saw a"})
        paid = await thread.resume({asked.open["c2"]: APPROVED}, tools=[PICK])
        assert paid.breaches == []
        assert (bank.paid, paid.results, paid.calls) == ([5], {"c2": "paid 5"}, {})
        assert (paid.text, paid.ended) == ("", "success")
        await thread.answer("c3", "red")
        answer = await thread.run(tools=[PICK])
    assert (answer.breaches, answer.text) == ([], "done")
    assert (bank.looked, bank.paid) == (["a"], [5])
    assert {key: part.content for key, part in bank.results().items()} == {"c1": "saw a", "c2": "paid 5", "c3": "red"}
    assert ill_formed(bank.model.seen[-1]) == []


@beside(
    tried="The same, and the answer to the frontend call comes first",
    peer="The call to approve is dropped, and the model answers",
    ours="The run is interrupted again; when the call is approved, the model gets all three results",
    fails="'success' == 'interrupt'",
)
async def test_the_frontend_answer_comes_before_the_approval(serve):
    """B16, B25 b."""
    bank = Bank([call("look", '{"what":"a"}', "c1", 0), pays(5, "c2", 1), call("pick", "{}", "c3", 2)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("go", tools=[PICK])
        await thread.answer("c3", "red")
        waiting = await thread.run(tools=[PICK])
        assert waiting.breaches == []
        assert waiting.ended == "interrupt"
        assert (waiting.open, waiting.text, bank.paid) == (asked.open, "", [])
        answer = await thread.resume(dict.fromkeys(waiting.open.values(), APPROVED), tools=[PICK])
    assert (answer.breaches, answer.text, bank.paid) == ([], "done", [5])
    assert {key: part.content for key, part in bank.results().items()} == {"c1": "saw a", "c2": "paid 5", "c3": "red"}


@beside(
    tried="The model calls a frontend tool with arguments that are no JSON",
    peer="The server answers the call itself, and the run ends as RUN_ERROR",
    ours="The call is pending, as the model made it; its answer reaches the model",
    fails="frontend-call-unanswered",
)
async def test_a_frontend_call_with_arguments_that_are_no_json(serve):
    """B12."""
    model = Script([call("pick", '{"n":')])
    async with serve(model.agent()) as thread:
        first = await thread.say("pick", tools=[PICK])
        assert (first.breaches, first.calls, first.results) == ([], {"c1": '{"n":'}, {})
        assert first.outcome == {"type": "success", "pendingToolCallIds": ["c1"]}
        await thread.answer("c1", "no such n", error="cannot be read")
        answer = await thread.run(tools=[PICK])
    assert (answer.breaches, answer.text) == ([], "done")
    assert "cannot be read" in results(model)["c1"].model_response_str()
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="The user declines a frontend tool: no content, and an error",
    peer="The model reads an empty result",
    ours="The model reads the error, as that of a failed call",
    fails="declined",
)
async def test_a_frontend_tool_is_declined(serve):
    """Fault 12 of PydanticAI's own adapter."""
    model = Script([call("pick")])
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        await thread.answer("c1", "", error="declined")
        answer = await thread.run(tools=[PICK])
    assert answer.breaches == []
    assert "declined" in results(model)["c1"].model_response_str()
    assert results(model)["c1"].outcome != "success"


@beside(
    tried="The user writes something else instead of answering a frontend call",
    ours="The model reads that the call was not answered, then the message",
)
async def test_a_frontend_call_is_never_answered(serve):
    """B18 a."""
    model = Script([call("pick")])
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        answer = await thread.say("never mind", tools=[PICK])
    assert answer.breaches == []
    assert (answer.calls, answer.results, answer.text) == ({}, {}, "done")
    assert ill_formed(model.seen[-1]) == []
    assert "never mind" in str(model.requests[-1].content)
    assert list(results(model)) == ["c1"]
    assert results(model)["c1"].outcome != "success"


@beside(
    tried="The result of a frontend call comes after the next user message",
    ours="The model reads it beside its call",
)
async def test_a_frontend_result_comes_late(serve):
    """B18 b."""
    model = Script([call("pick")])
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        thread.messages.append({"id": "u", "role": "user", "content": "hello?"})
        await thread.answer("c1", "red")
        answer = await thread.run(tools=[PICK])
    assert answer.breaches == []
    assert answer.text == "done"
    assert {key: part.content for key, part in results(model).items()} == {"c1": "red"}
    assert ill_formed(model.seen[-1]) == []
    assert "hello?" in str(model.requests)


@beside(
    tried="The client runs again while a frontend call has no answer and no message follows",
    peer="The call disappears from what the model reads, and the model answers",
    ours="The run ends with the call pending still; the model is not called",
    fails="2 == 1",
)
async def test_a_frontend_call_is_still_open(serve):
    """B18."""
    model = Script([call("pick", "{}", "c1", 0), call("pick", "{}", "c2", 1)])
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        await thread.answer("c2", "red")
        answer = await thread.run(tools=[PICK])
        assert answer.breaches == []
        assert len(model.seen) == 1
        assert (answer.ended, answer.calls, answer.results) == ("success", {}, {})
        await thread.answer("c1", "blue")
        answer = await thread.run(tools=[PICK])
    assert answer.text == "done"
    assert {key: part.content for key, part in results(model).items()} == {"c1": "blue", "c2": "red"}


@beside(
    tried="The client offers a tool under the name of a server tool",
    peer="RUN_ERROR in the stream, naming the tool",
    ours="Refused with 422 before the stream, naming the tool",
    fails="200 == 422",
)
async def test_a_frontend_tool_has_the_name_of_a_server_tool(serve):
    """B20."""
    note, notes = noted()
    model = Script([call("note", '{"text":"x"}')])
    async with serve(model.agent(tools=[note])) as thread:
        answer = await thread.say("go", tools=[{**PICK, "name": "note"}])
    assert notes == []
    assert answer.response.status_code == 422
    problem = json.loads(answer.response.text)
    assert problem["code"] == "tool_name_taken"
    assert "note" in str(problem)


@beside(
    tried="The client offers two tools under one name",
    peer="The last one wins silently",
    ours="Refused with 422 before the stream, naming the tool",
    fails="200 == 422",
)
async def test_two_frontend_tools_have_one_name(serve):
    """B20."""
    model = Script(["hi"])
    async with serve(model.agent()) as thread:
        answer = await thread.say("go", tools=[PICK, {**PICK, "description": "another"}])
    assert answer.response.status_code == 422
    problem = json.loads(answer.response.text)
    assert problem["code"] == "tool_name_taken"
    assert "pick" in str(problem)


@beside(
    tried="The answer to a frontend call is a list of parts with an image",
    ours="The model gets the text and the image",
)
async def test_a_frontend_result_of_parts(serve):
    """B39."""
    model = Script([call("pick")])
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}}
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        await thread.answer("c1", [{"type": "text", "text": "a dot"}, image])
        answer = await thread.run(tools=[PICK])
    assert answer.breaches == []
    assert answer.text == "done"
    assert "a dot" in str(results(model)["c1"].content)
    assert [file.media_type for file in results(model)["c1"].files] == ["image/png"]
    assert isinstance(model.seen[-1][-1], ModelRequest)
