"""Hidden reasoning, with every provider's own package over real HTTP: no byte of it reaches a
client in clear.

The provider's answers hold a canary in their reasoning, whole in every delta. The client gets it in
no form that it could read; on the next turn it is back in what the provider is sent.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Message, RunAgentInput
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.load import dumpd
from langchain_core.messages import message_to_dict
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions, agui_router
from langgraph_agui.protocol import decode
from tests.kit.expect.canary import CANARY, HIDDEN, UNSEALED, check_bytes
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn, turn
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import ask, body_of
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun, run_input

SHAPES = (
    "anthropic", "anthropic-v1", "openai", "openai-v0", "openai-v1", "google", "google-v1", "bedrock", "bedrock-v1",
    "openrouter", "openrouter-v1", "ollama", "deepseek", "deepseek-v1", "groq", "mistral", "mistral-v1", "xai",
)  # fmt: skip
"""A client of every shape that reasoning comes in."""

SENT_BACK = ("anthropic", "openai", "google", "bedrock", "openrouter", "ollama")
"""Providers whose packages send back what a model has thought."""

shapes = pytest.mark.parametrize(
    ("provider", "whole"), [(one, False) for one in SHAPES] + [(one, True) for one in SENT_BACK]
)
MORE = turn(Text("And take an umbrella."), chunk=1000)


def thought(number: int) -> Reasoning:
    signature = b64encode(f"signature {number}".encode()).decode()
    return Reasoning(
        f"{CANARY} number {number}", signature=signature, encrypted=f"gAAAAABcipher{number}"
    )


def answer() -> Turn:
    return turn(thought(2), Text("A jacket."), chunk=1000)


def loop() -> list[Turn]:
    """A tool loop with reasoning in both calls of the model."""
    return [
        turn(thought(1), Call("get_weather", {"city": "Paris"}, id="callParis"), chunk=1000),
        answer(),
    ]


class Stage:
    """A server to which every test adds its agents."""

    def __init__(self) -> None:
        self.app = FastAPI()
        self.tape = Tape(self.app)
        self.served: Served
        self._count = 0

    def add(self, graph: Any, reasoning: ReasoningOptions = HIDDEN) -> str:
        self._count += 1
        path = f"/agent-{self._count}"
        self.app.include_router(agui_router(LangGraphAgent(graph=graph, reasoning=reasoning), path))
        return path

    def run(self, path: str, given: RunAgentInput) -> tuple[RecordedRun, bytes]:
        """The stream, verified, and its bytes."""
        body = ask(self.served.port, "POST", path, body_of(given)).body
        return RecordedRun(list(decode([body])), given), body

    def quiet(self, path: str, given: RunAgentInput, ended: str = "RUN_FINISHED") -> RecordedRun:
        """Run, and find nothing of the canary in the answer."""
        recorded, body = self.run(path, given)
        check_bytes(body)
        assert recorded.last.type.value == ended, recorded.last
        return recorded


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with serving(stage.tape) as stage.served:
        yield stage


def asked(server: ProviderServer) -> str:
    """What the provider was sent last."""
    return json.dumps(server.bodies[-1], ensure_ascii=False)


def hidden_thoughts(messages: list[Message]) -> list[Any]:
    return [message for message in messages if message.role == "reasoning"]


def test_the_canary_would_be_found(stage: Stage, provider_server: ProviderServer) -> None:
    """In clear, and in base64 beside it."""
    provider_server.script("anthropic", answer())
    graph = create_agent(make_model("anthropic", provider_server), [])
    _, body = stage.run(stage.add(graph, ReasoningOptions()), run_input("hi"))
    assert CANARY in body.decode()
    with pytest.raises(AssertionError):
        check_bytes(body)
    with pytest.raises(AssertionError):
        check_bytes(b'data: {"encryptedValue": "eyJiIjogIkNBTkFSWTdmM2EgbnVtYmVyIn0"}\n\n')


@shapes
def test_two_turns_of_a_stateless_agent(
    provider: str, whole: bool, stage: Stage, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, *loop(), MORE)
    path = stage.add(
        create_agent(make_model(provider, provider_server, disable_streaming=whole), [get_weather])
    )
    first = stage.quiet(path, run_input("What should I wear?", thread="t"))
    first.check_snapshot()
    assert [message.content for message in hidden_thoughts(first.messages)] == ["", ""]
    assert CANARY not in json.dumps(provider_server.bodies[0])
    second = stage.quiet(path, run_input(*first.messages, "Anything else?", thread="t"))
    second.check_snapshot()
    assert provider_server.unanswered == 0
    if provider.startswith(SENT_BACK):
        assert f"{CANARY} number 1" in asked(provider_server)
        assert f"{CANARY} number 2" in asked(provider_server)


@shapes
def test_without_a_seal_a_message_comes_back_plain(
    provider: str, whole: bool, stage: Stage, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, *loop(), MORE)
    graph = create_agent(
        make_model(provider, provider_server, disable_streaming=whole), [get_weather]
    )
    path = stage.add(graph, UNSEALED)
    first = stage.quiet(path, run_input("What should I wear?", thread="t"))
    stage.quiet(path, run_input(*first.messages, "Anything else?", thread="t"))
    assert CANARY not in asked(provider_server)
    assert "A jacket." in asked(provider_server)
    assert "Sunny in Paris" in asked(provider_server)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter"])
def test_a_thread_on_the_server(
    provider: str, stage: Stage, provider_server: ProviderServer
) -> None:
    """Another process, for a client that holds nothing: its snapshot tells the whole thread."""
    saver = InMemorySaver()

    def process() -> str:
        return stage.add(
            create_agent(make_model(provider, provider_server), [get_weather], checkpointer=saver)
        )

    provider_server.script(provider, *loop(), MORE, MORE)
    first = stage.quiet(process(), run_input("What should I wear?", thread="t"))
    path = process()
    second = stage.quiet(path, run_input("Anything else?", thread="t"))
    assert CANARY in asked(provider_server)
    assert {message.id for message in first.messages} <= {message.id for message in second.messages}
    assert [message.content for message in hidden_thoughts(second.messages)] == ["", ""]
    third = stage.quiet(path, run_input(*second.messages, "And now?", thread="t"))
    third.check_snapshot()


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_reference_client_in_between(
    provider: str, stage: Stage, provider_server: ProviderServer, node_client: NodeClient
) -> None:
    provider_server.script(provider, *loop(), MORE)
    path = stage.add(create_agent(make_model(provider, provider_server), [get_weather]))
    held: list[dict[str, Any]] = []
    for number in range(2):
        question = {"id": f"question-{number}", "role": "user", "content": "What should I wear?"}
        run = node_client.run(
            url=stage.served.url(path), threadId="t", messages=held, add=[question]
        )
        assert run.error is None
        assert run.runError is None
        held = run.messages
        check_bytes(stage.tape.answers[path][-1])
        assert CANARY not in json.dumps(held)
    assert f"{CANARY} number 1" in asked(provider_server)
    assert f"{CANARY} number 2" in asked(provider_server)


@pytest.mark.parametrize(
    "failing", [{"error_after": 5}, {"drop_after": 5}], ids=["error", "dropped"]
)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_failure_after_the_reasoning(
    provider: str, failing: dict[str, int], stage: Stage, provider_server: ProviderServer
) -> None:
    provider_server.script(
        provider, Reply(answer(), **failing, error=f"overloaded while thinking {CANARY}")
    )
    path = stage.add(create_agent(make_model(provider, provider_server), []))
    recorded = stage.quiet(path, run_input("hi"), "RUN_ERROR")
    assert recorded.last.code == "model_error"


class Kept(Chat):
    """A state that holds the model's message in other places than `messages`."""

    draft: Any
    words: Any
    dumped: Any


@shapes
def test_a_message_in_other_channels(
    provider: str, whole: bool, stage: Stage, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, answer())
    model = make_model(provider, provider_server, disable_streaming=whole)

    async def node(state: Kept) -> Any:
        reply = await model.ainvoke(state["messages"])
        dumps = [message_to_dict(reply), dumpd(reply), reply.model_dump(), reply.content_blocks]
        return {
            "messages": [reply],
            "draft": [reply],
            "words": {"a": (reply.content, reply)},
            "dumped": dumps,
        }

    recorded = stage.quiet(stage.add(chain_of(node, state=Kept)), run_input("hi"))
    assert "A jacket." in json.dumps(recorded.state["draft"])
    assert "A jacket." in json.dumps(recorded.state["words"])
