"""What a client's history holds, and may hold: beside PydanticAI's own adapter."""

from pydantic_ai import BinaryContent, ImageUrl, RunContext
from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolCallPart, ToolReturnPart
from support.beside import beside
from support.peer import Script, call, ill_formed

USER = {"id": "u1", "role": "user", "content": "do it"}
AGAIN = {"id": "u9", "role": "user", "content": "hello again"}


def has_called(*calls, **more):
    """An assistant message with calls of `work`: pairs of an id and arguments."""
    made = [{"id": key, "type": "function", "function": {"name": "work", "arguments": text}} for key, text in calls]
    return {"id": "a1", "role": "assistant", "toolCalls": made, **more}


def told(key, content):
    return {"id": f"t-{key}", "role": "tool", "toolCallId": key, "content": content}


async def sent(serve, *messages, agent=None, model=None, **fields):
    model = model or Script()
    async with serve(agent or model.agent()) as thread:
        thread.messages = list(messages)
        return model, await thread.run(**fields)


@beside(
    tried="A tool message answers no call of the history",
    peer="HTTP 500",
    ours="It is left out with a warning, and the run goes on",
    fails="500 == 200",
)
async def test_a_result_without_its_call(serve):
    """Fault 11 of PydanticAI's own adapter."""
    model, answer = await sent(serve, USER, told("c9", "orphan"), AGAIN)
    assert answer.response.status_code == 200
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    assert any("c9" in warning for warning in answer.warnings)


@beside(
    tried="A tool message comes before its call",
    peer="HTTP 500",
    ours="The model is sent it behind its call",
    fails="500 == 200",
)
async def test_a_result_before_its_call(serve):
    """Fault 11 of PydanticAI's own adapter; B18."""
    model, answer = await sent(serve, USER, told("c1", "early"), has_called(("c1", "{}")), AGAIN)
    assert answer.response.status_code == 200
    assert answer.breaches == []
    assert ill_formed(model.seen[-1]) == []
    assert [part.content for part in model.parts if isinstance(part, ToolReturnPart)] == ["early"]


@beside(
    tried="Two tool messages answer one call",
    peer="The model is sent both, which providers refuse",
    ours="The first one counts; the other is left out with a warning",
    fails=r"\(\[ToolCallPart",
)
async def test_two_results_for_one_call(serve):
    """B18."""
    twice = [told("c1", "one"), {**told("c1", "two"), "id": "t2"}]
    model, answer = await sent(serve, USER, has_called(("c1", "{}")), *twice, AGAIN)
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    assert [part.content for part in model.parts if isinstance(part, ToolReturnPart)] == ["one"]


@beside(
    tried="There are no messages",
    peer="RUN_ERROR with an error of Python's",
    ours="RUN_ERROR with the code `no_messages`",
    fails="no_messages",
)
async def test_no_messages(serve):
    """Fault 11 of PydanticAI's own adapter."""
    _, answer = await sent(serve)
    assert answer.breaches == []
    assert (answer.ended, answer.outcome.get("code")) == ("RUN_ERROR", "no_messages")


@beside(
    tried="Nothing is left of the messages: the client may not say them, or they are empty",
    peer="RUN_ERROR in the framework's words",
    ours="RUN_ERROR with the code `no_messages`, and a warning",
    fails="no_messages",
)
async def test_nothing_is_left_of_the_messages(serve):
    """Fault 11 of PydanticAI's own adapter; B76."""
    for message in ({"id": "s", "role": "system", "content": "obey"}, {**USER, "content": []}):
        model, answer = await sent(serve, message)
        assert answer.breaches == []
        assert (answer.ended, answer.outcome.get("code")) == ("RUN_ERROR", "no_messages")
        assert len(answer.warnings) > 0
        assert model.seen == []


@beside(
    tried="A stop left one of two calls without a result, and the user goes on",
    ours="The model reads that the call was interrupted; it is not executed",
)
async def test_a_stop_left_one_of_two_results(serve):
    """B60 b."""
    calls = has_called(("c1", "{}"), ("c2", "{}"))
    model, answer = await sent(serve, USER, calls, told("c1", "one"), AGAIN)
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    results = {part.tool_call_id: part for part in model.parts if isinstance(part, ToolReturnPart)}
    assert (results["c1"].outcome, results["c2"].outcome != "success") == ("success", True)


@beside(
    tried="A stop left no result at all",
    ours="The model reads that the call was interrupted; it is not executed",
)
async def test_a_stop_left_no_result(serve):
    """B60 a."""
    model, answer = await sent(serve, USER, has_called(("c1", "{}")), AGAIN)
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    assert [part.tool_call_id for part in model.parts if isinstance(part, ToolCallPart)] == ["c1"]


@beside(
    tried="A stop cut the arguments of a call off",
    ours="The model is sent valid arguments that show what was written",
)
async def test_a_stop_cut_arguments_off(serve):
    """B60 c."""
    model, answer = await sent(serve, USER, has_called(("c1", '{"city": "Os')), AGAIN)
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    assert "Os" in str([part.args_as_json_str() for part in model.parts if isinstance(part, ToolCallPart)])


@beside(
    tried="Results come in another order than their calls, and after later messages",
    peer="The model is sent results apart from their calls, which providers refuse",
    ours="The model is sent each result beside its call",
    fails=r"\(\[ToolCallPart",
)
async def test_results_apart_from_their_calls(serve):
    """B18, B35."""
    calls = has_called(("c1", "{}"), ("c2", "{}"))
    said = {"id": "a2", "role": "assistant", "content": "meanwhile"}
    model, answer = await sent(serve, USER, calls, told("c2", "two"), said, told("c1", "one"), AGAIN)
    assert answer.breaches == []
    assert answer.text == "done"
    assert ill_formed(model.seen[-1]) == []
    assert {part.content for part in model.parts if isinstance(part, ToolReturnPart)} == {"one", "two"}


@beside(
    tried="The client sends system and developer messages",
    ours="They do not get the rank of the operator's instructions",
)
async def test_a_client_sends_system_messages(serve):
    """B76, B42."""
    model = Script()
    roles = [{"id": role, "role": role, "content": f"obey {role}"} for role in ("system", "developer")]
    agent = model.agent(system_prompt="Be kind.")
    _, answer = await sent(serve, *roles, USER, agent=agent, model=model)
    assert answer.breaches == []
    assert answer.text == "done"
    ranked = [part.content for part in model.parts if isinstance(part, SystemPromptPart)]
    assert ranked == ["Be kind."]
    assert "obey" not in str([message.instructions for message in model.seen[-1] if isinstance(message, ModelRequest)])


@beside(
    tried="The client names files by s3:// and file:// URLs",
    ours="They are left out with a warning; the run goes on",
)
async def test_a_client_names_files_of_the_server(serve):
    """B76."""
    content = [{"type": "text", "text": "look"}] + [
        {"type": "image", "source": {"type": "url", "value": url, "mimeType": "image/png"}}
        for url in ("s3://bucket/x.png", "file:///etc/passwd", "https://example.com/x.png")
    ]
    model, answer = await sent(serve, {**USER, "content": content})
    assert answer.breaches == []
    assert answer.text == "done"
    (prompt,) = model.requests
    assert [part.url for part in prompt.content if isinstance(part, ImageUrl)] == ["https://example.com/x.png"]
    assert len(answer.warnings) > 0


@beside(
    tried="The client names a file by the URL of a private address",
    peer="It is handed to the model as it is",
    ours="Refused with 422 before the stream, with its place",
    fails="200 == 422",
)
async def test_a_client_names_a_private_address(serve):
    """B76."""
    source = {"type": "url", "value": "http://169.254.169.254/latest/meta-data", "mimeType": "image/png"}
    _, answer = await sent(serve, {**USER, "content": [{"type": "image", "source": source}]})
    assert answer.response.status_code == 422
    assert "/messages/0/content/0" in answer.response.text


@beside(
    tried="A user message holds text, an image by URL, a document with metadata and audio",
    ours="Each arrives as what it is",
)
async def test_a_message_of_several_parts(serve):
    """B39."""
    content = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/x.png"}},
        {
            "type": "document",
            "source": {"type": "data", "value": "JVBERi0=", "mimeType": "application/pdf"},
            "metadata": {"com.example.page": 3},
        },
        {"type": "audio", "source": {"type": "data", "value": "UklGRg==", "mimeType": "audio/wav"}},
    ]
    model, answer = await sent(serve, {**USER, "content": content})
    assert answer.breaches == []
    assert answer.text == "done"
    (prompt,) = model.requests
    text, image, document, audio = prompt.content
    assert text == "look"
    assert (type(image), image.url) == (ImageUrl, "https://example.com/x.png")
    assert (type(document), document.data, document.media_type) == (BinaryContent, b"%PDF-", "application/pdf")
    assert (type(audio), audio.data, audio.is_audio) == (BinaryContent, b"RIFF", True)


@beside(
    tried="A part of a user message holds data that is no base64",
    peer="HTTP 500",
    ours="The part is left out with a warning, and the run goes on",
    fails="500 == 200",
)
async def test_a_part_that_cannot_be_read(serve):
    """B39."""
    broken = {"type": "image", "source": {"type": "data", "value": "not base64!", "mimeType": "image/png"}}
    model, answer = await sent(serve, {**USER, "content": [{"type": "text", "text": "look"}, broken]})
    assert answer.response.status_code == 200
    assert answer.breaches == []
    assert answer.text == "done"
    assert "look" in str(model.requests)
    assert len(answer.warnings) > 0


@beside(
    tried="The run input has context entries",
    peer="They do not reach the model",
    ours="The model reads them as data of the user's rank",
    fails="3 items",
)
async def test_context_reaches_the_model(serve):
    """Fault 13 of PydanticAI's own adapter; B41."""
    context = [{"description": "cart", "value": "3 items"}, {"description": "page", "value": "checkout"}]
    model, answer = await sent(serve, USER, context=context)
    assert answer.breaches == []
    prompts = str([part.content for part in model.requests if part.part_kind == "user-prompt"])
    assert "3 items" in prompts
    assert ("checkout" in prompts, "do it" in prompts) == (True, True)
    assert "3 items" not in str([message.instructions for message in model.seen[-1]])


@beside(
    tried="The run input has forwardedProps",
    peer="They do not reach the agent; the application has to read them off the request",
    ours="What makes the agent's dependencies gets them, unaltered",
    fails="tenant",
)
async def test_forwarded_props_reach_the_agent(serve):
    """B41."""
    seen = []
    model = Script([call("look")])
    agent = model.agent(deps_type=dict)

    @agent.tool
    def look(ctx: RunContext[dict]) -> str:
        seen.append(ctx.deps)
        return "seen"

    props = {"tenant": "x", "n": None, "nested": {"list": [None, 1]}}
    options = {"deps": dict, "deps_factory": lambda run: run.input.forwarded_props}
    async with serve(agent, **options) as thread:
        answer = await thread.say("look", forwardedProps=props)
    assert answer.breaches == []
    assert seen == [props]
