"""Every generation of `@ag-ui/client` against the same agents: what each is sent, it takes.

A client is asked over HTTP, holds what it makes of the stream, and sends that in its next turn.
0.0.42 cannot be recognised and fails at reasoning, so it gets graphs without, or no reasoning.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessageChunk, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import AGUIMiddleware, LangGraphAgent, agui_router
from tests.kit.expect.front_ends import options_for
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, serving
from tests.kit.waiting import PATIENCE, eventually

GENERATIONS = ["0.0.42", "0.0.48", "0.0.53", "0.0.55", "0.0.57", "0.0.58", "0.0.59", None]
MODERN = GENERATIONS[1:]
# The first that can send `resume`.
ANSWERING = GENERATIONS[3:]

BY_EVENTS = options_for("CopilotKit before 1.74, @ag-ui/client 0.0.48 to 0.0.58")
BY_OUTCOME = options_for("your own page, @ag-ui/client 0.0.55 to 0.0.59")
BY_CALLS = options_for("your own page, @ag-ui/client 0.0.48 to 0.0.53")
WITHOUT_REASONING = options_for("your own page, @ag-ui/client 0.0.42")


class Front:
    """One client of one generation, in one thread."""

    def __init__(self, node: NodeClient, served: Served, generation: str | None) -> None:
        self._node, self._served, self.generation = node, served, generation
        self._count = 0

    def use(self, agent: LangGraphAgent) -> Front:
        self.path = f"/agent-{self.generation}-{id(agent)}"
        self._served.config.app.include_router(agui_router(agent, self.path))  # type: ignore[union-attr]
        return self

    def run(self, *texts: str, **more: Any) -> ClientRun:
        """One turn: it has to be taken without an error."""
        run = self.ask(*texts, **more)
        assert run.error is None, run.error
        assert run.runError is None
        return run

    def ask(self, *texts: str, **more: Any) -> ClientRun:
        """One turn, whatever comes of it."""
        self._count += 1
        new = [
            {"id": f"u{self._count}-{n}", "role": "user", "content": text}
            for n, text in enumerate(texts)
        ]
        given = {
            "url": self._served.url(self.path),
            "agent": self.path,
            "threadId": self.path,
            "generation": self.generation,
        }
        return self._node.run(**given, add=[*new, *more.pop("add", ())], **more)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(FastAPI()) as served:
        yield served


@pytest.fixture(params=GENERATIONS, ids=lambda value: value or "1.0.0")
def front(request: Any, node_client: NodeClient, served: Served) -> Front:
    return Front(node_client, served, request.param)


@pytest.fixture(params=MODERN, ids=lambda value: value or "1.0.0")
def modern(request: Any, node_client: NodeClient, served: Served) -> Front:
    return Front(node_client, served, request.param)


@pytest.fixture(params=ANSWERING, ids=lambda value: value or "1.0.0")
def answering(request: Any, node_client: NodeClient, served: Served) -> Front:
    return Front(node_client, served, request.param)


@pytest.fixture(params=[False, True], ids=["stateless", "stored"])
def saver(request: Any) -> InMemorySaver | None:
    return InMemorySaver() if request.param else None


def shape(run: ClientRun) -> list[Any]:
    """Who says what, without ids and opaque values."""
    return [
        (
            one["role"],
            one.get("content") or "",
            [made["function"]["name"] for made in one.get("toolCalls") or ()],
        )
        for one in run.messages
    ]


def interrupts_of(run: ClientRun) -> list[dict[str, Any]]:
    """What the run waits for by its outcome; not every generation passes it on."""
    assert run.last is not None
    return run.last["outcome"]["interrupts"]  # type: ignore[no-any-return]


def questions_of(front: Front, run: ClientRun) -> list[Any]:
    """The values of what the run asks, in the one form that the generation is asked in."""
    by_event = [json.loads(one["value"]) for one in run.custom if one["name"] == "on_interrupt"]
    if front.generation is not None:
        assert "outcome" not in (run.last or {})
        assert run.openInterrupts == []
        return by_event
    assert by_event == []
    return [one["metadata"].get("value", one["message"]) for one in interrupts_of(run)]


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def test_text_and_tools(front: Front, saver: Any) -> None:
    model = Scripted(["Let me ", "look", call("look", "c1", q="x")], ["It is ", "x."], ["Bye."])
    front.use(LangGraphAgent(create_agent(model, [look], checkpointer=saver)))
    first = front.run("hi")
    expected = [("user", "hi", []), ("assistant", "Let me look", ["look"]), ("tool", "found x", [])]
    assert shape(first) == [*expected, ("assistant", "It is x.", [])]
    second = front.run("bye")
    assert shape(second) == [*shape(first), ("user", "bye", []), ("assistant", "Bye.", [])]


def google(text: str) -> AIMessageChunk:
    """Return a chunk as langchain-google-genai makes it."""
    return text_chunk(text, 0).model_copy(
        update={"response_metadata": {"model_provider": "google_genai"}}
    )


def test_plain_text_in_blocks(front: Front, saver: Any) -> None:
    """These models send a block of text as they send the text alone: no opaque value is needed."""
    model = Scripted([google("Hello")], [google("Again")])
    front.use(LangGraphAgent(create_agent(model, checkpointer=saver)))
    front.run("hi")
    assert shape(front.run("hi again"))[-1] == ("assistant", "Again", [])


def test_reasoning(modern: Front, saver: Any) -> None:
    turn = [thinking("hm", 0), thinking(index=0, signature="SIG"), text_chunk("Yes", 1)]
    model = Scripted(turn, ["Really."])
    modern.use(LangGraphAgent(create_agent(model, checkpointer=saver)))
    first = modern.run("hi")
    assert shape(first) == [("user", "hi", []), ("reasoning", "hm", []), ("assistant", "Yes", [])]
    second = modern.run("sure?")
    assert shape(second) == [*shape(first), ("user", "sure?", []), ("assistant", "Really.", [])]
    answer = model.seen[-1][1]
    assert answer.content == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG", "index": 0},
        {"type": "text", "text": "Yes", "index": 1},
    ]


def test_a_frontend_tool(front: Front, saver: Any) -> None:
    model = Scripted([call("paint", "c1", color="red")], ["Painted."])
    front.use(
        LangGraphAgent(create_agent(model, middleware=[AGUIMiddleware()], checkpointer=saver))
    )
    schema = {"type": "object", "properties": {"color": {}}}
    tools = [{"name": "paint", "description": "Paint", "parameters": schema}]
    first = front.run("paint", tools=tools)
    assert shape(first) == [("user", "paint", []), ("assistant", "", ["paint"])]
    assert ("outcome" in (first.last or {})) == (front.generation is None)
    result = {"id": "result", "role": "tool", "toolCallId": "c1", "content": "done"}
    second = front.run(tools=tools, add=[result])
    assert shape(second) == [*shape(first), ("tool", "done", []), ("assistant", "Painted.", [])]


class Board(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    title: str


def test_state_both_ways_twice(front: Front, saver: Any) -> None:
    saw: list[Any] = []

    async def note(state: Board) -> dict[str, Any]:
        saw.append((state.get("title"), list(state.get("notes", ()))))
        return {"notes": [state["messages"][-1].text], "messages": [("ai", "Noted.")]}

    front.use(LangGraphAgent(chain_of(note, state=Board, checkpointer=saver)))
    first = front.run("one", state={"title": "mine"})
    assert first.state == {"title": "mine", "notes": ["one"]}
    second = front.run("two")
    assert second.state == {"title": "mine", "notes": ["one", "two"]}
    assert saw == [("mine", []), ("mine", ["one"])]


@tool
def transfer(amount: int) -> str:
    """Transfer money."""
    return f"sent {amount}"


def transferring(*thought: Any) -> Any:
    model = Scripted([*thought, call("transfer", "c1", len(thought), amount=5)], ["Done."])
    middleware = HumanInTheLoopMiddleware({"transfer": True})
    return create_agent(model, [transfer], middleware=[middleware], checkpointer=InMemorySaver())


def resolved(front: Front, asked: ClientRun, payload: Any) -> ClientRun:
    [question] = interrupts_of(asked)
    answer = {"interruptId": question["id"], "status": "resolved", "payload": payload}
    return front.run(resume=[answer])


def check_decision(run: ClientRun, *, approved: bool) -> None:
    assert shape(run)[-1] == ("assistant", "Done.", [])
    assert (("tool", "sent 5", []) in shape(run)) == approved


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval(front: Front, approved: bool) -> None:
    """Old clients are asked by events and answer by a command, as with `ag-ui-langgraph`; all of
    them can."""
    front.use(LangGraphAgent(transferring(), **BY_EVENTS))
    asked = front.run("send 5")
    [question] = questions_of(front, asked)
    if front.generation is None:
        run = resolved(front, asked, approved)
    else:
        assert [one["args"] for one in question["action_requests"]] == [{"amount": 5}]
        decisions = {"decisions": [{"type": "approve" if approved else "reject"}]}
        run = front.run(forwardedProps={"command": {"resume": decisions}})
    check_decision(run, approved=approved)


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_by_the_outcome(answering: Front, approved: bool) -> None:
    answering.use(LangGraphAgent(transferring(), **BY_OUTCOME))
    run = answering.run("send 5")
    assert run.custom == []
    [asked] = interrupts_of(run)
    assert asked["toolCallId"] == "c1"
    check_decision(resolved(answering, run, {"approved": approved}), approved=approved)


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_as_a_tool_call(front: Front, approved: bool) -> None:
    front.use(LangGraphAgent(transferring(), **BY_CALLS))
    answer_the_call(front, approved)


def answer_the_call(front: Front, approved: bool) -> None:
    first = front.run("send 5")
    asked = first.messages[-1]["toolCalls"][0]
    assert asked["function"]["name"] == "request_approval"
    content = json.dumps({"approved": approved})
    second = front.run(
        add=[{"id": "answer", "role": "tool", "toolCallId": asked["id"], "content": content}]
    )
    check_decision(second, approved=approved)


def test_an_approval_by_a_model_whose_reasoning_is_off(front: Front) -> None:
    thought = [thinking("hm", 0), thinking(index=0, signature="SIG")]
    front.use(LangGraphAgent(transferring(*thought), **WITHOUT_REASONING))
    answer_the_call(front, approved=True)


async def ask(state: Board) -> dict[str, Any]:
    return {"messages": [("ai", f"You said {interrupt({'question': 'Which?'})}.")]}


def test_a_question(front: Front) -> None:
    graph = chain_of(ask, state=Board, checkpointer=InMemorySaver())
    front.use(LangGraphAgent(graph, **BY_EVENTS))
    asked = front.run("hi")
    assert questions_of(front, asked) == [{"question": "Which?"}]
    if front.generation is None:
        second = resolved(front, asked, "that")
    else:
        answer = {"resume": "that", "interruptEvent": asked.custom[0]["value"]}
        second = front.run(forwardedProps={"command": answer})
    assert shape(second)[-1] == ("assistant", "You said that.", [])


def test_a_question_by_the_outcome(answering: Front) -> None:
    graph = chain_of(ask, state=Board, checkpointer=InMemorySaver())
    answering.use(LangGraphAgent(graph, **BY_OUTCOME))
    run = answering.run("hi")
    assert run.custom == []
    [asked] = interrupts_of(run)
    assert asked["message"] == "Which?"
    second = resolved(answering, run, "that")
    assert shape(second)[-1] == ("assistant", "You said that.", [])


def test_subagents(modern: Front, saver: Any) -> None:
    helper = create_agent(Scripted(["I help."]), name="helper")

    @tool
    async def delegate(task: str) -> str:
        """Let the helper do it."""
        result = await helper.ainvoke({"messages": [("user", task)]})
        return str(result["messages"][-1].text)

    model = Scripted([call("delegate", "c1", task="help")], ["Helped."])
    modern.use(LangGraphAgent(create_agent(model, [delegate], checkpointer=saver)))
    run = modern.run("hi")
    assert ("assistant", "I help.", []) in shape(run)
    assert shape(run)[-1] == ("assistant", "Helped.", [])
    assert ("SUBAGENT_STARTED" in run.events) == (modern.generation is None)


def test_an_error(front: Front, saver: Any) -> None:
    async def fail(state: Board) -> dict[str, Any]:
        raise RuntimeError

    front.use(LangGraphAgent(chain_of(fail, state=Board, checkpointer=saver)))
    run = front._node.run(
        url=front._served.url(front.path), threadId=front.path, generation=front.generation
    )
    assert run.runError is None or run.runError["code"] == "graph_error"


def test_a_run_that_is_cancelled(front: Front) -> None:
    begun = asyncio.Event()

    async def hang(state: Board) -> dict[str, Any]:
        begun.set()
        await asyncio.sleep(3600)
        return {}

    agent = LangGraphAgent(chain_of(hang, state=Board, checkpointer=InMemorySaver()))
    front.use(agent)

    async def stop() -> None:
        await eventually(begun.is_set, "the node hangs")
        for run in agent._running:
            assert await agent.cancel(run.input.thread_id, run.input.run_id)

    stopping = asyncio.run_coroutine_threadsafe(stop(), front._served.loop)
    run = front.run("hi")
    stopping.result(PATIENCE)
    assert ("outcome" in (run.last or {})) == (front.generation is None)
