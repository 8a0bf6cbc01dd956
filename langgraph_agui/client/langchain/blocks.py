"""The content blocks of a message that is still being said, and the chunks that say them.

In: the words of texts, thoughts and calls. Out: `AIMessageChunk`s in LangChain's standard form (`output_version` v1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from langgraph_agui.client.langchain.history import PROVIDER, respelt
from langgraph_agui.client.langchain.nesting import Nesting
from langgraph_agui.messages.assistant_turn import Block as TurnBlock

_SPOILING = ("", "}", "]", '"}', '"]', '""}', '""]')
"""Endings of which one fits no JSON, complete or not: a wrong bracket, behind the end of a string if one is open."""


@dataclass(slots=True, eq=False)
class Block:
    """One content block: its place, the item whose words it says, and the assistant message of a text or call.

    `details` is what only the last chunk tells of a reasoning message or call: what may still be overwritten.
    """

    type: str
    index: int
    item: TurnBlock
    message_id: str | None
    details: dict[str, Any] = field(default_factory=dict)
    nesting: Nesting = field(default_factory=Nesting)
    is_spoilt: bool = False
    """Whether a call cannot be run from what is said of it."""

    def spoil(self, said: str) -> str:
        """Return what makes a call's arguments unreadable, of which `said` is what the caller has."""
        self.is_spoilt = True
        return next(ending for ending in _SPOILING if respelt(said + ending) is None)


def say(block: Block, text: str, *, opening: bool = False) -> AIMessageChunk:
    """The chunk with `text` for `block`; for a call that is `opening`, with its id and name."""
    item, index = block.item, block.index
    if item.kind != "call":
        return chunk_of(block.message_id, [{"type": block.type, block.type: text, "id": item.id, "index": index}])
    call_id, name = (item.id, item.name) if opening else (None, None)
    said = {"type": block.type, "id": call_id, "name": name, "args": text, "index": index}
    if block.type == "server_tool_call_chunk":
        return chunk_of(block.message_id, [{key: value for key, value in said.items() if value is not None}])
    call = tool_call_chunk(name=name, args=text, id=call_id, index=index)
    return chunk_of(block.message_id, [said], tool_call_chunks=[call])


def readable(block: Block, text: str) -> str:
    """What may be said of the next part of a call's arguments: core fails on those that are nested too deeply."""
    if block.is_spoilt or not block.nesting.exceeded(text):
        return "" if block.is_spoilt else text
    return block.spoil("".join(block.item.pieces[:-1]))


def call_details(block: Block) -> dict[str, Any]:
    """What the last chunk tells of a call: its arguments too, if they cannot be had from what was said of it."""
    arguments = block.item.text
    if respelt(arguments) == arguments and not block.is_spoilt:
        return block.details
    return {**block.details, "arguments": arguments}


def chunk_of(message_id: str | None, content: list[str | dict[Any, Any]], **fields: Any) -> AIMessageChunk:
    """A chunk with these blocks, of the assistant message of that id."""
    told = {"output_version": "v1", "model_provider": PROVIDER}
    return AIMessageChunk(content=content, id=message_id, response_metadata=told, **fields)
