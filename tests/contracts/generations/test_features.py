"""What LangChain and LangGraph do besides answering, through a client of today and one of before
1.0: guardrails, questions in known forms, summaries, functional graphs, media and tools of
providers. Each client holds what our fold makes of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from examples.research_team import team
from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.behaviour.approvals.test_elicitation import address, agent_with, tool_of
from tests.behaviour.approvals.test_forms import ACCEPTED, BOB, DATED, EDITED, IGNORED
from tests.behaviour.threads.test_summaries import by_hand, with_middleware
from tests.behaviour.wrap.test_graphs_of_every_kind import FORMS as FUNCTIONAL
from tests.behaviour.wrap.test_graphs_of_every_kind import talk
from tests.behaviour.wrap.test_stream_transformers import pii
from tests.contracts.generations.test_matrix import Front, questions_of, shape
from tests.contracts.migrated.serving import TapedApp
from tests.contracts.providers.playing import assistant_messages
from tests.contracts.providers.test_server_fields import LAST, TURNS, make, told
from tests.kit.expect.canary import CANARY, check_bytes
from tests.kit.graphs.forms import FORMS
from tests.kit.models.fixtures import provider_server
from tests.kit.models.scripted import Scripted, call
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun

__all__ = ["address", "provider_server"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(TapedApp()) as served:
        yield served


class Checked(Front):
    """A client that holds after each run what our fold makes of the stream and of what it had
    held."""

    held: Sequence[dict[str, Any]] = ()

    def ask(self, *texts: str, **more: Any) -> ClientRun:
        run = super().ask(*texts, **more)
        self._compare(self.path, run, self.held)
        self.held = run.messages
        return run

    def reload(self) -> ClientRun:
        """Connect as a page does that holds nothing."""
        path = f"{self.path}/connect"
        url = self._served.url(path)
        run = self._node.run(url=url, threadId=self.path, generation=self.generation)
        self._compare(path, run, [])
        return run

    def wire(self) -> list[bytes]:
        """Return all that the server has sent."""
        answers = self._tape.answers
        return [*answers[self.path], *answers[f"{self.path}/connect"]]

    @property
    def _tape(self) -> Tape:
        self._served.wait_idle()
        return self._served.config.app.tape  # type: ignore[no-any-return,union-attr]

    def _compare(self, path: str, run: ClientRun, held: Sequence[dict[str, Any]]) -> None:
        assert (run.error, run.warnings) == (None, [])
        assert run.input is not None
        new = [message for message in run.input["messages"] if message not in held]
        given = parse_input({**run.input, "messages": [*held, *new]})  # it sends no activities
        stream = RecordedRun(list(decode([self._tape.answers[path][-1]])), given)
        folded = [message.model_dump(by_alias=True, mode="json") for message in stream.messages]
        assert run.messages == folded
        assert run.state == stream.state


@pytest.fixture(params=[None, "0.0.59"], ids=["1.0.0", "0.0.59"])
def client(request: Any, node_client: NodeClient, served: Served) -> Checked:
    return Checked(node_client, served, request.param)


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"seen {CANARY}"


def test_what_middleware_hides(client: Checked) -> None:
    model = Scripted(
        ["I look. ", call("look", "c1", place="a")], ["It is ", CANARY[:4], CANARY[4:]]
    )
    graph = create_agent(model, [look], middleware=[pii()], checkpointer=InMemorySaver())
    client.use(LangGraphAgent(graph))
    first = client.run("Hi")
    assert shape(first)[1] == ("assistant", "I look. ", ["look"])
    assert shape(first)[3][1].startswith("It is ")
    second = client.run("And now?")
    assert client.reload().messages == second.messages
    for body in client.wire():
        check_bytes(body)


def decided(client: Checked, asked: ClientRun, payload: Any) -> ClientRun:
    """Answer the one question, as the client does."""
    if client.generation is None:
        [question] = asked.openInterrupts
        answer = {"interruptId": question["id"], "status": "resolved", "payload": payload}
        return client.ask(resume=[answer])
    return client.ask(forwardedProps={"command": {"resume": payload}})


@pytest.mark.parametrize(
    ("kind", "payload", "value"),
    [
        ("human", True, [ACCEPTED]),
        ("human", [EDITED], [EDITED]),
        ("human", {"approved": True, "editedArgs": BOB}, [EDITED]),
        ("human", {"approved": False}, [IGNORED]),
        ("human_subgraph", True, [ACCEPTED]),
        ("mcp", DATED, {"responses": {"date": DATED}}),
        ("mcp_subgraph", DATED, {"responses": {"date": DATED}}),
    ],
)
def test_a_question_in_a_known_form(client: Checked, kind: str, payload: Any, value: Any) -> None:
    graph = FORMS[kind](InMemorySaver())
    client.use(LangGraphAgent(graph))
    asked = client.run("Please.")
    refused = decided(client, asked, {"a": 1})
    assert (refused.runError or {})["code"] == "interrupt_invalid"
    assert questions_of(client, client.reload()) == questions_of(client, asked)
    done = decided(client, asked, payload)
    assert done.runError is None
    [result] = [json.loads(text) for role, text, _ in shape(done) if role == "tool"]
    assert result == value
    assert client.reload().messages == done.messages


@pytest.mark.parametrize(
    ("name", "payload", "result"),
    [("book", DATED, "Ada: accept Monday"), ("login", {"action": "accept"}, "Ada: accept")],
)
def test_a_question_of_an_mcp_server(
    client: Checked, address: str, served: Served, name: str, payload: Any, result: str
) -> None:
    graph = agent_with(served.call(tool_of(address, name)), InMemorySaver())
    client.use(LangGraphAgent(graph))
    asked = client.run("Please.")
    refused = decided(client, asked, "Monday")
    assert (refused.runError or {})["code"] == "interrupt_invalid"
    assert questions_of(client, client.reload()) == questions_of(client, asked)
    done = decided(client, asked, payload)
    assert [text for role, text, _ in shape(done) if role == "tool"] == [result]
    assert client.reload().messages == done.messages


@pytest.mark.parametrize("build", [with_middleware, by_hand])
def test_a_summary(client: Checked, build: Any) -> None:
    client.use(LangGraphAgent(build(Scripted(["a0"], ["a1"], ["a2"], ["a3"]))))
    for said in ("u0", "u1", "u2"):
        run = client.run(said)
    told = ("activity", {"text": "Earlier messages were summarized."}, [])
    assert shape(run)[-1] == told
    assert [text for _, text, _ in shape(run)[:-1]] == ["u0", "a0", "u1", "a1", "u2", "a2"]
    assert [text for _, text, _ in shape(client.reload())] == [told[1], "a1", "u2", "a2"]
    last = shape(client.run("u3"))
    assert (last.count(told), [text for _, text, _ in last[-2:]]) == (1, ["u3", "a3"])


@pytest.mark.parametrize("form", FUNCTIONAL)
def test_a_functional_graph(client: Checked, form: str) -> None:
    agent, given = talk(form, True)
    client.use(agent)
    client.run("one")
    run = client.run("two")
    assert [text for _, text, _ in shape(run)] == [
        *("one", "I have read one.", "two", "I have read two.")
    ]
    assert given[1] == ["one", "I have read one.", "two"]
    assert client.reload().messages == run.messages


@pytest.mark.parametrize("name", ["openrouter", "litellm", "gemini-chat"])
def test_fields_of_a_server_that_only_the_client_keeps(
    client: Checked, name: str, provider_server: ProviderServer
) -> None:
    provider_server.script(name, *TURNS, LAST)
    client.use(LangGraphAgent(create_agent(make(provider_server, name), [get_weather])))
    client.run("What should I wear?")
    client.run("Thanks!")
    in_loop, later = map(assistant_messages, provider_server.bodies[1:])
    assert in_loop == told(name, TURNS[0])
    assert later == told(name, *TURNS)


def test_graphs_that_a_node_runs_for_calls(client: Checked) -> None:
    client.use(LangGraphAgent(team.build(InMemorySaver())))
    run = client.run("What of prices?")
    results = [text for role, text, _ in shape(run) if role == "tool"]
    assert results[: len(team.TOPICS)] == [f"{topic} has risen." for topic in team.TOPICS]
    named = {message.get("subagentRunId") for message in run.messages} - {None}
    assert bool(named) == (client.generation is None)
