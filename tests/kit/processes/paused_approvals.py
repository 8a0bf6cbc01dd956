"""Pauses every dialogue of the matrix in a SQLite file, as a process of its own: `python -m ...
<database> <home>`.

Prints what the clients hold, one JSON object per line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import KINDS
from tests.kit.run.approval_matrix import CASES, pause


async def main(database: str, home: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        agents = {kind: LangGraphAgent(make(saver)) for kind, make in KINDS.items()}
        for kind, answer in CASES:
            paused = await pause(agents[kind], kind, answer, Path(home))
            recorded = {
                "case": (kind, answer),
                "messages": [
                    message.model_dump(by_alias=True, mode="json") for message in paused.messages
                ],
                "asked": [one.model_dump(by_alias=True, mode="json") for one in paused.asked],
            }
            print(json.dumps(recorded))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
