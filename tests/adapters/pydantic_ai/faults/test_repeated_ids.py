"""Call ids that a provider gives again: beside PydanticAI's own adapter."""

from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, call, ill_formed

PICK = {"name": "pick", "description": "Pick one.", "parameters": {"type": "object", "properties": {"n": {}}}}


def say(word: str) -> str:
    return word


@beside(
    tried="A provider gives the calls of two turns the same id",
    peer="The second call reopens the first under another parent: one call with both arguments and two results",
    ours="The second call gets an id of its own, and both keep their arguments and results",
    fails="reopen-agrees",
)
async def test_a_provider_repeats_a_call_id(serve):
    """Fault 10 of PydanticAI's own adapter; B14."""
    model = Script([call("say", '{"word":"x"}')], [call("say", '{"word":"y"}')])
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("say x and y")
        await thread.say("and again?")
    assert answer.breaches == []
    assert list(answer.calls.values()) == ['{"word":"x"}', '{"word":"y"}']
    assert list(answer.results.items()) == list(zip(answer.calls, ["x", "y"], strict=True))
    assert [part.args for part in model.parts if isinstance(part, ToolCallPart)] == ['{"word":"x"}', '{"word":"y"}']


@beside(
    tried="A provider gives two calls of one turn the same id",
    peer="One call with both arguments, and two results",
    ours="Each call has an id, arguments and a result of its own",
    fails="word",
)
async def test_a_provider_repeats_a_call_id_in_one_turn(serve):
    """Fault 10 of PydanticAI's own adapter; B14."""
    model = Script([call("say", '{"word":"x"}', "c1", 0), call("say", '{"word":"y"}', "c1", 1)])
    async with serve(model.agent(tools=[say])) as thread:
        answer = await thread.say("say x and y")
        await thread.say("and again?")
    assert answer.breaches == []
    assert list(answer.calls.values()) == ['{"word":"x"}', '{"word":"y"}']
    assert sorted(answer.results.items()) == sorted(zip(answer.calls, ["x", "y"], strict=True))
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="A later call has the id of one that was approved",
    peer="The run fails when the later one is approved",
    ours="It is asked for under another id; the old approval does not reach it, its own does",
    fails=r"\{'c1'\}|'c1' != 'c1'",
)
async def test_an_approved_call_id_comes_again(serve):
    """Fault 10 of PydanticAI's own adapter; B27."""
    bank = Bank([pays(1)], ["paid"], [pays(2)])
    async with serve(bank.agent()) as thread:
        first = await thread.say("pay 1")
        await thread.resume({first.open["c1"]: APPROVED})
        second = await thread.say("pay 2")
        ((key, interrupt),) = second.open.items()
        assert key != "c1"
        assert (list(second.calls), second.breaches) == ([key], [])
        replayed = await thread.resume({first.open["c1"]: APPROVED})
        assert (bank.paid, replayed.open) == ([1], {key: interrupt})
        answer = await thread.resume({interrupt: APPROVED})
    assert answer.breaches == replayed.breaches == []
    assert (bank.paid, answer.results, answer.ended) == ([1, 2], {key: "paid 2"}, "success")
    assert ill_formed(bank.model.seen[-1]) == []


@beside(
    tried="A later call of a frontend tool has the id of an earlier one",
    peer="The client has one call with both arguments, which is answered already",
    ours="It goes by another id, and its answer reaches the model as its own",
    fails="'c1' != 'c1'",
)
async def test_a_frontend_call_id_comes_again(serve):
    """Fault 10 of PydanticAI's own adapter; B14."""
    model = Script([call("pick", '{"n":1}')], ["ok"], [call("pick", '{"n":2}')])
    async with serve(model.agent()) as thread:
        await thread.say("pick", tools=[PICK])
        await thread.answer("c1", "red")
        await thread.run(tools=[PICK])
        second = await thread.say("again", tools=[PICK])
        (key,) = second.outcome["pendingToolCallIds"]
        assert key != "c1"
        assert (second.calls, second.breaches) == ({key: '{"n":2}'}, [])
        await thread.answer(key, "blue")
        answer = await thread.run(tools=[PICK])
    assert (answer.breaches, answer.text) == ([], "done")
    assert [part.content for part in model.parts if isinstance(part, ToolReturnPart)] == ["red", "blue"]
    assert ill_formed(model.seen[-1]) == []
