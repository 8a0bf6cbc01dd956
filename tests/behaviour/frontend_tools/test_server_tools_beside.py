"""Tools of the server and of the client in one conversation, through a real socket, into the
reference client.

Three questions each. The model calls what a mix says, the client answers what is left to it, until
the model has made its rounds of calls and speaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.contracts.providers.test_reference_client import Stage, check_run, user
from tests.kit.graphs.frontend_tools import Offered, lookup
from tests.kit.models.scripted import Turn, call
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.rig import Closing

IMAGE = "iVBORw0KGgo="
QUESTIONS = ("first?", "second?", "third?")


@tool
def measure(length: int) -> str:
    """Measure a length."""
    return f"{length} cm"


def wanted(name: str, **properties: Any) -> dict[str, Any]:
    """A client's tool."""
    given = {"name": name, "description": f"Does {name}."}
    return (
        {**given, "parameters": {"type": "object", "properties": properties}}
        if properties
        else given
    )


TOOLS = [
    wanted("paint", color={"type": "string"}),
    wanted("ask", question={"type": "string"}),
    wanted("locate"),
    wanted("photo", place={"type": "string"}),
    wanted("breaks", text={"type": "string"}),
]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "lookup": {"city": "Rome"},
    "measure": {"length": 3},
    "paint": {"color": "red"},
    "ask": {"question": "which?"},
    "locate": {},
    "photo": {"place": "Rome"},
    "breaks": {"text": "x"},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "paint": {"content": "painted"},
    "ask": {"content": json.dumps({"choice": "this one"})},
    "locate": {"content": ""},
    "photo": {
        "content": [
            {"type": "text", "text": "Here it is."},
            {"type": "image", "source": {"type": "data", "value": IMAGE, "mimeType": "image/png"}},
        ]
    },
    "breaks": {"content": "it broke", "error": "it broke"},
}


Rounds = Sequence[Sequence[str]]
"""What the model calls for each question, round by round."""

MIXES: dict[str, Rounds] = {
    "server only": [["lookup"], ["measure", "lookup"]],
    "client only": [["paint"]],
    "both": [["lookup", "paint"]],
    "client first": [["paint", "lookup", "ask", "measure"]],
    "no arguments": [["locate"], ["locate", "lookup"]],
    "a picture": [["photo", "lookup"]],
    "a failure": [["breaks", "lookup"], ["breaks"]],
    "the same tool twice": [["paint", "paint", "lookup", "lookup"]],
    "one after the other": [["lookup"], ["paint"], ["measure", "ask"], ["lookup"]],
}


class Speaker:
    """Makes the calls of a mix for each question, then answers. Every other turn begins with a
    word."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds

    def __call__(self, messages: list[BaseMessage]) -> Turn:
        questions = [
            place for place, message in enumerate(messages) if isinstance(message, HumanMessage)
        ]
        done = sum(isinstance(message, AIMessage) for message in messages[questions[-1] :])
        number = len(questions)
        if done == len(self.rounds):
            return ["That is ", f"answer {number}."]
        calls = [
            call(name, f"{number}-{done}-{place}-{name}", place, **ARGUMENTS[name])
            for place, name in enumerate(self.rounds[done])
        ]
        return [f"Round {done}.", *calls] if done % 2 else calls

    def pending(self, number: int, done: int) -> list[str]:
        """The calls of a round that are the client's to answer."""
        names = enumerate(self.rounds[done])
        return [f"{number}-{done}-{place}-{name}" for place, name in names if name in ANSWERS]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with serving(Closing(stage.tape)) as stage.served:
        yield stage


@pytest.mark.parametrize("mix", MIXES)
def test_three_questions(mix: str, stage: Stage, node_client: NodeClient) -> None:
    rounds, stored = MIXES[mix], mix not in ("client only", "both", "a picture", "a failure")
    speaker = Speaker(rounds)
    model = Offered(script=speaker)
    graph = create_agent(
        model,
        [lookup, measure],
        middleware=[AGUIMiddleware()],
        checkpointer=InMemorySaver() if stored else None,
    )
    path = stage.add(LangGraphAgent(graph=graph))
    turn = {"agent": path, "url": stage.served.url(path), "threadId": path, "tools": TOOLS}

    def run(*add: dict[str, Any]) -> ClientRun:
        ended = node_client.run(**turn, add=[*add])
        check_run(stage.recorded(path, ended), ended)
        return ended

    for number, question in enumerate(QUESTIONS, 1):
        ended = run(user(question, f"question-{number}"))
        for pending in filter(None, (speaker.pending(number, done) for done in range(len(rounds)))):
            assert ended.pendingToolCallIds == pending
            ended = run(*map(answer, pending))
        assert (ended.pendingToolCallIds or []) == []
        assert ended.messages[-1]["content"] == f"That is answer {number}."
    node_client.drop(path)

    model.check()
    assert model.names == [["lookup", "measure", *(given["name"] for given in TOOLS)]] * len(
        model.seen
    )
    assert len(model.seen) == len(QUESTIONS) * (len(rounds) + 1)
    held = [*model.seen[-1], AIMessage("That is answer 3.")]
    assert compared(shown(held)) == compared(ended.messages)
    if stored:
        state = graph.get_state({"configurable": {"thread_id": path}})
        assert compared(shown(state.values["messages"])) == compared(ended.messages)


def answer(call_id: str) -> dict[str, Any]:
    """The client's answer to a call."""
    return {
        "id": f"result-{call_id}",
        "role": "tool",
        "toolCallId": call_id,
        **ANSWERS[call_id.rpartition("-")[2]],
    }


Row = tuple[str, Any]
"""A message: its role or the call that it answers, and what it says."""


def shown(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """LangChain messages, as far as they are compared, as a client has them."""
    rows: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            failed = {"error": message.text} if message.status == "error" else {}
            rows.append(
                {
                    "role": "tool",
                    "toolCallId": message.tool_call_id,
                    "content": message.content,
                    **failed,
                }
            )
        elif isinstance(message, AIMessage):
            calls = [
                {
                    "id": made["id"],
                    "function": {"name": made["name"], "arguments": json.dumps(made["args"])},
                }
                for made in message.tool_calls
            ]
            rows.append({"role": "assistant", "content": message.text, "toolCalls": calls})
        else:
            rows.append({"role": "user", "content": message.text})
    return rows


def compared(messages: Sequence[dict[str, Any]]) -> list[Row]:
    """What is said, called and answered; the results of one turn in the order of their calls."""
    rows: list[Row] = []
    for is_tool, group in groupby(messages, lambda message: message["role"] == "tool"):
        if is_tool:
            rows += sorted(((m["toolCallId"], row_of(m)) for m in group), key=lambda row: row[0])
        else:
            rows += [(m["role"], row_of(m)) for m in group]
    return rows


def row_of(message: dict[str, Any]) -> Any:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = [part.get("text") or IMAGE * (IMAGE in json.dumps(part)) for part in content]
    calls = [
        (made["id"], made["function"]["name"], json.loads(made["function"]["arguments"]))
        for made in message.get("toolCalls", ())
    ]
    return content, calls, "error" in message
