"""For tests of producers: assert that a stream keeps the protocol, and record what a producer does.

Source: the pages that the rules name
"""

import asyncio
import os
from collections.abc import AsyncIterable, Iterable
from importlib.metadata import version
from typing import Any

from conformance.command.cannot import CannotCheck
from conformance.command.checking import Checking
from conformance.command.report import Source, Verdict
from conformance.command.report.pretty import Pretty
from conformance.command.selection import selected
from conformance.exchange import Exchange
from conformance.produced import exchange_of
from conformance.pytest_plugin import JUDGED
from conformance.reading import Unreadable, batches


def assert_conformant(
    produced: Any,
    *,
    run_input: Any = None,
    strict: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    protocol: str | None = None,
) -> Verdict:
    """Assert that a stream keeps the protocol, and return what the check came to.

    Args:
        produced: Events (JSON objects or the SDK's models), the text or bytes of an SSE body, whole or in pieces, or
            an exchange that `agui_recorder` recorded. Asynchronous iterators are `assert_conformant_async`'s, where
            an event loop runs.
        run_input: What was sent; without it, what depends on it is not judged.
        strict: A SHOULD fails as well.
        select: Rules to judge by, by id, page or pattern; all without it.
        ignore: Rules to leave out.
        protocol: The version to judge by; the one that the stream declares without it.

    Raises:
        AssertionError: It breaks a rule. The message lists the findings and how to mend them.
        TypeError: It is no stream.
    """
    __tracebackhide__ = True
    if isinstance(produced, AsyncIterable):
        if _loop_runs():
            raise TypeError("an asynchronous iterator in a running event loop: await assert_conformant_async(...)")
        produced = asyncio.run(_gathered(produced))
    verdict = check(exchange_of(produced, run_input), select=select, ignore=ignore, protocol=protocol, strict=strict)
    judged = JUDGED.get()
    if judged is not None:
        judged.append((os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0], verdict))
    if not verdict.passed:
        raise AssertionError(_told(verdict))
    return verdict


async def assert_conformant_async(produced: Any, **options: Any) -> Verdict:
    """Assert as `assert_conformant` does, of an asynchronous iterator as well."""
    __tracebackhide__ = True
    return assert_conformant(await _gathered(produced) if isinstance(produced, AsyncIterable) else produced, **options)


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _gathered(produced: AsyncIterable[Any]) -> list[Any]:
    return [one async for one in produced]


def check(
    exchange: Exchange,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    protocol: str | None = None,
    strict: bool = False,
) -> Verdict:
    """Hold an exchange to the rules and say what it came to.

    Raises:
        AssertionError: Its body cannot be read.
        TypeError: A name stands for no rule.
    """
    try:
        rules = selected(select, ignore)
    except CannotCheck as error:
        raise TypeError(str(error)) from None
    checking = Checking(rules, protocol=protocol)
    checking.begin(exchange)
    try:
        for batch in batches(exchange):
            checking.take(batch)
    except Unreadable as error:
        raise AssertionError(f"the body cannot be read: {error}") from None
    checking.end()
    return checking.verdict(Source("the stream"), version("agui-sidecar"), strict=strict)


def _told(verdict: Verdict) -> str:
    pretty = Pretty()
    return "\n\n" + "".join(map(pretty.entry, verdict.entries)) + pretty.summary(verdict)


class Recorder:
    """Records exchanges with producers; `conformance.recorder` says what a producer is."""

    async def record(self, producer: Any, run_input: Any = None, **options: Any) -> Exchange:
        """Send a run input to a producer and keep what comes. Takes what `conformance.recorder.record` takes."""
        from conformance.recorder import record  # noqa: PLC0415 - httpx is an extra

        return await record(producer, run_input, **options)

    def record_now(self, producer: Any, run_input: Any = None, **options: Any) -> Exchange:
        """Record in a test that is no coroutine."""
        return asyncio.run(self.record(producer, run_input, **options))
