"""What a consumer sends: declared, clean, and only when nothing that is open is passed over."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone

import pytest

from conformance.request import RequestRejected, check_calls, check_resume, request

USER = {"id": "u", "role": "user", "content": "hi"}
INPUT = {"threadId": "t", "runId": "r", "messages": [USER]}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def call(key, name="f"):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": "{}"}}


def assistant(*calls):
    return {"id": "a", "role": "assistant", "toolCalls": list(calls)}


def answer(key):
    return {"id": f"t-{key}", "role": "tool", "toolCallId": key, "content": "ok"}


def entry(key, status="resolved"):
    return {"interruptId": key, "status": status}


def interrupt(key, **more):
    return {"id": key, "reason": "approval", **more}


TOOLS = [{"name": "f", "description": "a frontend tool"}]


def test_the_version_spoken_is_declared_whatever_the_application_says():
    assert request(INPUT) == ({**INPUT, "protocolVersion": "1.1"}, [])
    assert request({**INPUT, "protocolVersion": "0.9"}, protocol="1.0")[0]["protocolVersion"] == "1.0"
    assert request(INPUT, peer="1.0")[0]["protocolVersion"] == "1.1"
    assert "protocolVersion" not in request({**INPUT, "protocolVersion": "1.1"}, peer="0.0.59")[0]


def test_activities_are_not_sent():
    """read-activity-not-sent."""
    activity = {"id": "x", "role": "activity", "activityType": "search", "content": {}}
    document, warnings = request({**INPUT, "messages": [activity, USER]})
    assert document["messages"] == [USER]
    assert warnings == []


def test_unknown_material_is_left_out_by_its_path():
    run_input = {**INPUT, "shiny": 1, "messages": [{**USER, "glow": 1}, {"id": "o", "role": "oracle"}]}
    document, warnings = request(run_input)
    assert document["messages"] == [USER]
    assert [warning.split()[0] for warning in warnings] == ["/messages/0/glow", "/messages/1", "/shiny"]


def test_what_a_later_version_added_is_unknown_to_an_earlier_one():
    message = {**USER, "encryptedValue": "V", "encryptedValueType": "x.y"}
    assert request({**INPUT, "messages": [message]})[0]["messages"] == [message]
    document, warnings = request({**INPUT, "messages": [message]}, protocol="1.0")
    assert document["messages"] == [{**USER, "encryptedValue": "V"}]
    assert len(warnings) == 1


def test_a_legacy_part_is_sent_in_todays_shape():
    legacy = {"type": "binary", "mimeType": "image/png", "data": "AA"}
    document, warnings = request({**INPUT, "messages": [{**USER, "content": [legacy]}]})
    assert document["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}}
    ]
    assert warnings == []


def test_an_older_peer_is_sent_what_it_reads():
    image = {"type": "image", "source": {"type": "url", "value": "u"}}
    document, warnings = request({**INPUT, "messages": [{**USER, "content": [image]}]}, peer="0.0.39")
    assert document["messages"] == [{**USER, "content": ""}]
    assert len(warnings) == 1


def test_a_state_of_null_is_left_out_with_a_warning():
    """B47: a run input has no way to say it, and a consumer may hold it."""
    document, warnings = request({**INPUT, "state": None})
    assert "state" not in document
    assert len(warnings) == 1
    assert request({**INPUT, "state": 0}) == ({**INPUT, "state": 0, "protocolVersion": "1.1"}, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": [{**USER, "id": 5}]}, "expected a string at /messages/0/id, found the number 5"),
        ({"threadId": None}, "expected a string at /threadId, found null"),
        ({"forwardedProps": None}, "absent-not-null: expected any JSON value, or no such field at /forwardedProps"),
        ({"messages": None}, "expected a list at /messages, found null"),
        ({"messages": [{**USER, "content": [{"type": "text", "text": 42}]}]}, "at /messages/0/content/0/text"),
    ],
)
def test_a_malformed_field_is_fatal_before_anything_is_sent(change, message):
    with pytest.raises(RequestRejected, match="expected") as caught:
        request({**INPUT, **change}, peer="0.0.39")
    assert message in str(caught.value)


def test_nothing_of_the_input_is_changed():
    run_input = {**INPUT, "shiny": 1, "state": None, "messages": [{**USER, "glow": 1, "subagentRunId": "s"}]}
    before = deepcopy(run_input)
    request(run_input, peer="0.0.39")
    assert run_input == before


# ---- interrupts ----------------------------------------------------------------------------------


def rejected(*args, **options):
    with pytest.raises(RequestRejected) as caught:
        request(*args, **options)
    return [(breach.rule, breach.found) for breach in caught.value.breaches]


def test_each_interrupt_is_answered_or_abandoned():
    """read-resume-covers: an omission is no abandonment, and a message is no answer."""
    opened = [interrupt("i"), interrupt("j")]
    covered = {**INPUT, "resume": [entry("i"), entry("j", "cancelled")]}
    assert request(covered, interrupts=opened)[0]["resume"] == covered["resume"]
    assert rejected({**INPUT, "resume": [entry("i")]}, interrupts=opened) == [("read-resume-covers", "none")]
    assert len(rejected(INPUT, interrupts=opened)) == 2


def test_an_entry_names_an_interrupt_of_the_run_being_continued_once():
    assert rejected({**INPUT, "resume": [entry("z")]}) == [("read-resume-covers", "one for 'z', unknown to it")]
    twice = {**INPUT, "resume": [entry("i"), entry("i")]}
    assert rejected(twice, interrupts=[interrupt("i")]) == [("read-resume-covers", "another one")]


@pytest.mark.parametrize(
    ("expires", "is_expired"),
    [
        ("2026-11-30T12:00:00Z", True),
        ("2026-11-30T12:00:01Z", False),
        ("2026-11-30T13:00:00+02:00", True),
        ("2026-11-30T11:59:59", True),
        ("2026-11-30", True),
        ("soon", False),
    ],
)
def test_an_expired_interrupt_can_only_be_abandoned(expires, is_expired):
    opened = [interrupt("i", expiresAt=expires)]
    assert bool(check_resume(opened, [entry("i")], NOW)) == is_expired
    assert bool(check_resume(opened, [entry("i")], NOW.astimezone(timezone(timedelta(hours=9))))) == is_expired
    assert check_resume(opened, [entry("i", "cancelled")], NOW) == []
    assert check_resume(opened, [entry("i")]) == []
    assert check_resume([interrupt("i")], [entry("i")], NOW) == []


# ---- frontend calls ------------------------------------------------------------------------------


def test_a_thread_that_goes_on_answers_every_frontend_call():
    """B17, read-calls-answered: all of them, those of the first run included."""
    run_input = {**INPUT, "tools": TOOLS, "messages": [USER, assistant(call("c"), call("d")), answer("c")]}
    with pytest.raises(RequestRejected, match="read-calls-answered: expected a tool message for call 'd'"):
        request(run_input)
    request({**run_input, "messages": [*run_input["messages"], answer("d")]})


def test_a_call_of_a_tool_that_is_not_the_applications_is_not_its_to_answer():
    messages = [USER, assistant(call("c", "server"))]
    assert check_calls({"messages": messages, "tools": TOOLS}) == []
    assert check_calls({"messages": messages}) == []


def test_a_call_that_an_interrupt_is_about_is_answered_by_its_entry():
    run_input = {**INPUT, "tools": TOOLS, "messages": [USER, assistant(call("c"))], "resume": [entry("i")]}
    request(run_input, interrupts=[interrupt("i", toolCallId="c")])
    with pytest.raises(RequestRejected):
        request(run_input, interrupts=[interrupt("i")])
