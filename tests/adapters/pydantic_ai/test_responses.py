"""What a model's response may hold, part by part: each comes to the consumer, and back to the model."""

import itertools
from dataclasses import dataclass

import pytest
from ag_ui.core import CustomEvent
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, BinaryImage, ImageUrl, ModelRetry, NativeOutput, ToolFailed, ToolOutput
from pydantic_ai import CustomEvent as AgentEvent
from pydantic_ai import RunContext as AgentContext
from pydantic_ai.messages import (
    AudioUrl,
    CachePoint,
    DocumentUrl,
    FilePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartStartEvent,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UploadedFile,
    VideoUrl,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from structlog.testing import capture_logs
from support.session import session

from adapters.pydantic_ai import PydanticAI
from adapters.pydantic_ai.content import result_content
from adapters.pydantic_ai.frontend import Anything
from adapters.pydantic_ai.translate import FILE, Calls, Response
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


def scripted(*turns, **options):
    """An agent whose model says these turns, one after the other, and keeps what it saw."""
    left, seen = list(turns), []

    async def model(messages, info):
        seen.append(messages)
        for delta in left.pop(0) if left else ["done"]:
            yield delta

    agent = Agent(FunctionModel(stream_function=model), **options)
    return agent, seen


def call(name, arguments="{}", call_id="c1", index=0):
    return {index: DeltaToolCall(name=name, json_args=arguments, tool_call_id=call_id)}


async def test_text_goes_on_after_a_call():
    """Fault 2 of PydanticAI's own adapter."""
    agent, _ = scripted(["before ", call("look", index=1), "after"])
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.text == "before afterdone"
    assert client.messages[1]["content"] == "before after"
    assert [one["id"] for one in client.messages[1]["toolCalls"]] == ["c1"]


def look() -> str:
    return "fine"


async def test_a_call_id_that_a_provider_repeats():
    """Fault 10 of PydanticAI's own adapter: in one response, in the next, in a later run."""
    turn = [
        {0: DeltaToolCall(name="note", json_args='{"a":1}', tool_call_id="same")},
        {1: DeltaToolCall(name="note", json_args='{"a":2}', tool_call_id="same")},
    ]
    agent, seen = scripted(turn, turn, ["first"], turn, ["second"])
    done = []

    @agent.tool_plain
    def note(a: int) -> str:
        done.append(a)
        return f"noted {a}"

    async with session(PydanticAI(agent)) as client:
        await client.say("go")
        run = await client.say("again")
        assert run.ending is Ending.SUCCEEDED
        calls = [one for message in client.messages for one in message.get("toolCalls", ())]
        results = {one["toolCallId"]: one["content"] for one in client.messages if one["role"] == "tool"}
    assert sorted(done) == [1, 1, 1, 2, 2, 2]
    assert len({one["id"] for one in calls}) == 6
    assert [results[one["id"]] for one in calls] == ["noted 1", "noted 2"] * 3
    for messages in seen:
        ids = [part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
        assert len(set(ids)) == len(ids)


async def test_a_call_without_an_id():
    agent, _ = scripted([call("look", call_id="")])
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    ((name, content),) = run.results.items()
    assert (bool(name), content) == (True, "fine")


@pytest.mark.parametrize("pieces", [['{"city":"Paris"}'], ['{"ci', 'ty":"Pa', 'ris"}']])
async def test_arguments_are_forwarded_as_they_come(pieces):
    """B12."""
    deltas = [call("where", pieces[0]), *({0: DeltaToolCall(json_args=piece)} for piece in pieces[1:])]
    agent, _ = scripted(deltas)
    agent.tool_plain(where)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert [event["delta"] for event in run.of("TOOL_CALL_ARGS")] == pieces
    assert run.results == {"c1": "Paris"}


def where(city: str) -> str:
    return city


async def test_a_call_without_arguments():
    """B12c."""
    agent, _ = scripted([{0: DeltaToolCall(name="look", tool_call_id="c1")}])
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert "".join(event["delta"] for event in run.of("TOOL_CALL_ARGS")) in ("", "{}")
    assert run.results == {"c1": "fine"}


async def test_what_the_tool_says_went_wrong_goes_to_the_model_and_comes_back_as_that():
    agent, seen = scripted([call("fail"), call("retry", call_id="c2", index=1), call("where", "{}", "c3", 2)], ["ok"])

    @agent.tool_plain
    def fail() -> str:
        raise ToolFailed("no luck")

    @agent.tool_plain
    def retry() -> str:
        raise ModelRetry("try harder")

    agent.tool_plain(where)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
        assert run.ending is Ending.SUCCEEDED
        assert "no luck" in run.results["c1"]
        assert "try harder" in run.results["c2"]
        assert "city" in run.results["c3"]
        await client.say("and?")
    outcomes = {part.tool_call_id: part.outcome for part in seen[-1][2].parts}
    assert outcomes == {"c1": "failed", "c2": "retried", "c3": "retried"}


async def test_an_unknown_tool_is_told_to_the_model():
    agent, _ = scripted([call("nothing")], ["ok"])
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert (run.ending, "nothing" in run.results["c1"], run.text) == (Ending.SUCCEEDED, True, "ok")


class Answer(BaseModel):
    value: int


@pytest.mark.parametrize("output", [Answer, ToolOutput(Answer, name="give")])
async def test_structured_output_is_the_result_and_no_call(output):
    """Fault 13 of PydanticAI's own adapter; what does not fit is asked for again, out of sight."""
    name = "give" if isinstance(output, ToolOutput) else "final_result"
    turns = [[call(name, '{"value":"x"}')], [call(name, '{"value"', "c2"), {0: DeltaToolCall(json_args=":7}")}]]
    agent, seen = scripted(*turns, output_type=output)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.of("RUN_FINISHED")[0]["result"] == {"value": 7}
    assert {event["type"] for event in run.events} == {"RUN_STARTED", "RUN_FINISHED"}
    assert len(seen) == 2


async def test_structured_output_beside_tools_and_frontend_tools():
    turns = [[call("look"), call("confirm", call_id="f1", index=1)], [call("final_result", '{"value":7}', "c2")]]
    agent, _ = scripted(*turns, output_type=Answer)
    agent.tool_plain(look)

    @agent.output_validator
    def validate(output: Answer) -> Answer:
        return output

    async with session(PydanticAI(agent), tools=[{"name": "confirm", "description": ""}]) as client:
        run = await client.say("hi")
        assert (run.results, run.pending) == ({"c1": "fine"}, ["f1"])
        run = await client.answer({"f1": "yes"})
        assert run.of("RUN_FINISHED")[0]["result"] == {"value": 7}


async def test_structured_output_as_text_is_the_result_too():
    agent, _ = scripted(['{"value":', "7}"], output_type=NativeOutput(Answer))
    agent.model.profile["supports_json_schema_output"] = True
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.of("RUN_FINISHED")[0]["result"] == {"value": 7}


PNG = BinaryImage(b"\x89PNG", media_type="image/png")


async def test_files_of_tools_are_parts():
    """B39."""
    agent, seen = scripted([call("files"), call("one", call_id="c2", index=1), call("beside", call_id="c3", index=2)])

    @agent.tool_plain
    def files() -> list:
        return [
            "a text",
            {"a": 1},
            PNG,
            ImageUrl("https://example.com/a.png"),
            AudioUrl("https://example.com/a.mp3"),
            VideoUrl("https://example.com/a.mp4"),
            DocumentUrl("https://example.com/a.pdf"),
            BinaryContent(b"RIFF", media_type="audio/wav"),
            UploadedFile(file_id="file-1", provider_name="openai", media_type="application/pdf"),
        ]

    @agent.tool_plain
    def one() -> BinaryContent:
        return PNG

    @agent.tool_plain
    def beside() -> ToolReturn:
        return ToolReturn({"n": 1}, content=["look at", PNG])

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
        assert run.ending is Ending.SUCCEEDED
        parts = run.results["c1"]
        assert [part["type"] for part in parts] == [
            *("text", "text", "image", "image", "audio", "video", "document", "audio", "document")
        ]
        assert [part["text"] for part in parts[:2]] == ["a text", '{"a":1}']
        assert parts[2]["source"] == {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}
        assert parts[3]["source"] == {"type": "url", "value": "https://example.com/a.png", "mimeType": "image/png"}
        assert (parts[8]["source"]["value"], parts[8]["source"]["provider"]) == ("file-1", "openai")
        assert [part["type"] for part in run.results["c2"]] == ["image"]
        assert [part.get("text") for part in run.results["c3"]] == ['{"n":1}', "look at", None]
        await client.say("and?")
        back = {part.tool_call_id: part for part in seen[-1][2].parts if part.part_kind == "tool-return"}
        assert back["c1"].files[0].data == PNG.data
        assert [type(one).__name__ for one in back["c1"].files[1:5]] == [
            "ImageUrl",
            "AudioUrl",
            "VideoUrl",
            "DocumentUrl",
        ]
        assert back["c2"].files[0].data == PNG.data


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ([1, 2], "[1,2]"),
        (7, "7"),
        (None, ""),
        (Answer(value=1), '{"value":1}'),
        ("", ""),
    ],
)
async def test_a_value_is_told_as_the_model_gets_it(value, content):
    agent, _ = scripted([call("give")])

    @agent.tool_plain
    def give():
        return value

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.results["c1"] == content


class Parts(FunctionModel):
    """A model whose responses are whole parts: what a FunctionModel's deltas cannot say."""

    def __init__(self, *responses):
        self.left, self.seen = list(responses), []

        async def stream(messages, info):
            self.seen.append(messages)
            for part in self.left.pop(0) if self.left else [TextPart("done")]:
                if isinstance(part, TextPart):
                    yield part.content
                elif isinstance(part, ThinkingPart):
                    yield {99: DeltaThinkingPart(content=part.content, signature=part.signature)}
                else:
                    yield {hash(id(part)) % 10_000: part}

        super().__init__(stream_function=stream)


async def test_a_provider_runs_its_own_tools():
    used = NativeToolCallPart("web_search", {"query": "x"}, "n1", provider_name="function")
    got = NativeToolReturnPart("web_search", {"found": 1}, "n1", provider_name="function")
    agent = Agent(Parts([TextPart("Looking. "), used, got, TextPart("Found.")]))
    async with session(PydanticAI(agent)) as client:
        run = await client.say("search")
        assert run.ending is Ending.SUCCEEDED
        (start,) = run.of("TOOL_CALL_START")
        assert (start["toolCallName"], run.results) == ("web_search", {start["toolCallId"]: '{"found":1}'})
        assert run.pending == []
        roles = [(one["role"], one.get("content")) for one in client.messages]
        assert roles[1:] == [("assistant", "Looking. "), ("tool", '{"found":1}'), ("assistant", "Found.")]
        await client.say("and?")
    response = agent.model.seen[-1][1]
    assert [type(part) for part in response.parts] == [TextPart, NativeToolCallPart, NativeToolReturnPart, TextPart]
    assert (response.parts[1].tool_call_id, response.parts[1].provider_name) == ("n1", "function")
    assert response.parts[2].content == {"found": 1}


async def test_thoughts_keep_their_place_their_signature_and_their_number():
    """Fault 9 of PydanticAI's own adapter, B42, B44: with text or without, each comes back once."""
    turn = [
        {0: DeltaThinkingPart(content="hm", signature="S")},
        "text",
        {2: DeltaThinkingPart(signature="R")},
        {3: DeltaToolCall(name="look", json_args="{}", tool_call_id="c1")},
    ]
    agent, seen = scripted(turn)
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
        assert run.ending is Ending.SUCCEEDED
        kinds = [one["role"] for one in client.messages]
        assert kinds == ["user", "reasoning", "assistant", "reasoning", "assistant", "tool", "assistant"]
        await client.say("and?")
    before, after = seen[1][1], seen[2][1]
    assert [type(part) for part in after.parts] == [ThinkingPart, TextPart, ThinkingPart, ToolCallPart]
    told = [(part.content, part.signature) for part in after.parts if isinstance(part, ThinkingPart)]
    assert told == [(part.content, part.signature) for part in before.parts if isinstance(part, ThinkingPart)]
    assert told == [("hm", "S"), ("", "R")]


def test_a_file_that_the_model_makes_is_shown():
    numbers = itertools.count(1)
    response = Response(lambda: f"i{next(numbers)}", Calls((), lambda: "c", lambda _: False))
    (shown,) = response.read(PartStartEvent(index=0, part=FilePart(PNG)))
    assert (shown.activity_type, shown.message_id) == (FILE, "i2")
    assert shown.content == {"url": "data:image/png;base64,iVBORw==", "mediaType": "image/png"}


@dataclass(kw_only=True)
class ProgressMade(AgentEvent):
    done: int


async def test_a_tool_sends_events_of_its_own():
    agent, _ = scripted([call("work")])

    @agent.tool
    async def work(context: AgentContext) -> ToolReturn:
        await context.emit(ProgressMade(done=1))
        return ToolReturn("ok", metadata=[CustomEvent(name="acme.made", value={"n": 1}), "no event"])

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert [(event["name"], event["value"]) for event in run.of("CUSTOM")] == [
        ("progress_made", {"done": 1}),
        ("acme.made", {"n": 1}),
    ]


async def test_the_agents_own_prompt_is_what_the_model_gets():
    agent, seen = scripted(["one"], ["two"], system_prompt="You are ours.", instructions="Be brief.")
    async with session(PydanticAI(agent)) as client:
        await client.say("hi")
        await client.say("again")
    for messages in seen:
        prompts = [part.content for one in messages for part in one.parts if part.part_kind == "system-prompt"]
        assert prompts == ["You are ours."]
        assert messages[-1].instructions == "Be brief."


async def test_a_file_that_the_model_cannot_take_is_left_out():
    """B39: the run goes on with the rest, and the history keeps the file for another model."""
    agent, seen = scripted(["ok"], ["ok"])
    agent.model.profile["supports_audio_file_input"] = False
    parts = [
        {"type": "text", "text": "listen"},
        {"type": "audio", "source": {"type": "data", "value": "UklGRg==", "mimeType": "audio/wav"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
    ]
    async with session(PydanticAI(agent)) as client:
        with capture_logs() as logs:
            run = await client.say(parts)
        assert run.text == "ok"
        only = [{**parts[1]}]
        assert (await client.say(only)).text == "ok"
    kinds = [[type(item).__name__ for item in part.content] for message in seen[1] for part in message.parts[-1:]]
    assert kinds[0] == ["str", "ImageUrl"]
    assert [entry["warning"] for entry in logs if "warning" in entry] == [
        "the model takes no audio files: those of the user are left out of what it is sent"
    ]


def test_what_else_a_tool_may_have_the_model_see():
    url = DocumentUrl("https://example.com/a")
    first, *rest = result_content(ToolReturnPart("t", "ok", "c1"), [TextContent("noted"), "", CachePoint(), url, PNG])
    assert (first.text, [part.type for part in rest]) == ("ok", ["text", "document", "image"])
    assert rest[1].model_dump(by_alias=True, exclude_none=True)["source"] == {"type": "url", "value": url.url}


def test_the_arguments_of_a_frontend_tool_are_taken_as_they_are():
    assert Anything().validate_python({"a": 1}) == {"a": 1}
    assert Anything().validate_json('{"a":1}') == {"a": 1}


def test_a_typed_part_says_its_kind():
    """What PydanticAI needs to read a call back as what it was."""
    numbers = itertools.count(1)
    response = Response(lambda: f"i{next(numbers)}", Calls((), lambda: "c", lambda _: False))
    part = ToolCallPart("search", {"q": "x"}, "c1", tool_kind="tool-search")
    _, claim = response.read(PartStartEvent(index=0, part=part))
    assert (claim.entity_id, "tool-search" in claim.encrypted_value) == ("c1", True)
