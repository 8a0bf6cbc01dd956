"""Processes that use an approval and are then killed: `python -m tests.kit.processes.killed_approvals`.

A JSON object on standard input forks a process, which says its id, resumes a thread of a SQLite
file, and hangs where it is told to: `"record"`, when the use of the answers is stored; `"tool"`,
when something has happened. "dead" when it has ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs import pauses as kinds

FOREVER = 1000


class Stopping(AsyncSqliteSaver):
    """Hangs when it has stored the record; `recorded` is a file that says so."""

    recorded: Path

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        await super().aput_writes(config, writes, task_id, task_path)
        if any(channel == "__agui_record__" for channel, _ in writes):
            self.recorded.write_text("recorded")
            await asyncio.sleep(FOREVER)


async def resume(database: str, kind: str, hangs_in: str, recorded: str, given: Any) -> None:
    """Resume a thread and hang."""
    happen = kinds.happen

    def hang(file: str, amount: int) -> None:
        happen(file, amount)
        time.sleep(FOREVER)

    if hangs_in == "tool":
        kinds.happen = hang
    saver_class: type[AsyncSqliteSaver] = Stopping if hangs_in == "record" else AsyncSqliteSaver
    async with saver_class.from_conn_string(database) as saver:
        if isinstance(saver, Stopping):
            saver.recorded = Path(recorded)
        agent = LangGraphAgent(kinds.KINDS[kind](saver))
        async for _ in agent.run(RunAgentInput.model_validate(given)):
            pass


def main() -> None:
    """Fork a run for each line: Python and its packages are loaded once."""
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            os.write(1, f"{os.getpid()}\n".encode())
            asyncio.run(resume(**json.loads(line)))
            os._exit(0)
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
