"""Pauses dialogues of the matrix in a SQLite file, as a process of its own.

`python -m tests.behaviour.approvals.left_paused <database> <home>` pickles what the clients hold.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import KINDS
from tests.kit.run.approval_matrix import pause

DIALOGUES = [
    *(("interrupt", "edit"), ("breakpoint", "cancel"), ("batched", "approve")),
    *(("tool_per_call", "approve"), ("subgraph_batched", "reject")),
]
"""Those of the matrix that a database is tested with."""


async def main(database: str, home: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        paused = {
            (kind, answer): await pause(LangGraphAgent(KINDS[kind](saver)), kind, answer, home)
            for kind, answer in DIALOGUES
        }
    (home / "paused").write_bytes(pickle.dumps(paused))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
