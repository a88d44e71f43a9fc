"""A PostgreSQL of the tests' own: it comes with the packages of the tests, needs no installation and no port."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # one of its packages would like XDG_RUNTIME_DIR to be set
    import pgserver


@contextmanager
def database() -> Iterator[str]:
    """Run a server, and give the URL of its database.

    Its files are in a folder of their own: for root it runs as another user, who may not enter those of pytest.
    """
    with TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
