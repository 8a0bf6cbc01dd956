"""Tools of the server and of the client in one conversation, through a real socket, into the
reference client: the model calls, the client answers what is left to it, until the model speaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.contracts.providers.test_reference_client import Stage, check_run, user
from tests.kit.graphs.frontend_tools import Offered, lookup
from tests.kit.models.scripted import Turn, call
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.rig import Closing

SOURCE = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
PICTURE = [{"type": "text", "text": "Here it is."}, {"type": "image", "source": SOURCE}]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "lookup": {"city": "Rome"},
    "paint": {"color": "red"},
    "photo": {"place": "Rome"},
    "locate": {},
    "breaks": {"text": "x"},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "paint": {"content": json.dumps({"choice": "this one"})},
    "photo": {"content": PICTURE},
    "locate": {"content": ""},
    "breaks": {"content": "it broke", "error": "it broke"},
}
ROUNDS = [
    *(["lookup"], ["paint"], ["lookup", "photo"], ["locate", "lookup"]),
    *(["breaks", "lookup", "paint", "paint"], ["lookup", "lookup"]),
]
"""What the model calls after a question, round by round."""


def tool_of(name: str) -> dict[str, Any]:
    """A client's tool; one without arguments says nothing about them."""
    given = {"name": name, "description": f"Does {name}."}
    properties = {key: {"type": "string"} for key in ARGUMENTS[name]}
    parameters = {"type": "object", "properties": properties}
    return {**given, "parameters": parameters} if properties else given


def script(messages: list[BaseMessage]) -> Turn:
    """Every other turn begins with a word."""
    questions = [place for place, one in enumerate(messages) if isinstance(one, HumanMessage)]
    done = sum(isinstance(message, AIMessage) for message in messages[questions[-1] :])
    number = len(questions)
    if done == len(ROUNDS):
        return ["That is ", f"answer {number}."]
    calls = [
        call(name, f"{number}-{done}-{place}-{name}", place, **ARGUMENTS[name])
        for place, name in enumerate(ROUNDS[done])
    ]
    return [f"Round {done}.", *calls] if done % 2 else calls


def answer(call_id: str) -> dict[str, Any]:
    """The client's answer to a call."""
    given = ANSWERS[call_id.rpartition("-")[2]]
    return {"id": f"result-{call_id}", "role": "tool", "toolCallId": call_id, **given}


def results(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        one["toolCallId"]: "picture" if "iVBORw0KGgo=" in str(one["content"]) else one["content"]
        for one in messages
        if one["role"] == "tool"
    }


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
def test_two_questions(saver: Any, node_client: NodeClient) -> None:
    stage, model = Stage(), Offered(script=script)
    stack, saver = [AGUIMiddleware()], saver and saver()
    agent = LangGraphAgent(create_agent(model, [lookup], middleware=stack, checkpointer=saver))
    path, tools = stage.add(agent), [tool_of(name) for name in ANSWERS]
    with serving(Closing(stage.tape)) as stage.served:
        turn = {"agent": path, "url": stage.served.url(path), "threadId": path, "tools": tools}

        def run(*add: dict[str, Any]) -> ClientRun:
            ended = node_client.run(**turn, add=[*add])
            check_run(stage.recorded(path, ended), ended)
            return ended

        for number in (1, 2):
            ended = run(user("What?", f"question-{number}"))
            for done, names in enumerate(ROUNDS):
                ids = [f"{number}-{done}-{at}-{name}" for at, name in enumerate(names)]
                if pending := [one for one in ids if one.rpartition("-")[2] in ANSWERS]:
                    assert ended.pendingToolCallIds == pending
                    ended = run(*map(answer, pending))
            assert (ended.pendingToolCallIds or []) == []
            assert ended.messages[-1]["content"] == f"That is answer {number}."
    node_client.drop(path)
    model.check()
    assert model.names == [["lookup", *ANSWERS]] * (2 * len(ROUNDS) + 2)
    heard = [
        {"role": "tool", "toolCallId": one.tool_call_id, "content": one.content}
        for one in model.seen[-1]
        if isinstance(one, ToolMessage)
    ]
    assert results(heard) == results(ended.messages)
    assert len(heard) == 2 * sum(map(len, ROUNDS))
