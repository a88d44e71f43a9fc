"""What of a client's history goes to a thread that has a checkpoint: nothing twice, nothing lost, nothing invented."""

import pytest
from ag_ui.core import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import TypeAdapter

from adapters.conversation import NOT_EXECUTED
from adapters.langgraph.history import fork_point, new_messages, to_langchain

messages_of = TypeAdapter(list[Message]).validate_python


def u(name, content="said"):
    return HumanMessage(content, id=name)


def a(name, *calls, content="answered"):
    made = [{"id": call, "name": f"tool of {call}", "args": {}} for call in calls]
    return AIMessage(content, id=name, tool_calls=made)


def t(name, call, content="done"):
    return ToolMessage(content, id=name, tool_call_id=call)


class Sent:
    """What went to a thread, and what the operator was warned of."""

    def __init__(self, given, known, **options):
        self.warnings = []
        self.messages = new_messages(given, known, self.warnings.append, **options)

    @property
    def ids(self):
        return [message.id for message in self.messages]


TURN = [u("u1"), a("a1", "c1"), t("t1", "c1"), a("a2")]


@pytest.mark.parametrize(
    ("client", "thread", "sent"),
    [
        ("an empty thread takes all", ([], TURN), ["u1", "a1", "t1", "a2"]),
        ("what it holds is not sent again", (TURN, TURN), []),
        ("what is new is", (TURN, [*TURN, u("u2")]), ["u2"]),
        ("several at once, in order", (TURN, [*TURN, u("u2"), SystemMessage("s", id="s"), u("u3")]), ["u2", "s", "u3"]),
        ("a client that holds the newest only", (TURN, [u("u2")]), ["u2"]),
        ("a client of other ids", (TURN, [u("x1"), a("x2"), u("u2")]), ["u2"]),
        ("one that lacks what the graph keeps for itself", (TURN, [TURN[0], TURN[3], u("u2")]), ["u2"]),
        ("one that holds what the graph did not keep", (TURN, [*TURN, a("x"), t("y", "z"), u("u2")]), ["u2"]),
        ("one that holds more than the graph kept", (TURN[3:], [*TURN, u("u2")]), ["u2"]),
        ("one that was cut short", (TURN, [*TURN[:2], u("u2")]), ["u2"]),
        ("an edited copy changes nothing", (TURN, [u("u1", "other"), *TURN[1:]]), []),
        ("fewer messages change nothing", (TURN, TURN[:1]), []),
        ("the same message twice", (TURN, [*TURN, u("u2"), u("u2")]), ["u2"]),
    ],
)
def test_ids_decide_what_goes_to_a_thread(client, thread, sent):
    """B23, B38, B40."""
    known, given = thread
    went = Sent(given, known)
    assert went.ids == sent
    assert went.warnings == []


def test_a_question_put_between_older_ones_is_left_out():
    """B38."""
    went = Sent([TURN[0], u("x"), *TURN[1:], u("u2")], TURN)
    assert went.ids == ["u2"]
    assert "'x'" in went.warnings[0]


def test_an_open_call_gets_its_result_before_what_was_said():
    """B18."""
    went = Sent([u("u1"), a("a1", "c1"), u("u2"), t("r", "c1", "red")], [u("u1"), a("a1", "c1")])
    assert went.ids == ["r", "u2"]
    assert (went.messages[0].content, went.messages[0].name) == ("red", "tool of c1")
    assert went.warnings == []


def test_a_client_may_send_the_result_alone():
    went = Sent([t("r", "c1")], [u("u1"), a("a1", "c1")])
    assert went.ids == ["r"]


def test_results_come_in_the_order_of_the_calls():
    known = [u("u1"), a("a1", "c1", "c2", "c3"), t("t2", "c2")]
    assert Sent([*known, t("r3", "c3"), t("r1", "c1"), t("again", "c1")], known).ids == ["r1", "r3"]


def test_a_call_that_nobody_answered_is_closed():
    """B60."""
    went = Sent([u("u1"), u("u2")], [u("u1"), a("a1", "c1", "c2"), t("t2", "c2")])
    assert went.ids == ["c1-unanswered", "u2"]
    closing = went.messages[0]
    assert (closing.content, closing.status, closing.tool_call_id) == (NOT_EXECUTED, "error", "c1")
    assert "'c1'" in went.warnings[0]


def test_a_call_that_was_cut_off_is_closed():
    """B60."""
    cut = AIMessage("", id="a1", invalid_tool_calls=[{"id": "c1", "name": "look", "args": '{"a', "error": None}])
    assert Sent([u("u1"), u("u2")], [u("u1"), cut]).ids == ["c1-unanswered", "u2"]


def test_what_closes_a_call_replaces_no_message():
    known = [u("u1"), a("a1", "c1"), t("c1-unanswered", "c1"), u("u2"), a("a2", "c1")]
    assert Sent([u("u3")], known).ids == ["c1-unanswered-2", "u3"]


def test_a_run_that_goes_on_with_its_calls_closes_none():
    """B23."""
    went = Sent([u("u1"), a("a1", "c1", "c2"), t("r", "c2")], [u("u1"), a("a1", "c1", "c2")], closing=False)
    assert went.ids == ["r"]
    assert went.warnings == []


def test_a_result_for_a_call_that_is_over_is_left_out():
    """B18."""
    went = Sent([*TURN, t("r", "c1"), t("x", "of nothing")], TURN)
    assert went.ids == []
    assert len(went.warnings) == 1
    assert "'r'." in went.warnings[0]


async def refuse(state):
    return {"messages": [a(f"a{len(state['messages'])}", "c1")]}


@pytest.mark.anyio
async def test_a_graph_holds_a_well_formed_conversation_after_a_call_that_nobody_answered():
    """B60."""
    builder = StateGraph(MessagesState)
    builder.add_node("model", refuse)
    builder.add_edge(START, "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    client = []
    for turn in range(2):
        client.append({"id": f"u{turn}", "role": "user", "content": "go"})
        held = (await graph.aget_state(config)).values.get("messages", [])
        new = new_messages(to_langchain(messages_of(client), [].append), held, [].append)
        await graph.ainvoke({"messages": new}, config)
    held = (await graph.aget_state(config)).values["messages"]
    assert [(message.type, message.id) for message in held] == [
        ("human", "u0"),
        ("ai", "a1"),
        ("tool", "c1-unanswered"),
        ("human", "u1"),
        ("ai", "a4"),
    ]


# ---- where a client left the thread ---------------------------------------------------------------

TWO = [u("u1"), a("a1"), u("u2"), a("a2", "c1"), t("t1", "c1"), a("a3")]


@pytest.mark.parametrize(
    ("client", "given", "kept"),
    [
        ("nothing new", TWO, None),
        ("the next question", [*TWO, u("u3")], None),
        ("the newest only", [u("u3")], None),
        ("nothing", [], None),
        ("the end of a run that was stopped is missing", [*TWO[:3], u("u3")], None),
        ("what the graph keeps for itself is missing", [TWO[0], TWO[1], TWO[2], TWO[5], u("u3")], None),
        ("the oldest are missing", [*TWO[4:], u("u3")], None),
        ("an answer has other words", [TWO[0], a("a1", content="other"), *TWO[2:]], None),
        ("an edited question", [TWO[0], TWO[1], u("u2", "other")], 2),
        ("an edited first question", [u("u1", "other"), *TWO[1:]], 0),
        ("the last question again", TWO[:3], 3),
        ("the first question again", TWO[:1], 1),
        ("a question instead of another", [*TWO[:2], u("x")], 2),
        ("a turn is gone", TWO[:2], 2),
    ],
)
def test_where_a_client_left_the_thread(client, given, kept):
    """B38."""
    assert fork_point(given, TWO) == kept


def test_text_in_another_form_is_no_edit():
    known = [HumanMessage([{"type": "text", "text": "sa"}, "id"], id="u1"), a("a1")]
    assert fork_point([u("u1"), a("a1"), u("u2")], known) is None


def test_an_edited_question_goes_to_what_the_client_keeps():
    """B38."""
    given = [TWO[0], TWO[1], u("u2", "other")]
    kept = fork_point(given, TWO)
    (sent,) = new_messages(given, TWO[:kept], [].append)
    assert (sent.id, sent.content) == ("u2", "other")


# ---- whatever a client holds ----------------------------------------------------------------------

names = st.sampled_from([f"m{number}" for number in range(6)])
calls = st.sampled_from(["c1", "c2"])
anything = st.one_of(
    st.builds(u, names), st.builds(lambda name, made: a(name, *made), names, st.sets(calls)), st.builds(t, names, calls)
)
histories = st.lists(anything, max_size=6, unique_by=lambda message: message.id)


@settings(max_examples=300)
@given(histories, histories)
def test_nothing_goes_to_a_thread_twice_and_each_call_at_its_end_has_one_result(given_messages, known):
    """B23, B60."""
    sent = new_messages(given_messages, known, [].append)
    ids = [message.id for message in sent]
    assert len(set(ids)) == len(ids)
    assert known == [] or not set(ids) & {message.id for message in known}
    assert fork_point(given_messages, known) in (None, *range(len(known) + 1))
    if known:
        assert not any(isinstance(message, AIMessage) for message in sent)
        answers = [message.tool_call_id for message in sent if isinstance(message, ToolMessage)]
        assert len(set(answers)) == len(answers)
        assert all(isinstance(message, ToolMessage) for message in sent[: len(answers)])
        if isinstance(known[-1], AIMessage):
            assert set(answers) == {call["id"] for call in known[-1].tool_calls}
