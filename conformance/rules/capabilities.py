"""The rules of the page on capabilities.

Source: basic/capabilities
"""

from collections.abc import Iterator

from conformance.rules.rule import AtEnd, By, Case, Fact, Fault, Level, Rule, See, on_page
from conformance.schema import CAPABILITIES
from conformance.shapes import Report, pointer


def _shape(case: Case) -> Iterator[Fault]:
    report = Report()
    CAPABILITIES.hold(case.exchange.capabilities, (), report)
    for one in report.deviations:
        yield Fault(f"{one.expected} at {pointer(one.path) or 'the root'}", one.found)


RULES = on_page(
    "basic/capabilities",
    Rule(
        "capabilities-shape",
        See.EXCHANGE,
        "Capabilities, wherever they are served, have the schema's shape.",
        "Serialise the SDK's AgentCapabilities by alias and without None; what is your own goes under custom.",
        AtEnd(_shape),
        needs=(Fact.CAPABILITIES,),
        by=By.SERVER,
    ),
    Rule(
        "capabilities-hold",
        See.RUNS,
        "What is declared holds.",
        "Declare what a run shows, and leave out the rest.",
        by=By.SERVER,
        level=Level.SHOULD,
    ),
)
