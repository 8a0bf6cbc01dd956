"""Every provider's own package, through the adapter and a real socket, into the reference client.

Two turns each: what the client holds is what the stream said, what its snapshot said and what
Python folds; the second turn sends all of it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from ag_ui.core import Message
from fastapi import FastAPI
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.deep import deep, together
from tests.kit.models.cases import EACH_CASE, Case
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Text, turn
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun

pytestmark = deep

MORE = turn(Text("And take an umbrella, to be safe."))


class Stage:
    """One server to which every test adds its agent."""

    def __init__(self) -> None:
        self.app = FastAPI()
        self.tape = Tape(self.app)
        self.served: Served
        self._count = 0

    def add(self, agent: LangGraphAgent) -> str:
        self._count += 1
        path = f"/agent-{self._count}"
        self.app.include_router(agui_router(agent, path))
        return path

    def recorded(self, path: str, run: ClientRun) -> RecordedRun:
        """The stream that the client got last, verified."""
        assert run.input is not None
        return RecordedRun(list(decode([self.tape.answers[path][-1]])), parse_input(run.input))


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with serving(stage.tape) as stage.served:
        yield stage


def user(text: str, message_id: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": text}


@together(
    pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"]),
    pytest.mark.parametrize("case", EACH_CASE, ids=str),
)
def test_two_turns(
    case: Case, saver: Any, stage: Stage, provider_server: ProviderServer, node_client: NodeClient
) -> None:
    provider_server.script(case.provider, *case.turns, MORE)
    model = make_model(case.provider, provider_server)
    path = stage.add(LangGraphAgent(create_agent(model, [get_weather], checkpointer=saver)))
    about = {"agent": path, "url": stage.served.url(path), "threadId": case.id}
    first = node_client.run(**about, add=[user(case.prompt, "question-1")])
    check_run(stage.recorded(path, first), first)
    second = node_client.run(**about, add=[user("Anything else?", "question-2")])
    node_client.drop(path)
    assert second.input is not None
    assert second.input["messages"] == [*first.messages, user("Anything else?", "question-2")]
    check_run(stage.recorded(path, second), second)
    assert second.messages[:-1] == second.input["messages"]
    assert second.messages[-1]["content"] == MORE.text
    asked = json.dumps(provider_server.bodies[-1], ensure_ascii=False)
    texts = [block.text for block in case.turns[-1].of(Text)]
    for said in (case.prompt, *texts, "Anything else?"):
        assert json.dumps(said, ensure_ascii=False)[1:-1] in asked
    assert provider_server.unanswered == 0


def check_run(recorded: RecordedRun, run: ClientRun) -> None:
    """The client took the stream without a word, and holds what the stream, its snapshot and our
    fold say."""
    assert (run.error, run.runError) == (None, None), recorded.events[-1]
    assert (run.warnings, run.openInterrupts) == ([], [])
    assert run.outcome in (None, "success")
    assert run.events == recorded.types
    assert run.messages == plain(recorded.messages) == plain(recorded.snapshot)
    recorded.check_snapshot()
    ids = [message["id"] for message in run.messages]
    assert len(set(ids)) == len(ids)


def plain(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [message.model_dump(by_alias=True, mode="json") for message in messages]
