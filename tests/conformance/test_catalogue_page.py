"""The catalogue as text, and the documentation that is held to it."""

import asyncio
import json
import re
from pathlib import Path

from support.server import serving

from adapters.demo import Demo
from conformance.command import catalogue_page
from conformance.command.cli import main
from conformance.command.options import parser
from conformance.command.probes import PROBES
from conformance.command.report.json import FORMAT
from conformance.consumer import Ending
from conformance.recording import MEMBERS
from conformance.rules import CATALOGUE, Level, Rule, See

DOCS = Path(__file__).parents[2] / "docs"

CHECKED, LISTED, IMPOSSIBLE = CATALOGUE["run-thread-echoed"], CATALOGUE["read-order"], CATALOGUE["downgrade-warns"]


def test_docs_rules_is_what_the_command_prints():
    assert (DOCS / "rules.md").read_text() == catalogue_page.markdown(CATALOGUE.values()), (
        "write it again: agui-conformance rules --markdown > docs/rules.md"
    )


def test_the_command_prints_it(capsys):
    assert main(["rules", "--markdown"]) == 0
    assert capsys.readouterr().out == (DOCS / "rules.md").read_text()


def test_the_table_has_a_line_for_every_rule_and_counts_them():
    lines = catalogue_page.table(CATALOGUE.values()).splitlines()
    assert len(lines) == len(CATALOGUE) + 3
    assert lines[1].split() == ["run-opens-stream", "MUST", "producer", "stream", "events/lifecycle", "checked"]
    numbers = [int(part.split()[0]) for part in lines[-1].split(", ")]
    assert sum(numbers) == len(CATALOGUE)
    assert lines[-1] == catalogue_page.counts(CATALOGUE.values())


def test_a_rule_is_counted_by_what_this_suite_does_with_it():
    assert catalogue_page.counts([CHECKED, CHECKED, LISTED, IMPOSSIBLE]) == "2 checked, 1 listed, 1 impossible"


def test_the_page_of_a_rule_says_who_owes_it_what_it_takes_and_how_to_mend_it():
    assert catalogue_page.page(CHECKED, {}) == (
        """\
run-thread-echoed

RUN_STARTED and RUN_FINISHED of every run carry the input's threadId.

level        MUST
owed by      the producer
seen in      a request and its response
judged with  the run input
state        checked: this suite holds streams to it
since        protocol 1.0
link         https://docs.ag-ui.com/spec/1.0/basic/run-input

How to mend it:
  Copy threadId from the run input; a thread of your framework keeps its own id elsewhere.
"""
    )


def test_the_page_of_a_rule_that_nothing_holds_says_why():
    assert "judged with" not in catalogue_page.page(LISTED, {})
    assert "How to mend it" not in catalogue_page.page(LISTED, {})
    assert "state        impossible: the warning goes to the server's log\n" in catalogue_page.page(IMPOSSIBLE, {})
    assert "judged with  the events alone\n" in catalogue_page.page(CATALOGUE["run-ends"], {})


def test_examples_are_shown_as_far_as_they_go():
    long = "".join(f"line {number}\n" for number in range(100))
    text = catalogue_page.page(CHECKED, {"keep": long, "break": "one\n"})
    assert "\nA stream that breaks it:\n  one\n\nA stream that keeps it:\n  line 0\n" in text
    assert text.endswith("  line 39\n  ... 60 more lines\n")


def test_what_markdown_would_read_is_kept_from_it():
    rule = Rule("a-rule", See.STREAM, "No *_END | <b>.", "Do.", level=Level.SHOULD, since="1.1", page="events/x")
    text = catalogue_page.markdown([rule])
    assert (
        r"| **`a-rule`**<br>No \*_END \| \<b>.<br>*Mend:* Do. | SHOULD since 1.1 | producer | stream | listed |" in text
    )


def options():
    """Every long option of the command line, without those of argparse."""
    (commands,) = [action for action in parser()._actions if action.dest == "command"]
    for command in commands.choices.values():
        for action in command._actions:
            yield from (option for option in action.option_strings if option.startswith("--") and option != "--help")


def test_the_guide_names_every_option_and_format():
    guide = (DOCS / "conformance.md").read_text()
    assert [option for option in options() if f"`{option}" not in guide] == []
    for name in ("pretty", "json", "junit", "sarif", "github", FORMAT):
        assert f"`{name}`" in guide


def test_the_guide_names_every_probe_and_every_member_of_a_recording():
    guide = (DOCS / "conformance.md").read_text()
    assert [one.name for one in PROBES if f"| `{one.name}` | {one.asks} |" not in guide] == []
    assert [name for name in MEMBERS if f"`{name}`" not in guide] == []


def blocks(language, page="conformance.md"):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return [text for named, text in found if named == language]


def test_the_consumers_guide_shows_code_that_reads_a_server(capsys):
    (block,) = blocks("python", "consumer.md")
    names = {"__name__": "guide"}
    exec(compile(block, "docs/consumer.md", "exec"), names)
    run_input = {"threadId": "t1", "runId": "r1", "messages": [{"id": "u1", "role": "user", "content": "tool"}]}

    async def ask():
        async with serving({"demo": Demo()}) as server:
            return await names["ask"](f"{server.url}/", run_input)

    read = asyncio.run(ask())
    assert read.ending is Ending.SUCCEEDED
    assert [message["role"] for message in read.messages] == ["user", "assistant", "tool", "assistant"]
    assert read.messages[-1]["content"].split()[0] in capsys.readouterr().out


def test_the_guide_shows_code_that_runs(capsys):
    for block in blocks("python"):
        exec(compile(block, "docs/conformance.md", "exec"), {})
    said = capsys.readouterr().out
    assert "version-declared: expected protocolVersion on RUN_STARTED, found none" in said
    assert "sse-fails-inside" in said


def test_the_guide_shows_a_recording_that_is_clean(tmp_path, capsys):
    (recording,) = [block for block in blocks("") if block.startswith('{"exchange"')]
    (tmp_path / "run.jsonl").write_text(recording)
    assert main(["check", str(tmp_path / "run.jsonl")]) == 0
    assert "0 findings" in capsys.readouterr().out


def test_the_guide_shows_the_report_that_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    events = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    (tmp_path / "run.sse").write_text("".join(f"data: {json.dumps(event)}\n\n" for event in events))
    (tmp_path / "input.json").write_text('{"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}')
    assert main(["check", "run.sse", "--run-input", "input.json"]) == 1
    (shown,) = [block for block in blocks("") if block.startswith("MUST")]
    assert without_numbers(capsys.readouterr().out) == without_numbers(shown)


def without_numbers(text):
    """A report without how many rules there are: that grows."""
    return re.sub(r"\d+ (kept|not judged)", r"\1", text)
