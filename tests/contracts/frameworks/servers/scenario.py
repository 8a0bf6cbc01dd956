"""What every server's model says, in terms of no framework: each server makes its own model of it.
And how a server is served.

The user's last words decide. The servers run in environments of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import uvicorn

LOCATION_TOOL = "get_user_location"
"""The client's tool."""

RECIPE = {"title": "Soup", "servings": 4}
THOUGHTS = ("Let me ", "think.")
SIGNATURE = "c2lnbmVk"


@dataclass(frozen=True)
class Call:
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def pieces(self) -> tuple[str, str]:
        """The arguments as JSON, in two pieces as a model streams them."""
        text = json.dumps(dict(self.args))
        return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class Turn:
    """One answer of the model: thoughts, words, a call; then perhaps a failure."""

    thoughts: Sequence[str] = ()
    words: Sequence[str] = ()
    call: Call | None = None
    failure: str | None = None
    counts: bool = False
    """Whether it goes on for some seconds after its words."""
    tells: bool = False
    """Whether it says how the last count has ended."""


@dataclass(frozen=True)
class Seen:
    """What the model is shown: the user's messages, its own thoughts, and the results: of all, and
    since the last user message."""

    users: Sequence[str] = ()
    thoughts: Sequence[str] = ()
    recorded: Sequence[str] = ()
    results: Sequence[str] = ()


CALLS: Mapping[str, tuple[Call, str]] = {
    "weather": (Call("get_weather", {"city": "Rome"}), "The weather: "),
    "where am i": (Call(LOCATION_TOOL, {"precise": True}), "You are in "),
    "recipe": (Call("write_recipe", RECIPE), "The recipe: "),
    "transfer": (Call("transfer", {"amount": 100, "to": "Ada"}), "The transfer: "),
}
"""The call that the user's words lead to, and how the answer begins."""


def answer(seen: Seen) -> Turn:
    """The model's next turn."""
    words = seen.users[-1].lower() if seen.users else ""
    if words in CALLS:
        call, lead = CALLS[words]
        return Turn(words=(lead, " ".join(seen.results))) if seen.results else Turn(call=call)
    match words:
        case "think":
            return Turn(thoughts=THOUGHTS, words=("I thought", " of it."))
        case "what did i say":
            return Turn(words=("You said: ", seen.users[0]))
        case "what did you think":
            return Turn(words=("I thought: ", "".join(seen.thoughts) or "nothing"))
        case "how much was said":
            return Turn(words=(f"{len(seen.users)} questions, {len(seen.recorded)} results",))
        case "count":
            return Turn(words=("One, ",), counts=True)
        case "how did it end":
            return Turn(tells=True)
        case "fail":
            return Turn(words=("So far",), failure="the model broke: secret-7")
        case _:
            return Turn(words=("Hel", "lo, ", "world."))


_ends: SimpleQueue[str] = SimpleQueue()
"""How counts have ended that nobody has asked about."""


async def words(turn: Turn) -> AsyncIterator[str]:
    """What a turn says, in pieces, as slowly as it does."""
    for text in turn.words:
        yield text
    if turn.counts:
        end = "left"
        try:
            for number in range(2, 52):
                await asyncio.sleep(0.02)
                yield f"{number}, "
            end = "finished"
        finally:
            _ends.put(end)
    if turn.tells:
        yield await asyncio.to_thread(_ends.get, timeout=5)


def get_weather(city: str) -> str:
    """Say what the weather is like in a city."""
    return f"sunny in {city}"


def transfer(amount: int, to: str) -> str:
    """Send money to somebody."""
    return f"sent {amount} to {to}"


class _Server(uvicorn.Server):
    url = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"listening on {self.url}\n")
        sys.stdout.flush()
        os.dup2(2, 1)  # nobody reads stdout after this line, and a full pipe would stop the server


def serve(app: Any, path: str) -> None:
    """Serve an ASGI app on 127.0.0.1 and say where, in the one line that
    `tests.contracts.frameworks.peers.running` waits for; `path` is the agent's."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_level="warning"))
    server.url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
    server.run([listening])
