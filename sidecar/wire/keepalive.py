"""Keep-alive comments for streams that have nothing to say: one timer for all of them.

Source: basic/transports/http-sse
"""

import asyncio
from typing import Protocol


class Quiet(Protocol):
    """A stream, as far as this module needs it."""

    quiet: bool
    """Nothing was sent since the last tick. The stream clears it when it sends."""

    def ping(self) -> None:
        """Send a comment, soon."""


class KeepAlive:
    """Pings each stream that was quiet for a whole tick. Two ticks are the interval, so no gap is longer than it.

    The timer runs while there are streams, and only then.
    """

    def __init__(self, interval: float) -> None:
        """Ping so that no two sends to one stream are more than `interval` seconds apart."""
        self._tick_seconds = interval / 2
        self._streams: set[Quiet] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, stream: Quiet) -> None:
        """Watch over a stream."""
        self._streams.add(stream)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)

    def remove(self, stream: Quiet) -> None:
        """Let go of a stream."""
        self._streams.discard(stream)
        if not self._streams and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)
        for stream in self._streams:
            if stream.quiet:
                stream.ping()
            stream.quiet = True
