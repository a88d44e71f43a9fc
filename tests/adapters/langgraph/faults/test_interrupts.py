"""Interrupts: beside the best-known LangGraph adapter."""

from dataclasses import dataclass
from datetime import UTC, datetime

from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import MessagesState
from langgraph.types import interrupt
from pydantic import BaseModel
from support.graphs import APPROVE, Bank, Script, agent, asks, call, graph_of, more, pays, says
from support.peer_langgraph import beside


def ids(answer):
    """The ids of the interrupts that a run ended with."""
    return [one["id"] for one in answer.outcome.get("interrupts", ())]


@beside(
    tried="A node interrupts; the peer with its defaults",
    peer="RUN_FINISHED without an outcome, which reads as success",
    ours="The run ends with the interrupt",
    fails="'success' == 'interrupt'",
)
async def test_a_node_interrupts(serve):
    """Fault 13 of the peer."""
    async with serve(graph_of(asks([], "May I?")), theirs={}) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.ended == "interrupt"
    (asked,) = answer.outcome["interrupts"]
    assert asked["message"] == "May I?"


@beside(
    tried="A graph stops at a breakpoint",
    peer="The run ends as success",
    ours="The run ends with an interrupt, and goes on when it is answered",
    fails="'success' == 'interrupt'",
)
async def test_a_graph_stops_at_a_breakpoint(serve):
    """Fault 13 of the peer."""
    done = []

    async def act(state):
        done.append("acted")
        return {}

    async with serve(graph_of(says(Script(["hm"])), act, interrupt_before=["act"])) as thread:
        answer = await thread.say("go")
        assert answer.breaches == []
        assert done == []
        assert answer.ended == "interrupt"
        answer = await thread.resume({ids(answer)[0]: {"approved": True}})
    assert answer.breaches == []
    assert (answer.ended, done) == ("success", ["acted"])


@beside(
    tried="Two branches run at once, and the second interrupts",
    ours="The run ends with its interrupt",
)
async def test_the_second_branch_interrupts(serve):
    """B21 a."""
    graph = graph_of(says(Script(["hm"])), asks([], "second?"), side_by_side=True)
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.ended == "interrupt"
    assert [one["message"] for one in answer.outcome["interrupts"]] == ["second?"]


@beside(
    tried="Three branches run at once, and all interrupt",
    ours="The run ends with three interrupts",
)
async def test_three_branches_interrupt(serve):
    """B21 b."""
    graph = graph_of(*(asks([], f"{name}?", name) for name in "abc"), side_by_side=True)
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert sorted(one["message"] for one in answer.outcome["interrupts"]) == ["a?", "b?", "c?"]
    assert len(set(ids(answer))) == 3


@beside(
    tried="Two nodes of a graph within the graph interrupt",
    peer="RUN_ERROR when both are answered",
    ours="The run ends with both interrupts, and both can be answered",
    fails="'RUN_ERROR' != 'success'",
)
async def test_two_nodes_of_an_inner_graph_interrupt(serve):
    """B21 c."""
    heard = []
    inner = graph_of(asks(heard, "a?", "a"), asks(heard, "b?", "b"), side_by_side=True, checkpointer=None, name="inner")
    async with serve(graph_of(inner)) as thread:
        answer = await thread.say("go")
        assert answer.breaches == []
        assert sorted(one["message"] for one in answer.outcome["interrupts"]) == ["a?", "b?"]
        again = await thread.resume({one["id"]: one["message"] for one in answer.outcome["interrupts"]})
    assert again.breaches == []
    assert (again.ended, sorted(heard)) == ("success", [("a", "a?"), ("b", "b?")])


@beside(
    tried="A node interrupts with a model, a data class and a date",
    peer="A date is its representation in Python",
    ours="The interrupt carries them as JSON",
    fails="datetime.dat",
)
async def test_an_interrupt_carries_values_of_pythons(serve):
    """B45."""

    class Offer(BaseModel):
        price: int

    @dataclass
    class Place:
        city: str

    value = {"offer": Offer(price=3), "place": Place("Oslo"), "at": datetime(2026, 1, 2, tzinfo=UTC)}
    async with serve(graph_of(asks([], {**value, "message": "Buy?"}))) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    (asked,) = answer.outcome["interrupts"]
    assert asked["message"] == "Buy?"
    found = asked["metadata"]["langgraph"]
    found = found.get("raw", found)
    assert (found["offer"], found["place"]) == ({"price": 3}, {"city": "Oslo"})
    assert found["at"] == "2026-01-02T00:00:00Z"


@beside(
    tried="A node declares what an answer looks like, and is answered wrongly",
    peer="The interrupt does not show it; RUN_ERROR without a code",
    ours="The interrupt shows it; RUN_ERROR with the code `invalid_resume`, and it can still be answered",
    fails="responseSchema",
)
async def test_a_node_declares_what_an_answer_looks_like(serve):
    """B25."""

    class Choice(BaseModel):
        size: int

    heard = []
    async with serve(graph_of(asks(heard, {"message": "Size?"}, response_schema=Choice))) as thread:
        asked = await thread.say("go")
        (one,) = asked.outcome["interrupts"]
        assert "responseSchema" in one
        assert one["responseSchema"]["properties"]["size"]["type"] == "integer"
        wrong = await thread.resume({one["id"]: {"size": "many"}})
        assert (wrong.ended, wrong.outcome["code"], heard) == ("RUN_ERROR", "invalid_resume", [])
        answer = await thread.resume({one["id"]: {"size": 3}})
    assert (answer.breaches, answer.ended) == ([], "success")
    assert heard == [("ask", Choice(size=3))]


# ---- approvals of calls ---------------------------------------------------------------------------


@beside(
    tried="A call has to be approved",
    peer="The interrupt does not say that it is about a call, nor what an answer looks like",
    ours="It is announced and closed, and the run ends with its interrupt, which describes the answer",
    fails="'langgraph:interrupt' == 'tool_call'",
)
async def test_a_call_has_to_be_approved(serve):
    """B05."""
    bank = Bank(["I shall pay. ", call("pay", ""), more('{"amount": 100}')])
    async with serve(bank.agent()) as thread:
        answer = await thread.say("pay")
    assert answer.breaches == []
    assert answer.calls == {"c1": '{"amount": 100}'}
    assert (answer.results, bank.paid) == ({}, [])
    (asked,) = answer.outcome["interrupts"]
    assert asked["toolCallId"] == "c1"
    assert asked["reason"] == "tool_call"
    assert asked["responseSchema"]["type"] == "object"


@beside(
    tried="The call is approved",
    peer="The call is announced a second time",
    ours="It runs once; the resumed run brings its result and no second announcement",
    fails="streamed again",
)
async def test_an_approved_call_runs_once(serve):
    """B31 a."""
    bank = Bank([call("pay", ""), more('{"amount": 100}')])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume(dict.fromkeys(ids(asked), APPROVE))
    assert answer.breaches == []
    assert (bank.paid, answer.text, answer.ended) == ([100], "done", "success")
    assert answer.results == {"c1": "paid 100"}
    assert answer.calls == {}
    assert [message["role"] for message in thread.messages] == ["user", "assistant", "tool", "assistant"]


@beside(
    tried="Calls are approved in one go, as LangChain asks by default",
    peer="The call is announced a second time",
    ours="The call runs once; the resumed run brings its result and no second announcement",
    fails="streamed again",
)
async def test_calls_are_approved_in_one_go(serve):
    """Fault 13 of the peer; B31 a."""
    bank = Bank([call("pay", ""), more('{"amount": 100}')])
    async with serve(bank.agent("batched")) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({ids(asked)[0]: {"decisions": [APPROVE]}})
    assert answer.breaches == []
    assert (bank.paid, answer.text, answer.ended) == ([100], "done", "success")
    assert answer.results == {"c1": "paid 100"}
    assert answer.calls == {}


@beside(
    tried="One of three parallel calls has to be approved",
    peer="The call is announced a second time",
    ours="The other two run at once, the third when it is approved; each once",
    fails="streamed again",
)
async def test_one_of_three_calls_has_to_be_approved(serve):
    """B11."""
    looks = [call("look", '{"what":"a"}', "c1", 0), call("look", '{"what":"b"}', "c3", 2)]
    bank = Bank([looks[0], pays(5, "c2", 1), looks[1]])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("go")
        assert list(asked.open) == ["c2"]
        answer = await thread.resume({asked.open["c2"]: APPROVE})
    assert asked.breaches == answer.breaches == []
    assert (sorted(bank.looked), bank.paid, answer.ended) == (["a", "b"], [5], "success")
    assert {key: one.content for key, one in bank.model.results.items()} == {
        "c1": "saw a",
        "c2": "paid 5",
        "c3": "saw b",
    }
    assert asked.results == {"c1": "saw a", "c3": "saw b"}
    assert answer.results == {"c2": "paid 5"}


@beside(
    tried="A tool interrupts before it acts",
    peer="The call is announced a second time",
    ours="Its call is announced once, in the first run, and answered in the second",
    fails="streamed again",
)
async def test_a_tool_interrupts(serve):
    """B31 a, b."""
    booked = []

    @tool
    async def book(city: str) -> str:
        """Book a room."""
        city = interrupt({"message": "Which city?"})
        booked.append(city)
        return f"booked {city}"

    model = Script([call("book", ""), more('{"city":"Rome"}')])
    async with serve(agent(model, [book])) as thread:
        asked = await thread.say("book")
        answer = await thread.resume(dict.fromkeys(ids(asked), "Oslo"))
    assert asked.breaches == answer.breaches == []
    assert asked.calls == {"c1": '{"city":"Rome"}'}
    assert (booked, answer.ended) == (["Oslo"], "success")
    assert answer.results == {"c1": "booked Oslo"}
    assert answer.calls == {}


@beside(
    tried="A node says something, interrupts, and says something more when it is resumed",
    peer="Both messages of the second run have one id",
    ours="No message is on the stream twice",
    fails="2 == 3",
)
async def test_a_node_speaks_interrupts_and_speaks(serve):
    """B31 d."""
    before, after = Script(["before"], ["before again"]), Script(["after"])

    async def node(state):
        get_stream_writer()("at work")
        first = await before.ainvoke(state["messages"])
        interrupt("go on?")
        return {"messages": [first, await after.ainvoke(state["messages"])]}

    graph = graph_of(node)
    async with serve(graph) as thread:
        asked = await thread.say("go")
        answer = await thread.resume(dict.fromkeys(ids(asked), True))
    assert asked.breaches == answer.breaches == []
    assert (asked.text, answer.ended) == ("before", "success")
    assert answer.text == "before againafter"
    started = [event["messageId"] for run in (asked, answer) for event in run.of("TEXT_MESSAGE_START")]
    assert len(set(started)) == len(started) == 3


@beside(
    tried="The user refuses the call, with a reason",
    peer="The call has no result on the stream",
    ours="It does not run; the model reads the reason",
    fails=r"'too much' in '\{\}'",
)
async def test_the_call_is_refused(serve):
    """B30."""
    bank = Bank([call("pay", ""), more('{"amount": 100}')])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({ids(asked)[0]: {"type": "reject", "message": "too much"}})
    assert answer.breaches == []
    assert (bank.paid, answer.ended) == ([], "success")
    assert "too much" in bank.model.results["c1"].text
    assert "too much" in str(answer.results)


@beside(
    tried="The approval brings edited arguments",
    ours="The call runs once, with those",
)
async def test_the_approval_brings_edited_arguments(serve):
    """B30."""
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 50}}}
    bank = Bank([call("pay", ""), more('{"amount": 100}')])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume(dict.fromkeys(ids(asked), edit))
    assert answer.breaches == []
    assert bank.paid == [50]
    assert "paid 50" in str(answer.results)


# ---- while an interrupt is open -------------------------------------------------------------------


@beside(
    tried="The page is loaded again while an interrupt is open, and the client runs without an answer",
    ours="The run ends with the same interrupt again; the model is not called",
)
async def test_the_page_is_loaded_again(serve):
    """B28."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        again = await thread.run()
    assert again.breaches == []
    assert again.ended == "interrupt"
    assert (ids(again), len(bank.model.seen), bank.paid) == (ids(asked), 1, [])


@beside(
    tried="The user writes something instead of answering an interrupt",
    peer="The run ends with the same interrupt again; what was written never reaches the model",
    ours="The run ends with the same interrupt again; what was written is not lost",
    fails=r"\['pay', 'and\?'\]",
)
async def test_the_user_writes_something_instead(serve):
    """B28."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        again = await thread.say("wait")
        assert again.breaches == []
        assert (ids(again), len(bank.model.seen), bank.paid) == (ids(asked), 1, [])
        await thread.resume(dict.fromkeys(ids(again), APPROVE))
        last = await thread.say("and?")
    assert bank.paid == [100]
    assert last.ended == "success"
    assert [message.text for message in bank.model.seen[-1] if message.type == "human"] == ["pay", "wait", "and?"]


@beside(
    tried="After an approved payment the client goes on with its whole history",
    ours="The payment is not made again",
)
async def test_an_approval_is_used_once(serve):
    """B27."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        await thread.resume(dict.fromkeys(ids(asked), APPROVE))
        thanks = await thread.say("thanks")
    assert thanks.breaches == []
    assert (bank.paid, thanks.ended, thanks.text) == ([100], "success", "done")
    assert (thanks.calls, thanks.results) == ({}, {})


@beside(
    tried="The graph interrupts in a loop, with state of its own",
    ours="Each round asks anew, under an id of its own",
)
async def test_the_graph_interrupts_again(serve):
    """B21."""
    heard = []

    class State(MessagesState):
        count: int

    async def ask(state):
        first = interrupt("first?")
        second = interrupt("second?")
        heard.append((first, second))
        return {"count": 1}

    async with serve(graph_of(ask, state=State)) as thread:
        one = await thread.say("go")
        two = await thread.resume(dict.fromkeys(ids(one), "a"))
        assert one.breaches == two.breaches == []
        assert [asked["message"] for asked in two.outcome["interrupts"]] == ["second?"]
        last = await thread.resume(dict.fromkeys(ids(two), "b"))
    assert last.breaches == []
    assert (heard, last.ended) == ([("a", "b")], "success")
