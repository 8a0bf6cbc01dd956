"""Agents that tell their messages in a snapshot only."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AGUIChatModel
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.wire_events import in_run, message, snapshot


@pytest.mark.parametrize("tools", [[], ["look"]], ids=["there", "here"])
def test_what_only_a_snapshot_tells(tools: list[str]) -> None:
    """An agent that streams nothing of its messages has said them all the same."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}
    recorded = [
        message("user", "u", "hi"),
        message("reasoning", "q", "hm", encryptedValue="sealed"),
        message("assistant", "m", "One moment.", toolCalls=[call]),
    ]
    with server(recording(*in_run(snapshot(*recorded))), recording(*in_run())) as agent:
        model = AGUIChatModel(url=agent.url)
        offered = [
            {"title": name, "description": "", "type": "object", "properties": {}} for name in tools
        ]
        answer = model.bind_tools(offered).invoke([HumanMessage("hi", id="u")])
        assert answer.text == "One moment."
        assert [block["type"] for block in answer.content_blocks][:2] == ["reasoning", "text"]
        assert [one["args"] for one in answer.tool_calls] == [{"x": 1}] * len(tools)
        model.invoke([HumanMessage("hi", id="u"), answer])
        assert (
            agent.asked[1].json["messages"][: len(recorded)]
            == agent.asked[0].json["messages"] + recorded[1:]
        )
