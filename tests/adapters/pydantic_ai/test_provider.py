"""PydanticAI agents with a real model class and a real client, whose provider is a server of ours: the whole way from a
provider's bytes to a reader's, and from a client's history to what the model is sent.
"""

import asyncio
import json
import traceback
from contextlib import asynccontextmanager

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from structlog.testing import capture_logs
from support.agents import run_input
from support.openai_server import (
    CUT,
    HOLD,
    MODEL,
    Answer,
    arguments,
    call,
    calling,
    completion,
    data,
    providing,
    reasoning,
    refusal,
    text,
    tokens,
)
from support.server import serving, until
from support.streams import MUSTS, types

from adapters.pydantic_ai import PydanticAI
from conformance.exchange import Exchange
from conformance.judge import judge
from conformance.reduce import Conversation

pytestmark = pytest.mark.anyio

KEY = "sk-of-the-operator"
SOON = {"retry_after": "0.01"}


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


def agent_of(provider, **options):
    model = OpenAIChatModel("test-model", provider=OpenAIProvider(base_url=provider.url, api_key=KEY))
    return Agent(model, tools=[weather], **options)


class Talk:
    """One thread, as its client holds it: each run is judged and folded."""

    def __init__(self, served, key="t1"):
        self.served = served
        self.key = key
        self.messages = []
        self._runs = 0
        self._asked = None

    async def say(self, content, **fields):
        """Run with one more message of the user's."""
        return await self.run({"id": f"u{self._runs}", "role": "user", "content": content}, **fields)

    async def run(self, *messages, **fields):
        """Run with more messages; the events."""
        response, events = await self.served.run(self.document(*messages, **fields))
        assert response.status_code == 200, response.text
        self.hear(events)
        return events

    def document(self, *messages, **fields):
        self._runs += 1
        self.messages = [*self.messages, *messages]
        named = {"threadId": self.key, "runId": f"r{self._runs}"}
        self._asked = run_input(**{"messages": self.messages, **named, **fields})
        return self._asked

    def hear(self, events):
        findings = judge(Exchange(events=events, run_input=self._asked), MUSTS)
        assert [str(finding) for finding in findings] == []
        conversation = Conversation(self.messages)
        for event in events:
            conversation.apply(event)
        assert conversation.warnings == []
        self.messages = conversation.messages


@asynccontextmanager
async def talking(*answers, then=None, **options):
    """A provider that answers so, and a thread with an agent of its model."""
    async with (
        providing(*answers, then=then) as provider,
        agent_of(provider, **options) as agent,
        serving({"agent": PydanticAI(agent)}) as served,
    ):
        yield provider, Talk(served)


class Reading:
    """A run that is read event by event, while it goes on."""

    def __init__(self, response):
        self.events = []
        self._lines = response.aiter_lines()

    async def until(self, **wanted):
        """Read up to an event with these fields."""
        async for line in self._lines:
            if line.startswith("data: "):
                self.events.append(json.loads(line.removeprefix("data: ")))
                if wanted and wanted.items() <= self.events[-1].items():
                    return
        assert not wanted, f"{wanted} never came: {self.events}"

    async def rest(self):
        await self.until()
        return self.events


@asynccontextmanager
async def reading(talk, content, **fields):
    """Run with one more message of the user's, and read as the test says."""
    document = talk.document({"id": "u", "role": "user", "content": content}, **fields)
    async with talk.served.client.stream("POST", "/", json=document) as response:
        yield Reading(response)


def deltas(events, kind):
    return [event["delta"] for event in events if event["type"] == kind]


def assert_well_formed(messages):
    """What a provider asks of a conversation: the results of a message's calls follow it at once, each exactly once."""
    waiting = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, messages
            waiting.discard(message["tool_call_id"])
        else:
            assert waiting == set(), messages
            waiting = {made["id"] for made in message.get("tool_calls") or ()}
            for made in message.get("tool_calls") or ():
                assert isinstance(json.loads(made["function"]["arguments"]), dict), messages
    assert waiting == set(), messages


def told(logs):
    """All that the log says, with the exceptions it holds and what caused them."""
    errors = [entry["exc_info"] for entry in logs if isinstance(entry.get("exc_info"), BaseException)]
    return "\n".join([str(logs), *("".join(traceback.format_exception(error)) for error in errors)])


# ---- what the model writes ------------------------------------------------------------------------


async def test_each_piece_of_text_is_passed_on_as_it_comes():
    rest = asyncio.Event()
    async with (
        talking(completion(text(""), text("Hel"), rest, text("lo "), text("\n"), text("you"))) as (_, talk),
        reading(talk, "hi") as run,
    ):
        await run.until(type="TEXT_MESSAGE_CONTENT", delta="Hel")
        rest.set()
        talk.hear(await run.rest())
    assert deltas(run.events, "TEXT_MESSAGE_CONTENT") == ["Hel", "lo ", "\n", "you"]
    assert run.events[-1]["outcome"] == {"type": "success"}


async def test_the_arguments_of_a_call_are_passed_on_as_they_come():
    rest = asyncio.Event()
    call_in_pieces = [
        call(0, "c1", "weather"),
        arguments(0, '{"ci'),
        rest,
        arguments(0, 'ty":'),
        arguments(0, '"Oslo"}'),
    ]
    async with (
        talking(calling(text("Let me look."), *call_in_pieces), completion(text("It is sunny."))) as (provider, talk),
        reading(talk, "weather?") as run,
    ):
        await run.until(type="TOOL_CALL_ARGS", delta='{"ci')
        rest.set()
        talk.hear(await run.rest())
    assert deltas(run.events, "TOOL_CALL_ARGS") == ['{"ci', 'ty":', '"Oslo"}']
    _, asking, result, answer = talk.messages
    assert (asking["content"], asking["toolCalls"][0]["function"]["name"]) == ("Let me look.", "weather")
    assert (result["content"], answer["content"]) == ("sunny in Oslo", "It is sunny.")
    assert_well_formed(provider.asked[1].messages)


async def test_parallel_calls_whose_fragments_alternate_stay_apart():
    """Fault 1 of PydanticAI's own adapter."""
    alternating = [
        call(0, "c1", "weather", '{"city":'),
        call(1, "c2", "weather"),
        arguments(0, '"Os'),
        arguments(1, '{"city":"Ro'),
        arguments(0, 'lo"}'),
        arguments(1, 'me"}'),
    ]
    async with talking(calling(*alternating), completion(text("done"))) as (provider, talk):
        await talk.say("both?")
    _, asking, *results, _ = talk.messages
    assert [made["function"]["arguments"] for made in asking["toolCalls"]] == ['{"city":"Oslo"}', '{"city":"Rome"}']
    assert {result["toolCallId"]: result["content"] for result in results} == {
        "c1": "sunny in Oslo",
        "c2": "sunny in Rome",
    }
    sent = provider.asked[1].messages
    assert_well_formed(sent)
    assert {m["tool_call_id"]: m["content"] for m in sent if m["role"] == "tool"} == {
        "c1": "sunny in Oslo",
        "c2": "sunny in Rome",
    }


async def test_text_goes_on_behind_a_call():
    """Fault 2 of PydanticAI's own adapter."""
    pieces = [text("One. "), call(0, "c1", "weather", '{"city":"Oslo"}'), text("Two.")]
    async with talking(calling(*pieces), completion(text("done"))) as (_, talk):
        await talk.say("weather?")
    assert "".join(message.get("content") or "" for message in talk.messages if message["role"] == "assistant") == (
        "One. Two.done"
    )


async def test_a_call_id_that_the_provider_repeats_is_a_new_call():
    """Fault 10 of PydanticAI's own adapter."""
    oslo, rome = (calling(call(0, "call_0", "weather", json.dumps({"city": city}))) for city in ("Oslo", "Rome"))
    async with talking(oslo, rome, completion(text("done")), completion(text("bye"))) as (provider, talk):
        await talk.say("both, one by one")
        made = [made for message in talk.messages for made in message.get("toolCalls") or ()]
        assert len({one["id"] for one in made}) == 2
        assert [one["function"]["arguments"] for one in made] == ['{"city": "Oslo"}', '{"city": "Rome"}']
        await talk.say("thanks")
    for asked in provider.asked:
        assert_well_formed(asked.messages)


async def test_reasoning_streams_and_goes_back_to_its_provider():
    """artefact-returned: a provider that reasons between calls wants its reasoning with them, in its own field."""
    thinks = [reasoning("The user "), reasoning("asks."), call(0, "c1", "weather", '{"city":"Oslo"}')]
    answers = [calling(*thinks), completion(reasoning("Good."), text("It is sunny.")), completion(text("bye"))]
    async with talking(*answers) as (provider, talk):
        events = await talk.say("weather?")
        await talk.say("thanks")
    assert deltas(events, "REASONING_MESSAGE_CONTENT") == ["The user ", "asks.", "Good."]
    thoughts = [message["content"] for message in talk.messages if message["role"] == "reasoning"]
    assert thoughts == ["The user asks.", "Good."]
    _, in_the_run, in_the_next = (
        [message.get("reasoning_content") for message in asked.messages if message["role"] == "assistant"]
        for asked in provider.asked
    )
    assert in_the_run == ["The user asks."]
    assert in_the_next == ["The user asks.", "Good."]


async def test_two_runs_at_once_share_the_model_and_nothing_else():
    rest = asyncio.Event()
    slow = completion(text("slow "), rest, text("answer"), usage=tokens(5, 2))
    quick = completion(text("quick answer"), usage=tokens(3, 1))
    async with talking(slow, quick) as (provider, talk), reading(talk, "first") as run:
        await run.until(type="TEXT_MESSAGE_CONTENT")
        events = await Talk(talk.served, "t2").say("second", runId="r2")
        rest.set()
        talk.hear(await run.rest())
    assert [asked.messages[0]["content"] for asked in provider.asked] == ["first", "second"]
    assert deltas(events, "TEXT_MESSAGE_CONTENT") == ["quick answer"]
    assert deltas(run.events, "TEXT_MESSAGE_CONTENT") == ["slow ", "answer"]
    assert [read[-1]["usage"][0]["totalTokens"] for read in (run.events, events)] == [7, 4]


# ---- what it cost ---------------------------------------------------------------------------------


async def test_usage_is_summed_with_the_parts_that_the_provider_reports():
    first = calling(call(0, "c1", "weather", '{"city":"Oslo"}'), usage=tokens(100, 20, cached=64, reasoned=12))
    async with talking(first, completion(text("x"), usage=tokens(150, 10, cached=96, reasoned=4))) as (_, talk):
        events = await talk.say("weather?")
    assert events[-1]["usage"] == [
        {
            "provider": "openai",
            "model": MODEL,
            "inputTokens": 250,
            "outputTokens": 30,
            "totalTokens": 280,
            "cachedInputTokens": 160,
            "reasoningTokens": 16,
        }
    ]


async def test_parts_that_the_provider_does_not_report_are_absent():
    """usage-unknown-absent."""
    async with talking(completion(text("x"), usage=tokens(7, 1))) as (_, talk):
        events = await talk.say("hi")
    (entry,) = events[-1]["usage"]
    assert entry == {"provider": "openai", "model": MODEL, "inputTokens": 7, "outputTokens": 1, "totalTokens": 8}


async def test_a_provider_that_reports_nothing_leaves_no_usage():
    """usage-unknown-absent."""
    async with talking(completion(text("x"))) as (_, talk):
        events = await talk.say("hi")
    assert "usage" not in events[-1]


async def test_what_was_spent_before_a_failure_is_told_with_it():
    first = calling(call(0, "c1", "weather", '{"city":"Oslo"}'), usage=tokens(9, 3))
    async with talking(first, refusal(400, "no")) as (_, talk):
        events = await talk.say("weather?")
    assert events[-1]["type"] == "RUN_ERROR"
    assert [(entry["inputTokens"], entry["outputTokens"]) for entry in events[-1]["usage"]] == [(9, 3)]


# ---- what fails -----------------------------------------------------------------------------------


async def test_a_rate_limit_is_waited_for_and_nothing_streams_twice():
    limit = refusal(429, "slow down", **SOON)
    oslo = calling(text("Let me look."), call(0, "c1", "weather", '{"city":"Oslo"}'))
    async with talking(limit, oslo, limit, completion(text("Sunny."))) as (provider, talk):
        events = await talk.say("weather?")
    assert len(provider.asked) == 4
    assert provider.asked[0].messages == provider.asked[1].messages
    assert deltas(events, "TEXT_MESSAGE_CONTENT") == ["Let me look.", "Sunny."]
    assert types(events).count("TOOL_CALL_RESULT") == 1
    assert events[-1]["outcome"] == {"type": "success"}


SECRET = "organization acme-7 of sk-of-the-operator"

REFUSALS = {
    "a rate limit without an end": (429, SOON, 2),
    "a failing server": (500, SOON, 2),
    "an overloaded server": (503, SOON, 2),
    "a wrong key": (401, {}, 1),
    "a model that is not there": (404, {}, 1),
    "a request that the provider takes for malformed": (400, {}, 1),
}


@pytest.mark.parametrize(("status", "headers", "requests"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_ends_the_run_with_its_status_and_no_word_of_the_provider(status, headers, requests):
    """B67, B68."""
    with capture_logs() as logs:
        refused = refusal(status, SECRET, **headers)
        async with talking(then=refused, model_settings={"max_retries": 1}) as (provider, talk):
            events = await talk.say("hi")
    assert len(provider.asked) == requests
    assert types(events) == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["code"] == "model_error"
    assert str(status) in events[-1]["message"]
    assert_discreet(events, provider)
    assert SECRET in told(logs)


BREAKS = {
    "in the middle of a message": ([text("Hel"), CUT], "Hel"),
    "in the middle of a call": ([text("Hel"), call(0, "c1", "weather", '{"city":"Os'), CUT], "Hel"),
    "before the first piece": ([CUT], None),
    "with a payload that is no JSON": ([text("Hel"), b'data: {"id": "acme-7", \n\n', HOLD], "Hel"),
    "with the provider's error": ([text("Hel"), data({"error": {"message": SECRET, "code": 500}}), HOLD], "Hel"),
}


@pytest.mark.parametrize(("pieces", "kept"), BREAKS.values(), ids=BREAKS)
async def test_a_broken_stream_ends_the_run_and_what_came_before_stays(pieces, kept):
    with capture_logs() as logs:
        async with talking(Answer(pieces)) as (provider, talk):
            events = await talk.say("hi")
    assert len(provider.asked) == 1
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "model_error")
    assert_discreet(events, provider)
    assert [message["content"] for message in talk.messages[1:]] == [kept] * (kept is not None)
    assert "TOOL_CALL_RESULT" not in types(events)
    assert "Traceback" in told(logs)


async def test_a_provider_that_is_not_there_ends_the_run():
    async with providing() as provider:
        pass
    with capture_logs() as logs:
        async with (
            agent_of(provider, model_settings={"max_retries": 0}) as agent,
            serving({"agent": PydanticAI(agent)}) as served,
        ):
            events = await Talk(served).say("hi")
    assert types(events) == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["code"] == "model_error"
    assert_discreet(events, provider)
    assert "Traceback" in told(logs)


async def test_a_provider_that_is_too_slow_for_its_client_ends_the_run():
    patience = {"timeout": 0.05, "max_retries": 0}
    async with talking(Answer([text("Hel"), HOLD]), model_settings=patience) as (provider, talk):
        events = await talk.say("hi")
        await arrived(provider.left)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "model_error")
    assert talk.messages[-1]["content"] == "Hel"
    assert_discreet(events, provider)


USELESS = {
    "a refusal of the model": completion({"refusal": SECRET}),
    "a filter of the provider": completion(finish="content_filter"),
    "nothing, however often it is asked": completion(),
    "a call whose arguments never become JSON": calling(call(0, "c1", "weather", '{"city":"Os')),
}


@pytest.mark.parametrize("answer", USELESS.values(), ids=USELESS)
async def test_answers_of_no_use_end_the_run(answer):
    async with talking(then=answer) as (provider, talk):
        events = await talk.say("hi")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "model_error")
    assert_discreet(events, provider)
    assert all(not message.get("content") for message in talk.messages if message["role"] == "assistant")


async def test_a_call_that_a_broken_stream_cut_off_does_not_spoil_the_thread():
    """B60 (c)."""
    cut = Answer([text("Let me look."), call(0, "c1", "weather", '{"city":"Os'), CUT])
    async with talking(cut, completion(text("Here I am."))) as (provider, talk):
        await talk.say("weather?")
        events = await talk.say("hello?")
    assert events[-1]["outcome"] == {"type": "success"}
    assert_well_formed(provider.asked[1].messages)
    assert provider.asked[1].messages[-1] == {"role": "user", "content": "hello?"}


def assert_discreet(events, provider):
    """The reader learns nothing of the provider's words, its address, or the key."""
    shown = json.dumps(events)
    for secret in ("acme-7", KEY, provider.url, "127.0.0.1", "Traceback"):
        assert secret not in shown


# ---- what stops -----------------------------------------------------------------------------------

STOPS = {
    "before the head of the answer": Answer([HOLD], status=None),
    "before the first piece": Answer([HOLD]),
    "in the middle of a message": Answer([text("Hel"), HOLD]),
    "in the middle of reasoning": Answer([reasoning("Hm"), HOLD]),
    "in the middle of a call": Answer([call(0, "c1", "weather", '{"city":"Os'), HOLD]),
}


@pytest.mark.parametrize("answer", STOPS.values(), ids=STOPS)
async def test_a_cancel_closes_the_connection_to_the_provider(answer):
    """B56, B57, B59."""
    async with talking(answer) as (provider, talk), reading(talk, "hi") as run:
        await run.until(type="RUN_STARTED")
        await arrived(provider.holding)
        await talk.served.client.post("/v1/runs/r1/cancel")
        talk.hear(await run.rest())
        await arrived(provider.left)
    assert len(provider.asked) == 1
    assert run.events[-1]["type"] == "RUN_FINISHED"
    assert run.events[-1]["outcome"] == {"type": "cancelled"}
    assert "result" not in run.events[-1]


async def test_a_client_that_leaves_closes_the_connection_to_the_provider():
    """B56."""
    async with talking(Answer([text("Hel"), HOLD])) as (provider, talk):
        async with reading(talk, "hi") as run:
            await run.until(type="TEXT_MESSAGE_CONTENT")
        await arrived(provider.left)
    assert len(provider.asked) == 1


async def test_a_cancel_ends_the_wait_for_a_rate_limit():
    async with talking(refusal(429, "slow down", retry_after="100")) as (provider, talk), reading(talk, "hi") as run:
        await until(lambda: provider.asked)
        await talk.served.client.post("/v1/runs/r1/cancel")
        talk.hear(await run.rest())
    assert len(provider.asked) == 1
    assert run.events[-1]["outcome"] == {"type": "cancelled"}


async def test_the_thread_goes_on_after_a_cancel_in_the_middle_of_a_call():
    """B60 (a, c)."""
    cut = Answer([text("Let me look."), call(0, "c1", "weather", '{"city":"Os'), HOLD])
    async with talking(cut, completion(text("Here I am."))) as (provider, talk):
        async with reading(talk, "weather?") as run:
            await run.until(type="TOOL_CALL_ARGS")
            await talk.served.client.post("/v1/runs/r1/cancel")
            talk.hear(await run.rest())
        events = await talk.say("hello?")
    assert events[-1]["outcome"] == {"type": "success"}
    assert_well_formed(provider.asked[1].messages)
    assert talk.messages[-1]["content"] == "Here I am."


async def arrived(event):
    """Wait for what has to happen; without a limit, a fault would hang the tests."""
    async with asyncio.timeout(10):
        await event.wait()


# ---- what the model is sent -----------------------------------------------------------------------


async def test_the_next_turn_brings_the_whole_conversation_in_order():
    """B35, B36."""
    both = calling(
        text("Let me look."),
        call(0, "c1", "weather", '{"city":"Oslo"}'),
        call(1, "c2", "weather", '{"city":"Rome"}'),
    )
    async with talking(both, completion(text("Sunny.")), completion(text("Bye."))) as (provider, talk):
        await talk.say("weather?")
        await talk.say("thanks")
    sent = provider.asked[2].messages
    assert_well_formed(sent)
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", "weather?"),
        ("assistant", "Let me look."),
        ("tool", "sunny in Oslo"),
        ("tool", "sunny in Rome"),
        ("assistant", "Sunny."),
        ("user", "thanks"),
    ]
    asking = sent[1]["tool_calls"]
    assert [(made["id"], made["function"]["name"]) for made in asking] == [("c1", "weather"), ("c2", "weather")]
    assert [json.loads(made["function"]["arguments"])["city"] for made in asking] == ["Oslo", "Rome"]
    assert sent[:4] == provider.asked[1].messages


async def test_arguments_that_are_no_json_are_the_models_to_mend():
    """B60 (c): what the model sent stays readable to it, in this run and in the next, in a form that its provider takes."""
    answers = [
        calling(call(0, "c1", "weather", '{"city":"Os')),
        calling(call(0, "c2", "weather", '{"city":"Oslo"}')),
        completion(text("Sunny.")),
        completion(text("Bye.")),
    ]
    async with talking(*answers) as (provider, talk):
        events = await talk.say("weather?")
        await talk.say("thanks")
    assert deltas(events, "TOOL_CALL_ARGS") == ['{"city":"Os', '{"city":"Oslo"}']
    assert events[-1]["outcome"] == {"type": "success"}
    for asked in provider.asked:
        assert_well_formed(asked.messages)
    for asked in provider.asked[1:]:
        assert "Os" in json.loads(asked.messages[1]["tool_calls"][0]["function"]["arguments"]).popitem()[1]


async def test_an_answer_without_anything_is_asked_for_again_and_leaves_no_message():
    async with talking(completion(), completion(text("Here I am."))) as (provider, talk):
        events = await talk.say("hi")
    assert len(provider.asked) == 2
    assert [message["content"] for message in talk.messages[1:]] == ["Here I am."]
    assert types(events).count("TEXT_MESSAGE_START") == 1


async def test_a_frontend_tool_is_offered_and_its_result_comes_back():
    tool = {"name": "pick", "description": "Pick a color.", "parameters": {"type": "object", "properties": {}}}
    picks = calling(text("Pick one."), call(0, "p1", "pick", "{}"), usage=tokens(5, 2))
    async with talking(picks, completion(text("Blue it is."))) as (provider, talk):
        events = await talk.say("a color?", tools=[tool])
        assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["p1"]}
        result = {"id": "result-1", "role": "tool", "toolCallId": "p1", "content": "blue"}
        await talk.run(result, tools=[tool])
    assert [sorted(asked.tools) for asked in provider.asked] == [["pick", "weather"]] * 2
    offered = {one["function"]["name"]: one["function"] for one in provider.asked[0].body["tools"]}
    assert offered["pick"]["description"] == "Pick a color."
    sent = provider.asked[1].messages
    assert_well_formed(sent)
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", "a color?"),
        ("assistant", "Pick one."),
        ("tool", "blue"),
    ]
    assert talk.messages[-1]["content"] == "Blue it is."


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

IMAGES = {
    "as data": (
        {"type": "data", "value": PIXEL, "mimeType": "image/png"},
        f"data:image/png;base64,{PIXEL}",
    ),
    "by its URL": (
        {"type": "url", "value": "https://pictures.example/cat.png", "mimeType": "image/png"},
        "https://pictures.example/cat.png",
    ),
}


@pytest.mark.parametrize(("source", "url"), IMAGES.values(), ids=IMAGES)
async def test_an_image_of_the_user_reaches_the_model(source, url):
    """B39."""
    content = [{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]
    async with talking(completion(text("A pixel."))) as (provider, talk):
        await talk.say(content)
    (message,) = provider.asked[0].messages
    words, image = message["content"]
    assert (message["role"], words) == ("user", {"type": "text", "text": "What is this?"})
    assert (image["type"], image["image_url"]["url"]) == ("image_url", url)


async def test_the_operators_instructions_come_first_and_are_never_shown():
    async with talking(completion(text("Hi.")), completion(text("Bye.")), instructions="Be brief.") as (provider, talk):
        events = [*await talk.say("hi"), *await talk.say("bye")]
    for asked in provider.asked:
        assert asked.messages[0] == {"role": "system", "content": "Be brief."}
        assert [message["role"] for message in asked.messages].count("system") == 1
    assert "Be brief." not in json.dumps([events, talk.messages])


async def test_the_key_and_the_address_come_from_the_environment(monkeypatch):
    async with providing(completion(text("Hi."))) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        async with Agent("openai-chat:test-model") as agent, serving({"agent": PydanticAI(agent)}) as served:
            await Talk(served).say("hi")
    (asked,) = provider.asked
    assert (asked.path, asked.body["model"], asked.body["stream"]) == ("/v1/chat/completions", "test-model", True)
    assert asked.headers["authorization"] == "Bearer sk-of-the-environment"


async def test_a_key_is_never_the_callers():
    """A caller's own credentials are for this server, and stay here."""
    async with talking(completion(text("Hi."))) as (provider, talk):
        await talk.served.run(run_input(), authorization="Bearer of-the-caller", cookie="session=of-the-caller")
    (asked,) = provider.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert "of-the-caller" not in json.dumps([asked.headers, asked.body])
