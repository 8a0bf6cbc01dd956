"""A local graph around a remote agent, in a process that ends: `python -m ... <database> <agent's
address> <input>`.

Runs one `RunAgentInput` and prints the events, one a line.
"""

from __future__ import annotations

import asyncio
import sys

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import RemoteAgent


async def main(database: str, url: str, given: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("bank", RemoteAgent(url, name="bank"))
        builder.add_edge(START, "bank")
        async for event in LangGraphAgent(builder.compile(saver)).run(
            RunAgentInput.model_validate_json(given)
        ):
            print(event.model_dump_json(by_alias=True, exclude_none=True))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
