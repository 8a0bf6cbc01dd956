"""The stream transformers of a graph: what they change or hold back, clients do not see.

LangChain's middleware uses them to redact what a model says while it streams (`PIIMiddleware`).
LangGraph runs them in its v3 stream only, which we do not read: so our own data enter here, in the
form of v3 events, and leave as the transformers let them pass.

Only those that say that they change the stream run (`StreamTransformer.before_builtins`); the
others make projections of it, which nobody reads here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import time
from typing import Any, Final, TypeAlias, TypeVar, cast

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.stream import StreamTransformer

from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.blocks import CALLS, BlockDelta, BlockKind, read_blocks
from langgraph_agui.protocol.json import dump_json, parse_arguments

logger = run_logger(__name__)

Factory: TypeAlias = Callable[[tuple[str, ...]], StreamTransformer]
Scope: TypeAlias = Sequence[str]

# The kind of a block, and what distinguishes it from others of its kind.
_Key: TypeAlias = tuple[BlockKind, object]

_Beside = TypeVar("_Beside")

# How many characters tell where a text goes on.
_LAST_WORDS: Final = 32

# LangChain's transformer that hides the model calls of middleware. `ModelCall` knows these.
_HIDES_CALLS: Final = "InternalCallTransformer"


class _Withheld:
    """Stands for data that a transformer holds back."""


WITHHELD: Final = _Withheld()


def changing(factories: Iterable[Factory], *, here: bool) -> list[Factory]:
    """Return those of a graph's transformers that change its stream.

    Args:
        factories: All of them.
        here: Whether to return those that can run here, or those that cannot: they await something
            for each event.
    """
    made = [(factory, factory(())) for factory in factories]
    return [
        factory
        for factory, transformer in made
        if transformer.before_builtins
        and type(transformer).__name__ != _HIDES_CALLS
        and (type(transformer).aprocess is StreamTransformer.aprocess) is here
    ]


def warn_refused(message_id: str | None) -> None:
    """Log, with the exception that is being handled, that clients see a message empty."""
    logger.warning(
        "A stream transformer refuses message or result %.80r; clients see it empty.",
        message_id,
        exc_info=True,
    )
    count_dropped("message")


# Returns the stream transformers of the graph at a namespace, or of the graph of this name, that
# change its stream.
TransformersAt: TypeAlias = Callable[[Scope, str | None], Sequence[Factory]]


class RunTransformers:
    """The transformers of all graphs of a run.

    Args:
        find: Finds them; None if there are none.
        failed: Receives an exception of one. It ends the run as an error of the graph.

    Attributes:
        root: Those of the root graph; None if it has none.
    """

    def __init__(
        self, find: TransformersAt | None, failed: Callable[[Exception], None] = lambda _: None
    ) -> None:
        self._find = find
        self._failed = failed
        own = find((), None) if find is not None else ()
        self.root = Transformers(own, failed) if own else None
        self._inner: dict[str, Transformers | None] = {"": self.root}

    def of_graph(self, namespace: str, name: str | None) -> "Transformers | None":
        """Return the transformers of the graph at a namespace, and of the root graph, if there are
        any.

        Args:
            namespace: The checkpoint namespace of the graph.
            name: The name of the graph, if it is a subagent.
        """
        if self._find is None:
            return None
        if namespace not in self._inner:
            scope = namespace.split("|")
            own = self._find(scope, name)
            inner = Transformers(own, self._failed, scope, around=self.root) if own else self.root
            self._inner[namespace] = inner
        return self._inner[namespace]


class Transformers:
    """The transformers of one graph, in one run.

    Args:
        factories: They make the transformers.
        failed: Receives an exception of a transformer.
        scope: The namespace of the graph.
        around: The transformers of the root graph, if this is another one. They come last.
    """

    def __init__(
        self,
        factories: Iterable[Factory],
        failed: Callable[[Exception], None] = lambda _: None,
        scope: Scope = (),
        around: "Transformers | None" = None,
    ) -> None:
        self._scope = scope
        self._transformers = [factory((*scope,)) for factory in factories]
        for transformer in self._transformers:
            transformer.init()
        self._failed = failed
        self._around = around

    def send(self, method: str, data: object, namespace: Scope | None = None) -> object:
        """Return the data of an event as clients may see them; `WITHHELD` if they may not.

        Args:
            method: The stream mode that has such data.
            data: They may be changed in place, as by LangGraph.
            namespace: Of the graph that they are from; by default, of that of the transformers.

        Raises:
            Exception: A transformer wants no more to be seen of the run.
        """
        event: dict[str, Any] = {
            "type": "event",
            "method": method,
            "params": {
                "namespace": [*(self._scope if namespace is None else namespace)],
                "timestamp": round(time() * 1000),
                "data": data,
            },
        }
        passes = True
        try:
            for transformer in self._transformers:
                passes = transformer.process(cast("Any", event)) and passes
        except Exception as error:
            self._failed(error)
            raise
        if not passes:
            return WITHHELD
        shown = event["params"]["data"]
        return shown if self._around is None else self._around.send(method, shown, namespace)

    # -- messages ---------------------------------------------------------------------------------

    def message(
        self, metadata: Mapping[str, Any], namespace: Scope | None = None
    ) -> "MessageBlocks":
        """Return the way of a message that arrives in pieces.

        Args:
            metadata: Of its model call.
            namespace: As for `send`.
        """
        return MessageBlocks(self, metadata, namespace)

    def whole(self, message: BaseMessage) -> list[BlockDelta]:
        """Return the blocks of a whole message. A transformer may know only messages, or only their
        pieces.
        """
        shown = self._send_whole(message)
        if shown is None:
            return []
        if shown is not message and shown != message:
            return read_blocks(shown, whole=True)
        return self._in_pieces(message)

    def change(self, message: BaseMessage) -> bool:
        """Return whether they change or refuse any part of a whole message, also one that clients
        do not see.
        """
        try:
            if self._send_whole(message) != message:
                return True
            return _texts(self._in_pieces(message)) != _texts(read_blocks(message, whole=True))
        except Exception:
            return True

    def _send_whole(self, message: BaseMessage) -> BaseMessage | None:
        shown = self.send("messages", (message, _metadata_of(message)))
        payload = shown[0] if isinstance(shown, tuple) else None
        return payload if isinstance(payload, BaseMessage) else None

    def _in_pieces(self, message: BaseMessage) -> list[BlockDelta]:
        blocks = self.message(_metadata_of(message))
        return [*blocks.feed(read_blocks(message, whole=True)), *blocks.end()]

    def result(self, message: ToolMessage) -> ToolMessage:
        """Return a tool's result as clients may see it. One that a transformer refuses is empty:
        whether the graph goes on with it is its own decision.
        """
        output = self.output_of(message.tool_call_id, message)
        return output if isinstance(output, ToolMessage) else message.model_copy(update=_EMPTY)

    def output_of(self, call_id: str, output: object) -> object:
        """Return what a tool has returned; None if it is held back or refused."""
        data = {"event": "tool-finished", "tool_call_id": call_id, "output": output}
        try:
            shown = self.send("tools", data)
        except Exception:
            warn_refused(call_id)
            return None
        return shown.get("output") if isinstance(shown, dict) else None

    def leave(self, value: object) -> bool:
        """Return whether a value passes as it is."""
        try:
            return self.value("message", value) == value
        except Exception:
            return False

    def beside(self, key: str, value: _Beside) -> _Beside | None:
        """Return what stands beside the text of a message; None if it is held back or refused."""
        try:
            shown = self.value(key, value)
        except Exception:
            warn_refused(None)
            return None
        return shown if isinstance(shown, type(value)) else None

    # -- other data -------------------------------------------------------------------------------

    def output(self, call_id: str, delta: object) -> object:
        """Return a part of a tool's output."""
        data = {"event": "tool-output-delta", "tool_call_id": call_id, "delta": delta}
        shown = self.send("tools", data)
        return shown.get("delta") if isinstance(shown, dict) else WITHHELD

    def fail_tool(self, call_id: str) -> None:
        """A tool has failed: what is held back of its output does not belong to a later try."""
        self.send("tools", {"event": "tool-error", "tool_call_id": call_id, "message": ""})

    def value(self, key: str, value: object) -> object:
        """Return the value of a key of the state; None if it is held back."""
        shown = self.send("values", {key: value})
        return shown.get(key) if isinstance(shown, Mapping) else None


_EMPTY: Final = {"content": "", "artifact": None}


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


class MessageBlocks:
    """The blocks of one message on their way through transformers. `BlockDelta`s enter and leave.

    Args:
        transformers: The transformers.
        metadata: Of the model call.
        namespace: As for `Transformers.send`.
    """

    def __init__(
        self, transformers: Transformers, metadata: Mapping[str, Any], namespace: Scope | None
    ) -> None:
        self._transformers = transformers
        self._metadata = metadata
        self._namespace = namespace
        self._open: dict[_Key, _Block] = {}
        self._last_call: object = None
        self._count = 0
        self._refused = False

    def begins(self) -> bool:
        """Begin the message. Return whether clients may see it at all."""
        shown = self._send({"event": "message-start", "role": "ai", "id": ""})
        return isinstance(shown, dict) and shown.get("role") == "ai"

    def feed(self, deltas: Iterable[BlockDelta]) -> Iterator[BlockDelta]:
        """Return the parts that may be shown now. Arguments wait until they are complete."""
        for delta in deltas:
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
            elif delta.kind == "server_result":
                pass  # it waits for the end of its call
            elif not delta.text:
                yield block.first._replace(text="")
            elif text := self._passing(block, delta):
                yield block.first._replace(text=text)

    def end(self) -> Iterator[BlockDelta]:
        """Return the rest, when the message has ended."""
        for key in [*self._open]:
            yield from self._end(key)
        self._send({"event": "message-finish"})

    def break_off(self) -> None:
        """Forget the rest: the model has not come to the end, so nobody can judge it."""
        self._open.clear()
        with suppress(Exception):  # the run ends anyway, or the model is called again
            self._send({"event": "error", "message": "The model has not come to the end."})

    def _key(self, delta: BlockDelta) -> _Key:
        if delta.kind not in CALLS:
            return delta.kind, delta.id if delta.kind == "server_result" else delta.key
        if delta.key is not None or delta.id is not None:
            self._last_call = delta.id if delta.key is None else delta.key
        return delta.kind, self._last_call

    def _begin(self, key: _Key, delta: BlockDelta) -> None:
        block = self._open[key] = _Block(self._count, delta)
        self._count += 1
        if delta.kind != "server_result":
            self._send(
                {"event": "content-block-start", "index": block.index, "content": _start(delta)}
            )

    def _passing(self, block: _Block, delta: BlockDelta) -> str:
        """Return the part of a text that may be shown now."""
        piece = {"type": f"{delta.kind}-delta", delta.kind: delta.text}
        shown = self._send({"event": "content-block-delta", "index": block.index, "delta": piece})
        passed = str(shown["delta"].get(delta.kind) or "") if isinstance(shown, dict) else ""
        block.passed += passed
        return passed

    def _end_texts(self) -> Iterator[BlockDelta]:
        """End the blocks that the client will see closed: what they hold back belongs before what
        follows.
        """
        for key in [key for key in self._open if key[0] in ("text", "reasoning")]:
            yield from self._end(key)

    def _end(self, key: _Key) -> Iterator[BlockDelta]:
        block = self._open.pop(key)
        text = "".join(block.sent)
        if block.first.kind == "server_result":
            # LangChain's stream has these results in a form that no transformer of it changes.
            output = self._transformers.output_of(str(block.first.id), text)
            yield block.first._replace(text=output if isinstance(output, str) else "")
            return
        event = {"event": "content-block-finish", "index": block.index}
        shown = self._send({**event, "content": _finished(block.first, text)})
        final = _text_in(shown["content"], text) if isinstance(shown, dict) else ""
        if rest := _rest(final, block.passed):
            yield block.first._replace(text=rest)

    def _send(self, data: dict[str, object]) -> Any:
        """Send an event of the message. After one that was refused, nothing more is shown."""
        if self._refused:
            return WITHHELD
        self._refused = True
        shown = self._transformers.send("messages", (data, self._metadata), self._namespace)
        self._refused = False
        return shown[0] if isinstance(shown, tuple) else WITHHELD


# The types of LangChain's standard blocks.
_TYPES: Final[Mapping[BlockKind, str]] = {
    "call": "tool_call",
    "server_call": "server_tool_call",
}


def _metadata_of(message: BaseMessage) -> dict[str, Any]:
    return {"run_id": message.id or ""}


def _texts(deltas: Iterable[BlockDelta]) -> dict[_Key, str]:
    """Return the texts of blocks."""
    texts: dict[_Key, str] = {}
    for delta in deltas:
        key = delta.kind, delta.id if delta.key is None else delta.key
        texts[key] = texts.get(key, "") + delta.text
    return texts


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
