"""Where the threads of `langgraph_agent` live on: a file of LangGraph's sqlite checkpointer."""

import asyncio
import threading
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


def threads(path: Path) -> AsyncSqliteSaver:
    """Make the checkpointer of a graph that stands in a module: it connects when the graph first runs.

    It wants to be made where an event loop runs, and no module is; and a process only ends when it is closed.
    """

    async def made() -> AsyncSqliteSaver:
        return AsyncSqliteSaver(connection)

    def close() -> None:
        threading.main_thread().join()
        connection.stop()

    path.parent.mkdir(parents=True, exist_ok=True)
    connection = aiosqlite.connect(path)
    threading.Thread(target=close).start()
    return asyncio.run(made())
