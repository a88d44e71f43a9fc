"""What is known of an exchange, as facts that rules may need.

Source: basic/run-input, basic/versioning
"""

from collections.abc import Iterator

from conformance.exchange import Exchange
from conformance.machine import Machine
from conformance.rules.rule import Case, Fact
from conformance.schema import RUN_INPUT
from conformance.shapes import DROP, Kind, Nulls, Report


def case_of(exchange: Exchange) -> Case:
    """Read what rules may look at besides the events."""
    sent = exchange.run_input
    older = isinstance(sent, dict) and sent.get("protocolVersion") is None
    report = Report(nulls=Nulls.ABSENT if older else Nulls.ABSENT_WHERE_OPAQUE, salvage=True)
    run_input = {} if sent is None else RUN_INPUT.hold(sent, (), report)
    if run_input is DROP:
        run_input = RUN_INPUT.remains(sent) if isinstance(sent, dict) else {}
    facts = frozenset(_facts(exchange, report, older=older))
    return Case(exchange, run_input, Machine(thread_id=run_input.get("threadId")), facts)


def _facts(exchange: Exchange, report: Report, *, older: bool) -> Iterator[Fact]:
    kinds = {one.kind for one in report.deviations}
    malformed = exchange.request_body is not None or not kinds.isdisjoint({Kind.MALFORMED, Kind.NULL})
    for fact, known in (
        (Fact.RUN_INPUT, exchange.run_input is not None),
        (Fact.OLDER_PEER, older),
        (Fact.CURRENT_PEER, not older),
        (Fact.MALFORMED_INPUT, malformed),
        (Fact.UNKNOWN_INPUT, not malformed and bool(kinds)),
        (Fact.RESPONSE, exchange.status is not None),
        (Fact.ACCEPT, exchange.accept is not None),
        (Fact.ENDING, exchange.ending is not None),
        (Fact.REFERENCE, exchange.reference is not None),
        (Fact.CAPABILITIES, exchange.capabilities is not None),
        (Fact.STOPPED, exchange.stopped),
    ):
        if known:
            yield fact
