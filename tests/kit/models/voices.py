"""Models whose words, reasoning and call ids name who speaks, so that a test can tell whose an
event must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.kit.models.scripted import Piece, Scripted, call, text_chunk, thinking, used

Wanted = tuple[str, dict[str, Any]]
"""A tool, and the arguments of a call of it."""


def voice(
    who: str, *wanted: Wanted, each: bool = False, pace: float = 0.0, **fields: Any
) -> Scripted:
    """A model that thinks, speaks and calls as `who`.

    `wanted` is what it calls in its first turn, all at once; then it answers, as it does at once in
    later turns. With `each`, the speaker is another one for each request: `<who>-<the user's last
    words>`. `pace` are the seconds between two chunks, `fields` those of `Scripted`.
    """

    def script(messages: list[BaseMessage]) -> list[Piece]:
        speaker = f"{who}-{_asked(messages)}" if each else who
        turn = sum(isinstance(message, HumanMessage) for message in messages)
        calls = [] if turn > 1 or _has_called(speaker, messages) else wanted
        return spoken(speaker, f"begins {turn}" if calls else f"ends {turn}", calls, pace)

    return Scripted(script=script, **fields)


def spoken(
    speaker: str, words: str, wanted: Sequence[Wanted] = (), pace: float = 0.0
) -> list[Piece]:
    """Chunks of one message: signed reasoning, text, calls."""
    chunks: list[Piece] = [
        *(thinking(f"{speaker}: "), thinking("hm"), thinking(signature=f"signed by {speaker}")),
        *(text_chunk(f"{speaker}: ", 1), text_chunk(words, 1)),
        *(call(tool, f"{speaker}.{n}", n + 2, **args) for n, (tool, args) in enumerate(wanted)),
        used(10, 1),
    ]
    return [piece for chunk in chunks for piece in ((pace, chunk) if pace else (chunk,))]


def breaking(who: str, error: Exception) -> Scripted:
    """A model that begins to speak as `who`, and fails."""
    return Scripted([thinking(f"{who}: hm", 0), text_chunk(f"{who}: begins", 1), error])


def gated(
    who: str, opened: Callable[[], object], then: Callable[[], object] = lambda: None
) -> Scripted:
    """A model that begins to speak as `who`, and goes on when `opened()` is true: calls `then`, and
    says the rest."""

    def script(messages: list[BaseMessage]) -> Iterator[Piece]:
        first, *rest = spoken(who, "ends 1")
        yield first
        while not opened():
            yield 0.005
        yield then
        yield from rest

    return Scripted(script=script)


def _asked(messages: Sequence[BaseMessage]) -> str:
    return next(message.text for message in reversed(messages) if isinstance(message, HumanMessage))


def _has_called(speaker: str, messages: Sequence[BaseMessage]) -> bool:
    said = [message for message in messages if isinstance(message, AIMessage)]
    calls = [call for message in said for call in message.tool_calls]
    return any(str(call["id"]).startswith(f"{speaker}.") for call in calls)
