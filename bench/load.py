"""The consumer: starts runs by POST and reads their events, on bare connections so that it is no bottleneck.

- `load`: some streams at a time, run after run, for some seconds
- `cpu_per_delta`: what a delta of one run costs its server, without what the run costs once
- `Idlers`: streams that are opened, and then only held
"""

import asyncio
import json
import time
from dataclasses import dataclass

from servers import NotMeasured
from workload import DELTAS, run_input

END = b"\r\n0\r\n\r\n"
"""The last bytes of a chunked response."""

DELTA = b'"TEXT_MESSAGE_CONTENT"'
"""What only a content event has in it."""

RUN_WITHIN = 60.0
"""Seconds that one run may take."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one load measured."""

    deltas: int
    """Content events received."""
    seconds: float
    """From the first request to the last event."""
    first_events: list[float]
    """Per run: seconds from its request to its first event."""
    first_deltas: list[float]
    """Per run: seconds from its request to its first content event."""
    consumer_cpu: float
    """The consumer's own share of a core: near 1, it was the bottleneck."""


async def load(port, path, *, streams, seconds):
    """Keep `streams` runs going. After `seconds` none begins, and those that did are read to their end.

    Raises:
        NotMeasured: A run was refused, failed, or was not of the expected length.
    """
    connections = [await _connect(port) for _ in range(streams)]
    first_events, first_deltas = [], []
    began, cpu_began = time.perf_counter(), time.process_time()

    async def consume(connection):
        while True:
            await _read_run(connection, path, run_input())
            first_events.append(connection.first_event)
            first_deltas.append(connection.first_delta)
            if time.perf_counter() - began >= seconds:
                return

    try:
        async with asyncio.TaskGroup() as consumers:
            for connection in connections:
                consumers.create_task(consume(connection))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        for connection in connections:
            connection.close()
    took = time.perf_counter() - began
    share = (time.process_time() - cpu_began) / took
    return Load(DELTAS * len(first_events), took, first_events, first_deltas, share)


async def cpu_per_delta(server, path, document):
    """Read one run and return the CPU time that its server used per delta, in seconds, from its first to its last.

    Raises:
        NotMeasured: The run was refused, failed, or was not of the expected length.
    """
    connection = await _connect(server.port, lambda: _Measuring(server.cpu_seconds))
    try:
        await _read_run(connection, path, document)
    finally:
        connection.close()
    return (connection.at_last - connection.at_first) / (DELTAS - connection.deltas_at_first)


class Idlers:
    """Open streams that have sent their first event and go on waiting."""

    def __init__(self, port, path):
        self._port, self._path = port, path
        self._held = []

    async def grow(self, more, *, at_once=50):
        """Open `more` streams, and return when each has its first event.

        Raises:
            NotMeasured: One ended, or has none in time.
        """
        for begin in range(0, more, at_once):
            new = [await _connect(self._port) for _ in range(min(at_once, more - begin))]
            self._held += new
            ends = [connection.start_run(self._path, run_input()) for connection in new]
            give_up = time.perf_counter() + RUN_WITHIN
            while any(connection.first_event is None for connection in new):
                if any(end.done() for end in ends) or time.perf_counter() > give_up:
                    raise NotMeasured(f"{self._path}: a stream did not open; it sent {new[0].received()[-500:]!r}")
                await asyncio.sleep(0.005)

    def close(self):
        """Hang up.

        Raises:
            NotMeasured: A stream had ended before.
        """
        ended = sum(connection.is_lost for connection in self._held)
        for connection in self._held:
            connection.close()
        if ended:
            raise NotMeasured(f"{self._path}: {ended} of {len(self._held)} streams did not stay open")


class _Connection(asyncio.Protocol):
    """One connection, which carries one run after another."""

    def __init__(self):
        self.first_event = None
        """Seconds from the request to the first event of the current run."""
        self.first_delta = None
        """The same to its first content event."""
        self.is_lost = False
        self._end = None
        self._pieces = []

    def connection_made(self, transport):
        self._transport = transport

    def start_run(self, path, document):
        """Post a run input; the future returned is done when the response is, or the connection is lost."""
        self.first_event = self.first_delta = None
        self._pieces, self._tail = [], b""
        self._end = asyncio.get_running_loop().create_future()
        request = _request(path, document)
        self._began = time.perf_counter()
        self._transport.write(request)
        return self._end

    def data_received(self, data):
        if self.first_event is None and b"data:" in data:
            self.first_event = time.perf_counter() - self._began
        if self.first_delta is None and DELTA in data:
            self.first_delta = time.perf_counter() - self._began
        self._pieces.append(data)
        self._tail = (self._tail + data)[-len(END) :]
        if self._tail == END or (len(self._pieces) == 1 and not data.startswith(b"HTTP/1.1 200")):
            self._finish()

    def connection_lost(self, error):
        self.is_lost = True
        self._finish()

    def _finish(self):
        if self._end is not None and not self._end.done():
            self._end.set_result(None)

    def received(self):
        """What came of the response so far, with its head."""
        return b"".join(self._pieces)

    def close(self):
        self._transport.abort()


class _Measuring(_Connection):
    """A connection that looks at a clock when the first deltas have come, and when the last has."""

    def __init__(self, clock):
        super().__init__()
        self.at_first = self.at_last = None
        self.deltas_at_first = 0
        self._clock = clock
        self._deltas = 0
        self._cut = b""

    def data_received(self, data):
        new = (self._cut + data).count(DELTA)
        self._cut = data[1 - len(DELTA) :]  # too short to hold one that was counted
        self._deltas += new
        if new and self.at_first is None:
            self.at_first, self.deltas_at_first = self._clock(), self._deltas
        if new and self._deltas == DELTAS:
            self.at_last = self._clock()
        super().data_received(data)


async def _connect(port, protocol=_Connection):
    try:
        _, connection = await asyncio.get_running_loop().create_connection(protocol, "127.0.0.1", port)
    except OSError as error:
        raise NotMeasured(f"no connection to port {port}: {error}") from None
    return connection


async def _read_run(connection, path, document):
    try:
        await asyncio.wait_for(connection.start_run(path, document), RUN_WITHIN)
    except TimeoutError:
        raise NotMeasured(f"{path}: a run took longer than {RUN_WITHIN:.0f} s") from None
    _check(connection, path)


def _request(path, document):
    body = json.dumps(document).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _check(connection, path):
    """Count the events of a run that ended; each server sends each of them in one piece."""
    received = connection.received()
    if not received.startswith(b"HTTP/1.1 200"):
        raise NotMeasured(f"{path} was refused: {received[:500]!r}")
    deltas, ends = received.count(DELTA), received.count(b'"RUN_FINISHED"')
    if (deltas, ends) != (DELTAS, 1) or b'"RUN_ERROR"' in received:
        raise NotMeasured(
            f"{path}: a run of {deltas} deltas and {ends} RUN_FINISHED came, not of {DELTAS} and 1; "
            f"its last bytes: {received[-500:]!r}"
        )
