"""When a server refuses a run input: is it for the reason that a rule forbids?

A status says that a request was refused, not why. The reason is taken as known where the same request was accepted
without its deviation, or where the refusal names it.

Source: basic/run-input#error-handling
"""

from collections.abc import Iterable, Iterator

from conformance.rules.rule import Case, Fault, Unjudged

REFUSED = 400
OK = range(200, 300)
OF_ITSELF = frozenset({401, 403, 404, 405, 407, 408, 409, 411, 413, 429, 502, 503, 504})
"""Statuses that are a reason by themselves: who asked, for what, when, or how much."""


def refused_for(case: Case, names: Iterable[str], expected: str, deviation: str) -> Iterator[Fault | Unjudged]:
    """Note a refusal for `deviation`, which a refusal would call by one of `names`."""
    status = case.exchange.status
    if status is None or status < REFUSED or case.exchange.control_status not in (None, *OK):
        return
    if status in OF_ITSELF:
        yield Unjudged(f"the refusal with status {status} is for another reason")
        return
    told = case.exchange.refusal.decode(errors="replace")
    if case.exchange.control_status is not None or any(name in told for name in names):
        yield Fault(expected, f"status {status} for an input with {deviation}")
    else:
        yield Unjudged(f"the refusal with status {status} does not say why")
