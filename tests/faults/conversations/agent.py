"""The agent that all conversations are with: it does what its user says, word by word.

A text has words and a number, "think look+spend trims #3". Words that name tools, joined by "+", are
the calls of one answer; each group of them is an answer of its own, and the last answer is a text.
`MANNERS` and `FATES` have the others. What the model was sent and which tools ran is noted in files
of `Stage`, so that a killed process has told it.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from uuid import uuid4

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelRequest,
    after_agent,
    before_agent,
    before_model,
    wrap_model_call,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.config import get_config
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from langgraph_agui import AGUIMiddleware
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking

TOOLS = ("look", "feel", "help", "spend", "break", "pick")
"""What the model may call: a tool of the server, one that writes state, one with a subagent, one
that needs an approval, one that raises, one of the client."""

MANNERS = {
    "think": "each answer begins with reasoning",
    "same": "the calls of each answer have the ids c0, c1, ...",
    "draft": "the first try of each answer is thrown away",
    "fail": "the model fails in the middle of its last answer, once",
}
FATES = {
    "blocked": "the message is removed before the model is asked",
    "removes": "the turn is removed when it has ended",
    "refuses": "a refusal takes the place of the turn when it has ended",
    "cuts": "the turn before is removed when this one has ended",
    "trims": "all turns before this one are removed when it has ended",
    "clears": "all messages are removed when the turn has ended",
    "sums": "a summary takes the place of all turns before this one, before the model is asked",
}
PLACES = ("reasoning", "arguments", "text", "tool", "end")
"""Where the agent can stop, by "wait@text": in its first reasoning, call or text, in its first tool,
behind its last answer."""


@dataclass(frozen=True)
class Stage:
    """The files in `room` by which an agent, maybe in another process, tells what it does."""

    room: Path
    thread: str

    @classmethod
    def here(cls, room: Path) -> Stage:
        """That of the run that goes on."""
        return cls(room, get_config()["configurable"]["thread_id"])

    def file(self, name: str) -> Path:
        return self.room / f"{self.thread}.{name}"

    def note(self, name: str, line: str) -> None:
        with self.file(name).open("a") as file:
            file.write(f"{line}\n")

    def lines(self, name: str) -> list[str]:
        return self.file(name).read_text().splitlines() if self.file(name).exists() else []

    @property
    def is_waiting(self) -> bool:
        """Whether the agent waits at a gate."""
        return self.file("hung").exists()

    def open(self) -> None:
        """Let the agent go on."""
        self.file("open").touch()

    def shut(self) -> None:
        """Make the agent wait once more."""
        self.file("hung").unlink(missing_ok=True)
        self.file("open").unlink(missing_ok=True)

    async def at_gate(self) -> None:
        """Wait until somebody opens, once in a run."""
        if not self.file("open").exists():
            self.file("hung").touch()
        while not self.file("open").exists():
            await asyncio.sleep(0.002)


Plain: TypeAlias = dict[str, Any]


def plain(message: BaseMessage) -> Plain:
    """A message as far as conversations look at it."""
    made = message.tool_calls if isinstance(message, AIMessage) else ()
    return {
        "type": message.type,
        "id": message.id,
        "text": message.text,
        "calls": [[one["id"], one["name"], one["args"]] for one in made],
        "answers": message.tool_call_id if isinstance(message, ToolMessage) else None,
        "is_summary": message.additional_kwargs.get("lc_source") == "summarization",
    }


def last_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The last message of the user, and all behind it."""
    known = [plain(message) for message in messages]
    said = [at for at, one in enumerate(known) if one["type"] == "human" and not one["is_summary"]]
    return list(messages[said[-1] :]) if said else []


def words_of(messages: Sequence[BaseMessage]) -> list[str]:
    turn = last_turn(messages)
    return turn[0].text.split() if turn else []


class Obedient(Scripted):
    """Says what the user's words ask for. `None` among the pieces of an answer is a gate."""

    room: Any = None

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        stage, manager = Stage.here(self.room), kwargs.get("run_manager")
        stage.note("seen", json.dumps([plain(message) for message in messages]))
        for piece in answer_to(messages, stage):
            if piece is None:
                await stage.at_gate()
            elif isinstance(piece, Exception):
                raise piece
            else:
                chunk = ChatGenerationChunk(message=piece)
                if manager:
                    await manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk


def answer_to(messages: Sequence[BaseMessage], stage: Stage) -> list[Any]:
    """The pieces of the next answer. Each answer has words that no other one has."""
    words, turn, name = words_of(messages), last_turn(messages), uuid4().hex[:8]
    groups = [word.split("+") for word in words if word.split("+")[0] in TOOLS]
    number = sum(isinstance(message, AIMessage) for message in turn)
    if "draft" in words and stage.lines("draft")[-1:] == ["begin"]:
        name = f"draft-{name}"
    pieces: list[Any] = []

    def gate(place: str) -> list[None]:
        return [None] if number == 0 and f"wait@{place}" in words else []

    if "think" in words:
        pieces += [thinking("Hm ", 0), *gate("reasoning"), thinking(f"{name}.", 0)]
        pieces.append(thinking(index=0, signature=f"sign-{name}"))
    index = int("think" in words)
    if number >= len(groups):
        pieces += [text_chunk("Re ", index), *gate("text")]
        if "fail" in words and words[-1] not in stage.lines("failed"):
            stage.note("failed", words[-1])
            return [*pieces, RuntimeError("the model fails")]
        return [*pieces, text_chunk(f"{words[-1] if words else 'nothing'} {name}", index)]
    for at, used in enumerate(groups[number]):
        call_id = f"c{at}" if "same" in words else f"c{at}-{name}"
        arguments = {"item": f"{used}-{at}-{name}"}
        if at == 0 and gate("arguments"):
            text = json.dumps(arguments)
            pieces += [calling(part(used, text[:5], call_id, index)), None]
            pieces.append(calling(part(None, text[5:], None, index)))
        else:
            pieces.append(call(used, call_id, index + at, **arguments))
    return pieces


class Board(AgentState[Any]):
    mood: str
    note: str
    count: Annotated[int, operator.add]


def tools_on(room: Path) -> list[Any]:
    helper = create_agent(Scripted(["I ", "help."]), name="helper")

    async def run(item: str) -> str:
        stage = Stage.here(room)
        stage.note("ran", item)
        if stage.lines("waits")[-1:] == ["tool"]:
            stage.note("waits", "")
            await stage.at_gate()
        return f"did {item}"

    @tool
    async def look(item: str) -> str:
        """Look."""
        return await run(item)

    @tool
    async def spend(item: str) -> str:
        """Spend money."""
        return await run(item)

    @tool
    async def help(item: str) -> str:  # noqa: A001
        """Have a subagent help."""
        await helper.ainvoke({"messages": [HumanMessage(item)]})
        return await run(item)

    @tool
    async def feel(item: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
        """Feel."""
        result = ToolMessage(await run(item), tool_call_id=call_id)
        return Command(update={"mood": item, "messages": [result]})

    @tool("break")
    async def break_(item: str) -> str:
        """Fail."""
        await run(item)
        if Stage.here(room).is_waiting:  # another tool; a failure ends the run
            await Stage.here(room).at_gate()
        raise RuntimeError("the tool breaks")

    return [look, spend, help, feel, break_]


def removals(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [RemoveMessage(id=str(message.id)) for message in messages]


def hooks_on(room: Path) -> list[Any]:
    @before_agent(state_schema=Board, can_jump_to=["end"])
    async def begin(state: Any, runtime: Any) -> dict[str, Any]:
        messages = state["messages"]
        words = words_of(messages)
        places = [place for place in ("tool", "end") if f"wait@{place}" in words]
        # Nobody is shown that a run goes on of which only hooks run.
        Stage.here(room).note("waits", "" if "blocked" in words else "".join(places))
        if "blocked" in words:
            return {"messages": removals(last_turn(messages)), "count": 1, "jump_to": "end"}
        return {"count": 1}

    @before_model
    async def sum_up(state: Any, runtime: Any) -> dict[str, Any] | None:
        messages, turn = state["messages"], last_turn(state["messages"])
        if "sums" not in words_of(messages) or len(turn) > 1 or len(messages) == 1:
            return None
        summary = HumanMessage("A summary.", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *turn]}

    @wrap_model_call
    async def try_twice(request: ModelRequest, handler: Any) -> Any:
        if "draft" in words_of(request.messages):
            Stage.here(room).note("draft", "begin")
            await handler(request)
            Stage.here(room).note("draft", "end")
        return await handler(request)

    @after_agent
    async def tidy(state: Any, runtime: Any) -> dict[str, Any] | None:
        messages, turn = state["messages"], last_turn(state["messages"])
        words, before = words_of(messages), messages[: len(messages) - len(turn)]
        if Stage.here(room).lines("waits")[-1:] == ["end"]:
            await Stage.here(room).at_gate()
        done = {
            "removes": removals(turn),
            "refuses": [*removals(turn), AIMessage(f"No. {uuid4().hex[:8]}")],
            "cuts": removals(last_turn(before)),
            "trims": removals(before),
            "clears": [RemoveMessage(id=REMOVE_ALL_MESSAGES)],
        }
        return next(({"messages": done[word]} for word in words if word in done), None)

    return [begin, sum_up, try_twice, tidy]


def graph_on(saver: Any, room: Path) -> Any:
    """The agent's graph; `room` is the directory of its notes."""
    guards = [HumanInTheLoopMiddleware({"spend": True}), AGUIMiddleware()]
    hooks = [*hooks_on(room), *guards]
    return create_agent(Obedient(room=room), tools_on(room), middleware=hooks, checkpointer=saver)
