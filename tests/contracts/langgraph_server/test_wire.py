"""Messages on their way to and from a LangGraph server, without one."""

from __future__ import annotations

import json
from dataclasses import asdict

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
from tests.kit.models.scripted import add, call, calling, part, thinking, used

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


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_the_server_reads_what_was_sent(message: BaseMessage) -> None:
    (read,) = convert_to_messages([sent(message)])
    assert read == message


def test_removals_overwrites_and_commands() -> None:
    (removal,) = convert_to_messages([sent(RemoveMessage(id="h"))])
    assert removal == RemoveMessage(id="h")
    assert sent({"notes": Overwrite(["n"])}) == {"notes": {"__overwrite__": ["n"]}}
    command = encode_for_server(
        Command(resume={"i": 1}, update={"messages": [HumanMessage("hi", id="h")]})
    )
    assert isinstance(command, Command)
    recorded = json.loads(json.dumps(asdict(command)))
    assert recorded["resume"] == {"i": 1}
    assert convert_to_messages(recorded["update"]["messages"]) == [HumanMessage("hi", id="h")]


@pytest.mark.parametrize(
    "message", [*MESSAGES, RemoveMessage(id="h")], ids=lambda message: message.type
)
def test_a_dump_becomes_the_message(message: BaseMessage) -> None:
    assert decode_message(json.loads(message.model_dump_json())) == message


def test_chunks_add_up_to_the_same_message() -> None:
    chunks = [
        thinking("a", id="m"),
        thinking(signature="S"),
        AIMessageChunk([{"type": "text", "text": "t", "index": 1}]),
        calling(part("f", '{"x":', "c1", 2)),
        calling(part(None, " 1}", None, 2)),
        call("g", "c2", 3, y=2),
        used(1, 2),
        AIMessageChunk("", chunk_position="last"),
    ]
    revived = [decode_message(json.loads(chunk.model_dump_json())) for chunk in chunks]
    assert add(revived) == add(chunks)


def test_messages_are_found_however_deep_and_others_are_left() -> None:
    revival = MessageDecoder()
    data = {
        "inner": [{"m": MESSAGES[0].model_dump()}],
        "other": {"type": "ai", "content": "no message"},
    }
    first, again = revival.decode(data), revival.decode(data)
    assert first == {
        "inner": [{"m": MESSAGES[0]}],
        "other": {"type": "ai", "content": "no message"},
    }
    assert first["inner"][0]["m"] is again["inner"][0]["m"]  # type: ignore[index]
    assert decode_message({"type": "tool", "content": "x", "additional_kwargs": {}}) is None


def test_threads_have_ids_that_the_server_takes() -> None:
    def thread(given: str) -> str:
        return str(
            server_config({"configurable": {"thread_id": given}})["configurable"]["thread_id"]
        )

    known = "0f0b1f3e-6a57-4e0e-9d53-0a2f7c1e8b36"
    assert thread(known) == known
    assert thread("chat 1") == thread("chat 1") == "df5eb5b8-c8e6-5218-88a8-aef102be16bf"
    assert thread("chat 1") != thread("chat 2")
