"""The suite in pytest: the fixture `agui_recorder` and the option `--agui-report FILE`.

`conformance.testing` has the assertion. Nothing of the suite is imported before a test asks for it.
"""

import json
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conformance.command.report import Verdict
    from conformance.testing import Recorder

FORMAT = "agui-conformance-pytest/1"
"""Names the shape of the report that `--agui-report` writes."""

JUDGED: ContextVar["list[tuple[str, Verdict]] | None"] = ContextVar("judged", default=None)
"""What this session has judged, each verdict with its test; None outside of a session."""


@pytest.fixture
def agui_recorder() -> "Recorder":
    """Records what an endpoint, an ASGI application or an agent does with a run input."""
    from conformance.testing import Recorder  # noqa: PLC0415

    return Recorder()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("agui", "AG-UI conformance")
    group.addoption("--agui-report", metavar="FILE", type=Path, help="write what was judged to FILE, as JSON")


def pytest_configure() -> None:
    """Begin to note what is judged."""
    JUDGED.set([])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report."""
    path: Path | None = session.config.getoption("--agui-report")
    if path is not None:
        from conformance.command.report.json import report  # noqa: PLC0415

        tests = [{"test": test, **json.loads(report(verdict))} for test, verdict in JUDGED.get() or ()]
        path.write_text(json.dumps({"format": FORMAT, "tests": tests}, indent=1))
