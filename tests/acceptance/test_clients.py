"""The public clients 1.0.0 and 0.0.59 read everything that the demo agent shows.

CopilotKit and assistant-ui still read with 0.0.59, which declares no protocol version and throws on what it does not
know: it gets the downgraded copy.
"""

import json

import httpx
import pytest

from adapters.demo import SCENARIOS, TINY_PNG

PICK_COLOR = {
    "name": "pick_color",
    "description": "Lets the user pick a color.",
    "parameters": {"type": "object", "properties": {"near": {"type": "string"}, "count": {"type": "integer"}}},
}
OUTCOMES = {"approval": "interrupt", "error": "demo_error", "crash": "internal_error", "slow": "cancelled"}
"""How a scenario ends, if not with success."""
ADDED = {
    "text": "assistant",
    "reasoning": "reasoning assistant",
    "tool": "assistant tool assistant",
    "parallel": "assistant tool tool assistant",
    "image": "assistant tool assistant",
    "state": "assistant",
    "activity": "activity assistant",
    "subagent": "assistant assistant",
    "steps": "assistant",
    "custom": "assistant",
    "error": "assistant",
    "frontend": "assistant",
}
"""The roles of the messages that a scenario adds."""


def roles(messages):
    return " ".join(message["role"] for message in messages)


def texts(messages):
    return [(message["role"], message.get("content")) for message in messages]


def calls(message):
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message["toolCalls"]]


def call_ids(messages):
    return [call["id"] for message in messages for call in message.get("toolCalls", ())]


def failure(report):
    error = report.events[-1]
    return error["type"], error["message"], error["code"]


def tool_message(call, content, **more):
    return {"id": f"answer-{call}", "role": "tool", "toolCallId": call, "content": content, **more}


def answer_to(interrupt, status, payload=None):
    return {"interruptId": interrupt["id"], "status": status, **({} if payload is None else {"payload": payload})}


# ---- every scenario -------------------------------------------------------------------------------


@pytest.mark.parametrize("word", SCENARIOS)
def test_every_scenario_is_read_to_its_end(conversation, word):
    stop = {"cancelAfterEvents": 3} if word == "slow" else {}
    heard = conversation.say(word, run={"tools": [PICK_COLOR]}, **stop)

    assert heard.outcome == OUTCOMES.get(word, "success")
    assert heard.events[0] == {
        "type": "RUN_STARTED",
        "threadId": heard.thread_id,
        "runId": heard.run_id,
        "protocolVersion": "1.0",
    }
    assert heard.messages == [heard.messages[0], *heard.new_messages]
    assert texts(heard.messages)[0] == ("user", word)
    assert "null" not in json.dumps(heard.events)  # an absent field is absent: older readers die of a null
    if heard.finished and heard.outcome != "cancelled":
        tokens = {"inputTokens": 1, "outputTokens": 7, "totalTokens": 8}  # the demo counts words
        assert heard.events[-1]["usage"] == [{"provider": "demo", "model": "script-1", **tokens}]


def test_help_names_every_scenario(conversation):
    (_, text) = texts(conversation.say("help").new_messages)[0]

    assert all(f"- `{word}`: " in text for word in SCENARIOS)


def test_an_answer_arrives_in_pieces_and_whole(conversation):
    heard = conversation.say("text")

    pieces = [event["delta"] for event in heard.of("TEXT_MESSAGE_CONTENT")]
    whole = "This is a plain answer: it arrives word by word, as a model writes. Ünïcode too: 🌍."
    assert len(pieces) == len(whole.split())
    assert texts(heard.new_messages) == [("assistant", whole)]


def test_reasoning_comes_before_the_answer_and_keeps_its_encrypted_value(conversation):
    heard = conversation.say("reasoning")

    thought, answer = heard.new_messages
    assert texts([thought]) == [("reasoning", "The user wants to see me think. I pretend.")]
    assert thought["encryptedValue"] == "b3BhcXVl"
    assert texts([answer]) == [("assistant", "I thought about it, and here is the answer.")]


def test_a_server_tool_is_called_and_answered_in_the_message_that_calls_it(conversation):
    heard = conversation.say("tool")

    assert texts(heard.new_messages) == [
        ("assistant", "Let me look. "),
        ("tool", '{"sky": "clear", "celsius": 21}'),
        ("assistant", "It is 21 degrees in Lisbon."),
    ]
    caller, result, _ = heard.new_messages
    assert calls(caller) == [("get_weather", {"city": "Lisbon"})]
    assert call_ids([caller]) == [result["toolCallId"]]
    assert len(heard.of("TOOL_CALL_ARGS")) == 3


def test_parallel_calls_share_a_message_and_each_gets_its_own_result(conversation):
    heard = conversation.say("parallel")

    caller, *results, answer = heard.new_messages
    assert calls(caller) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})]
    oslo, rome = call_ids([caller])
    assert [(result["toolCallId"], result["content"]) for result in results] == [(rome, "sunny"), (oslo, "snow")]
    assert texts([answer]) == [("assistant", "Snow in Oslo, sun in Rome.")]


def test_a_picture_in_a_tool_result_reaches_who_can_hold_it(conversation, server):
    heard = conversation.say("image")

    picture = {"type": "image", "source": {"type": "data", "value": TINY_PNG, "mimeType": "image/png"}}
    parts = [{"type": "text", "text": "The sky:"}, picture]
    assert texts(heard.new_messages) == [
        ("assistant", None),
        ("tool", parts if conversation.is_current else "The sky:"),
        ("assistant", "The result has a picture."),
    ]
    if not conversation.is_current:
        assert "image" in server.line(heard.run_id, "run warning")["warning"]


def test_the_state_follows_its_deltas_and_keeps_what_the_client_sent(conversation):
    heard = conversation.say("state", state={"owner": "Ada"})

    everything = ["plan", "build", "test"]
    assert heard.state == {"owner": "Ada", "tasks": everything, "done": everything}
    assert len(heard.of("STATE_SNAPSHOT", "STATE_DELTA")) == 4
    assert texts(heard.new_messages) == [("assistant", "All tasks are done; look at the state.")]


def test_a_second_run_goes_on_from_the_state_that_the_client_holds(conversation):
    before = conversation.say("state", state={"notes": "so long that a delta is the shorter way " * 9})
    after = conversation.say("state")

    assert after.state == before.state
    first = after.of("STATE_SNAPSHOT", "STATE_DELTA")[0]["type"]
    # CopilotKit's process dies of a delta without a snapshot before it.
    assert first == ("STATE_DELTA" if conversation.is_current else "STATE_SNAPSHOT")


def test_an_activity_changes_in_place(conversation):
    heard = conversation.say("activity")

    activity, answer = heard.new_messages
    assert activity["activityType"] == "web_search"
    assert texts([activity, answer]) == [
        ("activity", {"query": "AG-UI", "found": 5}),
        ("assistant", "I found five pages."),
    ]
    assert [event["patch"][0]["value"] for event in heard.of("ACTIVITY_DELTA")] == [2, 5]


def test_the_work_of_a_subagent_is_attributed_to_it_for_who_knows_subagents(conversation):
    heard = conversation.say("subagent")

    assert texts(heard.new_messages) == [("assistant", "The fact is 42."), ("assistant", "My researcher says: 42.")]
    fact, answer = heard.new_messages
    assert "subagentRunId" not in answer
    if not conversation.is_current:
        assert "subagentRunId" not in json.dumps(heard.events)
        return
    started, finished = heard.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED")
    assert (started["name"], finished["result"]) == ("researcher", {"fact": 42})
    attributed = [finished, fact, *heard.of("STEP_STARTED", "STEP_FINISHED")]
    assert [thing["subagentRunId"] for thing in attributed] == [started["subagentRunId"]] * 4


def test_steps_may_overlap(conversation):
    heard = conversation.say("steps")

    steps = [(event["type"], event["stepName"]) for event in heard.of("STEP_STARTED", "STEP_FINISHED")]
    assert steps == [
        ("STEP_STARTED", "plan"),
        ("STEP_STARTED", "act"),
        ("STEP_FINISHED", "plan"),
        ("STEP_FINISHED", "act"),
    ]
    assert texts(heard.new_messages) == [("assistant", "Planning. Acting.")]


def test_custom_and_raw_events_pass_as_they_are(conversation):
    heard = conversation.say("custom")

    assert heard.of("CUSTOM", "RAW") == [
        {"type": "CUSTOM", "name": "demo.celebrate", "value": {"confetti": True}},
        {"type": "RAW", "event": {"provider": "demo", "kind": "heartbeat"}, "source": "demo"},
    ]
    assert texts(heard.new_messages) == [("assistant", "I sent a custom event and a raw one.")]


def test_a_result_is_what_running_the_agent_returns(conversation):
    heard = conversation.say("result")

    assert heard.result == heard.finished["result"] == {"answer": 42, "unit": "none"}
    assert texts(heard.new_messages) == [("assistant", "The result is in RUN_FINISHED.")]


# ---- failures and stops ---------------------------------------------------------------------------


def test_a_failure_meant_for_the_user_is_told_in_its_own_words(conversation):
    heard = conversation.say("error")

    assert failure(heard) == ("RUN_ERROR", "The demo failed, as you asked.", "demo_error")
    assert texts(heard.new_messages) == [("assistant", "This will not ")]


def test_a_crash_is_told_without_its_text_and_can_be_found_in_the_log(conversation, server):
    heard = conversation.say("crash")

    assert failure(heard) == ("RUN_ERROR", "The agent failed.", "internal_error")
    assert not any(secret in json.dumps(heard.events) for secret in ("secret", "sk-0123", "RuntimeError", "Traceback"))
    logged = server.line(heard.run_id, "run failed")
    assert "sk-0123" in logged["exception"]
    assert heard.events[-1]["metadata"]["agui-sidecar"]["correlationId"] == logged["request_id"]


def test_a_conversation_goes_on_after_a_failure(conversation):
    conversation.say("crash")
    heard = conversation.say("result")

    assert heard.result == {"answer": 42, "unit": "none"}
    assert roles(heard.messages) == "user assistant user assistant"


def test_a_run_stopped_by_request_ends_as_cancelled_while_it_is_read(conversation):
    heard = conversation.say("slow", cancelAfterEvents=4)

    assert heard.cancelled == {"runId": heard.run_id, "status": "cancelled"}
    assert heard.new_messages[0]["content"].startswith("1 2 ")
    if conversation.is_current:
        assert heard.finished == {"outcome": "cancelled"}
    else:  # it knows no such outcome, and must not take the stop for success
        assert heard.finished is None
        assert failure(heard) == ("RUN_ERROR", "The run was stopped.", "cancelled")


def test_a_run_whose_reader_leaves_is_stopped(conversation, server):
    heard = conversation.say("slow", abortAfterEvents=3)

    assert heard.outcome == "abort"  # the client's own word for it
    end = server.line(heard.run_id, "run ended")
    assert (end["outcome"], end["stopped"]) == ("cancelled", "the client went away")


def test_a_run_id_in_use_is_refused_before_the_stream_with_the_reason(conversation, server):
    first = {"threadId": "t", "runId": conversation.name, "messages": [{"id": "u", "role": "user", "content": "slow"}]}
    with httpx.stream("POST", server.url, json=first) as running:
        events = running.iter_lines()  # kept: the connection closes with it
        assert "RUN_STARTED" in next(events)
        refused = conversation.attempt(run={"runId": conversation.name})

    assert refused.events == []
    assert refused.error.startswith("Error: HTTP 409: ")
    assert "run_is_active" in refused.error


def test_a_body_that_is_too_large_is_refused_with_the_reason(conversation):
    message = {"id": "u", "role": "user", "content": "x" * 9_000_000}
    refused = conversation.attempt(messages=[message])

    assert refused.error.startswith("Error: HTTP 413: ")  # and not only a broken connection
    assert "body_too_large" in refused.error


# ---- frontend tools -------------------------------------------------------------------------------


def test_a_frontend_tool_is_called_and_left_for_the_application_to_answer(conversation):
    asked = conversation.say("frontend", run={"tools": [PICK_COLOR]})

    (caller,) = asked.new_messages
    assert calls(caller) == [("pick_color", {"near": "demo", "count": 1})]
    pending = {"pendingToolCallIds": call_ids([caller])} if conversation.is_current else {}
    assert asked.events[-1]["outcome"] == {"type": "success", **pending}
    assert asked.finished == {"outcome": "success", **pending}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"content": "dark blue"}, "Your tool answered: dark blue"),
        ({"content": "", "error": "no color picked"}, "Your tool answered: error: no color picked"),
    ],
    ids=["result", "error"],
)
def test_the_answer_of_a_frontend_tool_continues_the_conversation(conversation, answer, told):
    asked = conversation.say("frontend", run={"tools": [PICK_COLOR]})
    (call,) = call_ids(asked.new_messages)
    heard = conversation.run(messages=[tool_message(call, **answer)], run={"tools": [PICK_COLOR]})

    assert roles(heard.messages) == "user assistant tool assistant"
    assert texts(heard.new_messages) == [("assistant", told)]
    assert heard.types.count("TOOL_CALL_START") == 0


def test_without_a_frontend_tool_the_agent_asks_for_one(conversation):
    (message,) = conversation.say("frontend").new_messages

    assert message["content"].startswith("The run input advertises no tools")


# ---- interrupts -----------------------------------------------------------------------------------


def test_an_interrupt_says_what_it_is_about(conversation):
    heard = conversation.say("approval")

    (caller,) = heard.new_messages
    assert calls(caller) == [("delete_file", {"path": "/tmp/old"})]
    (interrupt,) = heard.pending_interrupts
    assert heard.finished == {"outcome": "interrupt", "interrupts": [interrupt]}
    assert interrupt["reason"] == "tool_call"
    assert [interrupt["toolCallId"]] == call_ids([caller])
    assert interrupt["message"] == "May I delete /tmp/old?"
    assert interrupt["responseSchema"]["required"] == ["approved"]


@pytest.mark.parametrize(
    ("status", "payload", "result"),
    [
        ("resolved", {"approved": True}, "deleted"),
        ("resolved", {"approved": False, "reason": "too early"}, "not deleted: too early"),
        ("cancelled", None, "not deleted: no consent"),
    ],
    ids=["approved", "denied", "cancelled"],
)
def test_an_answered_interrupt_ends_the_call_as_answered(conversation, status, payload, result):
    (interrupt,) = conversation.say("approval").pending_interrupts
    heard = conversation.run(run={"resume": [answer_to(interrupt, status, payload)]})

    assert heard.outcome == "success"
    assert heard.pending_interrupts == []
    assert texts(heard.messages) == [
        ("user", "approval"),
        ("assistant", "This needs your consent. "),
        ("tool", result),
        ("assistant", f"Done: {result}. "),
    ]
    assert heard.new_messages[0]["toolCallId"] == interrupt["toolCallId"]
    assert heard.types.count("TOOL_CALL_START") == 0  # the call is in the history


def test_a_resuming_run_may_have_the_id_of_the_interrupted_one(conversation):  # CopilotKit resumes that way
    asked = conversation.say("approval", run={"runId": f"run-of-{conversation.name}"})
    answer = answer_to(asked.pending_interrupts[0], "resolved", {"approved": True})
    heard = conversation.run(run={"runId": asked.run_id, "resume": [answer]})

    assert heard.run_id == asked.run_id
    assert heard.outcome == "success"
    assert texts(heard.new_messages) == [("tool", "deleted"), ("assistant", "Done: deleted. ")]


def test_an_approval_that_the_client_put_into_the_history_is_replaced_by_the_result(conversation):
    asked = conversation.say("approval")  # CopilotKit's browser inserts such a tool message when the user answers
    (interrupt,) = asked.pending_interrupts
    echo = tool_message(interrupt["toolCallId"], json.dumps({"approved": True}))
    resume = [answer_to(interrupt, "resolved", {"approved": True})]
    heard = conversation.run(messages=[echo], run={"resume": resume})

    assert texts(heard.messages) == [
        ("user", "approval"),
        ("assistant", "This needs your consent. "),
        ("tool", "deleted"),
        ("assistant", "Done: deleted. "),
    ]


def test_an_answer_to_what_is_not_open_is_left_out(conversation, server):
    (interrupt,) = conversation.say("approval").pending_interrupts
    unknown = {"interruptId": "unheard-of", "status": "resolved", "payload": {"approved": True}}
    heard = conversation.run(run={"resume": [unknown, answer_to(interrupt, "cancelled")]})

    assert texts(heard.new_messages)[0] == ("tool", "not deleted: no consent")
    assert "unheard-of" in server.line(heard.run_id, "run warning")["warning"]


def test_an_answer_when_nothing_is_open_does_not_hide_what_the_user_says(conversation):
    heard = conversation.say("result", run={"resume": [{"interruptId": "unheard-of", "status": "cancelled"}]})

    assert heard.result == {"answer": 42, "unit": "none"}


# ---- a long conversation --------------------------------------------------------------------------


def test_a_conversation_posts_back_all_that_the_client_assembled(conversation, server):
    tools = {"tools": [PICK_COLOR]}
    runs = [conversation.say(word, run=tools) for word in ADDED]
    (call,) = call_ids(runs[-1].new_messages)
    runs.append(conversation.run(messages=[tool_message(call, "red")], run=tools))
    runs.append(conversation.say("approval", run=tools))
    answer = answer_to(runs[-1].pending_interrupts[0], "resolved", {"approved": True})
    runs.append(conversation.run(run={"resume": [answer], **tools}))
    runs.append(conversation.say("result", run=tools))

    of_the_last_four = ["assistant", "assistant", "tool assistant", "assistant"]
    assert [roles(run.new_messages) for run in runs] == [*ADDED.values(), *of_the_last_four]
    messages = runs[-1].messages
    assert roles(messages) == " ".join(
        [
            *(f"user {added}" for added in ADDED.values()),
            "tool assistant",  # the application answers its tool
            "user assistant tool assistant",  # the approval
            "user assistant",
        ]
    )
    assert len({message["id"] for message in messages}) == len(messages)
    answered = [message["toolCallId"] for message in messages if message["role"] == "tool"]
    assert sorted(call_ids(messages)) == sorted(answered)
    assert runs[-1].state["done"] == ["plan", "build", "test"]
    assert runs[-1].result == {"answer": 42, "unit": "none"}
    if conversation.is_current:  # nothing of what it posted had to be left out or repaired
        assert [server.lines(run.run_id, "run warning") for run in runs] == [[]] * len(runs)
