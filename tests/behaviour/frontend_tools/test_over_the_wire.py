"""Tools of the server and of the client in one turn, through a real socket, into the reference
client, which answers with all that a result may be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.contracts.providers.test_reference_client import Stage, check_run, user
from tests.kit.graphs.frontend_tools import Offered, agent_of, lookup
from tests.kit.models.scripted import call
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.rig import Closing

SOURCE = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
PICTURE = [{"type": "text", "text": "Here it is."}, {"type": "image", "source": SOURCE}]
ANSWERS: dict[str, dict[str, Any]] = {
    "paint": {"content": json.dumps({"choice": "this one"})},
    "photo": {"content": PICTURE},
    "locate": {"content": ""},
    "breaks": {"content": "it broke", "error": "it broke"},
}


def answer(call_id: str) -> dict[str, Any]:
    return {"id": f"of-{call_id}", "role": "tool", "toolCallId": call_id, **ANSWERS[call_id[:-1]]}


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
def test_two_questions(saver: Any, node_client: NodeClient) -> None:
    turns: list[Any] = []
    for number in "12":
        mine = [call(name, name + number, at, x="y") for at, name in enumerate(ANSWERS, 1)]
        turns += [[call("lookup", f"s{number}", 0, city="Rome"), *mine], [f"Answer {number}."]]
    stage, model = Stage(), Offered(*turns)
    path = stage.add(agent_of(model, lookup, saver=saver and saver()))
    properties = {"type": "object", "properties": {"x": {"type": "string"}}}
    tools = [{"name": one, "description": one, "parameters": properties} for one in ANSWERS]
    with serving(Closing(stage.tape)) as stage.served:
        turn = {"agent": path, "url": stage.served.url(path), "threadId": path, "tools": tools}

        def run(*add: dict[str, Any]) -> ClientRun:
            ended = node_client.run(**turn, add=[*add])
            check_run(stage.recorded(path, ended), ended)
            return ended

        for number in "12":
            asked = run(user("What?", f"question-{number}"))
            assert asked.pendingToolCallIds == [name + number for name in ANSWERS]
            ended = run(*map(answer, asked.pendingToolCallIds))
            assert (ended.pendingToolCallIds or []) == []
            assert ended.messages[-1]["content"] == f"Answer {number}."
    node_client.drop(path)
    model.check()
    assert model.names == [["lookup", *ANSWERS]] * 4
    heard = {one.tool_call_id: one.text for one in model.seen[-1] if isinstance(one, ToolMessage)}
    said = {"s": "Rome: 18 degrees", "photo": "Here it is.", "locate": "", "breaks": "it broke"}
    said["paint"] = ANSWERS["paint"]["content"]
    assert heard == {name + number: text for name, text in said.items() for number in "12"}
    held = [one["toolCallId"] for one in ended.messages if one["role"] == "tool"]
    assert sorted(held) == sorted(heard)
