"""Reports: pure functions from a verdict to text, safe whatever the stream held."""

import json
import re
import types
from xml.etree import ElementTree as ET

import pytest

from conformance.command import baseline
from conformance.command.checking import Checking
from conformance.command.report import Source, State, github, junit, sarif
from conformance.command.report import json as json_report
from conformance.command.report.pretty import Pretty
from conformance.command.report.text import abridged, compact, count, visible
from conformance.exchange import Exchange
from conformance.reading import Batch
from conformance.rules import CATALOGUE, Level

NASTY = "\x1b]0;gone\x07\r\n::error::x%0A,:##[stop-commands]\u202e\ud800</testcase>&\x00"
STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FILE = Source("runs/a run.sse", "runs/a%20run.sse", "runs/a run.sse")
NO_PLACE = Source("standard input")


def content(key):
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": "x"}


def checked(*events, probe=(), lines=True, known=types.MappingProxyType({}), rules=CATALOGUE, limit=100):
    """What a check comes to that was given these events, and these as a probe's."""
    checking = Checking(rules, known=known, limit=limit)
    for name, given in ((None, events), ("some-probe", probe)):
        if given or name is None:
            checking.begin(Exchange(), name)
            checking.take(Batch(list(given), line_of=(lambda index: index + 1) if lines else lambda _: None))
            checking.end()
    return checking


def verdict(*events, source=FILE, strict=False, **options):
    return checked(*events, **options).verdict(source, "0.1.0", strict=strict)


CLEAN = [STARTED, FINISHED]
BROKEN = [STARTED, content("m1"), content("m1"), FINISHED]
SHOULD_BROKEN = [STARTED, {**FINISHED, "outcome": {"type": "cancelled"}, "result": 1}]
NASTY_EVENTS = [STARTED, content(NASTY), {"type": NASTY}, FINISHED, {**STARTED, "protocolVersion": NASTY}]


# ---- safe words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e4 \u4e2d", "plain \u00e4 \u4e2d"),
        ("a\x1b[31m\nb", r"a\x1b[31m\nb"),
        ("\u202e\u2066\ud800\x85\x7f", r"\u202e\u2066\ud800\x85\x7f"),
        ("a##[group]", r"a#\x23[group]"),
        ("x" * 500, "x" * 400 + "... (500 characters)"),
    ],
)
def test_what_does_not_print_is_an_escape(text, shown):
    assert visible(text) == shown


def test_an_event_is_abridged_and_stays_json():
    deep = {"a": {"b": {"c": {"d": {"e": 1}, "f": {}, "g": [1], "h": []}}}}
    event = {
        "text": "x" * 100,
        "list": list(range(20)),
        "deep": deep,
        "huge": float("inf"),
        "ok": [None, True, 1.5],
        **{f"k{number}": number for number in range(20)},
    }
    short = abridged(event)
    assert short["text"] == "x" * 80 + "... (100 characters)"
    assert short["list"] == [*range(12), "... 8 more"]
    assert short["deep"]["a"]["b"]["c"] == {"d": "...", "f": {}, "g": "...", "h": []}
    assert short["huge"] == "inf"
    assert short["ok"] == [None, True, 1.5]
    assert short["..."] == "13 more"
    assert json.loads(compact({"a": 1})) == {"a": 1}
    assert compact(NASTY).isprintable()


def test_numbers_are_told_with_their_nouns():
    assert (count(1, "event"), count(0, "event"), count(12345, "event")) == ("1 event", "0 events", "12,345 events")


# ---- the check ------------------------------------------------------------------------------------


def test_findings_beyond_the_limit_are_counted():
    one = verdict(STARTED, *[content("m1"), STARTED] * 30, limit=5)
    assert len([entry for entry in one.entries if entry.rule.id == "run-not-nested"]) == 5
    assert one.omitted["run-not-nested"] == 25
    assert one.more(CATALOGUE["run-not-nested"]) == 25
    assert one.more(CATALOGUE["sse-lf"]) == 0


def test_known_findings_are_those_that_the_baseline_counts_and_no_more():
    known = checked(*BROKEN, content("m2")).seen
    again = verdict(STARTED, content("other"), content("other"), FINISHED, content("m3"), known=known)
    assert again.passed
    assert again.new[Level.MUST] == 0
    more = verdict(STARTED, content("a"), content("b"), content("c"), FINISHED, known=known)
    assert not more.passed
    assert more.known == 1
    assert [entry.known for entry in more.entries] == [True, False, False]


def test_known_findings_take_no_place_of_new_ones():
    events = [STARTED, *[STARTED] * 20]
    one = verdict(*events, known={("run-not-nested", "RUN_STARTED"): 15}, limit=3)
    shown = [entry.known for entry in one.entries if entry.rule.id == "run-not-nested"]
    assert (shown.count(True), shown.count(False)) == (3, 3)
    assert one.omitted == {"run-not-nested": 2}


def test_a_rule_is_judged_where_one_exchange_can_show_it():
    checking = Checking({name: CATALOGUE[name] for name in ("sse-closes", "run-id-echoed", "capabilities-shape")})
    checking.begin(Exchange(capabilities={}))
    checking.end()
    checking.begin(Exchange(run_input={"threadId": "t", "runId": "r", "messages": []}), "some-probe")
    checking.end({"sse-closes": "for a reason of its own"})
    standings = checking.verdict(NO_PLACE, "0").standings
    assert {one.rule.id: one.state for one in standings} == {
        "sse-closes": State.NOT_JUDGED,
        "run-id-echoed": State.KEPT,
        "capabilities-shape": State.KEPT,
    }
    assert {one.reason for one in standings} == {"", "for a reason of its own"}


def test_what_was_found_can_be_taken_as_known():
    taken = verdict(*BROKEN).accepted()
    assert taken.passed
    assert taken.known == len(taken.entries) == 1
    assert all(entry.known for entry in taken.entries)


# ---- a baseline -----------------------------------------------------------------------------------


def test_a_baseline_is_read_as_it_was_written_and_knows_no_identifiers():
    seen = checked(*NASTY_EVENTS, {"type": "NEW"}, 5, STARTED).seen
    text = baseline.written(seen)
    assert baseline.read(text) == dict(seen)
    assert "stop-commands" not in text
    kinds = {kind for _, kind in seen}
    assert kinds >= {"TEXT_MESSAGE_CONTENT", "RUN_STARTED", "other", "stream"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[]", "it is no baseline of format 1"),
        ('{"baseline": 2, "findings": {}}', "it is no baseline of format 1"),
        ('{"baseline": 1, "findings": {"run-ends": 5}}', "findings of 'run-ends' have to be numbers by type of event"),
        ('{"baseline": 1, "findings": {"run-ends": {"stream": "x"}}}', "findings of 'run-ends' have to be numbers"),
    ],
)
def test_what_is_no_baseline_is_said_to_be_none(text, message):
    with pytest.raises(baseline.NoBaseline, match=re.escape(message)):
        baseline.read(text)


# ---- pretty ---------------------------------------------------------------------------------------


def pretty(one, **options):
    writer = Pretty(**options)
    return "".join(map(writer.entry, one.entries)) + writer.summary(one)


def test_pretty_shows_rule_place_event_and_what_to_do_once_per_rule():
    assert pretty(verdict(*BROKEN, rules={"item-open-first": CATALOGUE["item-open-first"]})) == (
        """\
MUST    item-open-first  event 1, line 2
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x"}
        expected  text message 'm1' opened first
        found     TEXT_MESSAGE_CONTENT, and it is not open
        mend      Send the *_START before the first content, end each item once, and compare the ids.
        see       https://docs.ag-ui.com/spec/1.0/basic/patterns/streaming

"""
        "runs/a run.sse: failed: 4 events; 1 finding (1 MUST, 0 SHOULD); rules: 0 kept, 1 broken, 0 not judged\n"
    )


def test_pretty_explains_a_rule_only_once_and_names_probes():
    text = pretty(verdict(STARTED, STARTED, STARTED, FINISHED, probe=[STARTED, content("m1"), FINISHED], lines=False))
    assert text.count("mend ") == 2
    assert "MUST    item-open-first  event 1, probe some-probe\n" in text


def test_pretty_has_colour_only_where_it_is_shown():
    assert "\x1b" not in pretty(verdict(*NASTY_EVENTS))
    assert "\x1b[31mMUST  \x1b[0m" in pretty(verdict(*BROKEN), colour=True)
    assert "\x1b[32mpassed\x1b[0m" in pretty(verdict(*CLEAN), colour=True)


def test_pretty_lists_what_was_not_judged_where_asked():
    one = verdict(*CLEAN)
    assert "not judged (--verbose says why)" in pretty(one)
    assert "sse-lf" not in pretty(one)
    assert "  sse-lf                      it takes the bytes of a response over SSE\n" in pretty(one, verbose=True)
    assert "not judged:" not in pretty(verdict(*CLEAN, rules={"run-ends": CATALOGUE["run-ends"]}), verbose=True)


def test_pretty_shows_known_findings_only_where_asked():
    known = verdict(*BROKEN, known=checked(*BROKEN).seen)
    assert pretty(known).startswith("runs/a run.sse: passed: 4 events; 0 findings (0 MUST, 0 SHOULD), 1 known;")
    assert "MUST    item-open-first  event 1, line 2  (known)\n" in pretty(known, verbose=True)


def test_pretty_says_how_many_more_there_were():
    assert "\n25 more of run-not-nested\n" in pretty(verdict(STARTED, *[STARTED] * 30, limit=5))


@pytest.mark.parametrize("write", [pretty, github.report, junit.report, sarif.report, json_report.report])
def test_no_report_shows_what_a_terminal_or_a_runner_would_obey(write):
    text = write(verdict(*NASTY_EVENTS, source=Source(NASTY, path=NASTY)))
    shown = text.replace("\n", "")
    assert shown.isprintable()
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::error::x") for line in text.splitlines())


# ---- json -----------------------------------------------------------------------------------------


def test_json_holds_the_counts_the_findings_and_where_each_rule_stands():
    report = json.loads(json_report.report(verdict(*BROKEN, probe=[STARTED, STARTED, FINISHED])))
    assert report["format"] == "agui-conformance/1"
    assert (report["source"], report["suite"]) == ("runs/a run.sse", "0.1.0")
    assert (report["passed"], report["strict"], report["events"]) == (False, False, 7)
    assert report["counts"]["must"] == len(report["findings"]) == 2
    assert report["counts"]["kept"] + report["counts"]["broken"] + report["counts"]["notJudged"] == len(report["rules"])
    assert report["findings"][0] == {
        "rule": "item-open-first",
        "level": "MUST",
        "index": 1,
        "line": 2,
        "event": content("m1"),
        "expected": "text message 'm1' opened first",
        "found": "TEXT_MESSAGE_CONTENT, and it is not open",
        "mend": CATALOGUE["item-open-first"].mend,
        "link": "https://docs.ag-ui.com/spec/1.0/basic/patterns/streaming",
        "known": False,
    }
    assert report["findings"][-1]["probe"] == "some-probe"
    rules = {rule["id"]: rule for rule in report["rules"]}
    assert rules["run-ends"] == {"id": "run-ends", "level": "MUST", "state": "kept"}
    assert rules["sse-lf"]["reason"] == "it takes the bytes of a response over SSE"


# ---- junit ----------------------------------------------------------------------------------------


def cases(one):
    suites = ET.fromstring(junit.report(one))
    (suite,) = suites
    inner = {case.get("name"): list(case) for case in suite}
    assert suites.get("tests") == suite.get("tests") == str(len(inner)) == str(len(one.standings))
    assert suite.get("failures") == str(sum(part.tag == "failure" for parts in inner.values() for part in parts))
    assert suite.get("skipped") == str(sum(part.tag == "skipped" for parts in inner.values() for part in parts))
    return {name: parts[0] if parts else None for name, parts in inner.items()}


def test_junit_has_one_case_per_rule():
    inner = cases(verdict(*BROKEN, source=Source("\u00e4 <&\"'>")))
    assert inner["run-ends"] is None
    assert inner["sse-lf"].tag == "skipped"
    assert inner["sse-lf"].get("message") == "it takes the bytes of a response over SSE"
    failure = inner["item-open-first"]
    assert (failure.tag, failure.get("type")) == ("failure", "MUST")
    assert failure.text.startswith(
        "event 1, line 2: expected text message 'm1' opened first, found TEXT_MESSAGE_CONTENT"
    )
    assert '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x"}' in failure.text


def test_junit_fails_for_what_fails_the_check():
    lenient, strict = cases(verdict(*SHOULD_BROKEN)), cases(verdict(*SHOULD_BROKEN, strict=True))
    assert lenient["cancelled-has-no-result"].tag == "system-out"
    assert strict["cancelled-has-no-result"].tag == "failure"
    known = cases(verdict(*BROKEN, known=checked(*BROKEN).seen))
    assert known["item-open-first"].tag == "system-out"
    assert "(known)" in known["item-open-first"].text


def test_junit_says_how_many_more_there_were():
    assert "\n25 more\n" in cases(verdict(STARTED, *[STARTED] * 30, limit=5))["run-not-nested"].text


def test_junit_is_ascii():
    assert junit.report(verdict(STARTED, content("\u4e2d"), FINISHED)).isascii()
    assert "\u4e2d" in cases(verdict(STARTED, content("\u4e2d"), FINISHED))["item-open-first"].text


# ---- github ---------------------------------------------------------------------------------------


def unescaped(text):
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def commands(one):
    """The annotations as a runner reads them."""
    found = re.findall(r"^::(error|warning) ([^\n]*?)::([^\n]*)$", github.report(one), re.MULTILINE)
    return [
        (kind, {k: unescaped(v) for k, v in (p.split("=", 1) for p in properties.split(","))}, unescaped(data))
        for kind, properties, data in found
    ]


def test_github_annotates_the_line_of_the_event():
    (kind, properties, data), *_ = commands(verdict(*BROKEN))
    assert kind == "error"
    assert properties == {"title": "agui-conformance: item-open-first (MUST)", "file": "runs/a run.sse", "line": "2"}
    assert data.startswith("event 1, line 2: expected text message 'm1' opened first, found")
    assert data.endswith("\nhttps://docs.ag-ui.com/spec/1.0/basic/patterns/streaming")


def test_github_annotates_nothing_known_and_warns_of_a_should():
    assert commands(verdict(*BROKEN, known=checked(*BROKEN).seen)) == []
    assert [kind for kind, _, _ in commands(verdict(*SHOULD_BROKEN))] == ["warning"]
    assert [kind for kind, _, _ in commands(verdict(*SHOULD_BROKEN, strict=True))] == ["error"]


def test_github_gives_no_line_where_there_is_none():
    in_probe = commands(verdict(*CLEAN, probe=[STARTED, STARTED, FINISHED]))
    at_end = commands(verdict(STARTED))
    assert [set(properties) for _, properties, _ in in_probe + at_end] == [{"title", "file"}] * 2
    assert all("file" not in properties for _, properties, _ in commands(verdict(*BROKEN, source=NO_PLACE)))


def test_github_ends_with_the_summary():
    assert github.report(verdict(*CLEAN)).startswith("runs/a run.sse: passed: 2 events; 0 findings")


# ---- sarif ----------------------------------------------------------------------------------------


def log_of(one):
    """The log, held to the structure that SARIF 2.1.0 asks for."""
    text = sarif.report(one)
    assert text.isascii()
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch(r"https://\S+", rule["helpUri"])
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning"}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning"}
        assert result["message"]["text"]
        for location in result.get("locations", ()):
            assert re.fullmatch(r"[!-~]+", location["physicalLocation"]["artifactLocation"]["uri"])
            assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    prints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(set(prints)) == len(prints)
    return run


def test_sarif_places_each_result():
    run = log_of(verdict(*BROKEN))
    first = run["results"][0]
    assert first["ruleId"] == "item-open-first"
    assert first["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "runs/a%20run.sse"}, "region": {"startLine": 2}}}
    ]
    assert first["partialFingerprints"] == {"ruleAndType/v1": "item-open-first/TEXT_MESSAGE_CONTENT/1"}
    assert first["properties"] == {"index": 1, "line": 2, "event": content("m1")}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert "sse-lf" in {note["associatedRule"]["id"] for note in notes}


def test_sarif_takes_a_should_for_a_warning():
    assert [result["level"] for result in log_of(verdict(*SHOULD_BROKEN))["results"]] == ["warning"]


def test_sarif_gives_no_line_for_a_probe_and_no_place_for_a_pipe():
    run = log_of(verdict(*CLEAN, probe=[STARTED, STARTED, FINISHED]))
    assert run["results"][0]["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "runs/a%20run.sse"}}}]
    assert "locations" not in log_of(verdict(*BROKEN, source=NO_PLACE))["results"][0]


def test_sarif_suppresses_what_is_known():
    for result in log_of(verdict(*BROKEN, known=checked(*BROKEN).seen))["results"]:
        assert result["baselineState"] == "unchanged"
        assert result["suppressions"] == [{"kind": "external", "justification": "it is in the baseline"}]
