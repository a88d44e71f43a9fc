"""Threads that wait for answers: asked for once each, gone on with only as answered."""

import operator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, field_validator
from support.scripted import Scripted
from support.session import session

from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


class State(MessagesState):
    heard: Annotated[list, operator.add]


class Asking:
    """A graph with one node per question, all at once or one after the other; each notes what it was told."""

    def __init__(self, *asked, schema=None, in_turn=False, after=None, **options):
        self.told: list[Any] = []
        self.done: list[str] = []

        def node(name, question):
            async def ask(state):
                answer = interrupt(question, response_schema=schema)
                self.told.append((name, answer))
                return {"heard": [name]}

            return ask

        async def last(state):
            self.done.append("last")
            return {"messages": [AIMessage(f"heard {sorted(state['heard'])}", id=f"a{len(state['messages'])}")]}

        builder = StateGraph(State)
        builder.add_node("last", last)
        names = [f"n{place}" for place in range(1, len(asked) + 1)]
        for name, question in zip(names, asked, strict=True):
            builder.add_node(name, node(name, question))
        if in_turn:
            for before, name in zip([START, *names], [*names, "last"], strict=True):
                builder.add_edge(before, name)
        else:
            for name in names:
                builder.add_edge(START, name)
            builder.add_edge(names, "last")
        self.graph = builder.compile(checkpointer=InMemorySaver(), **options)
        self.adapter = LangGraph(self.graph)

    async def roles(self):
        """Who said what on the thread."""
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": "t1"}})
        return [message.type for message in snapshot.values["messages"]]


def ids(run):
    """The ids of what a run asks for, by what it asks."""
    return {one.get("message") or one["metadata"]["langgraph"]["question"]: one["id"] for one in run.asked}


def wrapped(builder_of_inner):
    """A graph whose only node is another graph."""
    builder = StateGraph(State)
    builder.add_node("inside", builder_of_inner)
    builder.add_edge(START, "inside")
    return builder.compile(checkpointer=InMemorySaver())


# ---- what is asked for -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_every_node_that_asks_is_heard(number):
    """B21: none is missed, and no run succeeds that waits."""
    asking = Asking(*(f"q{place}" for place in range(number)))
    async with session(asking.adapter) as client:
        run = await client.say("go")
    assert run.ending is Ending.INTERRUPTED
    assert sorted(ids(run)) == [f"q{place}" for place in range(number)]
    assert len({one["id"] for one in run.asked}) == number


async def test_nodes_that_ask_within_a_graph_within():
    """B21."""
    asking = Asking("q1", "q2")
    inner = asking.graph.copy(update={"checkpointer": None})
    async with session(LangGraph(wrapped(inner))) as client:
        run = await client.say("go")
        assert (run.ending, sorted(ids(run))) == (Ending.INTERRUPTED, ["q1", "q2"])
        run = await client.resume({ids(run)["q2"]: "x", ids(run)["q1"]: "y"})
    assert (run.ending, sorted(asking.told)) == (Ending.SUCCEEDED, [("n1", "y"), ("n2", "x")])


async def test_a_functional_entrypoint_asks_too():
    told = []

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given):
        told.append(interrupt("sure?"))
        return {"done": told}

    async with session(LangGraph(flow)) as client:
        run = await client.say("go")
        assert (run.ending, list(ids(run))) == (Ending.INTERRUPTED, ["sure?"])
        run = await client.resume({ids(run)["sure?"]: 0})
        assert (run.ending, run.of("RUN_FINISHED")[0]["result"]) == (Ending.SUCCEEDED, {"done": [0]})
    assert told == [0]


# ---- what an answer does ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload", [False, 0, "", [], {}, None, {"ab" * 16: "v"}, {"approved": True}, "x", 1.5, {"__ag_ui__": {}}, "cancel"]
)
async def test_a_node_is_told_exactly_what_the_client_says(payload):
    """B25 (d), and fault 4 of LangGraph's own adapter."""
    asking = Asking("q")
    async with session(asking.adapter) as client:
        run = await client.say("go")
        run = await client.resume({ids(run)["q"]: payload})
    assert (run.ending, asking.told) == (Ending.SUCCEEDED, [("n1", payload)])
    assert type(asking.told[0][1]) is type(payload)


async def test_each_node_is_told_its_own_answer():
    """B22, and fault 3 of LangGraph's own adapter."""
    asking = Asking("q1", "q2")
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        run = await client.resume({asked["q2"]: {"k": 1}, asked["q1"]: "x"})
    assert (run.ending, sorted(asking.told)) == (Ending.SUCCEEDED, [("n1", "x"), ("n2", {"k": 1})])


async def test_what_is_not_answered_stays_open_under_its_name():
    """B25 (b)."""
    asking = Asking("q1", "q2", "q3")
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        run = await client.resume({asked["q2"]: "b"})
        assert (run.ending, ids(run)) == (Ending.INTERRUPTED, {"q1": asked["q1"], "q3": asked["q3"]})
        assert (asking.told, asking.done) == ([("n2", "b")], [])
        run = await client.resume({asked["q3"]: "c", asked["q2"]: "again"})
        assert ids(run) == {"q1": asked["q1"]}
        run = await client.resume({asked["q1"]: "a"})
    assert (run.ending, run.text) == (Ending.SUCCEEDED, "heard ['n1', 'n2', 'n3']")
    assert asking.told == [("n2", "b"), ("n3", "c"), ("n1", "a")]


@pytest.mark.parametrize("resume", [[], [{"interruptId": "ff" * 16, "status": "resolved", "payload": "yes"}]])
@pytest.mark.parametrize("is_new", [False, True])
async def test_an_input_that_answers_nothing_performs_nothing(resume, is_new):
    """B25 (a), B28, and fault 2 of LangGraph's own adapter: asked for again, whatever else the input says."""
    asking = Asking("q1", "q2")
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        for _ in range(2):
            run = await (client.say("well?", resume=resume) if is_new else client.run(resume=resume))
            assert (run.ending, ids(run)) == (Ending.INTERRUPTED, asked)
        assert (asking.told, asking.done) == ([], [])
        run = await client.resume(dict.fromkeys(asked.values(), "x"))
    assert sorted(asking.told) == [("n1", "x"), ("n2", "x")]
    if is_new:  # what was said meanwhile is a turn of its own
        assert (run.ending, ids(run).keys(), ids(run) != asked) == (Ending.INTERRUPTED, asked.keys(), True)
    else:
        assert run.ending is Ending.SUCCEEDED


async def test_an_answer_on_a_thread_that_waits_for_nothing():
    """B25 (c): an ordinary run, whose words are heard."""
    model = Scripted()
    agent = create_agent(model, [], checkpointer=InMemorySaver())
    async with session(LangGraph(agent)) as client:
        run = await client.say("hi", resume=[{"interruptId": "ff" * 16, "status": "resolved", "payload": "x"}])
    assert (run.ending, run.text) == (Ending.SUCCEEDED, '["hi"]')


async def test_an_answer_to_a_question_of_before():
    """B25 (e): a node that asks twice does not take the first answer for the second."""
    told = []

    async def node(state):
        told.append((interrupt("first?"), interrupt("second?")))

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    async with session(LangGraph(builder.compile(checkpointer=InMemorySaver()))) as client:
        first = ids(await client.say("go"))["first?"]
        run = await client.resume({first: "a"})
        (second,) = ids(run).values()
        run = await client.resume({first: "a"})
        assert (run.ending, ids(run)) == (Ending.INTERRUPTED, {"second?": second})
        run = await client.resume({first: "z", second: "b"})
    assert (run.ending, told) == (Ending.SUCCEEDED, [("a", "b")])


async def test_of_several_answers_to_one_question_the_last_counts():
    """B25 (f)."""
    asking = Asking("q")
    async with session(asking.adapter) as client:
        (asked,) = ids(await client.say("go")).values()
        entries = [{"interruptId": asked, "status": "resolved", "payload": one} for one in ("a", "b")]
        run = await client.run(resume=entries)
    assert (run.ending, asking.told) == (Ending.SUCCEEDED, [("n1", "b")])


async def test_an_answer_counts_once():
    """B27: neither sent again nor left in the history does it do anything."""
    asking = Asking("q")
    async with session(asking.adapter) as client:
        (asked,) = ids(await client.say("go")).values()
        await client.resume({asked: "a"})
        run = await client.run(resume=[{"interruptId": asked, "status": "resolved", "payload": "a"}])
        assert asking.told == [("n1", "a")]
    assert (run.ending, [one["id"] for one in run.asked] != [asked]) == (Ending.INTERRUPTED, True)


async def test_an_answer_adds_nothing_to_the_conversation():
    """B23: whatever of the history the client sends along, and under which ids."""
    asking = Asking("q1", "q2", in_turn=True)
    async with session(asking.adapter) as client:
        (asked,) = ids(await client.say("go")).values()
        run = await client.resume({asked: "a"}, messages=[])
        (asked,) = ids(run).values()
        said = {"id": "u1", "role": "user", "content": "go"}
        held = [said, {"id": "other", "role": "assistant", "content": "never said"}]
        run = await client.resume({asked: "b"}, messages=held)
    assert (run.ending, asking.done) == (Ending.SUCCEEDED, ["last"])
    assert (await asking.roles()).count("ai") == 1


async def test_a_dismissed_question_is_told_as_nothing():
    """Fault 1 of LangGraph's own adapter: a node that looks whether it has an answer performs nothing."""
    asking = Asking({"question": "q1"}, {"question": "q2"})
    async with session(asking.adapter) as client:
        asked = {one["message"]: one["id"] for one in (await client.say("go")).asked}
        run = await client.resume({asked["q1"]: "cancelled", asked["q2"]: "x"})
    assert (run.ending, sorted(asking.told)) == (Ending.SUCCEEDED, [("n1", None), ("n2", "x")])


class Size(BaseModel):
    height: int


async def test_an_answer_that_does_not_fit_performs_nothing_anywhere():
    """Pitfall 7: neither is the other node told its answer, and both may be answered again."""
    asking = Asking("q1", "q2", schema=Size)
    async with session(asking.adapter) as client:
        run = await client.say("go")
        assert all(one["responseSchema"] == Size.model_json_schema() for one in run.asked)
        asked = ids(run)
        run = await client.resume({asked["q1"]: {"height": 1}, asked["q2"]: {"height": "tall"}})
        assert run.error[0] == "invalid_resume"
        assert "payload/height: expected an integer" in run.error[1]
        assert (asking.told, asking.done) == ([], [])
        run = await client.resume({asked["q1"]: {"height": 1}, asked["q2"]: {"height": 2}})
    assert (run.ending, sorted(asking.told)) == (Ending.SUCCEEDED, [("n1", Size(height=1)), ("n2", Size(height=2))])


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number


async def test_an_answer_that_only_its_node_can_judge_may_be_given_again():
    asking = Asking("q", schema=Even)
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        run = await client.resume({asked["q"]: {"number": 1}})
        assert run.error[0] == "invalid_resume"
        run = await client.run()
        assert (run.ending, ids(run)) == (Ending.INTERRUPTED, asked)
        run = await client.resume({asked["q"]: {"number": 2}})
    assert (run.ending, asking.told) == (Ending.SUCCEEDED, [("n1", Even(number=2))])


async def test_a_question_that_cannot_hear_of_its_dismissal_is_given_up():
    asking = Asking("q", schema=Size)
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        run = await client.resume({asked["q"]: "cancelled"})
        assert (run.ending, run.asked, asking.told, asking.done) == (Ending.SUCCEEDED, [], [], [])
        run = await client.say("once more")
        assert (run.ending, ids(run) != asked) == (Ending.INTERRUPTED, True)


async def test_such_a_dismissal_takes_no_other_answer_with_it():
    asking = Asking("q1", "q2", schema=Size)
    async with session(asking.adapter) as client:
        asked = ids(await client.say("go"))
        run = await client.resume({asked["q1"]: {"height": 1}, asked["q2"]: "cancelled"})
        assert run.error[0] == "invalid_resume"
        assert "cannot be dismissed by itself" in run.error[1]
        run = await client.run()
        assert (run.ending, ids(run), asking.told) == (Ending.INTERRUPTED, asked, [])
        run = await client.resume(dict.fromkeys(asked.values(), "cancelled"))
    assert (run.ending, asking.told) == (Ending.SUCCEEDED, [])
