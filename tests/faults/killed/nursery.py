"""Processes that are killed: `python -m tests.faults.killed.nursery`.

A line of JSON on standard input, the name of a function and its arguments, forks a process that says
its id and calls the function: Python and its packages are loaded once. "dead" when it has ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput, ToolCallResultEvent
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs import pauses
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import run_input, user
from tests.kit.waiting import PATIENCE

FOREVER = 1000


def turn(number: int) -> list[Any]:
    """Two calls at once; the arguments of the first one come in parts."""
    thought = [thinking("Hm", 0), thinking(".", 0), thinking(index=0, signature=f"s{number}")]
    quick = [part("quick", "", f"q{number}", 2), part(None, '{"place":', None, 2)]
    quick += [part(None, ' "a"}', None, 2), part("slow", '{"place": "b"}', f"s{number}", 3)]
    return [*thought, text_chunk("Look", 1), text_chunk("ing.", 1), *map(calling, quick)]


def agent(
    saver: Any, model: Scripted, done: Path, received: Callable[[str], asyncio.Event]
) -> LangGraphAgent:
    """An agent whose slow tool waits until its client has heard of the quick one's result. What its
    tools do is noted in the file `done`."""

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


async def run(database: str, done: str) -> None:
    """Run, say each event and wait for a line after it; the graph goes on meanwhile."""
    received: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
    model = Scripted(turn(1), turn(2), [text_chunk("All ", 0), text_chunk("done.", 0)])
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        made = agent(saver, model, Path(done), received.__getitem__)
        async for event in made.run(run_input(user("go", "u1"), thread="t", run="r1")):
            say(event.model_dump_json(by_alias=True, exclude_none=True))
            await asyncio.to_thread(os.read, 0, 4096)
            if isinstance(event, ToolCallResultEvent):
                received[event.tool_call_id].set()


class Stopping(AsyncSqliteSaver):
    """Says that it has stored the record of the answers that are used, and hangs."""

    async def aput_writes(self, config: Any, writes: Any, *args: Any) -> None:
        await super().aput_writes(config, writes, *args)
        if any(channel == "__agui_record__" for channel, _ in writes):
            say("recorded")
            await asyncio.sleep(FOREVER)


async def resume(database: str, kind: str, hangs_in: str, given: Any) -> None:
    """Resume a thread, and hang behind the record or in the tool."""
    happen = pauses.happen

    def hang(file: str, amount: int) -> None:
        happen(file, amount)
        time.sleep(FOREVER)

    if hangs_in == "tool":
        pauses.happen = hang
    saver_class: type[AsyncSqliteSaver] = Stopping if hangs_in == "record" else AsyncSqliteSaver
    async with saver_class.from_conn_string(database) as saver:
        made = LangGraphAgent(pauses.KINDS[kind](saver))
        async for _ in made.run(RunAgentInput.model_validate(given)):
            pass


class Nursery:
    """Begins processes, one after the other, and kills them."""

    def __init__(self) -> None:
        command, pipe = [sys.executable, "-m", __name__], subprocess.PIPE
        self._process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def begin(self, name: str, *given: Any) -> None:
        self.say(json.dumps([name, *given]))
        self._child = int(self.receive())

    def say(self, line: str) -> None:
        print(line, file=self._process.stdin, flush=True)

    def receive(self) -> str:
        return str(self._process.stdout.readline().strip())

    def kill(self) -> None:
        os.kill(self._child, signal.SIGKILL)
        assert self.receive() == "dead"

    def end(self) -> None:
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    for line in sys.stdin:
        name, *given = json.loads(line)
        if (child := os.fork()) == 0:
            say(str(os.getpid()))
            asyncio.run({"run": run, "resume": resume}[name](*given))
            os._exit(0)
        os.waitpid(child, 0)
        say("dead")
