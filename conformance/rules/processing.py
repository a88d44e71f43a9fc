"""The rules of the page on the processing model.

Source: basic/processing
"""

from collections.abc import Iterator

from conformance.rules.refusals import refused_for
from conformance.rules.rule import AtEnd, By, Case, Fact, Fault, Rule, See, Shaped, Unjudged, on_page
from conformance.schema import RUN_INPUT
from conformance.shapes import Kind, Report, pointer


def _unknown_stripped(case: Case) -> Iterator[Fault | Unjudged]:
    report = Report()
    RUN_INPUT.hold(case.exchange.run_input, (), report)
    unknown = [one for one in report.deviations if one.kind in (Kind.UNKNOWN_FIELD, Kind.UNKNOWN_VALUE)]
    names = [str(one.path[-1]) if one.kind is Kind.UNKNOWN_FIELD else one.found.strip("'") for one in unknown]
    places = ", ".join(pointer(one.path) for one in unknown)
    yield from refused_for(case, names, "a run, without the unrecognised material", f"unrecognised {places}")


RULES = on_page(
    "basic/processing",
    Rule(
        "event-described",
        See.EVENT,
        "Only event types of the protocol are sent, each valid against the schema.",
        "Build events with the SDK's models, and carry what is your own in CUSTOM.",
        Shaped(r".*"),
    ),
    Rule(
        "input-unknown-stripped",
        See.EXCHANGE,
        "Unknown members, part types and union members of the input are stripped with a warning, and the run starts.",
        "Remove what the schema does not describe before the models see the input.",
        AtEnd(_unknown_stripped),
        needs=(Fact.UNKNOWN_INPUT, Fact.RESPONSE),
        by=By.SERVER,
    ),
    Rule(
        "read-unknown-event",
        See.STREAM,
        "An unknown event type is dropped with a warning; the run survives.",
        by=By.CONSUMER,
    ),
    Rule(
        "read-unknown-member",
        See.STREAM,
        "An unknown field or union member is stripped with a warning: an optional field goes, a required one takes its "
        "container along, a list loses the element.",
        by=By.CONSUMER,
    ),
    Rule(
        "read-malformed-fatal",
        See.STREAM,
        "A known field with a value that the schema rejects fails the run; nothing is coerced or repaired.",
        by=By.CONSUMER,
    ),
    Rule(
        "read-open-objects",
        See.STREAM,
        "Members of open objects survive: metadata, patch operations, capabilities' custom.",
        by=By.CONSUMER,
    ),
    Rule(
        "read-order",
        See.STREAM,
        "Compatibility translation, middleware, enforcement, chunk expansion, verification, application: in this order "
        "on every path, replay included.",
        by=By.CONSUMER,
    ),
)
