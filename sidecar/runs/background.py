"""Tasks that nobody waits for, kept until they are done."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Background:
    """Keeps tasks alive and known: the loop itself holds them weakly."""

    def __init__(self) -> None:
        self.left_behind: set[asyncio.Task[None]] = set()
        """Tasks of agents that ignored their stop and still run."""
        self._others: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in a task of its own."""
        _keep(asyncio.get_running_loop().create_task(work), self._others)

    def leave_behind(self, task: asyncio.Task[None]) -> None:
        """Go on without a task that ignores its cancellation."""
        _keep(task, self.left_behind)


def _keep(task: asyncio.Task[None], among: set[asyncio.Task[None]]) -> None:
    among.add(task)
    task.add_done_callback(among.discard)
