"""Server processes: started on a core of their own, measured from outside, stopped by their id."""

import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent

START_WITHIN = 60.0
"""Seconds that a server may take until it listens."""


class NotMeasured(Exception):  # noqa: N818 - a sentence about the benchmark
    """Something could not be measured; the text says what and why."""


def cores():
    """The core of the servers and the core of the consumer; None, where processes cannot be pinned to two cores."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    return (allowed[0], allowed[1]) if len(allowed) > 1 else None


def allow_many_connections():
    """Lift the number of open files to what this process may have; servers started afterwards inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems call it unlimited, and then refuse that
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 10_000) if most > 0 else 10_000, most))


class Server:
    """One server process. `arguments` are those of this Python; `--port` is added."""

    def __init__(self, name, arguments, core):
        self.name = name
        self.port = _free_port()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, *arguments, "--port", str(self.port)],
            cwd=HERE,
            env={name: value for name, value in os.environ.items() if not name.startswith("AGUI_")},
            stdout=self._log,
            stderr=self._log,
        )
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})

    def wait_until_it_listens(self):
        """Wait.

        Raises:
            NotMeasured: It ended, or takes too long.
        """
        give_up = time.monotonic() + START_WITHIN
        while time.monotonic() < give_up:
            if self._process.poll() is not None:
                raise NotMeasured(f"{self.name} ended while it started:\n{self.log()}")
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise NotMeasured(f"{self.name} does not listen after {START_WITHIN:.0f} s:\n{self.log()}")

    def log(self):
        """The last lines of what the server wrote."""
        self._log.seek(0)
        return self._log.read()[-2000:].decode(errors="replace")

    def cpu_seconds(self):
        """CPU time that the process has used so far, in seconds.

        Raises:
            NotMeasured: This system does not say.
        """
        try:
            return time.clock_gettime(~self._process.pid << 3 | 2)  # the number of another process's clock
        except (OSError, AttributeError) as error:
            raise NotMeasured(f"CPU time of {self.name}: {error}; it needs Linux") from None

    def resident_bytes(self):
        """Memory that the process holds, in bytes.

        Raises:
            NotMeasured: This system does not say.
        """
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except OSError as error:
            raise NotMeasured(f"memory of {self.name}: {error}; it needs Linux") from None
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def stop(self):
        """Ask the process to end; after some seconds, end it."""
        self._process.terminate()
        try:
            self._process.wait(8)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
