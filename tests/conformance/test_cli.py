"""The command line: what it says, on which stream, and with which exit code."""

import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.command import cli, sources
from conformance.command.cli import main
from conformance.command.options import parser
from conformance.protobuf import encode

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
LOOSE = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
CANCELLED = {**FINISHED, "outcome": {"type": "cancelled"}, "result": 1}


def lines(*events):
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def sse(*events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def frames(*events):
    encoded = [encode(event) for event in events]
    return b"".join(len(one).to_bytes(4, "big") + one for one in encoded)


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clean.sse").write_bytes(sse(STARTED, FINISHED))
    (tmp_path / "broken.jsonl").write_bytes(lines(STARTED, LOOSE, FINISHED))
    (tmp_path / "should.jsonl").write_bytes(lines(STARTED, CANCELLED))
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command line; give the exit code, what it wrote, and what it said on stderr."""

    def ran(*arguments):
        capsys.readouterr()
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


@pytest.fixture
def report(run):
    """Check something, and read the report."""

    def checked(*arguments):
        code, out, _ = run("check", *arguments, "--format", "json")
        return code, json.loads(out)

    return checked


def broken(document):
    return sorted({finding["rule"] for finding in document["findings"]})


# ---- exit codes -----------------------------------------------------------------------------------


def process(*arguments, stdin=b"", **environment):
    command = [sys.executable, "-m", "conformance", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **environment}, check=False)


def test_the_process_exits_with_0_where_nothing_is_broken():
    done = process("check", "clean.sse")
    assert done.returncode == 0
    assert done.stdout.startswith(b"clean.sse: passed: 2 events; 0 findings (0 MUST, 0 SHOULD); rules: ")
    assert done.stderr == b""


def test_the_process_exits_with_1_where_a_must_is_broken():
    done = process("check", "-", stdin=lines(STARTED, LOOSE, FINISHED))
    assert done.returncode == 1
    assert done.stdout.startswith(b"MUST    item-open-first  event 1, line 2\n")
    assert b"\nstandard input: failed: 3 events; 1 finding (1 MUST, 0 SHOULD); rules: " in done.stdout
    assert done.stderr == b""


def test_the_process_exits_with_2_where_it_could_not_do_its_work():
    done = process("check", "nowhere.sse")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"agui-conformance: nowhere.sse: it cannot be read (No such file or directory)\n"


def test_the_process_writes_in_any_encoding():
    done = process("check", "-", stdin=lines({**STARTED, "\u4e2d": 1}, FINISHED), PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert rb'"\u4e2d":1' in done.stdout


def test_a_broken_should_fails_only_a_strict_check(run):
    code, out, _ = run("check", "should.jsonl")
    assert (code, out.startswith("SHOULD  cancelled-has-no-result  event 1, line 2\n")) == (0, True)
    assert run("check", "should.jsonl", "--strict")[0] == 1


MISTAKES = {
    "a folder": (["."], ".: it cannot be read (Is a directory)"),
    "an empty file": (["empty"], "empty: it is empty, and an SSE capture, JSON lines or protobuf frames are expected"),
    "something else": (["page.html"], r"page.html: it begins with b'<!doctype html>\n', and"),
    "a broken line": (["bad.jsonl"], "bad.jsonl: line 2: expected one JSON value a line"),
    "a wrong kind": (["clean.sse", "--read-as", "protobuf"], "clean.sse: frame 1: "),
    "an unknown kind": (["clean.sse", "--read-as", "xml"], "argument --read-as: invalid choice: 'xml'"),
    "an unknown format": (["clean.sse", "--format", "yaml"], "argument --format: invalid choice: 'yaml'"),
    "an unknown version": (["clean.sse", "--protocol", "2.0"], "argument --protocol: invalid choice: '2.0'"),
    "an abbreviation": (["clean.sse", "--stric"], "unrecognized arguments: --stric"),
    "no time": (["http://x", "--timeout", "soon"], "argument --timeout: expected seconds, found 'soon'"),
    "no patience": (["http://x", "--end-within", "-1"], "argument --end-within: expected seconds, found '-1'"),
    "no number": (["clean.sse", "--max-findings", "0"], "argument --max-findings: expected a number from 1, found '0'"),
    "an unknown rule": (["clean.sse", "--select", "run-end"], "there is no rule 'run-end'; close to it: run-ends"),
    "an ignored unknown": (["clean.sse", "--ignore", "qqqqq"], "no rule 'qqqqq'; agui-conformance rules lists all"),
    "nothing to check": (["clean.sse", "--select", "read-*"], "no rule is left that this suite can check"),
    "no run input": (["clean.sse", "--run-input", "nowhere"], "nowhere: it cannot be read (No such file"),
    "a run input that is none": (["clean.sse", "--input", "page.html"], "page.html: it is no JSON ("),
    "a run input in another encoding": (["clean.sse", "--input", "latin.json"], "latin.json: it is no UTF-8 text"),
    "capabilities that are none": (["clean.sse", "--capabilities", "page.html"], "page.html: it is no JSON ("),
    "a baseline that is none": (["clean.sse", "--baseline", "page.html"], "page.html: it is no JSON ("),
    "no place for a baseline": (["clean.sse", "--write-baseline", "no/b"], "no/b: it cannot be written (No such file"),
    "no place for a recording": (["http://x", "--record", "no/r"], "no/r: it cannot be written (No such file"),
    "a header without a name": (["http://x", "--header", "x"], "--header takes 'Name: value' in ASCII"),
    "probes of a file": (
        ["clean.sse", "--probe"],
        "--probe is for an endpoint (http://... or https://...), and clean.sse is",
    ),
    "patience with a file": (["clean.sse", "--end-within", "1"], "--end-within is for an endpoint"),
    "a kind of an endpoint": (
        ["http://x", "--read-as", "sse"],
        "--read-as is for a recorded stream, and http://x is none",
    ),
    "controls in a name": (["\x1b[31m"], r"\x1b[31m: it cannot be read (No such file or directory)"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, capsys, place):
    (place / "empty").write_bytes(b"")
    (place / "page.html").write_bytes(b"<!doctype html>\n")
    (place / "bad.jsonl").write_bytes(lines(STARTED) + b"{\n")
    (place / "latin.json").write_bytes(b'"\xe4"')
    try:
        code = main(["check", *arguments])
    except SystemExit as exit_:
        code = exit_.code
    said = capsys.readouterr().err
    assert code == 2
    assert said.startswith("agui-conformance: ")
    assert message in said
    assert said.count("\n") == 1


def test_without_httpx_a_url_is_a_mistake(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "httpx", None)
    for arguments in (["http://x"], ["clean.sse", "--capabilities", "http://x"]):
        code, _, said = run("check", *arguments)
        assert code == 2
        assert said == ("agui-conformance: checking a URL needs httpx: pip install 'agui-sidecar[conformance]'\n")


def test_without_httpx_a_file_is_checked():
    script = "import sys; sys.modules['httpx'] = None; from conformance.command.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script, "check", "clean.sse"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_whoever_interrupts_is_told_that_nothing_is_said(monkeypatch, run):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "recorded", interrupted)
    assert run("check", "clean.sse") == (
        2,
        "",
        "agui-conformance: stopped before the end; nothing is said of the whole\n",
    )


def test_a_reader_that_goes_away_is_no_crash(place):
    (place / "long.jsonl").write_bytes(lines(STARTED, *[STARTED] * 3000))
    command = [sys.executable, "-m", "conformance", "check", "long.jsonl", "--max-findings", "3000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        started.stdout.readline()
        started.stdout.close()
        said = started.stderr.read()
    assert started.returncode == 2
    assert said == b"agui-conformance: whoever reads the report went away before its end\n"


def test_an_output_that_is_closed_is_no_crash(monkeypatch, capsys):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["check", "clean.sse"]) == 2
    assert capsys.readouterr().err.endswith("went away before its end\n")


# ---- what is read ---------------------------------------------------------------------------------

KINDS = {
    "SSE": sse(STARTED, LOOSE, FINISHED),
    "SSE after a comment": b": hi\n\n" + sse(STARTED, LOOSE, FINISHED),
    "SSE with event names": b"event: x\n" + sse(STARTED, LOOSE, FINISHED),
    "SSE after a byte order mark and a blank line": b"\xef\xbb\xbf\n" + sse(STARTED, LOOSE, FINISHED),
    "events as JSON lines": lines(STARTED, LOOSE, FINISHED),
    "one JSON list": lines([STARTED, LOOSE, FINISHED]),
    "a recording": lines({"exchange": {"status": 200}}, STARTED, LOOSE, FINISHED),
    "protobuf frames": frames(STARTED, LOOSE, FINISHED),
}


@pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("piece", [1, 7, 65536])
def test_a_stream_is_recognised_by_its_beginning_and_read_in_any_pieces(content, piece, report, monkeypatch, place):
    (place / "stream").write_bytes(content)
    monkeypatch.setattr(sources, "PIECE", piece)
    code, document = report("stream")
    assert (code, broken(document), document["events"]) == (1, ["item-open-first"], 3)


def test_the_standard_input_is_read(report, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sse(STARTED, FINISHED))))
    code, document = report("-")
    assert (code, document["source"], document["events"]) == (0, "standard input", 2)


def test_a_file_may_be_called_like_an_option(run, place):
    (place / "--odd").write_bytes(sse(STARTED, FINISHED))
    assert run("check", "--", "--odd")[0] == 0


def test_what_a_stream_is_may_be_said(report, place):
    (place / "empty").write_bytes(b"")
    code, document = report("empty", "--read-as", "sse")
    assert (code, broken(document)) == (1, ["run-opens-stream"])


def test_a_path_is_a_place_for_tools(place):
    assert sources.source("runs/a b.sse").uri == "runs/a%20b.sse"
    assert sources.source(str(place / "a b.sse")).uri == (place / "a b.sse").as_uri()
    assert sources.source("-").uri is None


def test_what_is_known_besides_the_stream_is_judged_with_it(report, place):
    (place / "input.json").write_text('{"threadId": "t", "runId": "other", "messages": []}')
    (place / "capabilities.json").write_text('{"tools": {"supported": "yes"}}')
    code, document = report("clean.sse", "--run-input", "input.json")
    assert (code, broken(document)) == (1, ["run-id-echoed"])
    code, document = report("clean.sse", "--capabilities", "capabilities.json")
    assert (code, broken(document)) == (1, ["capabilities-shape"])
    code, document = report("clean.sse", "--stopped")
    assert (code, broken(document)) == (1, ["stop-is-cancelled"])


def test_a_stream_is_judged_by_the_version_that_the_user_says(report, place):
    typed = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": "m", "role": "reasoning", "content": "", "encryptedValue": "x", "encryptedValueType": "y"},
        ],
    }
    (place / "typed.jsonl").write_bytes(lines(STARTED, typed, FINISHED))
    assert broken(report("typed.jsonl")[1]) == ["no-unknown-fields"]
    assert broken(report("typed.jsonl", "--protocol", "1.1")[1]) == []


# ---- rules and findings ---------------------------------------------------------------------------


def test_rules_are_selected_by_id_page_and_pattern(report):
    def chosen(*arguments):
        return {rule["id"] for rule in report("clean.sse", *arguments)[1]["rules"]}

    everything = chosen()
    assert chosen("--select", "run-ends") == {"run-ends"}
    assert chosen("--select", "run-ends, sse-lf", "--select", "usage-total") == {"run-ends", "sse-lf", "usage-total"}
    assert chosen("--select", "sse-*", "--ignore", "sse-lf,sse-closes") == {
        "sse-status-and-type",
        "sse-one-event-per-data",
        "sse-rejects-outside",
        "sse-fails-inside",
    }
    assert "run-ends" in chosen("--select", "events/lifecycle")
    assert chosen("--select", "events/*") < everything
    assert chosen("--ignore", "events/*") == everything - chosen("--select", "events/*")


def test_rules_that_are_not_selected_find_nothing(report):
    assert report("broken.jsonl", "--ignore", "item-open-first")[0] == 0
    assert report("broken.jsonl", "--select", "run-ends")[0] == 0


def test_findings_of_one_rule_are_limited(run, place):
    (place / "many.jsonl").write_bytes(lines(STARTED, *[{**LOOSE, "messageId": f"m{n}"} for n in range(5)], FINISHED))
    code, out, _ = run("check", "many.jsonl", "--max-findings", "2")
    assert (code, out.count("MUST    item-open-first")) == (1, 2)
    assert "\n3 more of item-open-first\nmany.jsonl: failed: 7 events; 5 findings" in out


def test_findings_come_before_the_stream_has_ended():
    command = [sys.executable, "-m", "conformance", "check", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        started.stdin.write(sse(STARTED, LOOSE))
        started.stdin.flush()
        assert started.stdout.readline() == b"MUST    item-open-first  event 1, line 3\n"
        started.stdin.write(sse(FINISHED))
        started.stdin.close()
        assert b"3 events; 1 finding" in started.stdout.read()


def test_a_baseline_knows_the_findings_of_another_run(run, place):
    code, _, said = run("check", "broken.jsonl", "--write-baseline", "known.json")
    assert (code, said) == (
        0,
        "agui-conformance: known.json: 1 finding written; --baseline known.json takes them as known\n",
    )
    other = lines({**STARTED, "runId": "r2"}, {**LOOSE, "messageId": "m9"}, {**FINISHED, "runId": "r2"})
    (place / "other.jsonl").write_bytes(other)
    code, out, _ = run("check", "other.jsonl", "--baseline", "known.json")
    assert code == 0
    assert out.startswith("other.jsonl: passed: 3 events; 0 findings (0 MUST, 0 SHOULD), 1 known; rules: ")
    more = lines(STARTED, LOOSE, {**LOOSE, "messageId": "m2"}, FINISHED)
    (place / "more.jsonl").write_bytes(more)
    code, out, _ = run("check", "more.jsonl", "--baseline", "known.json")
    assert code == 1
    assert out.startswith("MUST    item-open-first  event 2, line 3\n")


def test_colour_is_for_terminals_that_want_it(run, monkeypatch):
    def shown():
        return "\x1b[32mpassed\x1b[0m" in run("check", "clean.sse")[1]

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert not shown()
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    assert shown()
    monkeypatch.setenv("TERM", "dumb")
    assert not shown()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shown()


def test_an_output_of_another_kind_is_written_to(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["check", "clean.sse", "--verbose"]) == 0
    assert "not judged:" in out.getvalue()


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("pretty", "MUST    item-open-first"),
        ("json", '{\n  "format": "agui-conformance/1"'),
        ("junit", "<?xml"),
        ("sarif", '{\n  "$schema"'),
        ("github", "::error title=agui-conformance%3A item-open-first (MUST),file=broken.jsonl,line=2::"),
    ],
)
def test_every_format_is_written(name, beginning, run):
    code, out, _ = run("check", "broken.jsonl", "--format", name)
    assert code == 1
    assert out.startswith(beginning)


# ---- memory ---------------------------------------------------------------------------------------

MEASURED = """
import resource, sys
from pathlib import Path
from conformance.command.cli import main
code = main(["check", "-", "--format", "json", "--ignore", "custom-prefixed"])
status = Path("/proc/self/status")  # Linux counts what a process was forked from into its own maximum
if status.exists():
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
print(code, peak, file=sys.stderr)
"""
MIB = 1024


def peak_of(megabytes):
    """The most memory, in KiB, that checking a recording of some megabytes takes; one event in 500 breaks a rule."""
    text = "data: " + json.dumps({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "token " * 8}) + "\n\n"
    odd = "data: " + json.dumps({"type": "CUSTOM", "name": "n", "value": "x" * 400, "private": 1}) + "\n\n"
    block = (text * 499 + odd).encode()
    command = [sys.executable, "-c", MEASURED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        started.stdin.write(sse(STARTED, {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}))
        for _ in range(megabytes * 1024 * 1024 // len(block)):
            started.stdin.write(block)
        started.stdin.write(sse({"type": "TEXT_MESSAGE_END", "messageId": "m"}, FINISHED))
        started.stdin.close()
        document = json.loads(started.stdout.read())
        code, peak = started.stderr.read().split()
    assert code == b"1"
    assert len(document["findings"]) == min(document["counts"]["must"], 100)
    more = document["counts"]["must"] - len(document["findings"])
    assert document["more"] == ({"no-unknown-fields": more} if more else {})
    return int(peak)


def test_a_large_recording_takes_no_more_memory_than_a_small_one():
    assert peak_of(60) - peak_of(1) < 6 * MIB


# ---- help and rules -------------------------------------------------------------------------------


def test_help_shows_every_option_with_its_default_and_two_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["check", "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    flags = [line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  --")]
    assert len(flags) == 19
    assert text.count("(default: ") + text.count("(default:\n") == len(flags) + 1  # the run input has two
    examples = text.partition("examples:\n")[2].splitlines()[:2]
    assert all(line.startswith("  agui-conformance check ") for line in examples)


def test_examples_of_the_help_are_understood():
    for line in (
        "check run.sse",
        "check http://127.0.0.1:8000/ --probe --header Authorization:",
        "rules",
        "rules run-ends",
    ):
        assert parser().parse_args(line.split()).command in ("check", "rules")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip().count(".") == 2


def test_the_module_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["conformance", "check", "clean.sse"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(Path(cli.__file__).parents[1] / "__main__.py"), run_name="__main__")
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("clean.sse: passed")


def test_the_rules_are_listed(run):
    code, out, _ = run("rules")
    assert (code, out.splitlines()[0].split()) == (0, ["id", "level", "by", "seen", "in", "page", "state"])


def test_a_rule_is_explained_with_streams_that_break_and_keep_it(run, monkeypatch, place):
    code, out, _ = run("rules", "run-ends")
    assert code == 0
    assert out.startswith("run-ends\n\nEvery opened run ends")
    assert "A stream that breaks it:\n  {" in out
    (place / "conformance" / "recordings").mkdir(parents=True)
    (place / "conformance" / "recordings" / "run-ends.keep.jsonl").write_text("packaged\n")
    monkeypatch.setattr("conformance.__file__", str(place / "conformance" / "__init__.py"))
    assert run("rules", "run-ends")[1].endswith("\n\nA stream that keeps it:\n  packaged\n")


def test_an_unknown_rule_gets_close_ones(run):
    code, out, said = run("rules", "item-opens-first")
    assert (code, out) == (2, "")
    assert said.startswith("agui-conformance: there is no rule 'item-opens-first'; close to it: item-open")


# ---- recordings that are none -----------------------------------------------------------------------

NO_RECORDINGS = {
    "a status as text": ({"exchange": {"status": "200"}}, 'an exchange cannot have status "200"'),
    "a status as a truth": ({"exchange": {"controlStatus": True}}, "an exchange cannot have controlStatus true"),
    "a header as a number": ({"exchange": {"headers": {"content-type": 5}}}, "an exchange cannot have headers"),
    "headers as a list": ({"exchange": {"headers": []}}, "an exchange cannot have headers []"),
    "an Accept as a list": ({"exchange": {"accept": []}}, "an exchange cannot have accept []"),
    "a reference as an object": ({"exchange": {"reference": {}}}, "an exchange cannot have reference {}"),
    "half a character in a refusal": ({"exchange": {"refusal": "\ud800"}}, "an exchange cannot have refusal"),
    "half a character in a piece": ({"bytes": "\ud800"}, "bytes as text expected"),
    "no base64": ({"base64": "a"}, "base64 expected, found 'a'"),
}


@pytest.mark.parametrize(("line", "message"), NO_RECORDINGS.values(), ids=NO_RECORDINGS)
def test_a_line_that_is_none_of_a_recording_is_one_line_and_exit_code_2(line, message, run, place):
    (place / "bad.jsonl").write_bytes(lines(line))
    code, _, said = run("check", "bad.jsonl")
    assert code == 2
    assert said.startswith("agui-conformance: bad.jsonl: line 1: ")
    assert message in said
    assert said.count("\n") == 1


def test_a_last_event_without_its_blank_line_is_judged(report, place):
    (place / "cut.jsonl").write_bytes(lines({"bytes": sse(STARTED).decode() + "data: " + json.dumps(LOOSE)}, LOOSE))
    code, document = report("cut.jsonl")
    assert (code, document["events"]) == (1, 3)
    assert "transport-ordered" in broken(document)
