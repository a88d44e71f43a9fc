"""A live endpoint is asked over real sockets, and judged for what it does there, well or badly."""

import asyncio
import gzip
import itertools
import json

import pytest
from support.agents import Scripted
from support.raw_server import CUT, KEEP_OPEN, PAUSE, Answer, answering, run_of, sse
from support.server import serving

from adapters.base import Text
from conformance.command.cli import main
from conformance.command.probes import PROBES, Outline, reference, suspicious
from conformance.protobuf import encode

pytestmark = pytest.mark.anyio

PROTOBUF = "application/vnd.ag-ui.event+proto"
TEXT = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hi"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
]


async def check(server, *options, capsys):
    """The exit code, the report as JSON where there is one, and what stands on stderr."""
    url = server if isinstance(server, str) else server.url
    capsys.readouterr()
    code = await asyncio.to_thread(main, ["check", url, "--format", "json", *options])
    said = capsys.readouterr()
    _, begin, rest = said.out.partition('{\n  "format"')  # a server in this process may log to the same place
    return code, json.JSONDecoder().raw_decode(begin + rest)[0] if begin else None, said.err


def broken(report):
    return sorted({finding["rule"] for finding in report["findings"]})


def by_probe(report):
    found = {}
    for finding in report["findings"]:
        found.setdefault(finding.get("probe"), []).append(finding["rule"])
    return found


def states(report):
    return {rule["id"]: rule["state"] for rule in report["rules"]}


def good(request):
    return Answer([sse(*run_of(request, *TEXT))])


async def test_a_good_run_is_clean_and_judged_by_all_that_its_exchange_shows(capsys):
    async with answering(good) as server:
        code, report, said = await check(server, capsys=capsys)
    assert (code, said, report["events"], report["findings"]) == (0, "", 5, [])
    judged = {rule for rule, state in states(report).items() if state == "kept"}
    assert judged >= {"sse-closes", "sse-lf", "run-id-echoed", "sse-status-and-type", "proto-negotiated"}
    (request,) = server.requests
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "text/event-stream"
    assert request.run_input["messages"][0]["content"] == "Hello"


BAD_ANSWERS = {
    "another content type": (
        lambda r: Answer([sse(*run_of(r))], content_type="text/plain"),
        ["sse-status-and-type"],
    ),
    "another content type, in pieces of a few bytes": (
        lambda r: Answer([sse(*run_of(r))[:5], PAUSE, sse(*run_of(r))[5:]], content_type="application/json"),
        ["sse-status-and-type"],
    ),
    "CRLF": (lambda r: Answer([sse(*run_of(r), end="\r\n")]), ["sse-lf"]),
    "an open body": (lambda r: Answer([sse(*run_of(r)), KEEP_OPEN]), ["sse-closes"]),
    "keep-alives after the end": (
        lambda r: Answer(itertools.chain([sse(*run_of(r))], itertools.cycle([b": still here\n\n", PAUSE]))),
        ["sse-closes"],
    ),
    "a cut connection": (lambda r: Answer([sse(*run_of(r)[:1]), PAUSE, CUT]), ["sse-fails-inside"]),
    "a refusal as events": (
        lambda _: Answer([sse({"type": "RUN_ERROR", "message": "no"})], status=401),
        ["sse-rejects-outside"],
    ),
    "a stream without events": (lambda _: Answer([b": nothing\n\n"]), ["run-opens-stream"]),
    "protobuf for who asks for SSE": (
        lambda r: Answer([frames(*run_of(r))], content_type=PROTOBUF),
        ["proto-negotiated"],
    ),
}


def frames(*events):
    encoded = [encode(event) for event in events]
    return b"".join(len(one).to_bytes(4, "big") + one for one in encoded)


@pytest.mark.parametrize(("answer", "rules"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
async def test_a_bad_answer_is_named_by_its_rule(answer, rules, capsys):
    async with answering(answer) as server:
        code, report, said = await check(server, "--end-within", "0.2", "--strict", capsys=capsys)
    assert (code, said, broken(report)) == (1, "", rules)


@pytest.mark.parametrize("limit", ["0.2", "5"])
async def test_the_body_may_take_as_long_to_end_as_the_user_says(limit, capsys):
    async with answering(lambda r: Answer([sse(*run_of(r)), *[PAUSE] * 20])) as server:
        _, report, _ = await check(server, "--end-within", limit, capsys=capsys)
    assert broken(report) == ([] if limit == "5" else ["sse-closes"])


async def test_a_silence_after_the_end_that_is_longer_than_the_timeout_is_an_open_body(capsys):
    async with answering(lambda r: Answer([sse(*run_of(r)), KEEP_OPEN])) as server:
        code, report, _ = await check(server, "--timeout", "1", "--end-within", "30", capsys=capsys)
    assert (code, broken(report)) == (1, ["sse-closes"])


async def test_a_replayed_run_after_the_terminal_event_is_waited_for(capsys):
    def twice(request):
        return Answer([sse(*run_of(request)), PAUSE, sse(*run_of(request))])

    async with answering(twice) as server:
        code, report, _ = await check(server, capsys=capsys)
    assert (code, report["events"]) == (0, 4)


async def test_a_compressed_answer_is_read(capsys):
    def compressed(request):
        return Answer([gzip.compress(sse(*run_of(request)))], headers={"content-encoding": "gzip"})

    async with answering(compressed) as server:
        code, report, _ = await check(server, capsys=capsys)
    assert (code, report["events"]) == (0, 2)


async def test_protobuf_is_asked_for_and_read(capsys):
    def negotiated(request):
        assert request.headers["accept"].startswith(PROTOBUF)
        return Answer([frames(*run_of(request, *TEXT))], content_type=PROTOBUF)

    async with answering(negotiated) as server:
        code, report, _ = await check(server, "--accept", "protobuf", capsys=capsys)
    assert (code, report["findings"], states(report)["proto-framing"]) == (0, [], "kept")


# ---- what is no verdict ---------------------------------------------------------------------------

NO_RUNS = {
    "nothing there": (
        lambda _: Answer([b"no such page"], 404, "text/html"),
        "it answers 404 Not Found to the run input",
    ),
    "no credentials": (
        lambda _: Answer([b'{"detail": "who are you?\x1b"}'], 401),
        "answers 401 Unauthorized to the run",
    ),
    "a page": (lambda _: Answer([b"<!doctype html>" * 9000], 200, "text/html"), "no run: <!doctype html>"),
    "a short page": (lambda _: Answer([b"<p>"], 200, "text/html"), "no run: <p>; is it the right path?"),
    "nothing at all": (lambda _: Answer([], 204), "answers 204 No Content to the run input, and no run"),
    "another place": (lambda _: Answer([], 307, "text/html", {"location": "/x"}), "answers 307 Temporary Redirect to"),
    "no status": (lambda _: Answer([b"eh?"], 599, "text/html"), "answers 599 to the run input, and no run: eh?"),
    "garbage": (lambda _: Answer([b"\0\0\0\x01\xff"], content_type=PROTOBUF), "the answer cannot be read: frame 1"),
    "no gzip": (lambda _: Answer([b"zzz"], headers={"content-encoding": "gzip"}), "incorrect header check"),
    "silence": (
        lambda r: Answer([sse(*run_of(r)[:1]), KEEP_OPEN]),
        "nothing came for 1 seconds before the run ended",
    ),
}


@pytest.mark.parametrize(("answer", "message"), NO_RUNS.values(), ids=NO_RUNS)
async def test_what_cannot_be_judged_is_one_line_and_exit_code_2(answer, message, capsys):
    async with answering(answer) as server:
        code, report, said = await check(server, "--timeout", "1", capsys=capsys)
    assert (code, report) == (2, None)
    assert said.startswith(f"agui-conformance: {server.url}: ")
    assert message in said
    assert said.count("\n") == 1
    assert "\x1b" not in said


async def test_no_server_is_no_verdict(capsys):
    code, _, said = await check("http://user:secret@127.0.0.1:1/?key=secret", capsys=capsys)
    assert code == 2
    assert "http://127.0.0.1:1/: no connection" in said
    assert "secret" not in said


@pytest.mark.parametrize("url", ["http://[", "http://"])
async def test_no_url_is_no_verdict(url, capsys):
    code, _, said = await check(url, capsys=capsys)
    assert code == 2
    assert said.count("\n") == 1


async def test_a_refusal_is_a_verdict_where_a_rule_forbids_it(capsys, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"threadId": "t", "runId": "r", "protocolVersion": "1.7", "messages": []}')
    async with answering(lambda _: Answer([b"unsupported protocolVersion"], 400, "text/plain")) as server:
        code, report, _ = await check(server, "--run-input", str(given), capsys=capsys)
        assert (code, broken(report)) == (1, ["version-newer-minor-served"])
        code, report, said = await check(server, "--run-input", str(given), "--probe", capsys=capsys)
    assert (code, report) == (2, None)
    assert "--probe deviates from a run input that the server takes; it answers 400" in said


async def test_a_refusal_of_a_malformed_input_is_right(capsys, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"threadId": "t", "runId": 5, "messages": []}')
    async with answering(lambda _: Answer([b"runId"], 422, "text/plain")) as server:
        code, report, _ = await check(server, "--input", str(given), capsys=capsys)
    assert (code, states(report)["input-malformed-rejected"]) == (0, "kept")


# ---- what is sent, told and recorded --------------------------------------------------------------


async def test_headers_and_run_input_are_sent_as_given(capsys, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], "state": "\\ud800"}')
    async with answering(good) as server:
        options = ["--header", "Authorization: Bearer a:b", "--header", "accept: */*", "--input", str(given)]
        code, _, _ = await check(server, *options, capsys=capsys)
    (request,) = server.requests
    assert code == 0
    assert (request.headers["authorization"], request.headers["accept"]) == ("Bearer a:b", "*/*")
    assert request.run_input == json.loads(given.read_text())


async def test_a_recording_of_an_endpoint_is_judged_as_the_endpoint_was(capsys, tmp_path):
    def answer(request):
        text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "\u00e4"}
        pieces = sse(*run_of(request, text)).replace(b"\\u00e4", "\u00e4".encode())
        place = pieces.index("\u00e4".encode()) + 1
        return Answer([pieces[:place], PAUSE, pieces[place:], KEEP_OPEN], headers={"set-cookie": "session=secret"})

    file = tmp_path / "run.jsonl"
    async with answering(answer) as server:
        options = ["--end-within", "0.2", "--record", str(file)]
        _, live, _ = await check(server, *options, capsys=capsys)
    _, recorded, _ = await check(str(file), capsys=capsys)
    assert broken(live) == broken(recorded) == ["item-open-first", "sse-closes"]
    assert states(recorded) == states(live)
    assert "secret" not in file.read_text()


async def test_a_recorded_refusal_is_judged_as_the_refusal_was(capsys, tmp_path):
    given, file = tmp_path / "input.json", tmp_path / "run.jsonl"
    given.write_text('{"threadId": "t", "runId": "r", "protocolVersion": "1.7", "messages": []}')
    async with answering(lambda _: Answer([b"bad ", PAUSE, b"protocolVersion"], 400, "text/plain")) as server:
        _, live, _ = await check(server, "--run-input", str(given), "--record", str(file), capsys=capsys)
    _, recorded, _ = await check(str(file), capsys=capsys)
    assert broken(live) == broken(recorded) == ["version-newer-minor-served"]


async def test_capabilities_are_fetched(capsys):
    def answer(request):
        return good(request) if request.method == "POST" else Answer([b'{"tools": {"supported": 1}}'])

    async with answering(answer) as server:
        code, report, _ = await check(server, "--capabilities", server.url, "--header", "X: y", capsys=capsys)
    assert (code, broken(report)) == (1, ["capabilities-shape"])
    assert [request.headers["x"] for request in server.requests] == ["y", "y"]


NO_CAPABILITIES = {
    "not there": (lambda _: Answer([], 404), "it answers 404, not capabilities"),
    "no JSON": (lambda _: Answer([b"<p>"]), "it answers with no JSON"),
    "cut": (lambda _: Answer([b"{", CUT]), "peer closed connection"),
}


@pytest.mark.parametrize(("answer", "message"), NO_CAPABILITIES.values(), ids=NO_CAPABILITIES)
async def test_capabilities_that_cannot_be_fetched_are_one_line(answer, message, capsys):
    async with answering(answer) as server:
        code, _, said = await check(server, "--capabilities", server.url, capsys=capsys)
    assert code == 2
    assert message in said


# ---- probes ---------------------------------------------------------------------------------------


def strict(request):
    """A server that refuses whatever it does not know."""
    sent = request.run_input
    if sent is None or not {"tools", "context", "protocolVersion"} <= sent.keys() or sent["protocolVersion"] != "1.0":
        return Answer([b"no"], 422, "application/json")
    message = sent["messages"][-1]
    if type(message["content"]) is not str or message["role"] != "user" or "conformance-probe" in sent:
        return Answer([b"no"], 422, "application/json")
    return good(request)


def lax(request):
    """A server that takes whatever comes, and echoes the version."""
    started, *rest = run_of(request, *TEXT)
    sent = request.run_input or {}
    return Answer([sse({**started, "protocolVersion": sent.get("protocolVersion", "1.0")}, *rest)])


async def test_a_server_that_refuses_too_much_is_told_which_probe_showed_it(capsys):
    async with answering(strict) as server:
        code, report, _ = await check(server, "--probe", capsys=capsys)
    assert code == 1
    assert by_probe(report) == {
        "unknown-member": ["input-unknown-stripped"],
        "unknown-part": ["input-unknown-stripped"],
        "unknown-role": ["input-unknown-stripped"],
        "absent-lists": ["input-lists-optional"],
        "newer-minor": ["version-newer-minor-served"],
    }
    assert states(report)["input-malformed-rejected"] == "kept"


async def test_a_server_that_takes_too_much_is_told_which_probe_showed_it(capsys):
    async with answering(lax) as server:
        code, report, _ = await check(server, "--probe", capsys=capsys)
    assert code == 1
    assert by_probe(report) == {
        "malformed-json": ["input-malformed-rejected"],
        "malformed-field": ["input-malformed-rejected"],
        "newer-minor": ["version-declared"],
    }


async def test_every_probe_is_sent_once_and_is_another_run(capsys):
    async with answering(good) as server:
        await check(server, "--probe", capsys=capsys)
    assert len(server.requests) == 1 + len(PROBES)
    ids = [request.run_input["runId"] for request in server.requests if request.run_input]
    assert len(set(ids)) == len(ids) == len(PROBES)
    older = server.requests[-1].run_input
    assert "protocolVersion" not in older


async def test_probes_deviate_from_the_given_run_input(capsys, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], "state": {"a": 1}}')
    async with answering(good) as server:
        await check(server, "--probe", "--input", str(given), capsys=capsys)
    sent = [request.run_input for request in server.requests if request.run_input]
    assert {one["threadId"] for one in sent} == {"t"}
    assert len({one["runId"] for one in sent}) == len(sent)
    assert sent[1]["state"] == {"a": 1}


async def test_what_the_run_broke_already_is_not_said_again_by_probes(capsys):
    async with answering(lambda r: Answer([sse({**run_of(r)[0], "extra": 1}, *run_of(r)[1:])])) as server:
        _, report, _ = await check(server, "--probe", "--select", "no-unknown-fields", capsys=capsys)
    assert by_probe(report) == {None: ["no-unknown-fields"]}


async def test_a_probe_without_answer_is_named(capsys):
    def answer(request):
        return good(request) if request.run_input else Answer([KEEP_OPEN])

    async with answering(answer) as server:
        code, _, said = await check(server, "--probe", "--timeout", "1", capsys=capsys)
    assert code == 2
    assert "probe malformed-json: " in said


async def test_a_run_input_that_probes_cannot_deviate_from_is_a_mistake(capsys, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"threadId": "t", "runId": "r", "messages": 5}')
    async with answering(good) as server:
        code, _, said = await check(server, "--probe", "--input", str(given), capsys=capsys)
    assert (code, server.requests) == (2, [])
    assert "--probe needs a run input with a list of messages" in said


async def test_this_sidecar_stands_all_probes(capsys):
    async with serving({"agent": Scripted([Text("Hello")])}) as server:
        url = f"{server.url}/agents/agent/capabilities"
        code, report, said = await check(server, "--probe", "--strict", "--capabilities", url, capsys=capsys)
    assert (code, said, report["findings"]) == (0, "", [])
    assert [rule for rule, state in states(report).items() if state == "not judged"] == [
        "stop-is-cancelled",
        "proto-framing",
        "proto-parity",
    ]


# ---- the same run for an older peer ---------------------------------------------------------------


def served_by(agent):
    """A server whose answer depends on whether the peer is an older one, and on how often it was asked."""
    numbers = itertools.count()

    def answer(request):
        sent = request.run_input
        is_older = sent is not None and "protocolVersion" not in sent
        return Answer([sse(*run_of(request, *agent(is_older=is_older, number=next(numbers))))])

    return answer


def message(key):
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": key, "role": "assistant"},
        {"type": "TEXT_MESSAGE_END", "messageId": key},
    ]


DOWNGRADES = {
    "the same": (lambda is_older, number: message("m1"), "kept"),
    "new identifiers for every run": (lambda is_older, number: message(f"m{number}"), "kept"),
    "other identifiers for older peers": (lambda is_older, number: message("old" if is_older else "m1"), "broken"),
    "one more message for older peers": (
        lambda is_older, number: message(f"m{number}") + (message("more") if is_older else []),
        "broken",
    ),
    "another agent every time": (lambda is_older, number: message("m1") * (number + 1), "not judged"),
}


@pytest.mark.parametrize(("agent", "state"), DOWNGRADES.values(), ids=DOWNGRADES)
async def test_the_run_of_an_older_peer_is_compared_where_it_can_be(agent, state, capsys):
    async with answering(served_by(agent)) as server:
        _, report, _ = await check(server, "--probe", "--select", "downgrade-pure", capsys=capsys)
    assert states(report) == {"downgrade-pure": state}


async def test_why_two_runs_were_not_compared_is_said(capsys):
    async with answering(served_by(DOWNGRADES["another agent every time"][0])) as server:
        _, report, _ = await check(server, "--probe", "--select", "downgrade-pure", capsys=capsys)
    assert report["rules"][0]["reason"] == "two runs of the same input differ in more than their identifiers"


def outline(*events):
    one = Outline()
    one.take(events)
    return one.events


def test_an_outline_expands_chunks_and_leaves_out_what_is_malformed():
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "x"}
    events = outline(
        5, {"type": "NEW"}, {"type": "TEXT_MESSAGE_START"}, chunk, {"type": "STEP_STARTED", "stepName": "s"}
    )
    assert [event["type"] for event in events] == ["TEXT_MESSAGE_START", "STEP_STARTED"]


def test_a_current_run_is_told_in_the_identifiers_of_the_older_one():
    def run(*keys):
        return outline(*[event for key in keys for event in message(key)])

    assert not suspicious(run("a"), run("a"))
    assert suspicious(run("a", "b"), run("c"))
    current = reference(run("a", "b"), run("x", "y"), run("c"))
    assert [event["messageId"] for event in current] == ["c", "b"]
    assert not suspicious(current, run("c"))
    assert suspicious(reference(run("a"), run("x"), run("c", "d")), run("c", "d"))
    assert reference(run("a"), run("x", "y"), run("c")) is None
