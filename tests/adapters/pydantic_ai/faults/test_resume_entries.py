"""Which resume entries count, and for what: beside PydanticAI's own adapter."""

import asyncio

from pydantic_ai import DeferredToolRequests
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, entry


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
    tried="The client approves a call that its history does not hold any more",
    peer="RUN_ERROR",
    ours="Nothing is executed, the interrupt stays open; with its history, or by a refusal, the client gets on",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_the_history_does_not_hold_the_call(serve):
    """B25, B23."""
    for payload, paid in ((APPROVED, [100]), ({"approved": False}, [])):
        bank = Bank([pays(100)])
        async with serve(bank.agent()) as thread:
            asked = await thread.say("pay")
            held, thread.messages = thread.messages, thread.messages[:1]
            answer = await thread.resume({asked.open["c1"]: APPROVED})
            assert answer.breaches == []
            assert answer.ended == "interrupt"
            assert (answer.open, bank.paid, len(bank.model.seen)) == (asked.open, [], 1)
            thread.messages = held if payload["approved"] else held[:1]
            last = await thread.resume({asked.open["c1"]: payload})
        assert last.breaches == []
        assert (last.ended, last.text, bank.paid) == ("success", "done", paid)


@beside(
    tried="Two resume entries answer one interrupt",
    peer="The last one wins silently",
    ours="The last one wins, with a warning to the operator",
    fails=r"\[\] != \[\]",
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
    assert [warning for warning in answer.warnings if key in warning] != []


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
    tried="The same approval is sent twice at once",
    peer="The call runs twice",
    ours="The call runs once; the second entry is left out with a warning",
    fails=r"\[5, 5\] == \[5\]",
)
async def test_an_approval_is_sent_twice_at_once(serve):
    """B27."""
    paid, begun, both, model = [], asyncio.Event(), asyncio.Event(), Script([pays(5)])
    agent = model.agent(output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def pay(amount: int) -> str:
        paid.append(amount)
        begun.set()
        if len(paid) == 1:
            await both.wait()
        return "paid"

    async with serve(agent) as thread:
        asked = await thread.say("pay")
        held = list(thread.messages)
        first = asyncio.create_task(thread.resume({asked.open["c1"]: APPROVED}))
        await begun.wait()
        thread.messages = held
        second = await thread.resume({asked.open["c1"]: APPROVED})
        both.set()
        first = await first
    assert paid == [5]
    assert first.breaches == second.breaches == []
    assert (first.results, second.results) == ({"c1": "paid"}, {})


@beside(
    tried="The client approves and says something more in one go",
    ours="The call runs, and the model reads its result, then the message",
)
async def test_an_approval_comes_with_a_message(serve):
    """B28."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.say("and hurry", resume=[entry(asked.open["c1"], APPROVED)])
    assert answer.breaches == []
    assert (bank.paid, answer.results, answer.ended) == ([100], {"c1": "paid 100"}, "success")
    assert [part.part_kind for part in bank.model.parts] == ["user-prompt", "tool-call", "tool-return", "user-prompt"]
    assert "and hurry" in str(bank.model.parts[-1].content)


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
