"""Read a LangChain message, or a chunk of one, as blocks: text, reasoning and tool calls.

Any `BaseMessage` enters, in the shape of its provider's package: standard v1 blocks, Anthropic
`thinking`, OpenAI Responses items, Bedrock `reasoning_content`, Mistral lists, OpenRouter and
DeepSeek `additional_kwargs`. `BlockDelta`s leave, in the order of the message. Chunks and whole
messages go through the same reader, so it does not matter how a message was cut.

Media and citations are read from the finished message (`made.py`, `citations.py`).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.content import ContentBlock
from langgraph_agui.messages.server_tools import ServerCall, read_server_tool
from langgraph_agui.protocol.json import clean_text, dump_json

logger = run_logger(__name__)

# A server call and its result are of a tool that the provider runs.
BlockKind: TypeAlias = Literal["text", "reasoning", "call", "server_call", "server_result"]
CALLS: Final[tuple[BlockKind, ...]] = ("call", "server_call")


class BlockDelta(NamedTuple):
    """A piece of one block.

    `key` distinguishes blocks of the same kind within a message; None means the current block.
    `text` is the visible text, or a fragment of the arguments of a call. `id` is the provider's
    block id, or the call's id; of a server's result that of its call. `name` is the tool's name,
    and `failed` says that a server's result is a failure.
    """

    kind: BlockKind
    key: Hashable
    text: str
    id: str | None = None
    name: str | None = None
    failed: bool = False

    @property
    def call(self) -> Hashable:
        """What distinguishes a call within a message; None means the last call."""
        return self.id if self.key is None else self.key


CALL_BLOCKS = frozenset(
    {
        "tool_use",
        "function_call",
        "tool_call",
        "tool_call_chunk",
        "invalid_tool_call",
        "input_json_delta",
    }
)
REASONING_BLOCKS = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content"})
# The key in `additional_kwargs` in which packages keep reasoning as they got it. It is the key of
# the block too.
REASONING_KWARG = "reasoning_content"
# The key in `additional_kwargs` in which `ReasoningChatOpenAI` keeps the fields of servers that
# OpenAI's API does not have. They may hold reasoning.
SERVER_FIELDS = "agui_server_fields"


def read_blocks(message: BaseMessage, *, whole: bool = False) -> list[BlockDelta]:
    """Return the blocks of `message`, in order.

    Args:
        message: A chunk, or a message.
        whole: True for a complete message. Blocks without an index are then blocks of their own; in
            a chunk they continue the current block.
    """
    deltas: list[BlockDelta] = []
    if message.additional_kwargs:
        _read_kwargs(message, deltas)
    content = message.content
    calls = _calls(message)
    if whole and message.additional_kwargs:
        calls += read_tool_outputs(message)
    if content.__class__ is str:
        if content:
            deltas.append(BlockDelta("text", None, content))
        return [*deltas, *calls]
    for position, block in enumerate(cast("Sequence[str | ContentBlock]", content)):
        if isinstance(block, str):
            if block:
                deltas.append(BlockDelta("text", None, block))
        elif (kind := block.get("type")).__class__ is str and kind in CALL_BLOCKS:
            _read_call(block, calls, deltas)
        else:
            _read_block(block, ("#", position) if whole else None, deltas)
    return [*deltas, *calls]


def read_tool_outputs(message: BaseMessage) -> list[BlockDelta]:
    """Return the server tools of a message of OpenAI v0, which keeps them in `additional_kwargs`.

    Its chunks are not read for them: they come before the id of the message.
    """
    deltas: list[BlockDelta] = []
    outputs = message.additional_kwargs.get("tool_outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, Mapping):
            _read_server_tool(output, None, deltas)
    return deltas


def continuation_text(chunk: BaseMessage, kind: BlockKind, key: Hashable) -> str | None:
    """Return the text of `chunk` if it only continues the block of this kind and key, else None.

    This is a short cut around `read_blocks` for most chunks.
    """
    if chunk.__class__ is not AIMessageChunk or chunk.additional_kwargs:
        return None
    content = chunk.content
    if kind == "call":
        return _more_arguments(chunk, content, key)
    if chunk.tool_call_chunks:
        return None
    if isinstance(content, str):
        return content if kind == "text" else None
    if len(content) != 1 or isinstance(block := content[0], str):
        return None
    if kind == "text":
        return block.get("text") if block.get("type") == "text" else None
    return (
        block.get("thinking")
        if block.get("index") == key and isinstance(block.get("thinking"), str)
        else None
    )


def _more_arguments(
    chunk: AIMessageChunk, content: str | Sequence[str | ContentBlock], key: Hashable
) -> str | None:
    if len(chunk.tool_call_chunks) != 1 or key is None:
        return None
    call = chunk.tool_call_chunks[0]
    if call.get("index") != key or call["id"] or call["name"]:
        return None
    if content and (
        len(content) != 1
        or isinstance(block := content[0], str)
        or block.get("type") not in CALL_BLOCKS
    ):
        return None
    return call["args"] or ""


def _calls(message: BaseMessage) -> list[BlockDelta]:
    if isinstance(message, AIMessageChunk):
        return [
            BlockDelta(
                "call",
                chunk.get("index"),
                chunk["args"] or "",
                chunk["id"] or None,
                chunk["name"] or None,
            )
            for chunk in message.tool_call_chunks
        ]
    if not isinstance(message, AIMessage):
        return []
    calls = [(call["id"], dump_json(call["args"]), call["name"]) for call in message.tool_calls]
    calls += [
        (call["id"], call["args"] or "", call["name"] or "") for call in message.invalid_tool_calls
    ]
    return [
        BlockDelta("call", ("#", position), arguments, call_id or None, clean_text(name) or None)
        for position, (call_id, arguments, name) in enumerate(calls)
    ]


def _read_call(block: ContentBlock, calls: list[BlockDelta], deltas: list[BlockDelta]) -> None:
    """Move the call that `block` stands for from `calls`, which have its arguments, to `deltas`."""
    ids = (block.get("id"), block.get("call_id"))
    index = block.get("index")
    for position, call in enumerate(calls):
        if (call.id and call.id in ids) or (index is not None and call.key == index):
            deltas.append(calls.pop(position))
            return
    _read_server_tool(block, None, deltas)


def _read_server_tool(block: ContentBlock, fallback: Hashable, deltas: list[BlockDelta]) -> None:
    for one in read_server_tool(block):
        if isinstance(one, ServerCall):
            key = _key(block.get("index"), fallback)
            deltas.append(BlockDelta("server_call", key, one.arguments, one.id, one.name))
        else:
            deltas.append(
                BlockDelta("server_result", None, one.text, one.call_id, failed=one.failed)
            )


def _read_block(block: ContentBlock, fallback: Hashable, deltas: list[BlockDelta]) -> None:
    """Read a content block that is no call of a tool of ours. Blocks without text are skipped."""
    kind = block.get("type")
    if kind == "text" or kind == "refusal":
        if text := _text(block.get(kind)):
            deltas.append(BlockDelta("text", None, text))
    elif is_reasoning(block):
        _read_reasoning(block, fallback, deltas)
    elif kind == "non_standard" and isinstance(value := block.get("value"), Mapping):
        index = block.get("index", value.get("index"))
        _read_block(value if index is None else {**value, "index": index}, fallback, deltas)
    else:
        _read_server_tool(block, fallback, deltas)


def is_reasoning(block: ContentBlock) -> bool:
    """Whether `block` is reasoning, whatever its shape."""
    kind = block.get("type")
    return isinstance(kind, str) and kind in REASONING_BLOCKS


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _key(index: object, fallback: Hashable) -> Hashable:
    """Return the identity of a block: its index, if it has one as packages give them."""
    return index if isinstance(index, int | str) else fallback


def _read_reasoning(block: ContentBlock, fallback: Hashable, deltas: list[BlockDelta]) -> None:
    key = _key(block.get("index"), fallback)
    block_id = _text(block.get("id"))
    provider_id = (
        block_id if block_id.isprintable() and not block_id.startswith("lc_") else ""
    ) or None
    summary = block.get("summary")
    if not isinstance(summary, list):
        deltas.append(BlockDelta("reasoning", key, reasoning_text(block), provider_id))
        return
    # without text, it names the block whose first part may follow
    for position, item in enumerate(summary or [{}]):
        inner: ContentBlock = item if isinstance(item, Mapping) else {}
        number = _key(inner.get("index"), position)
        deltas.append(BlockDelta("reasoning", (key, number), _text(inner.get("text")), provider_id))


def reasoning_text(block: ContentBlock) -> str:
    """Return the visible text of one reasoning block in any shape but a list of summary parts; ""
    if hidden.
    """
    kind = block.get("type")
    value: object = None
    if kind == "thinking":
        value = block.get("thinking")
    elif kind == "reasoning":
        value = block.get("reasoning") or block.get("text") or block.get("content")
    elif kind == "reasoning_content":
        inner = block.get("reasoning_content")
        value = inner.get("text") if isinstance(inner, Mapping) else inner
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


def kwarg_reasoning(message: BaseMessage) -> str:
    """Return the reasoning in `additional_kwargs`, if it is not in the content too, as with
    standard blocks.
    """
    text = message.additional_kwargs.get(REASONING_KWARG)
    if not isinstance(text, str) or not text:
        return ""
    content = message.content if isinstance(message.content, list) else ()
    within = any(isinstance(block, Mapping) and is_reasoning(block) for block in content)
    return "" if within else text


def _read_kwargs(message: BaseMessage, deltas: list[BlockDelta]) -> None:
    """Read reasoning in `additional_kwargs`: `reasoning_content` (DeepSeek, Ollama, ...),
    `reasoning` (OpenAI v0).
    """
    if text := kwarg_reasoning(message):
        deltas.append(BlockDelta("reasoning", REASONING_KWARG, text))
    item = message.additional_kwargs.get("reasoning")
    if isinstance(item, Mapping):
        _read_reasoning({"summary": [], **item, "type": "reasoning"}, "reasoning", deltas)
