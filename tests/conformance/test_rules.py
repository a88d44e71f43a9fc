"""Every rule that is held, both ways: a stream that breaks it and no other rule, and the same stream mended."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.recordings import RECORDINGS, held

from conformance import expand, machine, order, reading
from conformance.rules import CATALOGUE, By, See
from conformance.rules.rule import BY_ORDER, BY_READING

HELD = [rule for rule in CATALOGUE.values() if rule.held is not None]
STANDS_IN = {"sse-fails-inside": {"run-ends"}}
"""Rules that speak where a narrower one is switched off: a connection that broke also left its run without an end."""


@pytest.mark.parametrize("rule", HELD, ids=lambda rule: rule.id)
def test_the_broken_stream_breaks_the_rule_and_no_other(rule):
    verdict = held((RECORDINGS / f"{rule.id}.break.jsonl").read_bytes())
    assert verdict.broken == [rule.id], list(map(str, verdict.findings))


@pytest.mark.parametrize("rule", HELD, ids=lambda rule: rule.id)
def test_the_mended_stream_breaks_nothing_and_the_rule_was_judged(rule):
    verdict = held((RECORDINGS / f"{rule.id}.keep.jsonl").read_bytes())
    assert verdict.broken == [], list(map(str, verdict.findings))
    assert rule.id not in verdict.not_judged, verdict.not_judged


@pytest.mark.parametrize("rule", HELD, ids=lambda rule: rule.id)
def test_without_the_rule_nothing_finds_its_breach(rule):
    others = [other for other in HELD if other is not rule]
    verdict = held((RECORDINGS / f"{rule.id}.break.jsonl").read_bytes(), others)
    assert set(verdict.broken) == STANDS_IN.get(rule.id, set())


def test_each_rule_that_is_held_has_its_two_recordings_and_no_other_has_any():
    names = {f"{rule.id}.{kind}.jsonl" for rule in HELD for kind in ("break", "keep")}
    assert {path.name for path in RECORDINGS.iterdir()} == names


def test_what_one_exchange_shows_is_held_unless_a_consumer_owes_it():
    for rule in CATALOGUE.values():
        shown = rule.see in (See.EVENT, See.STREAM, See.EXCHANGE) and rule.by is not By.CONSUMER
        assert shown == (rule.held is not None), rule.id


@pytest.mark.parametrize("stage", [(order, machine, expand), (reading,)], ids=["order", "reading"])
def test_the_rules_that_a_stage_names_are_in_the_catalogue_and_are_its_own(stage):
    named = {name for module in stage for name in _named(Path(module.__file__))}
    own = {rule.id for rule in HELD if rule.held is (BY_READING if reading in stage else BY_ORDER)}
    assert named <= CATALOGUE.keys()
    assert own <= named
    assert named - own <= {"event-described"}  # a protobuf frame of no event that the protocol has


def _named(source: Path) -> Iterator[str]:
    """The rule ids in a module: what a breach is made of, and what its tables hold."""
    for node in ast.walk(ast.parse(source.read_text())):
        match node:
            case ast.Call(func=ast.Name("Breach") | ast.Attribute(attr="_break"), args=[ast.Constant(str(name)), *_]):
                yield name
    for family in order.RULES.values() if source.stem == "order" else ():
        yield from (family.opened_twice, family.not_open, family.left_open)
    for _, rule in order.RUN.values() if source.stem == "order" else ():
        yield rule


@pytest.mark.parametrize("path", sorted(RECORDINGS.iterdir()), ids=lambda path: path.name)
def test_a_recording_is_short_enough_to_be_read(path):
    assert len(path.read_text().splitlines()) <= 12
