"""What LangChain and LangGraph do besides answering, through a client of today and one of before
1.0: guardrails, questions in known forms, summaries, media, citations and tools of providers. Each
client holds what our fold makes of its stream."""

from __future__ import annotations

import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, emit_activity
from tests.behaviour.approvals.test_forms import ACCEPTED, BOB, DATED, EDITED, IGNORED
from tests.behaviour.threads.test_made_content import FOUND, IMAGE, SEARCH
from tests.behaviour.threads.test_summaries import with_middleware
from tests.behaviour.wrap.test_stream_transformers import pii
from tests.contracts.generations.test_matrix import (
    MODERN,
    Front,
    dumped,
    front,
    of,
    questions_of,
    recorded,
    served,
    shape,
)
from tests.kit.expect.canary import CANARY, check_bytes
from tests.kit.graphs.forms import FORMS
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.models.scripted import Scripted, call

__all__ = ["front", "served"]


class Checked(Front):
    """A client that holds after each run what our fold makes of the stream and of what it had
    held."""

    held = ()

    def ask(self, *texts, **more):
        run = super().ask(*texts, **more)
        self._compare(self.path, run, self.held)
        self.held = run.messages
        return run

    def reload(self):
        run = super().reload()
        self._compare(f"{self.path}/connect", run, [])
        return run

    def _compare(self, path, run, held):
        assert (run.error, run.warnings) == (None, [])
        new = [message for message in run.input["messages"] if message not in held]
        stream = recorded(self._served, path, run, [*held, *new])  # it sends no activities
        assert (run.messages, run.state) == (dumped(stream), stream.state)


@pytest.fixture
def client(generation, node_client, served):
    return Checked(node_client, served, generation)


each = pytest.mark.parametrize("generation", [None, "0.0.59"])


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"seen {CANARY}"


@each
def test_what_middleware_hides(client, served):
    first_turn = ["I look. ", call("look", "c1", place="a")]
    model = Scripted(first_turn, ["It is ", CANARY[:4], CANARY[4:]])
    graph = create_agent(model, [look], middleware=[pii()], checkpointer=InMemorySaver())
    client.use(LangGraphAgent(graph))
    first = client.run("Hi")
    assert shape(first)[1] == ("assistant", "I look. ", ["look"])
    assert shape(first)[3][1].startswith("It is ")
    second = client.run("And now?")
    assert client.reload().messages == second.messages
    answers = served.config.app.tape.answers
    for body in [*answers[client.path], *answers[f"{client.path}/connect"]]:
        check_bytes(body)


def decided(client, asked, payload):
    """Answer the one question, as the client does."""
    if client.generation is not None:
        return client.ask(forwardedProps={"command": {"resume": payload}})
    [question] = asked.openInterrupts
    answer = {"interruptId": question["id"], "status": "resolved", "payload": payload}
    return client.ask(resume=[answer])


@each
@pytest.mark.parametrize(
    ("kind", "payload", "value"),
    [
        ("human", True, [ACCEPTED]),
        ("human", [EDITED], [EDITED]),
        ("human", {"approved": True, "editedArgs": BOB}, [EDITED]),
        ("human_subgraph", {"approved": False}, [IGNORED]),
        ("mcp", DATED, {"responses": {"date": DATED}}),
    ],
)
def test_a_question_in_a_known_form(client, kind, payload, value):
    client.use(LangGraphAgent(FORMS[kind](InMemorySaver())))
    asked = client.run("Please.")
    refused = decided(client, asked, {"a": 1})
    assert refused.runError["code"] == "interrupt_invalid"
    assert questions_of(client, client.reload()) == questions_of(client, asked)
    done = decided(client, asked, payload)
    assert done.runError is None
    [result] = [json.loads(text) for role, text, _ in shape(done) if role == "tool"]
    assert result == value
    assert client.reload().messages == done.messages


@each
def test_a_summary(client):
    client.use(LangGraphAgent(with_middleware(Scripted(["a0"], ["a1"], ["a2"], ["a3"]))))
    for said in ("u0", "u1", "u2"):
        run = client.run(said)
    told = ("activity", {"text": "Earlier messages were summarized."}, [])
    assert shape(run)[-1] == told
    assert [text for _, text, _ in shape(run)[:-1]] == ["u0", "a0", "u1", "a1", "u2", "a2"]
    assert [text for _, text, _ in shape(client.reload())] == [told[1], "a1", "u2", "a2"]
    last = shape(client.run("u3"))
    assert (last.count(told), [text for _, text, _ in last[-2:]]) == (1, ["u3", "a3"])


URL = {"url": "https://example.com", "title": "X"}
CITATION = {"type": "web_search_result_location", **URL, "cited_text": "x"}
CITED = {"type": "text", "text": "See. ", "citations": [CITATION]}


async def paint(state: Chat):
    number = len(state["messages"])
    emit_activity("app:note", {"number": number})
    content = [CITED, {**SEARCH, "id": f"s{number}"}, {**FOUND, "tool_use_id": f"s{number}"}, IMAGE]
    about = {"model_provider": "anthropic"}
    return {"messages": [AIMessage(content, id=f"a{number}", response_metadata=about)]}


def kinds(run):
    """The kinds of its messages, none of which is empty media."""
    found = [one.get("activityType", one["role"]) for one in run.messages]
    media = [one for one in run.messages if one.get("activityType") == MEDIA]
    assert all(one["content"]["parts"] for one in media)
    return found


MEDIA = "langgraph:media"
TURN = ["user", "app:note", "assistant", "tool", MEDIA]


@of(MODERN)  # 0.0.42 takes no encrypted value
def test_made_content_over_turns_and_reloads(front):
    front.use(agent_of(paint, checkpointer=InMemorySaver()))
    assert kinds(front.run("Draw")) == TURN
    second = front.run("Draw")
    assert kinds(second) == TURN * 2
    assert {one["role"] for one in second.input["messages"]} == {"user", "assistant", "tool"}
    assert kinds(front.reload()) == [one for one in TURN * 2 if one != "app:note"]
    assert front.reload(agent=front.path).messages == second.messages
    if front.generation is None:  # gets marks and citations
        assert second.pendingToolCallIds in (None, [])
        answer = next(one for one in second.messages if one["role"] == "assistant")
        cited = {**URL, "citedText": "x", "startIndex": 0, "endIndex": 5}
        assert answer["metadata"]["citations"] == [cited]
        assert [one["metadata"] for one in answer["toolCalls"]] == [{"runBy": "provider"}]
