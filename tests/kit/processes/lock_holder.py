"""A process that locks a thread: `python -m tests.kit.processes.lock_holder DSN THREAD wait|refuse`.

It says `held` or `busy`; a line on its standard input, and it releases and says `released`.
"""

from __future__ import annotations

import asyncio
import sys

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_agui.kernel.errors import RunInputError
from langgraph_agui.workers.locks_for import locks_for


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def hold(dsn: str, thread_id: str, wait: bool) -> None:
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        try:
            lease = await locks_for(saver).acquire(thread_id, 8 if wait else 0)
        except RunInputError:
            say("busy")
            return
        say("held")
        await asyncio.to_thread(sys.stdin.readline)
        await lease.release()
        say("released")


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], sys.argv[2], sys.argv[3] == "wait"))
