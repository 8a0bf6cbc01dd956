"""An agent for the chat client and the page. It waits in the middle of its answers until a test
opens a gate."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.middleware import AGUIMiddleware
from tests.kit.models.scripted import Scripted, Turn, call, text_chunk, thinking, used
from tests.kit.processes.serving import serving

EVIL = "\x1b]52;c;eA==\x07\x9b2J[red]x"
"""Writes to the clipboard, clears the screen and is red, where it is not shown as it is."""
LINES, PLACES = "\n".join(f"line {n}" for n in range(1, 81)), ("sky", "nothing")


class GatedModel(Scripted):
    """A scripted model that waits where its script has an event."""

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        try:
            for piece in self._turn(messages):
                if isinstance(piece, threading.Event):
                    while not piece.is_set():
                        await asyncio.sleep(0.002)
                    continue
                chunk = ChatGenerationChunk(message=piece.model_copy(deep=True))
                if run_manager := kwargs.get("run_manager"):
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        except asyncio.CancelledError:
            self.stopped.set()
            raise


@dataclass
class ChatAgent:
    """A running agent: its URL, what its tools have booked, and the gates at which it waits.
    `never` does not open."""

    url: str = ""
    booked: list[dict[str, Any]] = field(default_factory=list)
    first: threading.Event = field(default_factory=threading.Event)
    second: threading.Event = field(default_factory=threading.Event)
    tools: threading.Event = field(default_factory=threading.Event)
    never: threading.Event = field(default_factory=threading.Event)
    model: GatedModel = None  # type: ignore[assignment]  # made with the agent

    def script(self, messages: list[BaseMessage]) -> Turn:
        start = max(at for at, one in enumerate(messages) if isinstance(one, HumanMessage))
        results = [one.text for one in messages[start:] if isinstance(one, ToolMessage)]
        if results:
            return [text_chunk(f"Heard: {' and '.join(results)}."), used(5, 6)]
        asked, evil = messages[start].text, thinking(f"hm {EVIL}")
        turns: dict[str, Turn] = {
            "think": [
                *(thinking("Let me see, "), self.first, thinking("what now?")),
                *(text_chunk("An ans"), self.second, text_chunk("wer."), used(7, 9)),
            ],
            "long": [text_chunk(LINES), self.second, text_chunk("\nthe end"), used(1, 1)],
            "hang": [text_chunk("Begun"), self.never],
            "look": [*(call("look", f"{n}{start}", n, at=at) for n, at in enumerate(PLACES))],
            "book": [call("book", f"c{start}", item="chair"), used(1, 1)],
            "furnish": [
                text_chunk("Begun"),
                self.second,
                *(call("book", f"{at}{start}", at, item=f"bed {at}") for at in (1, 2)),
            ],
            "evil": [evil, text_chunk(f"oh {EVIL}"), call("book", f"c{start}", item=EVIL)],
            **{name: [call(name, f"c{start}"), used(1, 1)] for name in ("where", "crash", "wait")},
        }
        return turns.get(asked, [text_chunk(f"You said {asked}."), used(3, 4)])

    def build(self) -> LangGraphAgent:
        @tool
        async def look(at: str) -> str:
            """Look at something."""
            while not self.tools.is_set():
                await asyncio.sleep(0.002)
            if at == "nothing":
                raise ToolException("There is nothing.")
            return f"a {at}"

        @tool
        def book(item: str, days: int = 1) -> str:
            """Book something."""
            self.booked.append({"item": item, "days": days})
            return f"booked {item}"

        look.handle_tool_error = True
        self.model = GatedModel(script=self.script)
        asks: Any = {"allowed_decisions": ["approve", "edit", "reject"]}
        review = HumanInTheLoopMiddleware({"book": {**asks, "description": f"May I {EVIL}?"}})
        stack, saver = [review, AGUIMiddleware()], InMemorySaver()
        graph = create_agent(self.model, [look, book], middleware=stack, checkpointer=saver)
        return LangGraphAgent(graph=graph, name="agent")


@contextmanager
def chat_agent() -> Iterator[ChatAgent]:
    """Run the agent. At the end all gates open, so that nothing waits forever."""
    agent = ChatAgent()
    with serving(build_app(agent.build(), "Test")) as served:
        agent.url = served.url("/agent")
        try:
            yield agent
        finally:
            for gate in (agent.first, agent.second, agent.tools, agent.never):
                gate.set()
