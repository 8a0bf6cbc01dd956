"""A message that arrives in pieces on its way through the stream transformers of a graph.

Block deltas enter `TransformedBlocks`, which tells the transformers of them by the events of
LangGraph's v3 stream, and leave as far as clients may see them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from langgraph_agui.messages.blocks import CALLS, BlockDelta, BlockKind
from langgraph_agui.protocol.json import dump_json, parse_arguments

# The kind of a block, and what distinguishes it from others of its kind.
_Key: TypeAlias = tuple[BlockKind, object]

# How many characters tell where a text goes on.
_LAST_WORDS: Final = 32


@dataclass(slots=True)
class _Block:
    """A block on its way: the text that the model has sent, and the text that has passed."""

    index: int
    first: BlockDelta
    sent: list[str] = field(default_factory=list)
    passed: str = ""

    def ends_with(self, delta: BlockDelta) -> bool:
        """Return whether another block begins under the same key: it has another id."""
        return delta.id is not None and self.first.id not in (None, delta.id)

    def take(self, delta: BlockDelta) -> None:
        """Take the next piece; the id and the name of a block may come late."""
        self.sent.append(delta.text)
        self.first = self.first._replace(
            id=delta.id or self.first.id, name=delta.name or self.first.name
        )


class TransformedBlocks:
    """The blocks of one message on their way through transformers. `BlockDelta`s enter and leave.

    Args:
        send: Returns the data of an event of the message as transformers let clients see it.
        output: Returns what the tool with a call id has returned, in the same way.
    """

    def __init__(
        self,
        send: Callable[[dict[str, object]], object],
        output: Callable[[str, object], object],
    ) -> None:
        self._pass = send
        self._output = output
        self._open: dict[_Key, _Block] = {}
        self._results: list[BlockDelta] = []
        self._last_call: object = None
        self._count = 0
        self._refused = False

    def begins(self) -> bool:
        """Begin the message. Return whether clients may see it at all."""
        shown = self._send({"event": "message-start", "role": "ai", "id": ""})
        return shown is not None and shown.get("role") == "ai"

    def feed(self, deltas: Iterable[BlockDelta]) -> Iterator[BlockDelta]:
        """Return the parts that may be shown now. Arguments wait until they are complete, and
        results until the calls have ended.
        """
        for delta in deltas:
            if delta.kind == "server_result":
                yield from self._end_texts()
                self._results.append(delta)
                continue
            key = self._key(delta)
            if (block := self._open.get(key)) is not None and block.ends_with(delta):
                yield from self._end(key)
            if key not in self._open:
                yield from self._end_texts()
                self._begin(key, delta)
            block = self._open[key]
            block.take(delta)
            if delta.kind in CALLS:
                if delta.id or delta.name:
                    yield delta._replace(text="")
            elif not delta.text:
                yield block.first._replace(text="")
            elif text := self._passing(block, delta):
                yield block.first._replace(text=text)

    def end(self) -> Iterator[BlockDelta]:
        """Return the rest, when the message has ended."""
        for key in [*self._open]:
            yield from self._end(key)
        for result in self._results:
            # LangChain's stream has these results in a form that no transformer of it changes.
            output = self._output(str(result.id), result.text)
            yield result._replace(text=output if isinstance(output, str) else "")
        self._send({"event": "message-finish"})

    def break_off(self) -> None:
        """Forget the rest: the model has not come to the end, so nobody can judge it."""
        self._open.clear()
        self._results.clear()
        with suppress(Exception):  # the run ends anyway, or the model is called again
            self._send({"event": "error", "message": "The model has not come to the end."})

    def _key(self, delta: BlockDelta) -> _Key:
        if delta.kind not in CALLS:
            return delta.kind, delta.key
        if delta.call is not None:
            self._last_call = delta.call
        return delta.kind, self._last_call

    def _begin(self, key: _Key, delta: BlockDelta) -> None:
        block = self._open[key] = _Block(self._count, delta)
        self._count += 1
        self._send({"event": "content-block-start", "index": block.index, "content": _start(delta)})

    def _passing(self, block: _Block, delta: BlockDelta) -> str:
        """Return the part of a text that may be shown now."""
        piece = {"type": f"{delta.kind}-delta", delta.kind: delta.text}
        shown = self._send({"event": "content-block-delta", "index": block.index, "delta": piece})
        passed = str(shown["delta"].get(delta.kind) or "") if shown is not None else ""
        block.passed += passed
        return passed

    def _end_texts(self) -> Iterator[BlockDelta]:
        """End the blocks that the client will see closed: what they hold back belongs before what
        follows.
        """
        for key in [key for key in self._open if key[0] not in CALLS]:
            yield from self._end(key)

    def _end(self, key: _Key) -> Iterator[BlockDelta]:
        block = self._open.pop(key)
        text = "".join(block.sent)
        event = {"event": "content-block-finish", "index": block.index}
        shown = self._send({**event, "content": _finished(block.first, text)})
        final = _text_in(shown["content"], text) if shown is not None else ""
        if rest := _rest(final, block.passed):
            yield block.first._replace(text=rest)

    def _send(self, data: dict[str, object]) -> dict[str, Any] | None:
        """Return an event as clients may see it; None if they may not. After one that was refused,
        nothing more is shown.
        """
        if self._refused:
            return None
        try:
            shown = self._pass(data)
        except Exception:
            self._refused = True
            raise
        return shown if isinstance(shown, dict) else None


# The types of LangChain's standard blocks.
_TYPES: Final[Mapping[BlockKind, str]] = {
    "call": "tool_call",
    "server_call": "server_tool_call",
}


def _rest(final: str, passed: str) -> str:
    """Return what is missing of a finished text when this much of it has passed.

    A transformer may judge the whole text otherwise than its pieces: an address that goes on behind
    what looked like its end. Then the rest goes on behind the last words that both have.
    """
    if final.startswith(passed):
        return final.removeprefix(passed)
    last = passed[-_LAST_WORDS:]
    expected = len(passed) - len(last)
    places = [found.start() for found in re.finditer(f"(?={re.escape(last)})", final)]
    place = min(places, key=lambda at: abs(at - expected), default=expected)
    return final[place + len(last) :]


def _start(delta: BlockDelta) -> dict[str, object]:
    if delta.kind in CALLS:
        return {"type": _TYPES[delta.kind], "id": delta.id, "name": delta.name or "", "args": {}}
    return {"type": delta.kind, delta.kind: ""}


def _finished(first: BlockDelta, text: str) -> dict[str, object]:
    """Return a finished block as LangChain shows it to transformers."""
    if first.kind not in CALLS:
        return {"type": first.kind, first.kind: text}
    arguments = parse_arguments(text or "{}")
    is_broken = not isinstance(arguments, dict)
    return {
        "type": "invalid_tool_call" if is_broken else _TYPES[first.kind],
        "id": first.id,
        "name": first.name,
        "args": text if is_broken else arguments,
    }


def _text_in(content: Mapping[str, object], text: str) -> str:
    """Return the text of a finished block; `text`, as the model has spelled it, if it is the
    same.
    """
    if (arguments := content.get("args")) is None:
        return str(content.get("text") or content.get("reasoning") or "")
    if isinstance(arguments, str):
        return arguments
    return text if arguments == parse_arguments(text or "{}") else dump_json(arguments)
