"""A check of a live endpoint: one run, and the probes where they are asked for.

It drives the requests one after the other and hands what comes to the check, nothing more.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from conformance.command.cannot import CannotCheck
from conformance.command.checking import Checking
from conformance.command.live import Endpoint, Record
from conformance.command.probes import (
    ACCEPT,
    OLDER_PEER,
    PROBES,
    Document,
    Ids,
    Outline,
    Probe,
    again,
    minimal_input,
    reference,
    suspicious,
)
from conformance.command.report import Entry
from conformance.command.report.text import visible
from conformance.exchange import Exchange
from conformance.facts import case_of
from conformance.rules import Fact
from conformance.rules.refusals import OK

Show = Callable[[list[Entry]], None]
"""Takes findings as they come."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request, besides what the check has judged of it."""

    status: int
    outline: Outline
    refusal: bytes | None
    """The body of an answer that is no stream; None for a stream."""
    events: int

    @property
    def is_run(self) -> bool:
        """Whether the server took the run input."""
        return self.status in OK and self.refusal is None


@dataclass(slots=True)
class LiveCheck:
    """Checks one endpoint."""

    endpoint: Endpoint
    checking: Checking
    show: Show
    ids: Ids
    given: Any = None
    """The run input to send; where None, a minimal one is made for each exchange."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Exchange` that hold for every exchange."""

    async def run(self, accept: str, record: Record = lambda _: None) -> Answer:
        """Check an ordinary run.

        Raises:
            CannotCheck: There is no run, and nothing to judge instead: the server may have its reasons.
        """
        run_input = minimal_input(self.ids) if self.given is None else self.given
        exchange = Exchange(run_input=run_input, **self.known)
        record(exchange)
        self.checking.begin(exchange)
        answer = await self._answer(_json(run_input), accept, record)
        owes_no_run = Fact.MALFORMED_INPUT in case_of(exchange).facts
        if answer.is_run or answer.events or owes_no_run:
            self.show(self.checking.end())
            return answer
        # A refusal can be a breach itself; where it is none, nothing was judged.
        findings = self.checking.end() if answer.status >= HTTPStatus.BAD_REQUEST else []
        if not findings:
            raise CannotCheck(self._no_run(answer))
        self.show(findings)
        return answer

    async def probe(self, ran: Answer) -> None:
        """Send each probe once, after an ordinary run.

        Raises:
            CannotCheck: The ordinary run was refused, or a probe got no answer.
        """
        if not ran.is_run:
            raise CannotCheck(f"--probe deviates from a run input that the server takes; it answers {ran.status}")
        for one in PROBES:
            try:
                await self._probe(one, ran)
            except CannotCheck as error:
                raise CannotCheck(f"probe {one.name}: {error}") from None

    async def _probe(self, one: Probe, ran: Answer) -> None:
        run_input = one.alter(self._ordinary(), self.ids)
        sent = {"run_input": run_input} if one.body is None else {"request_body": one.body}
        self.checking.begin(Exchange(control_status=ran.status, **sent, **self.known), one.name)
        answer = await self._answer(one.body or _json(run_input), one.accept)
        unjudged = await self._compare(ran, answer) if one.name == OLDER_PEER else {}
        self.show(self.checking.end(unjudged))

    async def _compare(self, ran: Answer, older: Answer) -> Mapping[str, str]:
        """Give the check the run to compare an older peer's with; another run tells whether the agent repeats itself."""
        current: Any = ran.outline.events
        if suspicious(current, older.outline.events):
            control = Outline()
            async with aclosing(self.endpoint.ask(_json(self._ordinary()), ACCEPT["sse"])) as batches:
                async for batch in batches:
                    control.take(batch.documents)
            current = reference(current, control.events, older.outline.events)
        if current is None:
            return {"downgrade-pure": "two runs of the same input differ in more than their identifiers"}
        self.checking.learn(reference=current)
        return {}

    def _ordinary(self) -> Document:
        return minimal_input(self.ids) if self.given is None else again(self.given, self.ids)

    async def _answer(self, body: bytes, accept: str, record: Record = lambda _: None) -> Answer:
        outline, known = Outline(), dict[str, Any]()
        async with aclosing(self.endpoint.ask(body, accept, record)) as batches:
            async for batch in batches:
                self.show(self.checking.take(batch))
                outline.take(batch.documents)
                known |= batch.known
        return Answer(known["status"], outline, known.get("refusal"), self.checking.judge.count)

    def _no_run(self, answer: Answer) -> str:
        phrase = HTTPStatus(answer.status).phrase if answer.status in list(HTTPStatus) else ""
        told = (answer.refusal or b"").decode(errors="replace").strip()
        said = f": {visible(told, 200)}" if told else ""
        return (
            f"{self.endpoint.name}: it answers {f'{answer.status} {phrase}'.strip()} to the run input, and no run{said}; "
            "is it the right path? --header and --run-input give what it needs"
        )


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
