"""The stream transformers of a graph: what they change or hold back, clients do not see.

LangChain's middleware uses them to redact what a model says while it streams (`PIIMiddleware`).
LangGraph runs them in its v3 stream only, which we do not read: so our own data enter here, in the
form of v3 events, and leave as the transformers let them pass.

Only those that say that they change the stream run (`StreamTransformer.before_builtins`); the
others make projections of it, which nobody reads here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time
from typing import Any, Final, TypeAlias, TypeVar, cast

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.stream import StreamTransformer

from langgraph_agui.kernel.configs import graph_around
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.blocks import BlockDelta, read_blocks
from langgraph_agui.messages.transformed_blocks import TransformedBlocks
from langgraph_agui.protocol.json import to_jsonable

logger = run_logger(__name__)

Factory: TypeAlias = Callable[[tuple[str, ...]], StreamTransformer]
Scope: TypeAlias = Sequence[str]

_Beside = TypeVar("_Beside")

# LangChain's transformer that hides the model calls of middleware. `ModelCall` knows these.
_HIDES_CALLS: Final = "InternalCallTransformer"


class _Withheld:
    """Stands for data that a transformer holds back."""


WITHHELD: Final = _Withheld()


def changing(factories: Iterable[Factory], *, here: bool) -> list[Factory]:
    """Return those of a graph's transformers that change its stream.

    Args:
        factories: All of them.
        here: True for those that can run here, False for those that cannot, because they await
            something for each event.
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

Failed: TypeAlias = Callable[[Exception], None]


class RunTransformers:
    """The transformers of all graphs of a run.

    Args:
        failed: Receives an exception of one. It ends the run as an error of the graph.
        find: Finds them; None if there are none.
        speakers: Those of the graphs that may speak in the conversation of the root graph.

    Attributes:
        root: Those of the root graph; None if it has none.
    """

    def __init__(
        self,
        failed: Failed = lambda _: None,
        find: TransformersAt | None = None,
        speakers: Sequence[Factory] = (),
    ) -> None:
        self._find = find
        self._speakers = speakers
        self._failed = failed
        own = find((), None) if find is not None else ()
        self.root = Transformers(own, failed) if own else None
        self._inner: dict[str, Transformers | None] = {"": self.root}

    def of_graph(self, namespace: str, name: str | None) -> "Transformers | None":
        """Return the transformers of the graph at a namespace, and of all graphs around it, if
        there are any.

        Args:
            namespace: The checkpoint namespace of the graph.
            name: The name of the graph, if it is a subagent.
        """
        if namespace not in self._inner:
            self._inner[namespace] = self._new(namespace, name)
        return self._inner[namespace]

    def of_stored(self, namespace: str = "") -> "Transformers | None":
        """Return the transformers for what the graph at a namespace stores, if there are any.
        Nobody can tell later which graph inside it has written that.
        """
        own = self.of_graph(namespace, None)
        return Transformers(self._speakers, self._failed, around=own) if self._speakers else own

    def _new(self, namespace: str, name: str | None) -> "Transformers | None":
        if self._find is None:
            return None
        scope = namespace.split("|")
        outer = graph_around(namespace)
        around = self._inner[outer] if outer in self._inner else self._new(outer, None)
        own = self._find(scope, name)
        return Transformers(own, self._failed, scope, around) if own else around


# Makes the transformers of a run, which report their exceptions.
MakeTransformers: TypeAlias = Callable[[Failed], RunTransformers]


class Transformers:
    """The transformers of one graph, in one run.

    Args:
        factories: They make the transformers.
        failed: Receives an exception of a transformer.
        scope: The namespace of the graph.
        around: The transformers of the graphs around it. They come last.
    """

    def __init__(
        self,
        factories: Iterable[Factory],
        failed: Failed = lambda _: None,
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
            data: The data. Transformers may change them in place, as in LangGraph.
            namespace: The namespace of the graph that they are from; by default, that of the
                transformers.

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
    ) -> TransformedBlocks:
        """Return the blocks of a message that arrives in pieces, on their way.

        Args:
            metadata: The metadata of its model call.
            namespace: As for `send`.
        """

        def send(data: dict[str, object]) -> object:
            shown = self.send("messages", (data, metadata), namespace)
            return shown[0] if isinstance(shown, tuple) else WITHHELD

        return TransformedBlocks(send, self.whole_output)

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

    def changes(self, message: BaseMessage) -> bool:
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
        output = self.whole_output(message.tool_call_id, message)
        return output if isinstance(output, ToolMessage) else message.model_copy(update=_EMPTY)

    def whole_output(self, call_id: str, output: object) -> object:
        """Return what a tool has returned; None if it is held back or refused."""
        data = {"event": "tool-finished", "tool_call_id": call_id, "output": output}
        try:
            shown = self.send("tools", data)
        except Exception:
            warn_refused(call_id)
            return None
        return shown.get("output") if isinstance(shown, dict) else None

    def let_pass(self, value: object) -> bool:
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
        shown = self.as_json("values", {key: value})
        return shown.get(key) if isinstance(shown, Mapping) else None

    def as_json(self, method: str, data: object, namespace: Scope | None = None) -> object:
        """Return the data of an event as JSON data; see `send`.

        Transformers look into messages, mappings and lists. Other objects, such as an answer in a
        schema, pass once more as JSON data.
        """
        shown = self.send(method, data, namespace)
        if shown is WITHHELD:
            return shown
        plain = to_jsonable(shown)
        return plain if plain == shown else self.send(method, plain, namespace)


_EMPTY: Final = {"content": "", "artifact": None}


def _metadata_of(message: BaseMessage) -> dict[str, Any]:
    return {"run_id": message.id or ""}


def _texts(deltas: Iterable[BlockDelta]) -> dict[object, str]:
    """Return the texts of blocks."""
    texts: dict[object, str] = {}
    for delta in deltas:
        key = delta.kind, delta.call
        texts[key] = texts.get(key, "") + delta.text
    return texts
