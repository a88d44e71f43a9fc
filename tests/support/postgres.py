"""A PostgreSQL of the tests' own: it comes with the packages of the tests, needs no installation and no port."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # one of its packages would like XDG_RUNTIME_DIR to be set
    import pgserver


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """Run a server with its files in a folder, and give the URL of its database."""
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
