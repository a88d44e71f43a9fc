"""Call ids that come again: beside the best-known LangGraph adapter."""

from langchain_core.tools import tool
from support.graphs import APPROVE, Bank, Script, agent, call, ill_formed, more, pays
from support.peer_langgraph import beside


@tool
async def say(word: str) -> str:
    """Say a word."""
    return word


@beside(
    tried="A provider gives the calls of two turns the same id; the client goes on with what it has",
    peer="The second call reopens the first under another parent: one call with both arguments",
    ours="The second call gets an id of its own, and both keep their arguments and results",
    fails="reopen-agrees",
)
async def test_one_id_in_two_turns(serve):
    """B36; pitfall 6 of every adapter."""
    model = Script([call("say", ""), more('{"word":"a"}')], [call("say", ""), more('{"word":"b"}')])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("go")
        again = await thread.say("and?")
    assert answer.breaches == []
    assert list(answer.calls.values()) == ['{"word":"a"}', '{"word":"b"}']
    assert list(answer.results.values()) == ["a", "b"]
    assert answer.calls.keys() == answer.results.keys()
    assert (again.ended, ill_formed(model.seen[-1])) == ("success", [])
    assert [message.text for message in model.seen[-1] if message.type == "tool"] == ["a", "b"]


@beside(
    tried="A provider gives a call the id of one of an earlier run",
    peer="It reopens the earlier call under another parent",
    ours="It gets an id of its own",
    fails="reopen-agrees",
)
async def test_one_id_in_two_runs(serve):
    """B36; pitfall 6 of every adapter."""
    model = Script([call("say", ""), more('{"word":"a"}')], ["one"], [call("say", ""), more('{"word":"b"}')])
    async with serve(agent(model, [say])) as thread:
        first = await thread.say("go")
        second = await thread.say("again")
    assert first.breaches == second.breaches == []
    assert first.calls.keys().isdisjoint(second.calls)
    assert list(second.calls.values()) == ['{"word":"b"}']
    assert list(second.results.values()) == ["b"]
    called = [one["id"] for message in thread.messages for one in message.get("toolCalls", ())]
    assert called == [*first.calls, *second.calls]


@beside(
    tried="A later call has the id of one that was approved",
    peer="It reopens the approved call under another parent",
    ours="It is asked for under another id; the old approval does not reach it, its own does",
    fails="reopen-agrees",
)
async def test_an_approved_id_comes_again(serve):
    """B27; pitfall 6 of every adapter."""
    bank = Bank([pays(1)], [pays(2)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        one = dict(asked.open)
        again = await thread.resume({one["c1"]: APPROVE})
        assert (again.ended, bank.paid) == ("interrupt", [1])
        found = [breach for breach in again.breaches if "streamed again" not in breach]
        assert found == []
        stale = await thread.resume({one["c1"]: APPROVE})
        assert (stale.ended, bank.paid) == ("interrupt", [1])
        last = await thread.resume(dict.fromkeys(again.open.values(), APPROVE))
    assert (last.ended, bank.paid) == ("success", [1, 2])
    assert again.open.keys().isdisjoint(one)
    assert last.results == dict.fromkeys(again.open, "paid 2")


@beside(
    tried="A provider gives two calls of one turn the same id",
    peer="One call with both arguments, begun twice: clients reject the stream",
    ours="Each call has an id, arguments and a result of its own",
    fails="item-opens-once",
)
async def test_one_id_twice_in_a_turn(serve):
    """Pitfall 6 of every adapter."""
    first = [call("say", "", "c1", 0), more('{"word":"a"}', 0)]
    model = Script([*first, call("say", "", "c1", 1), more('{"word":"b"}', 1)])
    async with serve(agent(model, [say])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert list(answer.calls.values()) == ['{"word":"a"}', '{"word":"b"}']
    assert list(answer.results.values()) == ["a", "b"]
    assert answer.calls.keys() == answer.results.keys()
