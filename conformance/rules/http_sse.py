"""The rules of the page on HTTP with server-sent events.

Source: basic/transports/http-sse
"""

from collections.abc import Iterator

from conformance.exchange import Ending
from conformance.order import Phase
from conformance.rules.refusals import OK, REFUSED
from conformance.rules.rule import BY_READING, AtEnd, By, Case, Fact, Fault, Rule, See, on_page

SSE_TYPE = "text/event-stream"
PROTOBUF_TYPE = "application/vnd.ag-ui.event+proto"


def _status_and_type(case: Case) -> Iterator[Fault]:
    if case.machine.phase is Phase.NEW:
        return
    status, kind = case.exchange.status, case.exchange.content_type
    if case.machine.run_id is not None and status != 200:  # noqa: PLR2004
        yield Fault("status 200 for a run that starts", f"status {status}")
    elif status in OK and kind not in (None, SSE_TYPE, PROTOBUF_TYPE):
        yield Fault(f"Content-Type {SSE_TYPE}", repr(kind))


def _closes(case: Case) -> Iterator[Fault]:
    if case.exchange.ending is Ending.OPEN and case.machine.phase in (Phase.FINISHED, Phase.FAILED):
        yield Fault("the response body closed after the last terminal event", Ending.OPEN.value)


def _rejects_outside(case: Case) -> Iterator[Fault]:
    status = case.exchange.status
    refused = status is not None and status >= REFUSED
    if case.machine.run_id is None and case.machine.phase is not Phase.NEW:
        if refused:
            yield Fault("a refusal without an event stream", f"status {status} with events")
        elif Fact.MALFORMED_INPUT in case.facts:
            yield Fault("a malformed input refused with an HTTP error status", f"status {status} and RUN_ERROR")


def _fails_inside(case: Case) -> Iterator[Fault]:
    if case.exchange.ending is Ending.BROKEN and case.machine.phase is Phase.ACTIVE:
        yield Fault("RUN_ERROR for a failure after the stream opened", Ending.BROKEN.value)


RULES = on_page(
    "basic/transports/http-sse",
    Rule(
        "sse-status-and-type",
        See.EXCHANGE,
        "A run that starts answers 200 with Content-Type text/event-stream.",
        "Set the media type on the response; a charset parameter does no harm.",
        AtEnd(_status_and_type),
        needs=(Fact.RESPONSE,),
        by=By.SERVER,
    ),
    Rule(
        "sse-one-event-per-data",
        See.EXCHANGE,
        "Each SSE event's data is exactly one event as a JSON object, UTF-8.",
        "Write one data field per event, the event as one JSON object on one line; no list, no [DONE].",
        BY_READING,
        needs=(Fact.SSE,),
        by=By.SERVER,
    ),
    Rule(
        "sse-lf",
        See.EXCHANGE,
        "Lines end with LF, never CR or CRLF.",
        r"Frame with \n (sse-starlette: sep='\n').",
        BY_READING,
        needs=(Fact.SSE,),
        by=By.SERVER,
    ),
    Rule(
        "sse-closes",
        See.EXCHANGE,
        "The response body ends after the last run's terminal event.",
        "Return from the response once the terminal event is written; keep-alives stop there as well.",
        AtEnd(_closes),
        needs=(Fact.ENDING,),
        by=By.SERVER,
    ),
    Rule(
        "sse-rejects-outside",
        See.EXCHANGE,
        "Malformed JSON, failed validation and refused credentials are HTTP errors without an event stream.",
        "Check credentials and body before the response starts.",
        AtEnd(_rejects_outside),
        needs=(Fact.RESPONSE,),
        by=By.SERVER,
    ),
    Rule(
        "sse-fails-inside",
        See.EXCHANGE,
        "A failure after the stream opened is a RUN_ERROR in the stream.",
        "Catch every exception of the agent where the stream is written, and send RUN_ERROR before the body ends.",
        AtEnd(_fails_inside),
        needs=(Fact.ENDING,),
        by=By.SERVER,
    ),
)
