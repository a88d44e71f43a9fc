"""Approvals: beside PydanticAI's own adapter."""

import json
from datetime import UTC, datetime

from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, call


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
