"""Runs that can be killed after any of their events: `python -m tests.kit.processes.killed_runs`.

A line `DATABASE DONE` on standard input forks a process that runs `agent` on that SQLite file. It
says its id, then each event, and waits for a line after each. What its tools do is noted in the
file `DONE`. When it has ended, "dead".
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ag_ui.core import ToolCallResultEvent
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import run_input, user


def turn(number: int) -> list[Any]:
    """Two calls at once; the arguments of the first one come in parts."""
    thought = [thinking("Hm", 0), thinking(".", 0), thinking(index=0, signature=f"s{number}")]
    quick = [part("quick", "", f"q{number}", 2), part(None, '{"place":', None, 2)]
    quick += [part(None, ' "a"}', None, 2), part("slow", '{"place": "b"}', f"s{number}", 3)]
    return [*thought, text_chunk("Look", 1), text_chunk("ing.", 1), *map(calling, quick)]


TURNS = [turn(1), turn(2), [text_chunk("All ", 0), text_chunk("done.", 0)]]


def agent(
    saver: Any, model: Scripted, done: Path, received: Callable[[str], asyncio.Event]
) -> LangGraphAgent:
    """An agent whose slow tool waits until its client has heard of the quick one's result."""

    def note(what: str) -> str:
        with done.open("a") as file:
            file.write(f"{what}\n")
        return what

    @tool
    async def quick(place: str) -> str:
        """Look quickly."""
        return note(f"quick {place}")

    @tool
    async def slow(place: str) -> str:
        """Look slowly."""
        await received(f"q{1 + done.read_text().count('slow') if done.exists() else 1}").wait()
        return note(f"slow {place}")

    return LangGraphAgent(graph=create_agent(model, [quick, slow], checkpointer=saver))


async def run(database: str, done: Path) -> None:
    """Run, and wait after each event; the graph goes on meanwhile."""
    received: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
    say(str(os.getpid()))
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        made = agent(saver, Scripted(*TURNS), done, received.__getitem__)
        async for event in made.run(run_input(user("go", "u1"), thread="t", run="r1")):
            say(event.model_dump_json(by_alias=True, exclude_none=True))
            await asyncio.to_thread(read)
            if isinstance(event, ToolCallResultEvent):
                received[event.tool_call_id].set()


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def read() -> str:
    """A line; whoever says it waits for an answer, so there is never more than one."""
    return os.read(0, 4096).decode().strip()


def main() -> None:
    """Fork a run for each line: Python and its packages are loaded once."""
    while line := read():
        database, done = line.split(" ")
        if (child := os.fork()) == 0:
            asyncio.run(run(database, Path(done)))
            os._exit(0)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
    sys.exit()
