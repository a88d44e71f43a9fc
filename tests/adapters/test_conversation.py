"""A client's history, read: what is repaired, what stays open, and that nothing else changes."""

import json
from collections import Counter

import pytest
from ag_ui.core import Message, TextPart, ToolMessage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from adapters.conversation import NOT_EXECUTED, UNREADABLE, Conversation, answer_of, closed, read_conversation

messages_of = TypeAdapter(list[Message]).validate_python


def user(name="u", content="hello"):
    return {"id": name, "role": "user", "content": content}


def calls(name, *call_ids, content=None, arguments="{}"):
    made = [{"id": call_id, "function": {"name": "look", "arguments": arguments}} for call_id in call_ids]
    return {"id": name, "role": "assistant", "toolCalls": made} | ({"content": content} if content else {})


def says(name, content="fine"):
    return {"id": name, "role": "assistant", "content": content}


def result(name, call_id, content="seen", **fields):
    return {"id": name, "role": "tool", "toolCallId": call_id, "content": content, **fields}


def read(*history, **options):
    """The conversation of a history, and the warnings."""
    warnings = []
    return read_conversation(messages_of(list(history)), warnings.append, **options), warnings


def ids(messages):
    return [message.id for message in messages]


# ---- what is well-formed stays as it is -----------------------------------------------------------


def test_a_well_formed_history_is_the_conversation():
    history = messages_of(
        [
            {"id": "s", "role": "system", "content": "be kind"},
            user("u1"),
            {"id": "z", "role": "reasoning", "content": "hm", "encryptedValue": "S"},
            calls("a1", "c1", "c2", content="Let me look."),
            result("t1", "c1"),
            result("t2", "c2", error="broken"),
            {"id": "x", "role": "activity", "activityType": "plan", "content": {"step": 1}},
            says("a2"),
            user("u2"),
        ]
    )
    warnings = []
    conversation = read_conversation(history, warnings.append)
    assert all(given is kept for given, kept in zip(history, conversation.messages, strict=True))
    assert (conversation.open_calls, conversation.later, warnings) == ([], [], [])


def test_no_messages_are_no_conversation():
    assert read() == (Conversation([], [], []), [])


def test_results_that_came_as_they_were_ready_stand_in_the_order_of_their_calls():
    conversation, warnings = read(user(), calls("a", "c1", "c2"), result("t2", "c2"), result("t1", "c1"))
    assert ids(conversation.messages) == ["u", "a", "t1", "t2"]
    assert warnings == []


# ---- results in the wrong place -------------------------------------------------------------------


def test_a_result_behind_the_next_question_moves_to_its_call():
    """B18 (b)."""
    conversation, (warning,) = read(user("u1"), calls("a", "f1"), user("u2"), result("t", "f1"))
    assert ids(conversation.messages) == ["u1", "a", "t", "u2"]
    assert (conversation.open_calls, conversation.later) == ([], [])
    assert warning == "Moved tool messages to the call that they answer: 't'."


def test_a_result_that_a_merge_put_behind_the_answer_moves_back():
    """B36."""
    conversation, _ = read(user("u1"), calls("a1", "c1"), says("a2"), result("t", "c1"), user("u2"))
    assert ids(conversation.messages) == ["u1", "a1", "t", "a2", "u2"]


def test_text_between_a_call_and_its_result_does_not_part_them():
    """B35."""
    conversation, _ = read(calls("a1", "c1"), says("a2"), result("t", "c1"), calls("a3", "c2"), result("t2", "c2"))
    assert ids(conversation.messages) == ["a1", "t", "a2", "a3", "t2"]


def test_a_result_before_its_call_moves_behind_it():
    conversation, (warning,) = read(result("t", "c1"), user(), calls("a", "c1"))
    assert ids(conversation.messages) == ["u", "a", "t"]
    assert "'t'" in warning


def test_a_result_behind_its_call_counts_before_one_in_front_of_it():
    conversation, (warning,) = read(result("early", "c1"), calls("a", "c1"), result("t", "c1"))
    assert ids(conversation.messages) == ["a", "t"]
    assert warning == "Left out tool messages for calls that have a result already: 'early'."


def test_a_result_of_no_call_is_left_out():
    """Fault 11 of PydanticAI's own adapter."""
    conversation, (warning,) = read(user(), result("t", "nowhere"))
    assert ids(conversation.messages) == ["u"]
    assert warning == "Left out tool messages that answer no call of the history: 't'."


def test_the_first_of_two_results_counts():
    conversation, (warning,) = read(calls("a", "c1"), result("t1", "c1"), result("t2", "c1"))
    assert ids(conversation.messages) == ["a", "t1"]
    assert "'t2'" in warning


# ---- calls without a result -----------------------------------------------------------------------


def test_the_last_calls_that_nobody_answered_are_open():
    conversation, warnings = read(user(), calls("a", "c1", "c2", "c3"), result("t2", "c2"))
    assert ids(conversation.messages) == ["u", "a", "t2"]
    assert ids(conversation.open_calls) == ["c1", "c3"]
    assert (conversation.later, warnings) == ([], [])


def test_what_a_user_says_after_an_open_call_waits():
    """B18 (a)."""
    system = {"id": "s", "role": "system", "content": "x"}
    conversation, warnings = read(user("u1"), calls("a", "f1"), user("u2", "never mind"), system)
    assert ids(conversation.messages) == ["u1", "a"]
    assert ids(conversation.open_calls) == ["f1"]
    assert ids(conversation.later) == ["u2", "s"]
    assert warnings == []


def test_reasoning_after_an_open_call_stands_before_it():
    activity = {"id": "x", "role": "activity", "activityType": "plan", "content": {}}
    thought = {"id": "z", "role": "reasoning", "content": "hm"}
    conversation, warnings = read(user(), calls("a", "c1", "c2"), thought, result("t", "c1"), activity, user("u2"))
    assert ids(conversation.messages) == ["u", "z", "x", "a", "t"]
    assert ids(conversation.later) == ["u2"]
    assert any(warning.startswith("Moved reasoning") and "'z', 'x'" in warning for warning in warnings)


@pytest.mark.parametrize("answered", [[], [result("t", "c1")]], ids=["none answered", "one of two answered"])
def test_calls_of_a_cancelled_run_are_closed_once_the_conversation_went_on(answered):
    """B60 (a), (b)."""
    history = [user("u1"), calls("a1", "c1", "c2"), *answered, user("u2"), says("a2"), user("u3")]
    conversation, warnings = read(*history)
    first, second = conversation.messages[2:4]
    assert (first.tool_call_id, second.tool_call_id) == ("c1", "c2")
    assert (second.id, second.content, second.error) == ("c2-unanswered", NOT_EXECUTED, NOT_EXECUTED)
    assert ids(conversation.messages)[4:] == ["u2", "a2", "u3"]
    assert conversation.open_calls == []
    assert any("'c2'" in warning for warning in warnings)
    assert read(*history) == (conversation, warnings)


def test_arguments_that_were_cut_off_stay_as_text():
    """B60 (c)."""
    cut = '{"city":"Os'
    conversation, warnings = read(user(), calls("a1", "c1", arguments=cut), says("a2"))
    assert json.loads(conversation.messages[1].tool_calls[0].function.arguments) == {UNREADABLE: cut}
    assert conversation.messages[1].tool_calls[0].function.name == "look"
    assert any(UNREADABLE in warning and "'c1'" in warning for warning in warnings)


@pytest.mark.parametrize("arguments", ["[1]", "null", "7", '"x"', "{", '{"a":NaN}', "{'a': 1}", "[" * 5000, "\ud800"])
def test_arguments_that_are_no_object_become_one(arguments):
    conversation, (warning,) = read(calls("a", "c1", arguments=arguments), result("t", "c1"))
    assert json.loads(conversation.messages[0].tool_calls[0].function.arguments) == {UNREADABLE: arguments}
    assert "'c1'" in warning


def test_no_arguments_are_an_empty_object():
    conversation, warnings = read(calls("a", "c1", arguments=" "), result("t", "c1"))
    assert conversation.messages[0].tool_calls[0].function.arguments == "{}"
    assert warnings == []


def test_open_calls_keep_their_arguments():
    conversation, warnings = read(calls("a", "c1", arguments='{"city":"Os'))
    assert conversation.open_calls[0].function.arguments == '{"city":"Os'
    assert conversation.messages[0].tool_calls == conversation.open_calls
    assert warnings == []


def test_nothing_of_old_history_is_open():
    """B27."""
    history = [user("u1"), calls("a1", "c1"), result("t1", "c1"), says("a2"), user("u2", "thanks")]
    conversation, _ = read(*history, echoed=["c1"])
    assert conversation.open_calls == []
    assert ids(conversation.messages) == ["u1", "a1", "t1", "a2", "u2"]


def test_new_calls_after_a_tool_message_at_the_end_find_it_settled():
    """B31 (c)."""
    conversation, _ = read(user(), calls("a1", "c0"), result("t0", "c0"))
    assert conversation.open_calls == []
    assert ids(conversation.messages) == ["u", "a1", "t0"]


def test_an_echoed_answer_leaves_its_call_open():
    echo = result("echo", "c1", '{"approved":true}')
    conversation, (warning,) = read(user(), calls("a", "c1", "c2"), result("t2", "c2"), echo, echoed=["c1"])
    assert ids(conversation.messages) == ["u", "a", "t2"]
    assert ids(conversation.open_calls) == ["c1"]
    assert "'echo'" in warning


def test_a_provider_s_own_call_is_never_open():
    native = {"native": lambda call_id: call_id.startswith("p|")}
    conversation, warnings = read(calls("a1", "p|1"), says("a2"), calls("a3", "p|2", "c1"), **native)
    assert ids(conversation.messages) == ["a1", "a2", "a3"]
    assert ids(conversation.open_calls) == ["c1"]
    assert warnings == []


# ---- ids that come again, and messages that say nothing -------------------------------------------


def test_a_repeated_call_id_keeps_its_newest_meaning():
    turn = [calls("a1", "c", arguments='{"n":1}'), result("t1", "c", "one"), calls("a2", "c"), result("t2", "c", "two")]
    conversation, (warning,) = read(*turn)
    first, one, second, two = conversation.messages
    assert (first.tool_calls[0].id, one.tool_call_id, one.content) == ("c-1", "c-1", "one")
    assert (second.tool_calls[0].id, two.tool_call_id, two.content) == ("c", "c", "two")
    assert first.tool_calls[0].function.arguments == '{"n":1}'
    assert "'c'" in warning
    longer, _ = read(*turn, calls("a3", "c"), result("t3", "c"))
    assert ids(longer.messages[0].tool_calls) == ["c-1"]


def test_another_name_is_found_where_the_first_is_taken():
    conversation, _ = read(
        calls("a1", "c"), result("t1", "c"), calls("a2", "c-1"), result("t2", "c-1"), calls("a3", "c")
    )
    assert [message.tool_calls[0].id for message in conversation.messages[::2]] == ["c-2", "c-1", "c"]


def test_an_id_twice_in_one_message_gives_each_call_its_result():
    conversation, _ = read(calls("a", "c", "c"), result("t1", "c", "one"), result("t2", "c", "two"))
    assert ids(conversation.messages[0].tool_calls) == ["c-1", "c"]
    assert [(m.tool_call_id, m.content) for m in conversation.messages[1:]] == [("c-1", "one"), ("c", "two")]


def test_a_renamed_call_is_never_open_because_nobody_could_answer_it():
    conversation, _ = read(calls("a", "c", "c"))
    assert ids(conversation.open_calls) == ["c"]
    assert [(m.tool_call_id, m.error) for m in conversation.messages[1:]] == [("c-1", NOT_EXECUTED)]


def test_an_assistant_message_that_says_nothing_is_left_out():
    empty = [{"id": "e1", "role": "assistant"}, {"id": "e2", "role": "assistant", "content": "", "toolCalls": []}]
    conversation, (warning,) = read(user(), calls("a", "c1"), *empty)
    assert ids(conversation.messages) == ["u", "a"]
    assert ids(conversation.open_calls) == ["c1"]
    assert "'e1', 'e2'" in warning


def test_a_repair_of_many_names_some_and_counts_the_rest():
    _, (warning,) = read(*(result(f"t{n}" + "x" * 100, "nowhere") for n in range(13)))
    assert warning.endswith(" and 3 more.")
    assert len(warning) < 1000


# ---- closing what is open -------------------------------------------------------------------------


def test_closed_answers_what_is_open_as_failed():
    conversation, _ = read(user(), calls("a", "c1", "c2", arguments="{"), result("t2", "c2"), user("u2"))
    after = closed(conversation, {"c1": "Nobody answered.", "nowhere": "x"})
    assert ids(after.messages) == ["u", "a", "c1-unanswered", "t2", "u2"]
    assert (after.messages[2].content, after.messages[2].error) == ("Nobody answered.", "Nobody answered.")
    assert json.loads(after.messages[1].tool_calls[0].function.arguments) == {UNREADABLE: "{"}
    assert (after.open_calls, after.later) == ([], [])


def test_closed_leaves_open_what_has_no_reason():
    conversation, _ = read(calls("a", "c1", "c2", "c3"), user("u2"))
    after = closed(conversation, {"c2": "no"})
    assert ids(after.messages) == ["a", "c2-unanswered"]
    assert ids(after.open_calls) == ["c1", "c3"]
    assert ids(after.later) == ["u2"]
    done = closed(after, {}, otherwise="over")
    assert [m.content for m in done.messages[1:4]] == ["over", "no", "over"]
    assert (ids(done.messages)[-1], done.open_calls) == ("u2", [])
    assert closed(done, {}, otherwise="x") is done
    assert closed(after, {}) is after


def test_a_made_up_result_never_has_the_id_of_another_message():
    conversation, _ = read(user("c1-unanswered"), calls("a", "c1"), user("c1-unanswered-2"))
    after = closed(conversation, {"c1": "no"})
    assert ids(after.messages) == ["c1-unanswered", "a", "c1-unanswered-3", "c1-unanswered-2"]


# ---- a failure and its reason ---------------------------------------------------------------------


def test_a_model_sees_why_a_tool_failed():
    """Fault 12 of PydanticAI's own adapter: a declined frontend tool came as an empty string."""

    def seen(content, error=None):
        return answer_of(ToolMessage(id="t", tool_call_id="c", content=content, error=error))

    assert seen("", "declined") == "declined"
    assert seen("half of it", "timed out") == "half of it\n\ntimed out"
    assert seen("it was declined", "declined") == "it was declined"
    assert seen("fine") == seen("fine", "") == "fine"
    part = TextPart(text="half")
    assert seen([part], "timed out") == [part, TextPart(text="timed out")]
    assert seen([TextPart(text="declined!")], "declined") == [TextPart(text="declined!")]


# ---- any history ----------------------------------------------------------------------------------

call_ids = st.sampled_from(["c", "c-1", "d", "d-unanswered", "p|1"])
some_arguments = st.sampled_from(["{}", '{"a":1}', '{"a', "", "[]"])
some_calls = st.lists(st.builds(lambda i, a: calls("", i, arguments=a)["toolCalls"][0], call_ids, some_arguments))
some_content = st.sampled_from([None, "", "text"])
bodies = st.one_of(
    st.sampled_from([user(), {"role": "system", "content": "s"}, {"role": "developer", "content": "d"}]),
    st.sampled_from(
        [{"role": "reasoning", "content": "r"}, {"role": "activity", "activityType": "plan", "content": {}}]
    ),
    st.builds(
        lambda content, made: {"role": "assistant", "toolCalls": made} | ({"content": content} if content else {}),
        some_content,
        some_calls,
    ),
    st.builds(lambda call_id, error: result("", call_id, **error), call_ids, st.sampled_from([{}, {"error": "e"}])),
)
histories = st.lists(bodies, max_size=10).flatmap(
    lambda given: st.tuples(st.just(given), st.permutations(["c-unanswered", *(f"m{n}" for n in range(len(given)))]))
)


def is_native(call_id):
    return call_id.startswith("p|")


def settled(conversation):
    """Every call, its results right behind it; raises where the conversation is not well-formed."""
    found, place = [], 0
    while place < len(conversation.messages):
        message = conversation.messages[place]
        assert message.role != "tool", "a result without its call"
        place += 1
        made = [call.id for call in getattr(message, "tool_calls", None) or ()]
        answered = []
        while place < len(conversation.messages) and conversation.messages[place].role == "tool":
            answered.append(conversation.messages[place].tool_call_id)
            place += 1
        assert answered == [call_id for call_id in made if call_id in set(answered)], "not in the order of the calls"
        found += [(call_id, answered.count(call_id)) for call_id in made]
    return found


@given(histories, st.sets(call_ids))
def test_any_history_is_a_well_formed_conversation(given_history, echoed):
    bodies_, names = given_history
    history = messages_of([{**body, "id": name} for body, name in zip(bodies_, names, strict=False)])
    before = [message.model_copy(deep=True) for message in history]
    warnings = []
    conversation = read_conversation(history, warnings.append, echoed=echoed, native=is_native)
    assert history == before

    answers = settled(conversation)
    open_ids = ids(conversation.open_calls)
    assert len(dict(answers)) == len(answers), "two calls of one id"
    for call_id, count in answers:
        assert count <= 1
        assert count == 1 or (call_id in open_ids) != is_native(call_id)
        assert not (count and call_id in open_ids)
    assert [call_id for call_id, _ in answers if call_id in open_ids] == open_ids
    assert conversation.later == [] or open_ids
    assert {message.role for message in conversation.later} <= {"user", "system", "developer"}

    kept = Counter(ids(conversation.messages) + ids(conversation.later))
    assert set(kept.values()) <= {1}
    lost = [message for message in history if message.id not in kept]
    left_out = [warning for warning in warnings if warning.startswith("Left out")]
    assert all(any(repr(message.id) in warning for warning in left_out) for message in lost)
    made_up = kept.keys() - {message.id for message in history}
    by_id = {message.id: message for message in conversation.messages}
    assert all(by_id[name].error == NOT_EXECUTED for name in made_up)
    assert bool(made_up) == any(warning.startswith("Answered calls") for warning in warnings)

    for call in (call for m in conversation.messages for call in getattr(m, "tool_calls", None) or ()):
        if call.id not in open_ids:
            assert isinstance(json.loads(call.function.arguments), dict)

    again = []
    whole = [*conversation.messages, *conversation.later]
    assert read_conversation(whole, again.append, native=is_native) == conversation
    assert again == []

    finished = closed(conversation, {}, otherwise="over")
    assert read_conversation(finished.messages, again.append, native=is_native) == finished
    assert (again, finished.open_calls, finished.later) == ([], [], [])
