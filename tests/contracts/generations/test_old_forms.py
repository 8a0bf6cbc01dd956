"""What servers and clients of before AG-UI 1.0 say in another way is read, with a word in the
log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import UserMessage
from fastapi import FastAPI
from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent, TrustOptions, agui_router
from langgraph_agui.client import AGUIClient, AGUISession
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.models.scripted import Scripted
from tests.kit.processes.raw_http import ask
from tests.kit.processes.scripted_servers import Awaiting, Blocking, recording, server
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.wire_events import (
    Wire,
    call,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    text,
)

PARTS = [{"type": "text", "text": "Good "}, {"type": "text", "text": "day", "index": 1}]
ASK = run_input(UserMessage(id="u", content="hi"), thread="t")


def old_stream() -> list[Wire]:
    """What a server of before 1.0 sends: reasoning in the role of an assistant, parts where 1.0 has
    text."""
    opener, *rest = reasoning("q", "hm")
    held = [
        message("user", "u", "hi"),
        message("reasoning", "q", "hm"),
        message("assistant", "m", PARTS),
    ]
    return in_run(
        event("REASONING_START", messageId="q", role="assistant"),
        {**opener, "role": "assistant"},
        *rest,
        event("REASONING_END", messageId="q"),
        *text("m", "Good ", "day"),
        *call("c", "{}", parentMessageId="m"),
        result("c", content=PARTS),
        snapshot(*held),
    )


@pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)
def test_our_client_reads_an_old_server(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), server(recording(*old_stream())) as agent:
        run = AGUIClient(agent.url).run(ASK)
        reader.read(run)
    assert [(one.role, one.content) for one in run.messages] == [
        ("user", "hi"),
        ("reasoning", "hm"),
        ("assistant", "Good day"),
    ]
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "deprecated role 'assistant' of reasoning" in said
    assert "a list of parts in content" in said


def test_a_session_goes_on_in_the_form_of_1_0() -> None:
    with server(recording(*old_stream()), recording(*in_run())) as agent:
        session = AGUISession(agent.url, thread_id="t")
        for said in (UserMessage(id="u", content="hi"), "and?"):
            for _ in session.send(said):
                pass
    sent = agent.asked[1].json["messages"]
    assert [one["role"] for one in sent] == ["user", "reasoning", "assistant", "user"]
    assert [one["content"] for one in sent[1:3]] == ["hm", "Good day"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(FastAPI()) as served:
        yield served


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
HISTORIES: dict[str, tuple[list[Wire], list[Any]]] = {
    "text": ([message("assistant", "m", PARTS)], [("ai", "Good day")]),
    "instructions": ([message("system", "m", PARTS)], [("system", "Good day")]),
    "calls alone": (
        [
            message("assistant", "m", [], toolCalls=[CALL]),
            message("tool", "o", PARTS, toolCallId="c"),
        ],
        [("ai", ""), ("tool", "Good day")],
    ),
    "reasoning": (
        [message("reasoning", "q", PARTS), message("assistant", "m", PARTS)],
        [("ai", "Good day")],
    ),
    "blocks of a model": (
        [
            message(
                "assistant", "m", [{"type": "thinking", "thinking": "hm", "signature": "S"}, *PARTS]
            )
        ],
        [("ai", "Good day")],
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_our_server_reads_old_histories(
    name: str, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    held, expected = HISTORIES[name]
    model = Scripted(["Bye."])
    agent = LangGraphAgent(create_agent(model), trust=TrustOptions(instructions="accept"))
    served.config.app.include_router(agui_router(agent, f"/{id(agent)}"))  # type: ignore[union-attr]
    given = {
        **json.loads(run_input(thread="t").model_dump_json(by_alias=True)),
        "messages": [message("user", "u1", "hi"), *held, message("user", "u2", "bye")],
    }
    answer = ask(served.port, "POST", f"/{id(agent)}", json.dumps(given).encode())
    assert answer.status == 200, answer.body
    recorded = RecordedRun(list(decode([answer.body])), parse_input(given))
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert recorded.messages[-1].content == "Bye."
    [seen] = model.seen
    assert [(one.type, one.text) for one in seen if one.type != "human"] == expected
    assert "a list of parts in content" in caplog.text
