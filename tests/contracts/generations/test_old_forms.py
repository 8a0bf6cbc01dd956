"""What servers and clients of before AG-UI 1.0 say in another way is read, with a word in the
log."""

from __future__ import annotations

import json
import logging

import pytest
from ag_ui.core import UserMessage
from fastapi import FastAPI
from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent, TrustOptions, agui_router
from langgraph_agui.client import AGUISession
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.models.scripted import Scripted
from tests.kit.processes.raw_http import ask
from tests.kit.processes.scripted_servers import server
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.wire_events import (
    call,
    caller,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    text,
)

PARTS = [{"type": "text", "text": "Good "}, {"type": "text", "text": "day", "index": 1}]
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "S"}


def old_stream():
    """What a server of before 1.0 sends: reasoning in the role of an assistant, parts where 1.0 has
    text."""
    opener, *rest = reasoning("q", "hm")
    held = [message("user", "u", "hi"), message("reasoning", "q", "hm")]
    return in_run(
        event("REASONING_START", messageId="q", role="assistant"),
        {**opener, "role": "assistant"},
        *rest,
        event("REASONING_END", messageId="q"),
        *text("m", "Good ", "day"),
        *call("c", "{}", parentMessageId="m"),
        result("c", content=PARTS),
        snapshot(*held, message("assistant", "m", PARTS)),
    )


def test_our_client_reads_an_old_server_and_goes_on_in_the_form_of_1_0(caplog):
    with caplog.at_level(logging.WARNING), server(old_stream(), in_run()) as agent:
        session = AGUISession(agent.url, thread_id="t")
        for said in (UserMessage(id="u", content="hi"), "and?"):
            session.send(said).wait()
    held = [("user", "hi"), ("reasoning", "hm"), ("assistant", "Good day"), ("user", "and?")]
    assert [(one.role, one.content) for one in session.messages] == held
    assert [(one["role"], one["content"]) for one in agent.sent()] == held
    assert "deprecated role 'assistant' of reasoning" in caplog.text
    assert "a list of parts in content" in caplog.text


ANSWER, SAID = message("assistant", "m", PARTS), [("ai", "Good day")]
HISTORIES = {
    "text": ([ANSWER], SAID),
    "instructions": ([message("system", "m", PARTS)], [("system", "Good day")]),
    "calls alone": (
        [caller("m", "c", content=[]), message("tool", "o", PARTS, toolCallId="c")],
        [("ai", ""), ("tool", "Good day")],
    ),
    "reasoning": ([message("reasoning", "q", PARTS), ANSWER], SAID),
    "blocks of a model": ([message("assistant", "m", [THOUGHT, *PARTS])], SAID),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_our_server_reads_old_histories(name, caplog):
    held, expected = HISTORIES[name]
    model, app = Scripted(["Bye."]), FastAPI()
    agent = LangGraphAgent(create_agent(model), trust=TrustOptions(instructions="accept"))
    app.include_router(agui_router(agent, "/agent"))
    given = json.loads(run_input(thread="t").model_dump_json(by_alias=True))
    given["messages"] = [message("user", "u1", "hi"), *held, message("user", "u2", "bye")]
    with serving(app) as served:
        answer = ask(served.port, "POST", "/agent", json.dumps(given).encode())
    recorded = RecordedRun(list(decode([answer.body])), parse_input(given))
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert recorded.messages[-1].content == "Bye."
    [seen] = model.seen
    assert [(one.type, one.text) for one in seen if one.type != "human"] == expected
    assert "a list of parts in content" in caplog.text
