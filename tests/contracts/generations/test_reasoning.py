"""Reasoning through every generation of `@ag-ui/client`: the provider gets what LangGraph alone
would have sent it.

Two turns with a tool loop each, without a checkpointer: all that the agent knows of the first turn
in the second has been with the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions, ReasoningSeal, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.expect.bodies import sent_back
from tests.kit.expect.identity import differences
from tests.kit.models.fixtures import isolate
from tests.kit.models.loops import after, answer, before, loop
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun

GENERATIONS = ["0.0.48", "0.0.53", "0.0.55", "0.0.57", "0.0.58", "0.0.59", None]
PROVIDERS = ["anthropic", "openai"]
QUESTIONS = ["What should I wear?", "And tomorrow?"]
SEAL = ReasoningSeal([b"k" * 32])
OPTIONS = {
    "open": ReasoningOptions(),
    "sealed": ReasoningOptions(seal=SEAL),
    "hidden": ReasoningOptions(visibility="hidden", seal=SEAL),
}
Json = dict[str, Any]


def scripted(provider: str, server: ProviderServer) -> list[Any]:
    """Let the provider play both turns, and return the arguments of the agent that plays them."""
    server.script(
        provider, *(turn for number in range(len(QUESTIONS)) for turn in loop(provider, number))
    )
    return [make_model(provider, server), [get_weather]]


@pytest.fixture(scope="module", autouse=True)
def _environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        isolate(environment)
        yield


@pytest.fixture(scope="module")
def alone(served: Served) -> dict[str, list[Json]]:
    """What each provider is sent in both turns by LangGraph alone, which has a checkpointer."""

    async def run(server: ProviderServer, provider: str) -> list[Json]:
        graph = create_agent(*scripted(provider, server), checkpointer=InMemorySaver())
        for question in QUESTIONS:
            given: Any = {"messages": [("user", question)]}
            async for _ in graph.astream(
                given, {"configurable": {"thread_id": "t"}}, stream_mode="messages"
            ):
                pass
        return server.bodies

    bodies = {}
    for provider in PROVIDERS:
        with ProviderServer() as server:
            bodies[provider] = served.call(run(server, provider))
    return bodies


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return FastAPI()


@pytest.fixture(scope="module")
def tape(app: FastAPI) -> Tape:
    return Tape(app)


@pytest.fixture(scope="module")
def served(tape: Tape) -> Iterator[Served]:
    with serving(tape) as served:
        yield served


@pytest.fixture
def provider_server() -> Iterator[ProviderServer]:
    """A server of the test's own: its ids are those of the one that LangGraph has asked alone."""
    with ProviderServer() as server:
        yield server


@pytest.mark.parametrize(
    ("generation", "provider", "mode"),
    [
        row
        for row in product(GENERATIONS, PROVIDERS, OPTIONS)
        if row[0] in ("0.0.48", "0.0.59", None) or row[1:] == ("anthropic", "sealed")
    ],
)
def test_two_turns(
    generation: str | None,
    provider: str,
    mode: str,
    provider_server: ProviderServer,
    alone: dict[str, list[Json]],
    node_client: NodeClient,
    app: FastAPI,
    served: Served,
    tape: Tape,
) -> None:
    path = f"/{generation}-{provider}-{mode}"
    agent = LangGraphAgent(
        create_agent(*scripted(provider, provider_server)), reasoning=OPTIONS[mode]
    )
    app.include_router(agui_router(agent, path))
    client = {"url": served.url(path), "agent": path, "threadId": path, "generation": generation}
    held: list[Json] = []
    for number, question in enumerate(QUESTIONS):
        asked = {"id": f"question-{number}", "role": "user", "content": question}
        run = node_client.run(**client, add=[asked])
        check_run(run, recorded(tape, path, run), [*held, asked])
        check_turn(run.messages[len(held) :], number, shows=mode != "hidden")
        held = run.messages
    node_client.drop(path)

    bodies = provider_server.bodies
    assert len(bodies) == len(alone[provider]) == 4
    assert [list(differences(*pair)) for pair in zip(bodies, alone[provider], strict=True)] == [
        [],
        [],
        [],
        [],
    ]
    assert sent_back(provider, bodies[-1]) == "words and values"


def recorded(tape: Tape, path: str, run: ClientRun) -> RecordedRun:
    """The stream that the client got last, verified."""
    assert run.input is not None
    return RecordedRun(list(decode([tape.answers[path][-1]])), parse_input(run.input))


def check_run(run: ClientRun, stream: RecordedRun, sent: list[Json]) -> None:
    """The client took the stream, holds what we fold of it, and had sent all that it held."""
    assert (run.error, run.runError, run.warnings) == (None, None, [])
    assert run.input is not None
    assert run.input["messages"] == sent
    assert run.messages == [
        message.model_dump(by_alias=True, mode="json") for message in stream.messages
    ]


def check_turn(messages: list[Json], number: int, *, shows: bool) -> None:
    """The turn is in order, and its reasoning is shown or not."""
    roles = [message["role"] for message in messages if message["role"] != "reasoning"]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert messages[-1]["content"] == answer(number)
    thoughts = "".join(message["content"] for message in messages if message["role"] == "reasoning")
    assert [words in thoughts for words in (before(number), after(number))] == [shows, shows]
