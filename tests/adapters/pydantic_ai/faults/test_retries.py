"""What a model or a tool gets wrong at first: beside PydanticAI's own adapter."""

from pydantic import BaseModel
from pydantic_ai import ModelRetry
from support.bank import APPROVED, Bank, pays
from support.beside import beside
from support.peer import Script, call, ill_formed


def say(word: str) -> str:
    return word


@beside(
    tried="The model calls a tool that does not exist, one with wrong arguments, and one with arguments that are no JSON",
    ours="Each call gets a result that says so, the model tries again, and the thread goes on",
)
async def test_the_model_calls_wrongly(serve):
    """B12, B60."""
    wrong = [
        call("nothing", "{}", "c1", 0),
        call("say", '{"word": 1}', "c2", 1),
        call("say", '{"word"', "c3", 2),
        call("say", '{"word":"x"}', "c4", 3),
    ]
    model = Script(wrong, [call("say", '{"word":"y"}', "c5")])
    async with serve(model.agent(tools=[say], retries=3)) as thread:
        answer = await thread.say("go")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    assert (answer.ended, answer.text, again.text) == ("success", "done", "done")
    assert answer.results.keys() == answer.calls.keys() == {"c1", "c2", "c3", "c4", "c5"}
    assert (answer.results["c4"], answer.results["c5"]) == ("x", "y")
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="A tool asks the model to try again",
    ours="The call's result says why, and the next call is one of its own",
)
async def test_a_tool_asks_the_model_to_try_again(serve):
    """B14."""

    def guess(n: int) -> str:
        if n < 2:
            raise ModelRetry("higher")
        return "right"

    model = Script([call("guess", '{"n":1}')], [call("guess", '{"n":2}', "c2")])
    async with serve(model.agent(tools=[guess])) as thread:
        answer = await thread.say("guess")
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    assert "higher" in answer.results["c1"]
    assert (answer.results["c2"], answer.text) == ("right", "done")
    assert ill_formed(model.seen[-1]) == []


class Place(BaseModel):
    city: str


@beside(
    tried="The agent's output is an object, and the model's first one does not fit",
    peer="Both are calls of a tool that nobody has",
    ours="Only the one that fits is the run's result; no call is on the stream",
    fails="o1",
)
async def test_the_output_does_not_fit_at_first(serve):
    """Fault 13 of PydanticAI's own adapter."""
    model = Script([call("final_result", "{}", "o1")], ["Sorry. ", call("final_result", '{"city":"Oslo"}', "o2")])
    async with serve(model.agent(output_type=Place)) as thread:
        answer = await thread.say("where?")
    assert answer.breaches == []
    assert (answer.calls, answer.results) == ({}, {})
    assert answer.events[-1]["result"] == {"city": "Oslo"}


@beside(
    tried="The agent's output is an object, and tools are called beside it",
    peer="The output is a call of a tool that nobody has",
    ours="The tools' calls and results are on the stream, the output is the run's result",
    fails="o1",
)
async def test_the_output_comes_beside_calls(serve):
    """Fault 13 of PydanticAI's own adapter; B06."""
    model = Script([call("say", '{"word":"x"}', "c1", 0), call("final_result", '{"city":"Oslo"}', "o1", 1)])
    async with serve(model.agent(output_type=Place, tools=[say])) as thread:
        answer = await thread.say("where?")
    assert answer.breaches == []
    assert answer.calls.keys() == answer.results.keys() == {"c1"}
    assert answer.events[-1]["result"] == {"city": "Oslo"}
    assert "pendingToolCallIds" not in answer.outcome


@beside(
    tried="The edited arguments of the second of two approvals do not fit its tool",
    peer="The first call runs, and the model reads the error of the second",
    ours="RUN_ERROR with the code `invalid_resume`, nothing is executed; both can still be answered",
    fails=r"\[1\] == \[\]",
)
async def test_edited_arguments_do_not_fit_the_tool(serve):
    """B30."""
    bank = Bank([pays(1, "c1", 0), pays(2, "c2", 1)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        edited = {"approved": True, "editedArgs": {"amount": "many"}}
        answer = await thread.resume({asked.open["c1"]: APPROVED, asked.open["c2"]: edited})
        assert bank.paid == []
        assert answer.breaches == []
        assert (answer.ended, answer.outcome.get("code")) == ("RUN_ERROR", "invalid_resume")
        answer = await thread.resume(dict.fromkeys(asked.open.values(), APPROVED))
    assert answer.breaches == []
    assert (sorted(bank.paid), answer.text) == ([1, 2], "done")
