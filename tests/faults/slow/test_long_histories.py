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

import langgraph_agui
from langgraph_agui import agui_messages_to_langchain
from langgraph_agui.messages.to_agui import langchain_messages_to_agui
from langgraph_agui.protocol.schema import parse_input
from tests.kit.deep import deep
from tests.kit.graphs.small import agent_of
from tests.kit.models.media_files import GIF, PNG, encoded
from tests.kit.run.wire_events import caller, message

pytestmark = deep

PACKAGE = str(Path(langgraph_agui.__file__).parent)
SHORT, LONG = 50, 200
# Four times the length is about four times the work; of the square, it would be sixteen times.
MOST = 5


def user(number: object) -> dict[str, Any]:
    return message("user", f"u{number}", "hello")


def calls(number: object, *ids: str, **fields: Any) -> dict[str, Any]:
    return caller(f"a{number}", *(ids or (f"c{number}",)), **fields)


def result(number: object, call: str = "") -> dict[str, Any]:
    return message("tool", f"t{number}", "done", toolCallId=call or f"c{number}")


def thought(number: object) -> list[dict[str, Any]]:
    why = message("reasoning", f"r{number}", "so", encryptedValue="abcd")
    return [why, message("assistant", f"b{number}", "hi", encryptedValue="eyJ2IjoxfQ")]


def media(count: int) -> dict[str, Any]:
    """A message with media in the old form and in the new one."""
    data = {"type": "data", "value": encoded(GIF), "mimeType": "image/gif"}
    old = {"type": "binary", "mimeType": "image/png", "data": encoded(PNG)}
    return message("user", "p", [old, {"type": "image", "source": data}] * count)


def names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def all_of(count: int, *make: Callable[[int], Any]) -> list[Any]:
    """What each makes of each number, one after the other."""
    return [one(number) for one in make for number in range(count)]


def pairs(count: int, make: Callable[[int], Any]) -> list[Any]:
    """The two that it makes of each number."""
    return [one for number in range(count) for one in make(number)]


HISTORIES: dict[str, Callable[[int], list[Any]]] = {
    "open calls": lambda n: all_of(n, calls),
    "results in reverse": lambda n: [calls(0, *names(n)), *all_of(n, result)[::-1]],
    "late results": lambda n: all_of(n // 2, calls, result),
    "old media": lambda n: [media(n // 2)],
    "one call id": lambda n: all_of(n // 2, lambda i: calls(i, "c"), lambda i: result(i, "c")),
    "in one message": lambda n: [calls(0, *["c"] * n), *all_of(n, lambda i: result(i, "c"))],
    "one message id": lambda n: [user(0)] * n,
    "one assistant id": lambda n: all_of(n, lambda i: calls(0, f"c{i}")),
    "alternating": lambda n: pairs(n // 2, lambda i: (calls(i), result(i))),
    "results of calls and of none": lambda n: [
        calls(0, *names(n // 2)),
        *pairs(n // 2, lambda i: (result(i), result(f"o{i}"))),
    ],
    "subagents": lambda n: all_of(n, lambda i: calls(i, subagentRunId=f"s{i}")),
    "reasoning": lambda n: pairs(n // 2, thought),
}


class Instructions:
    """Counts the instructions of the package that run in this thread."""

    count = 0

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
    saver = None if way == "no thread" else InMemorySaver()
    served = agent_of(lambda _: {"messages": [("ai", "hi")]}, checkpointer=saver)
    version = {} if way == "old client" else {"protocolVersion": "1.0"}
    sent = {"threadId": "t", "runId": "r", "messages": [*history, user("last")], **version, **more}
    if way in ("known thread", "other ids", "connect"):
        last = [event async for event in served.run(parse_input(sent))][-1]
        assert last.type.value == "RUN_FINISHED", last
        sent["messages"] = {
            "known thread": [*sent["messages"], user("more")],
            "other ids": [{**one, "id": f"other {one['id']}"} for one in sent["messages"]],
            "connect": [],
        }[way]
    with Instructions() as instructions:
        run_input = parse_input(sent)
        events = served.connect(run_input) if way == "connect" else served.run(run_input)
        last = [event async for event in events][-1]
    assert last.type.value == "RUN_FINISHED", last
    return instructions.count


# What a client sends, and how: each history is slow to repair where it is new.
ROWS = [
    *(("unknown thread", name) for name in HISTORIES),
    ("no thread", "late results"),
    ("known thread", "alternating"),
    ("other ids", "results of calls and of none"),
    ("connect", "results in reverse"),
    ("old client", "old media"),
]


@pytest.mark.parametrize(("way", "name"), ROWS)
async def test_work_grows_with_the_length(way: str, name: str) -> None:
    short, long = [await work(way, HISTORIES[name](length)) for length in (SHORT, LONG)]
    assert long < MOST * short


@pytest.mark.parametrize("way", ["unknown thread", "known thread"])
async def test_an_answer_to_no_question_is_not_read(way: str) -> None:
    resumes = ["[" + "[]," * length + "[]]" for length in (SHORT, 20 * LONG)]
    sent = [{"command": {"resume": resume}} for resume in resumes]
    short, long = [await work(way, [], forwardedProps=one) for one in sent]
    assert long < 1.5 * short


async def test_a_text_that_reads_like_the_escape_of_an_odd_character_is_no_work() -> None:
    """Cleaning visits each value."""
    states = [{"data": [[]] * 5_000, "text": text} for text in ("\\u0000", "\\n0000")]
    odd, plain = [await work("no thread", [], state=state) for state in states]
    assert odd < 1.05 * plain


def test_a_message_with_many_calls_is_compared_in_linear_time() -> None:
    """The comparisons of ids are not the package's instructions, so they are told by time."""

    def seconds(count: int) -> float:
        block = {"type": "function_call", "name": "f", "arguments": "{}"}
        message = AIMessage(
            content=[{**block, "id": f"f{one}", "call_id": one} for one in names(count)],
            tool_calls=[tool_call(name="f", args={}, id=one) for one in names(count)],
            id="m",
            response_metadata={"model_provider": "openai"},
        )
        shown = langchain_messages_to_agui([message])
        start = process_time()
        assert len(agui_messages_to_langchain(shown)[0].content) == count
        return process_time() - start

    assert min(seconds(4_000) for _ in range(3)) < 24 * min(seconds(500) for _ in range(5))
