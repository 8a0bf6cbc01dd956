"""Messages on their way to and from a LangGraph server, without one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.types import Command, Overwrite

from langgraph_agui.graphs.server import server_config
from langgraph_agui.messages.extract import MessageDecoder, decode_message, encode_for_server
from tests.kit.models.scripted import add, call, calling, part, text_chunk, thinking, used

MESSAGES: list[BaseMessage] = [
    HumanMessage([{"type": "text", "text": "hi"}], id="h", name="bob", additional_kwargs={"a": 1}),
    SystemMessage("be kind", id="s"),
    AIMessage(
        [{"type": "thinking", "thinking": "t", "signature": "S"}, {"type": "text", "text": "x"}],
        id="a",
        tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}],
        additional_kwargs={"reasoning_content": "r"},
        response_metadata={"model_provider": "anthropic"},
    ),
    AIMessage("", id="empty"),
    ToolMessage("r", tool_call_id="c", id="t", name="f", status="error", artifact={"z": 1}),
]


def sent(value: object) -> object:
    return json.loads(json.dumps(encode_for_server(value)))


@pytest.mark.parametrize("message", [*MESSAGES, RemoveMessage(id="h")], ids=lambda one: one.type)
def test_a_message_is_read_as_it_was_sent(message: BaseMessage) -> None:
    """By the server, and by us as the server dumps it."""
    assert convert_to_messages([sent(message)]) == [message]
    assert decode_message(json.loads(message.model_dump_json())) == message


def test_overwrites_and_commands() -> None:
    assert sent({"notes": Overwrite(["n"])}) == {"notes": {"__overwrite__": ["n"]}}
    update = {"messages": [HumanMessage("hi", id="h")]}
    command: Any = encode_for_server(Command(resume={"i": 1}, update=update))
    recorded = json.loads(json.dumps(asdict(command)))
    assert recorded["resume"] == {"i": 1}
    assert convert_to_messages(recorded["update"]["messages"]) == update["messages"]


def test_chunks_add_up_to_the_same_message() -> None:
    chunks = [
        thinking("a", id="m"),
        thinking(signature="S"),
        text_chunk("t", 1),
        calling(part("f", '{"x":', "c1", 2)),
        calling(part(None, " 1}", None, 2)),
        call("g", "c2", 3, y=2),
        used(1, 2),
        AIMessageChunk("", chunk_position="last"),
    ]
    revived = [decode_message(json.loads(chunk.model_dump_json())) for chunk in chunks]
    assert add(revived) == add(chunks)


def test_messages_are_found_however_deep_and_others_are_left() -> None:
    other = {"type": "ai", "content": "no message"}
    data = {"inner": [{"m": MESSAGES[0].model_dump()}], "other": other}
    decoder = MessageDecoder()
    first, again = (dict[str, Any](decoder.decode(data)) for _ in range(2))
    assert first == {"inner": [{"m": MESSAGES[0]}], "other": other}
    assert first["inner"][0]["m"] is again["inner"][0]["m"]
    assert decode_message({"type": "tool", "content": "x", "additional_kwargs": {}}) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0f0b1f3e-6a57-4e0e-9d53-0a2f7c1e8b36", "0f0b1f3e-6a57-4e0e-9d53-0a2f7c1e8b36"),
        ("chat 1", "df5eb5b8-c8e6-5218-88a8-aef102be16bf"),
    ],
)
def test_threads_have_ids_that_the_server_takes(given: str, expected: str) -> None:
    config = server_config({"configurable": {"thread_id": given}})
    assert config["configurable"]["thread_id"] == expected
