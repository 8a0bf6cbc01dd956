"""The work on a client's history grows with its length, not with the square of it, whatever the
client sends.

What is counted are the bytecode instructions of the package, so a busy machine makes no difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

import langgraph_agui
from langgraph_agui import LangGraphAgent, agui_messages_to_langchain
from langgraph_agui.messages.to_agui import langchain_messages_to_agui
from langgraph_agui.protocol.schema import parse_input
from tests.kit.deep import deep, each_value
from tests.kit.models.media_files import GIF, PNG, encoded

PACKAGE = str(Path(langgraph_agui.__file__).parent)
SHORT, LONG = 50, 200
# Four times the length is about four times the work; of the square, it would be sixteen times.
MOST = 5
PICTURES = {"image/png": encoded(PNG), "image/gif": encoded(GIF)}


def user(number: object) -> dict[str, Any]:
    return {"id": f"u{number}", "role": "user", "content": "hello"}


def calls(number: object, *ids: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    listed = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"id": f"a{number}", "role": "assistant", "toolCalls": listed}


def result(number: object, call: str) -> dict[str, Any]:
    return {"id": f"t{number}", "role": "tool", "toolCallId": call, "content": "done"}


def binary(mime: str) -> dict[str, Any]:
    return {"type": "binary", "mimeType": mime, "data": PICTURES[mime]}


def modern(mime: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "data", "value": PICTURES[mime], "mimeType": mime}}


HISTORIES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "open calls": lambda n: [calls(i, f"c{i}") for i in range(n)],
    "one message, results in reverse": lambda n: [
        calls(0, *(f"c{i}" for i in range(n))),
        *(result(i, f"c{i}") for i in reversed(range(n))),
    ],
    "late results": lambda n: [
        *(calls(i, f"c{i}") for i in range(n // 2)),
        *(result(i, f"c{i}") for i in range(n // 2)),
    ],
    "old media": lambda n: [
        {
            "id": "p",
            "role": "user",
            "content": [binary("image/png"), modern("image/gif")] * (n // 2),
        }
    ],
    "results of no call": lambda n: [result(i, f"c{i}") for i in range(n)],
    "one call id": lambda n: [
        *(calls(i, "c") for i in range(n // 2)),
        *(result(i, "c") for i in range(n // 2)),
    ],
    "one call id in one message": lambda n: [
        calls(0, *["c"] * n),
        *(result(i, "c") for i in range(n)),
    ],
    "one message id": lambda n: [user(0)] * n,
    "one assistant id": lambda n: [calls(0, f"c{i}") for i in range(n)],
    "alternating": lambda n: [
        one for i in range(n // 2) for one in (calls(i, f"c{i}"), result(i, f"c{i}"))
    ],
    "results of calls and of none": lambda n: [
        calls(0, *(f"c{i}" for i in range(n // 2))),
        *(one for i in range(n // 2) for one in (result(i, f"c{i}"), result(f"o{i}", f"o{i}"))),
    ],
    "subagents": lambda n: [{**calls(i, f"c{i}"), "subagentRunId": f"s{i}"} for i in range(n)],
    "reasoning": lambda n: [
        one
        for i in range(n // 2)
        for one in (
            {"id": f"r{i}", "role": "reasoning", "content": "so", "encryptedValue": "abcd"},
            {"id": f"b{i}", "role": "assistant", "content": "hi", "encryptedValue": "eyJ2IjoxfQ"},
        )
    ],
}


def agent(saver: InMemorySaver | None) -> LangGraphAgent:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [("ai", "hi")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return LangGraphAgent(builder.compile(checkpointer=saver))


class Instructions:
    """Counts the instructions of the package that run in this thread."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Instructions:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, _frame: FrameType, event: str, _argument: object) -> Any:
        self.count += event == "opcode"
        return self._instruction


async def work(way: str, history: list[dict[str, Any]], **more: Any) -> int:
    """The instructions for one request with this history."""
    served = agent(None if way == "no thread" else InMemorySaver())
    sent = {
        "threadId": "t",
        "runId": "r",
        "messages": [*history, user("last")],
        "protocolVersion": "1.0",
        **more,
    }
    if way == "old client":
        del sent["protocolVersion"]
    if way in ("known thread", "other ids", "connect"):
        last = [event async for event in served.run(parse_input(sent))][-1]
        assert last.type.value == "RUN_FINISHED", last
    if way == "known thread":
        sent["messages"] = [*sent["messages"], user("more")]
    elif way == "other ids":
        sent["messages"] = [{**one, "id": f"other {one['id']}"} for one in sent["messages"]]
    elif way == "connect":
        sent["messages"] = []
    with Instructions() as instructions:
        run_input = parse_input(sent)
        events = served.connect(run_input) if way == "connect" else served.run(run_input)
        last = [event async for event in events][-1]
    assert last.type.value == "RUN_FINISHED", last
    return instructions.count


WAYS = ("no thread", "unknown thread", "known thread", "other ids", "connect", "old client")


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("way", WAYS)
@each_value(
    "way",
    also=lambda way, name: (
        (way, name)
        in [
            ("unknown thread", "open calls"),
            ("unknown thread", "old media"),
            ("connect", "one message, results in reverse"),
        ]
    ),
)
async def test_work_grows_with_the_length(way: str, name: str) -> None:
    short, long = [await work(way, HISTORIES[name](length)) for length in (SHORT, LONG)]
    assert long < MOST * short


@pytest.mark.parametrize("way", ["unknown thread", "known thread"])
async def test_an_answer_to_no_question_is_not_read(way: str) -> None:
    short, long = [
        await work(way, [], forwardedProps={"command": {"resume": "[" + "[]," * length + "[]]"}})
        for length in (SHORT, 20 * LONG)
    ]
    assert long < 1.5 * short


async def test_a_text_that_reads_like_the_escape_of_an_odd_character_is_no_work() -> None:
    """Cleaning visits each value."""
    odd, plain = [
        await work("no thread", [], state={"data": [[]] * 5_000, "text": text})
        for text in ("\\u0000", "\\n0000")
    ]
    assert odd < 1.05 * plain


@deep
def test_a_message_with_many_calls_is_compared_in_linear_time() -> None:
    """The comparisons of ids are not the package's instructions, so they are told by time."""

    def seconds(count: int) -> float:
        ids = [f"c{number}" for number in range(count)]
        blocks = [
            {
                "type": "function_call",
                "id": f"f{one}",
                "call_id": one,
                "name": "f",
                "arguments": "{}",
            }
            for one in ids
        ]
        message = AIMessage(
            content=[*blocks],
            tool_calls=[tool_call(name="f", args={}, id=one) for one in ids],
            id="m",
            response_metadata={"model_provider": "openai"},
        )
        shown = langchain_messages_to_agui([message])
        start = process_time()
        restored = agui_messages_to_langchain(shown)
        assert len(restored[0].content) == count
        return process_time() - start

    assert min(seconds(8_000) for _ in range(3)) < 24 * min(seconds(1_000) for _ in range(5))
