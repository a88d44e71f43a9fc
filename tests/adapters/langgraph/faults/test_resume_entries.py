"""Resume entries: which are taken, and what becomes of the rest; beside the best-known LangGraph adapter."""

import anyio
from support.graphs import APPROVE, Bank, Script, asks, graph_of, ill_formed, pays, says
from support.peer import entry
from support.peer_langgraph import beside

HEX = "0123456789abcdef0123456789abcdef"
"""What LangGraph's own ids look like."""


def by_message(answer):
    """The ids of the interrupts that a run ended with, by what they ask."""
    return {one["message"]: one["id"] for one in answer.outcome.get("interrupts", ())}


def both(heard):
    """A graph whose two branches ask at once."""
    return graph_of(asks(heard, "a?", "a"), asks(heard, "b?", "b"), side_by_side=True)


@beside(
    tried="A request is dismissed: its resume entry is cancelled",
    peer="The action is performed",
    ours="The action is not performed",
    fails=r"\['acted'\] == \[\]",
)
async def test_a_request_is_dismissed(serve):
    """Fault 1 of the peer."""
    done, heard = [], []

    async def act(state):
        if heard[-1][1]:
            done.append("acted")
        return {}

    async with serve(graph_of(asks(heard, "May I?"), act)) as thread:
        asked = await thread.say("go")
        answer = await thread.resume({by_message(asked)["May I?"]: None})
    assert done == []
    assert answer.breaches == []
    assert answer.ended == "success"
    assert heard == [("ask", None)]


@beside(
    tried="The approval of a call is dismissed",
    peer="RUN_ERROR",
    ours="The call does not run, the model reads that, and the run goes on",
    fails="'RUN_ERROR' == 'success'",
)
async def test_the_approval_of_a_call_is_dismissed(serve):
    """Fault 1 of the peer."""
    for mode in ("per_call", "batched"):
        bank = Bank([pays(100)])
        async with serve(bank.agent(mode)) as thread:
            asked = await thread.say("pay")
            (one,) = asked.outcome["interrupts"]
            answer = await thread.resume({one["id"]: None})
        assert bank.paid == []
        assert answer.ended == "success"
        assert answer.breaches == []
        assert bank.model.results["c1"].status == "error"


@beside(
    tried="A resume entry names an interrupt that nobody raised",
    peer="The open one is answered with its payload",
    ours="It is left out with a warning, and the run ends with the open interrupt again",
    fails=r"\[\('ask', 'yes'\)\] == \[\]",
)
async def test_an_entry_names_an_unknown_interrupt(serve):
    """Fault 2 of the peer; B25 a."""
    heard = []
    async with serve(graph_of(asks(heard, "May I?"))) as thread:
        asked = await thread.say("go")
        answer = await thread.resume({HEX: "yes"})
    assert heard == []
    assert answer.breaches == []
    assert by_message(answer) == by_message(asked)
    assert any(HEX in line for line in answer.warnings)


@beside(
    tried="One resume entry names the open interrupt, another one that nobody raised",
    peer="The node gets a private map of both",
    ours="The node gets its own payload; the other is left out with a warning",
    fails="__",
)
async def test_entries_name_a_known_and_an_unknown_interrupt(serve):
    """Fault 2 of the peer."""
    heard = []
    async with serve(graph_of(asks(heard, "May I?"))) as thread:
        asked = await thread.say("go")
        answer = await thread.resume({by_message(asked)["May I?"]: "yes", HEX: "no"})
    assert heard == [("ask", "yes")]
    assert (answer.breaches, answer.ended) == ([], "success")
    assert any(HEX in line for line in answer.warnings)


@beside(
    tried="Two branches ask, and both are answered, the second first",
    peer="RUN_ERROR",
    ours="Each gets its own payload",
    fails=r"\[\] == \[\('a', 'x'\)",
)
async def test_both_branches_are_answered(serve):
    """Fault 3 of the peer; B22."""
    heard = []
    async with serve(both(heard)) as thread:
        asked = by_message(await thread.say("go"))
        answer = await thread.resume({asked["b?"]: {"k": 1}, asked["a?"]: "x"})
    assert sorted(heard) == [("a", "x"), ("b", {"k": 1})]
    assert (answer.breaches, answer.ended) == ([], "success")


@beside(
    tried="Two branches ask, and one is answered",
    peer="RUN_ERROR",
    ours="It goes on, and the run ends with the other's interrupt again, under its id",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_one_of_two_branches_is_answered(serve):
    """Fault 3 of the peer; B25 b."""
    heard = []
    async with serve(both(heard)) as thread:
        asked = by_message(await thread.say("go"))
        answer = await thread.resume({asked["a?"]: "x"})
        assert answer.breaches == []
        assert answer.ended == "interrupt"
        assert (heard, by_message(answer)) == ([("a", "x")], {"b?": asked["b?"]})
        last = await thread.resume({asked["b?"]: "y"})
    assert (last.breaches, last.ended) == ([], "success")
    assert heard == [("a", "x"), ("b", "y")]


@beside(
    tried="Two approvals are open, one is answered",
    peer="RUN_ERROR",
    ours="The answered call runs, and the run ends with the other's interrupt again",
    fails="'RUN_ERROR' == 'interrupt'",
)
async def test_one_of_two_approvals_is_answered(serve):
    """Fault 3 of the peer; B25 b."""
    bank = Bank([pays(1, "c1", 0), pays(2, "c2", 1)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVE})
        assert answer.ended == "interrupt"
        assert (bank.paid, answer.breaches) == ([1], [])
        assert answer.open == {"c2": asked.open["c2"]}
        last = await thread.resume({asked.open["c2"]: APPROVE})
    assert (bank.paid, last.breaches, last.ended) == ([1, 2], [], "success")
    assert {key: one.content for key, one in bank.model.results.items()} == {"c1": "paid 1", "c2": "paid 2"}


@beside(
    tried="A resume entry is resolved without a payload, or with null",
    peer="RUN_ERROR",
    ours="The node gets None, and the run goes on",
    fails="'RUN_ERROR' == 'success'",
)
async def test_an_entry_has_no_payload(serve):
    """Fault 4 of the peer."""
    for members in ({}, {"payload": None}):
        heard = []
        async with serve(graph_of(asks(heard, "May I?"))) as thread:
            asked = by_message(await thread.say("go"))
            entries = [{"interruptId": asked["May I?"], "status": "resolved", **members}]
            answer = await thread.run(resume=entries)
        assert answer.ended == "success"
        assert (heard, answer.breaches) == ([("ask", None)], [])


@beside(
    tried="A resume entry's payload is false, 0, empty, or an object whose key looks like an id",
    peer="An empty object, or one with such a key, is taken for no answer",
    ours="The node gets exactly that",
    fails="'interrupt' == 'success'",
)
async def test_a_payload_is_given_as_it_is(serve):
    """Fault 4 of the peer; B25 d."""
    for payload in (False, 0, "", [], {}, {"a": [1, None]}, {HEX: "v"}):
        heard = []
        async with serve(graph_of(asks(heard, "May I?"))) as thread:
            asked = by_message(await thread.say("go"))
            answer = await thread.resume({asked["May I?"]: payload})
        assert answer.ended == "success"
        assert (heard, answer.breaches) == ([("ask", payload)], [])


@beside(
    tried="A resume entry comes with the first message of a thread",
    peer="The model is asked without the message",
    ours="It is left out with a warning; the message is answered",
    fails=r"\[\] == \['hello'\]",
)
async def test_an_entry_comes_on_a_new_thread(serve):
    """Fault 4 of the peer; B25 c."""
    model = Script()
    async with serve(graph_of(says(model))) as thread:
        answer = await thread.say("hello", resume=[entry(HEX, "yes")])
    assert answer.text == "done"
    assert [message.text for message in model.seen[0]] == ["hello"]
    assert (answer.breaches, answer.ended) == ([], "success")
    assert any(HEX in line for line in answer.warnings)


@beside(
    tried="A resume entry comes on a thread where nothing is open, with a new message",
    peer="The message is lost; nothing runs",
    ours="It is left out with a warning; the message is answered",
    fails=r"\('', 1\)",
)
async def test_an_entry_comes_where_nothing_is_open(serve):
    """B25 c."""
    model = Script(["one"])
    async with serve(graph_of(says(model))) as thread:
        await thread.say("hello")
        answer = await thread.say("again", resume=[entry(HEX, "yes")])
    assert (answer.text, len(model.seen)) == ("done", 2)
    assert (answer.breaches, answer.ended) == ([], "success")
    assert any(HEX in line for line in answer.warnings)


@beside(
    tried="A resume entry answers an interrupt of an earlier run, while another is open",
    peer="The open one is answered with its payload",
    ours="It is left out with a warning, and the run ends with the open interrupt again",
    fails=r"\('b', 'again'\)",
)
async def test_an_entry_answers_an_earlier_interrupt(serve):
    """B25 e."""
    heard = []
    async with serve(graph_of(asks(heard, "a?", "a"), asks(heard, "b?", "b"))) as thread:
        first = by_message(await thread.say("go"))
        second = by_message(await thread.resume({first["a?"]: "x"}))
        answer = await thread.resume({first["a?"]: "again"})
    assert heard == [("a", "x")]
    assert answer.breaches == []
    assert by_message(answer) == second
    assert second.keys() == {"b?"}


@beside(
    tried="Two resume entries answer one interrupt",
    peer="The node gets a private map of both",
    ours="The last one wins, with a warning to the operator",
    fails="__",
)
async def test_two_entries_answer_one_interrupt(serve):
    """B25 f."""
    heard = []
    async with serve(graph_of(asks(heard, "May I?"))) as thread:
        asked = by_message(await thread.say("go"))["May I?"]
        answer = await thread.run(resume=[entry(asked, "no"), entry(asked, "yes")])
    assert heard == [("ask", "yes")]
    assert (answer.ended, len(answer.warnings)) == ("success", 1)


@beside(
    tried="The same answer is sent twice at once",
    peer="The action is performed twice",
    ours="It is given once; the action is performed once",
    fails=r"\[100, 100\]",
)
async def test_an_answer_is_sent_twice_at_once(serve):
    """B27, B70."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        before = thread.messages
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(thread.resume, {asked.open["c1"]: APPROVE})
        thread.messages = before
    assert bank.paid == [100]


@beside(
    tried="The client approves and says something more in one go",
    peer="The message is lost",
    ours="The call runs; the model reads its result, and then the message",
    fails=r"'tool'\] == ",
)
async def test_an_approval_and_a_message(serve):
    """B23."""
    bank = Bank([pays(100)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.say("and hurry", resume=[entry(asked.open["c1"], APPROVE)])
    assert bank.paid == [100]
    assert answer.ended == "success"
    assert [message.type for message in bank.model.seen[-1] if message.type != "ai"] == ["human", "tool", "human"]
    assert ill_formed(bank.model.seen[-1]) == []


@beside(
    tried="The client resumes without the message that holds the call",
    ours="The call runs once, and the checkpoint holds nothing twice",
)
async def test_the_client_lacks_messages(serve):
    """B23."""
    bank = Bank([pays(100)])
    graph = bank.agent()
    async with serve(graph) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVE}, messages=thread.messages[:1])
        again = await thread.say("thanks")
    assert (bank.paid, answer.ended, again.ended) == ([100], "success", "success")
    assert [message.type for message in await kept(graph)] == ["human", "ai", "tool", "ai", "human", "ai"]


@beside(
    tried="The client resumes with its whole history, under ids of its own",
    ours="The call runs once, and the checkpoint holds nothing twice",
)
async def test_the_client_has_ids_of_its_own(serve):
    """B23."""
    bank = Bank(["I pay. ", pays(100)])
    graph = bank.agent()
    async with serve(graph) as thread:
        asked = await thread.say("pay")
        renamed = [
            {**message, "id": f"own{at}"} if message["role"] == "assistant" else message
            for at, message in enumerate(thread.messages)
        ]
        answer = await thread.resume({asked.open["c1"]: APPROVE}, messages=renamed)
    assert (bank.paid, answer.ended) == ([100], "success")
    assert [message.type for message in await kept(graph)] == ["human", "ai", "tool", "ai"]


@beside(
    tried="The client puts the approval into its history as well, as the result of the call",
    ours="The call runs once, and its result is the tool's",
)
async def test_the_approval_is_in_the_history_too(serve):
    """B23."""
    bank = Bank([pays(100)])
    graph = bank.agent()
    async with serve(graph) as thread:
        asked = await thread.say("pay")
        await thread.answer("c1", '{"approved": true}')
        answer = await thread.resume({asked.open["c1"]: APPROVE})
        again = await thread.say("thanks")
    assert (bank.paid, answer.ended, again.ended) == ([100], "success", "success")
    assert [message.content for message in await kept(graph) if message.type == "tool"] == ["paid 100"]
    assert [message["content"] for message in thread.messages if message["role"] == "tool"] == ["paid 100"]


async def kept(graph):
    """The messages of a thread's checkpoint."""
    return (await graph.aget_state({"configurable": {"thread_id": "t1"}})).values["messages"]


@beside(
    tried="Two approvals are answered, and one payload fits no decision",
    peer="RUN_ERROR without a code",
    ours="RUN_ERROR with the code `invalid_resume`; nothing is executed, and both can still be answered",
    fails="invalid_resume",
)
async def test_a_payload_does_not_fit(serve):
    """B25."""
    for wrong in ({"type": "maybe"}, {}, "yes"):
        bank = Bank([pays(1, "c1", 0), pays(2, "c2", 1)])
        async with serve(bank.agent()) as thread:
            asked = await thread.say("pay")
            answer = await thread.resume({asked.open["c1"]: APPROVE, asked.open["c2"]: wrong})
            assert (answer.ended, bank.paid) == ("RUN_ERROR", [])
            assert answer.outcome.get("code") == "invalid_resume"
            answer = await thread.resume(dict.fromkeys(asked.open.values(), APPROVE))
        assert (answer.ended, sorted(bank.paid)) == ("success", [1, 2])
