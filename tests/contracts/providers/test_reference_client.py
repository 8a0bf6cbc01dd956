"""Every provider's own package, through the adapter and a real socket, into the reference client.

Two turns each: what the client holds is what the stream said, what its snapshot said and what
Python folds; the second turn sends all of it back, reasoning and opaque values included.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping
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
from tests.kit.models.cases import EACH_CASE, Case, Seen
from tests.kit.models.reading import case_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Block, Call, Reasoning, Text, Turn
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun

pytestmark = deep

MORE = Turn((Text("And take an umbrella, to be safe."),))


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
    pytest.mark.parametrize("stored", [False, True], ids=["stateless", "stored"]),
    pytest.mark.parametrize("case", EACH_CASE, ids=str),
)
def test_two_turns(
    case: Case, stored: bool, stage: Stage, provider_server: ProviderServer, node_client: NodeClient
) -> None:
    provider_server.script(case.provider, *case.turns, MORE)
    tools = [get_weather] if case.uses_tools else []
    saver = InMemorySaver() if stored else None
    graph = create_agent(case_model(case, provider_server), tools, checkpointer=saver)
    path = stage.add(LangGraphAgent(graph=graph))
    turn = {"agent": path, "url": stage.served.url(path), "threadId": path}
    first = node_client.run(**turn, add=[user(case.prompt, "question-1")])
    check_run(stage.recorded(path, first), first)
    check_messages(first.messages, case.seen)
    check_opaque(case, first.messages)
    second = node_client.run(**turn, add=[user("Anything else?", "question-2")])
    node_client.drop(path)
    assert second.input is not None
    assert second.input["messages"] == [*first.messages, user("Anything else?", "question-2")]
    check_run(stage.recorded(path, second), second)
    assert second.messages[:-1] == second.input["messages"]
    assert second.messages[-1]["content"] == MORE.text
    asked = json.dumps(provider_server.bodies[-1], ensure_ascii=False)
    for said in [case.prompt, *texts_of(case), "Anything else?"]:
        assert json.dumps(said, ensure_ascii=False)[1:-1] in asked
    assert provider_server.unanswered == 0


def texts_of(case: Case) -> Iterator[str]:
    """The texts that the provider gets back in the next turn."""
    for turn in case.turns:
        # its package sends no text beside calls
        if not (turn.calls and case.provider == "mistral"):
            yield from (block.text for block in turn.blocks if isinstance(block, Text))


def check_run(recorded: RecordedRun, run: ClientRun) -> None:
    """The client took the stream without a word, and holds what the stream, its snapshot and our
    fold say."""
    assert run.error is None
    assert run.runError is None, recorded.events[-1]
    assert run.warnings == []
    assert run.outcome in (None, "success")
    assert run.openInterrupts == []
    assert run.events == recorded.types
    assert run.messages == plain(recorded.messages) == plain(recorded.snapshot)
    recorded.check_snapshot()
    ids = [message["id"] for message in run.messages]
    assert len(set(ids)) == len(ids)


def plain(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [message.model_dump(by_alias=True, mode="json") for message in messages]


def check_messages(messages: list[dict[str, Any]], seen: tuple[Seen, ...]) -> None:
    answers = [message for message in messages if message["role"] == "assistant"]
    texts = [turn.text for turn in seen if turn.text or turn.calls]
    assert [message.get("content") or "" for message in answers] == texts
    thoughts = [message["content"] for message in messages if message["role"] == "reasoning"]
    assert "".join(thoughts) == "".join("".join(turn.reasoning) for turn in seen)
    calls = [call for message in answers for call in message.get("toolCalls", ())]
    assert [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls
    ] == [call for turn in seen for call in turn.calls]
    results = [message["toolCallId"] for message in messages if message["role"] == "tool"]
    assert sorted(results) == sorted(call["id"] for call in calls)


def check_opaque(case: Case, messages: list[dict[str, Any]]) -> None:
    """What the provider wants back unread is in the envelopes of the answers."""
    held = " ".join(opened(one["encryptedValue"]) for one in messages if "encryptedValue" in one)
    for turn, seen in zip(case.turns, case.seen, strict=True):
        for block in turn.blocks:
            for value in values_of(block):
                if value in seen.opaque:
                    assert value in held, (value, block)


def values_of(block: Block) -> Iterator[str]:
    if isinstance(block, Reasoning):
        found = (block.signature, block.encrypted, block.redacted)
    else:
        found = (block.signature if isinstance(block, Call | Text) else None,)
    yield from (value for value in found if value is not None)


def opened(value: str) -> str:
    envelope = json.loads(urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    assert envelope["v"] == 3
    return " ".join(strings(envelope))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield b64decode(value[2:]).decode("latin-1") if value.startswith("$x") else value
