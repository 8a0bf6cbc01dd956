"""Reasoning through every generation of `@ag-ui/client`: the provider gets what LangGraph alone
would have sent it.

Two turns with a tool loop each, without a checkpointer: all that the agent knows of the first turn
in the second has been with the client.
"""

from __future__ import annotations

from itertools import product

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions, ReasoningSeal
from tests.contracts.generations.test_matrix import MODERN, Front, dumped, recorded, served
from tests.kit.deep import together
from tests.kit.expect.bodies import sent_back
from tests.kit.expect.identity import differences
from tests.kit.models.fixtures import isolate
from tests.kit.models.loops import after, answer, before, loop
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather

__all__ = ["served"]

PROVIDERS = ["anthropic", "openai"]
QUESTIONS = ["What should I wear?", "And tomorrow?"]
SEAL = ReasoningSeal([b"k" * 32])
OPTIONS = {
    "sealed": ReasoningOptions(seal=SEAL),
    "open": ReasoningOptions(),
    "hidden": ReasoningOptions(visibility="hidden", seal=SEAL),
}


def scripted(provider, server):
    """Let the provider play both turns, and return the arguments of the agent that plays them."""
    turns = [loop(provider, number) for number in range(len(QUESTIONS))]
    server.script(provider, *(turn for each in turns for turn in each))
    return [make_model(provider, server), [get_weather]]


@pytest.fixture(scope="module", autouse=True)
def _environment():
    with pytest.MonkeyPatch.context() as environment:
        isolate(environment)
        yield


@pytest.fixture(scope="module")
def alone(served):
    """What each provider is sent in both turns by LangGraph alone, which has a checkpointer."""

    async def run(server, provider):
        graph = create_agent(*scripted(provider, server), checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "t"}}
        for question in QUESTIONS:
            given = {"messages": [("user", question)]}
            async for _ in graph.astream(given, thread, stream_mode="messages"):
                pass
        return server.bodies

    bodies = {}
    for provider in PROVIDERS:
        with ProviderServer() as server:
            bodies[provider] = served.call(run(server, provider))
    return bodies


@pytest.fixture
def provider_server():
    """A server of the test's own: its ids are those of the one that LangGraph has asked alone."""
    with ProviderServer() as server:
        yield server


@together(
    pytest.mark.parametrize(("provider", "mode"), [*product(PROVIDERS, OPTIONS)]),
    pytest.mark.parametrize("generation", MODERN, ids=str),
)
def test_two_turns(generation, provider, mode, provider_server, alone, node_client, served):
    graph = create_agent(*scripted(provider, provider_server))
    front = Front(node_client, served, generation)
    front.use(LangGraphAgent(graph, reasoning=OPTIONS[mode]))
    held = []
    for number, question in enumerate(QUESTIONS):
        run = front.run(question)
        # The client took the stream, holds what we fold of it, and had sent all that it held.
        assert run.warnings == []
        assert run.messages == dumped(recorded(served, front.path, run))
        assert run.input["messages"][:-1] == held
        check_turn(run.messages[len(held) :], number, shows=mode != "hidden")
        held = run.messages
    node_client.drop(front.path)
    bodies = provider_server.bodies
    assert len(bodies) == len(alone[provider]) == 4
    assert [[*differences(*pair)] for pair in zip(bodies, alone[provider], strict=True)] == [[]] * 4
    assert sent_back(provider, bodies[-1]) == "words and values"


def check_turn(messages, number, *, shows):
    """The turn is in order, and its reasoning is shown or not."""
    roles = [message["role"] for message in messages if message["role"] != "reasoning"]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert messages[-1]["content"] == answer(number)
    thoughts = "".join(message["content"] for message in messages if message["role"] == "reasoning")
    assert [words in thoughts for words in (before(number), after(number))] == [shows, shows]
