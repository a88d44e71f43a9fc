"""Enforcement: unknown is removed and named, malformed is fatal, and the two are never confused."""

import pytest

from conformance.enforce import Enforcement, Malformed, run_input_shape

START = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
INPUT = {"threadId": "t", "runId": "r", "messages": []}


def enforced(event, protocol="1.1"):
    said = []
    return Enforcement(protocol, lambda sentence, key: said.append((sentence, key))).event(event), said


def test_what_is_known_and_well_formed_passes_as_it_is():
    assert enforced(START)[0] is START
    assert Enforcement("1.0", print).run_input(INPUT) is INPUT


def test_the_events_own_unknown_fields_are_worth_saying_once():
    sentence = "/shiny of TEXT_MESSAGE_START was removed as unknown to AG-UI 1.1"
    assert enforced({**START, "shiny": 1}) == (START, [(sentence, sentence)])


def test_unknown_material_further_down_is_said_each_time():
    event = {"type": "STATE_DELTA", "delta": [{"op": "merge"}]}
    sentence = "/delta/0 of STATE_DELTA was removed as unknown to AG-UI 1.1"
    assert enforced(event) == ({**event, "delta": []}, [(sentence, None)])


def test_an_unknown_event_is_dropped_by_its_name():
    sentence = "FUTURE_EVENT was dropped as unknown to AG-UI 1.0"
    assert enforced({"type": "FUTURE_EVENT", "x": 1}, "1.0") == (None, [(sentence, sentence)])


def test_every_malformed_field_is_named():
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": 5, "delta": None, "rawEvent": None, "shiny": 1}
    with pytest.raises(Malformed) as caught:
        enforced(event)
    assert [breach.rule for breach in caught.value.breaches] == ["event-described"] * 2 + ["absent-not-null"]
    assert str(caught.value).startswith("event-described: expected a string at /messageId, found the number 5; ")


def test_a_run_input_is_held_to_the_version_of_its_consumer():
    said = []
    message = {"id": "u", "role": "user", "content": "x", "encryptedValueType": "x.y"}
    run_input = {**INPUT, "messages": [message]}
    assert Enforcement("1.1", print).run_input(run_input) is run_input
    known = Enforcement("1.0", lambda sentence, _: said.append(sentence)).run_input(run_input)
    assert known["messages"] == [{"id": "u", "role": "user", "content": "x"}]
    assert said == ["/messages/0/encryptedValueType of the run input was removed as unknown to AG-UI 1.0"]
    assert run_input_shape("1.0") is not run_input_shape("1.1")


def test_a_version_that_nobody_described_cannot_be_enforced():
    with pytest.raises(ValueError, match=r"one of 1.0, 1.1, not '2.0'"):
        Enforcement("2.0", print)
