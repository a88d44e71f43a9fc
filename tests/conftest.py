"""Shared by all tests."""

import os

import pytest
import structlog

# As the server logs; structlog's own default draws every local variable, and keeps them alive.
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)],
)


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, as the server does."""
    return "asyncio"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: what was not tested must not look as if it had been."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
