"""Whether a run is being stopped, and why."""

import asyncio


class Stop:
    """The stop of one run. Most runs never ask, so there is no event until somebody waits."""

    __slots__ = ("_event", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._event: asyncio.Event | None = None

    def is_set(self) -> bool:
        """Say whether it is."""
        return self.reason is not None

    async def wait(self) -> None:
        """Wait until it is."""
        if not self.is_set():
            self._event = self._event or asyncio.Event()
            await self._event.wait()

    def set(self, reason: str) -> None:
        """Say that it is, and why."""
        self.reason = reason
        if self._event is not None:
            self._event.set()
