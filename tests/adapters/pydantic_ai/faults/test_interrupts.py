"""Approvals: beside PydanticAI's own adapter."""

import json
from datetime import UTC, datetime

from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, call, entry


@beside(
    tried="A call has to be approved",
    ours="It is announced and closed, and the run ends with its interrupt, which describes the answer",
)
async def test_a_call_has_to_be_approved(serve):
    """B05."""
    bank = Bank(["I shall pay. ", pays(100)])
    async with serve(bank.agent()) as thread:
        answer = await thread.say("pay")
    assert answer.breaches == []
    assert answer.calls == {"c1": '{"amount": 100}'}
    assert answer.results == {}
    (interrupt,) = answer.outcome["interrupts"]
    assert (interrupt["toolCallId"], interrupt["reason"]) == ("c1", "tool_call")
    assert interrupt["responseSchema"]["properties"].keys() == {"approved", "editedArgs", "reason"}
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert bank.paid == []


@beside(
    tried="The call is approved",
    ours="It runs once; the resumed run brings its result and no second announcement",
)
async def test_an_approved_call_runs_once(serve):
    """B31 a."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVED})
    assert answer.breaches == []
    assert (bank.paid, answer.calls, answer.results) == ([100], {}, {"c1": "paid 100"})
    assert (answer.text, answer.ended) == ("done", "success")
    assert [message["role"] for message in thread.messages] == ["user", "assistant", "tool", "assistant"]


@beside(
    tried="One of three parallel calls has to be approved",
    ours="The other two run at once, the third when it is approved; each once",
)
async def test_one_of_three_calls_has_to_be_approved(serve):
    """B11."""
    bank = Bank([call("look", '{"what":"a"}', "c1", 0), pays(5, "c2", 1), call("look", '{"what":"b"}', "c3", 2)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("go")
        answer = await thread.resume({asked.open["c2"]: APPROVED})
    assert asked.breaches == answer.breaches == []
    assert asked.results == {"c1": "saw a", "c3": "saw b"}
    assert list(asked.open) == ["c2"]
    assert answer.results == {"c2": "paid 5"}
    assert (sorted(bank.looked), bank.paid, answer.ended) == (["a", "b"], [5], "success")
    assert {key: part.content for key, part in bank.results().items()} == {**asked.results, **answer.results}


@beside(
    tried="The approval brings edited arguments",
    ours="The call runs once, with those",
)
async def test_the_approval_brings_edited_arguments(serve):
    """B30."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: {"approved": True, "editedArgs": {"amount": 50}}})
    assert answer.breaches == []
    assert (bank.paid, answer.results) == ([50], {"c1": "paid 50"})


@beside(
    tried="A tool asks for approval by itself, and says why in values of Python's",
    ours="The interrupt carries them as JSON",
)
async def test_a_tool_asks_by_itself(serve):
    """B45."""
    at = datetime(2026, 1, 2, tzinfo=UTC)
    bank = Bank([call("transfer", '{"amount": 7}')])
    agent = bank.agent()

    @agent.tool
    def transfer(ctx: RunContext[None], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"at": at, "limits": {1, 2}})
        return f"sent {amount}"

    async with serve(agent) as thread:
        asked = await thread.say("send 7")
        answer = await thread.resume({asked.open["c1"]: APPROVED})
    assert asked.breaches == answer.breaches == []
    metadata = asked.outcome["interrupts"][0]["metadata"]
    assert (metadata["at"], metadata["limits"]) == ("2026-01-02T00:00:00Z", [1, 2])
    assert answer.results == {"c1": "sent 7"}


@beside(
    tried="The agent's output type says nothing of calls that wait",
    peer="RUN_ERROR, and the call gets a result that says it was interrupted",
    ours="The run ends with the interrupt all the same",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_the_output_type_says_nothing_of_waiting_calls(serve):
    """B05."""
    model, paid = Script([pays(100)]), []
    agent = model.agent()

    @agent.tool_plain(requires_approval=True)
    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    async with serve(agent) as thread:
        asked = await thread.say("pay")
        assert asked.ended == "interrupt"
        assert (asked.breaches, asked.results, paid) == ([], {}, [])
        answer = await thread.resume({asked.open["c1"]: APPROVED})
    assert answer.breaches == []
    assert (answer.results, answer.text, paid) == ({"c1": "paid"}, "done", [100])


@beside(
    tried="A server tool leaves its result to somebody outside",
    peer="Success with the call pending, though the client offered no such tool",
    ours="The run ends with an interrupt that asks for the result; its answer is the call's result",
    fails="'success' == 'interrupt'",
)
async def test_a_result_comes_from_outside(serve):
    """B21."""
    model = Script([call("review")])
    agent = model.agent(output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def review() -> str:
        raise CallDeferred

    async with serve(agent) as thread:
        asked = await thread.say("review")
        assert asked.ended == "interrupt"
        answer = await thread.resume({asked.open["c1"]: {"result": {"verdict": "good"}}})
    assert asked.breaches == answer.breaches == []
    assert json.loads(answer.results["c1"]) == {"verdict": "good"}
    assert (answer.text, answer.ended) == ("done", "success")


@beside(
    tried="The call is refused with a reason, or its resume entry is cancelled",
    ours="It does not run; the model reads that, and the reason",
)
async def test_the_call_is_refused(serve):
    """B30."""
    for payload, reason in (({"approved": False, "reason": "too much"}, "too much"), (None, "")):
        bank = Bank([pays(100)])
        async with serve(bank.agent()) as thread:
            asked = await thread.say("pay")
            answer = await thread.resume({asked.open["c1"]: payload})
        assert answer.breaches == []
        assert (bank.paid, answer.ended) == ([], "success")
        assert reason in str(bank.results()["c1"].content)
        assert bank.results()["c1"].outcome != "success"


@beside(
    tried="Two calls are to approve, and the payload of one answer does not fit its schema",
    peer="RUN_ERROR without a code",
    ours="RUN_ERROR with the code `invalid_resume`; nothing is executed, and both calls can still be answered",
    fails="invalid_resume",
)
async def test_the_payload_does_not_fit(serve):
    """B30."""
    for payload in ({"approved": "yes"}, {}, "yes", {"approved": True, "editedArgs": "50"}):
        bank = Bank([pays(1, "c1", 0), pays(2, "c2", 1)])
        async with serve(bank.agent()) as thread:
            asked = await thread.say("pay")
            answer = await thread.resume({asked.open["c1"]: APPROVED, asked.open["c2"]: payload})
            assert answer.breaches == []
            assert (answer.ended, bank.paid) == ("RUN_ERROR", [])
            assert answer.outcome.get("code") == "invalid_resume"
            answer = await thread.resume(dict.fromkeys(asked.open.values(), APPROVED))
        assert (answer.ended, sorted(bank.paid)) == ("success", [1, 2])


@beside(
    tried="Two approvals are open, one is answered",
    peer="The answered call runs, the other is dropped, and the run ends as success",
    ours="The answered call runs, and the run ends with the other's interrupt again, under its id",
    fails="'success' == 'interrupt'",
)
async def test_one_of_two_approvals_is_answered(serve):
    """Fault 3 of PydanticAI's own adapter; B25 b."""
    bank = Bank([pays(1, "c1", 0), pays(2, "c2", 1)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVED})
        assert answer.breaches == []
        assert bank.paid == [1]
        assert answer.ended == "interrupt"
        assert answer.open == {"c2": asked.open["c2"]}
        assert answer.results == {"c1": "paid 1"}
        last = await thread.resume({answer.open["c2"]: APPROVED})
    assert last.breaches == []
    assert (bank.paid, last.results, last.ended) == ([1, 2], {"c2": "paid 2"}, "success")
    assert len(bank.model.seen) == 2


@beside(
    tried="An approval is open, and the client sends a new message, or nothing, instead of an answer",
    peer="The call is dropped, the model answers, and the run ends as success",
    ours="The run ends with the same interrupt again; the model is not called",
    fails="'success' == 'interrupt'",
)
async def test_nothing_is_answered(serve):
    """Fault 3 of PydanticAI's own adapter; B28 b."""
    for words in ("never mind", None):
        bank = Bank([pays(100)])
        async with serve(bank.agent()) as thread:
            asked = await thread.say("pay")
            answer = await (thread.run() if words is None else thread.say(words))
            assert answer.breaches == []
            assert answer.ended == "interrupt"
            assert (answer.open, answer.calls, answer.text) == (asked.open, {}, "")
            assert (bank.paid, len(bank.model.seen)) == ([], 1)
            last = await thread.resume({answer.open["c1"]: APPROVED})
        assert last.breaches == []
        assert (bank.paid, last.ended) == ([100], "success")
        assert words is None or words in str(bank.model.requests)


@beside(
    tried="A resume entry names an interrupt that nobody raised",
    peer="RUN_ERROR",
    ours="The entry is left out with a warning, and the run ends with the open interrupt again",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_an_unknown_interrupt_is_answered(serve):
    """Fault 4 of PydanticAI's own adapter; B25 a."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({"unknown": APPROVED})
    assert answer.breaches == []
    assert answer.ended == "interrupt"
    assert (answer.open, bank.paid) == (asked.open, [])
    assert any("unknown" in warning for warning in answer.warnings)


@beside(
    tried="A resume entry comes on a thread where nothing is open",
    peer="RUN_ERROR",
    ours="It is left out with a warning; the run is an ordinary one",
    fails="'RUN_ERROR' == 'success'",
)
async def test_a_resume_entry_where_nothing_is_open(serve):
    """B25 c."""
    bank = Bank(["hello"])
    async with serve(bank.agent()) as thread:
        answer = await thread.say("hi", resume=[entry("int-c1", APPROVED)])
    assert answer.breaches == []
    assert answer.ended == "success"
    assert answer.text == "hello"
    assert any("int-c1" in warning for warning in answer.warnings)


@beside(
    tried="A resume entry answers an interrupt of an earlier run, while another is open",
    peer="RUN_ERROR, and the open call is dropped",
    ours="The entry is left out, and the run ends with the open interrupt again",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_an_old_interrupt_is_answered(serve):
    """B25 e."""
    bank = Bank([pays(1)], [pays(2, "c2")])
    async with serve(bank.agent()) as thread:
        first = await thread.say("pay 1")
        second = await thread.resume({first.open["c1"]: APPROVED})
        assert list(second.open) == ["c2"]
        answer = await thread.resume({first.open["c1"]: APPROVED})
    assert answer.breaches == []
    assert answer.ended == "interrupt"
    assert (answer.open, bank.paid) == (second.open, [1])


@beside(
    tried="Two resume entries answer one interrupt",
    peer="The last one wins silently",
    ours="The last one wins, with a warning to the operator",
    fails="any",
)
async def test_an_interrupt_is_answered_twice(serve):
    """Fault 4 of PydanticAI's own adapter; B25 f."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        key = asked.open["c1"]
        answer = await thread.run(resume=[entry(key, APPROVED), entry(key, {"approved": False})])
    assert answer.breaches == []
    assert (bank.paid, answer.ended) == ([], "success")
    assert any(key in warning for warning in answer.warnings)


@beside(
    tried="After an approved payment the client sends its whole history, and later the resume entry again",
    peer="The entry fails the run",
    ours="The payment is not made again; the entry is left out with a warning",
    fails="'RUN_ERROR' == 'success'",
)
async def test_an_approval_works_once(serve):
    """B27."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        await thread.resume({asked.open["c1"]: APPROVED})
        thanks = await thread.say("thanks")
        again = await thread.say("and?", resume=[entry(asked.open["c1"], APPROVED)])
    for answer in (thanks, again):
        assert answer.breaches == []
        assert answer.ended == "success"
        assert (answer.calls, answer.results, answer.text) == ({}, {}, "done")
    assert bank.paid == [100]


@beside(
    tried="The client resumes with its whole history, under ids of its own",
    ours="The call runs once, and its result stands once in what the model reads",
)
async def test_the_history_comes_back_under_other_ids(serve):
    """B23."""
    bank = Bank(["Now. ", pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        for message in thread.messages:
            message["id"] = f"mine-{message['id']}"
        answer = await thread.resume({asked.open["c1"]: APPROVED})
    assert answer.breaches == []
    assert (bank.paid, answer.ended) == ([100], "success")
    assert [part.part_kind for part in bank.model.parts] == ["user-prompt", "text", "tool-call", "tool-return"]


@beside(
    tried="The client puts the approval into its history as well, as the result of the call",
    peer="RUN_ERROR",
    ours="The call runs once, and its result is the tool's",
    fails="'RUN_ERROR' == 'success'",
)
async def test_the_approval_is_echoed_as_a_result(serve):
    """B30."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        await thread.answer("c1", '{"approved": true}')
        answer = await thread.resume({asked.open["c1"]: APPROVED})
    assert answer.breaches == []
    assert answer.ended == "success"
    assert (bank.paid, answer.results) == ([100], {"c1": "paid 100"})
    assert bank.results()["c1"].content == "paid 100"
    assert [message["content"] for message in thread.messages if message["role"] == "tool"] == ["paid 100"]


@beside(
    tried="The resuming run has the id of the run that was interrupted",
    ours="It is served",
)
async def test_the_resuming_run_has_the_same_id(serve):
    """B31."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVED}, runId=asked.document["runId"])
    assert answer.breaches == []
    assert (bank.paid, answer.ended) == ([100], "success")
