"""Every generation of `@ag-ui/client` against the same agents: what each is sent, it takes.

A client is asked over HTTP, holds what it makes of the stream, and sends that in its next turn.
0.0.42 cannot be recognised and fails at reasoning, so it gets graphs without, or no reasoning.
"""

from __future__ import annotations

import asyncio
import json
import operator
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import AGUIMiddleware, LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.deep import together
from tests.kit.expect.front_ends import options_for
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.serving import Tape, serving
from tests.kit.run.agents import RecordedRun
from tests.kit.waiting import PATIENCE, eventually

GENERATIONS = ["0.0.42", "0.0.48", "0.0.53", "0.0.55", "0.0.57", "0.0.58", "0.0.59", None]
MODERN = GENERATIONS[1:]
# The first that can send `resume`.
ANSWERING = GENERATIONS[3:]

BY_EVENTS = options_for("CopilotKit before 1.74, @ag-ui/client 0.0.48 to 0.0.58")
BY_OUTCOME = options_for("your own page, @ag-ui/client 0.0.55 to 0.0.59")
BY_CALLS = options_for("your own page, @ag-ui/client 0.0.48 to 0.0.53")
WITHOUT_REASONING = options_for("your own page, @ag-ui/client 0.0.42")


def of(generations, **more):
    """Clients of these generations; each value of another parameter has its turn."""
    named = pytest.mark.parametrize("generation", generations, ids=lambda one: one or "1.0.0")
    return together(named, *(pytest.mark.parametrize(*one) for one in more.items()))


def stored(generations):
    return of(generations, saver=[None, InMemorySaver()])


class Front:
    """One client of one generation, in one thread."""

    def __init__(self, node, served, generation):
        self._node, self._served, self.generation = node, served, generation
        self._count = 0

    def use(self, agent):
        self.path = f"/agent-{self.generation}-{id(agent)}"
        self._served.config.app.include_router(agui_router(agent, self.path))
        return self

    def run(self, *texts, **more):
        """One turn: it has to be taken without an error."""
        run = self.ask(*texts, **more)
        assert run.error is None, run.error
        assert run.runError is None
        return run

    def ask(self, *texts, **more):
        """One turn, whatever comes of it."""
        self._count += 1
        ids = [f"u{self._count}-{n}" for n in range(len(texts))]
        new = [
            {"id": id_, "role": "user", "content": text}
            for id_, text in zip(ids, texts, strict=True)
        ]
        more = {"agent": self.path, **more, "add": [*new, *more.get("add", ())]}
        return self.call(self._served.url(self.path), **more)

    def reload(self, **more):
        """Connect as a page does that holds nothing, unless `more` names its agent."""
        return self.call(self._served.url(f"{self.path}/connect"), **more)

    def call(self, url, **more):
        return self._node.run(url=url, threadId=self.path, generation=self.generation, **more)


class TapedApp(FastAPI):
    """An app that keeps what it has answered."""

    def __init__(self):
        super().__init__()
        self.tape = Tape(super().__call__)

    async def __call__(self, scope, receive, send):
        await self.tape(scope, receive, send)


def recorded(served, path, run, held=None):
    """The stream that a client got last, verified."""
    served.wait_idle()
    given = run.input if held is None else {**run.input, "messages": held}
    return RecordedRun([*decode([served.config.app.tape.answers[path][-1]])], parse_input(given))


def dumped(stream):
    return [message.model_dump(by_alias=True, mode="json") for message in stream.messages]


@pytest.fixture(scope="module")
def served():
    with serving(TapedApp()) as served:
        yield served


@pytest.fixture
def front(generation, node_client, served):
    return Front(node_client, served, generation)


def shape(run):
    """Who says what, without ids and opaque values."""
    calls = [
        [made["function"]["name"] for made in one.get("toolCalls") or ()] for one in run.messages
    ]
    texts = [(one["role"], one.get("content") or "") for one in run.messages]
    return [(*text, made) for text, made in zip(texts, calls, strict=True)]


def interrupts_of(run):
    """What the run waits for by its outcome; not every generation passes it on."""
    return run.last["outcome"]["interrupts"]


def questions_of(front, run):
    """The values of what the run asks, in the one form that the generation is asked in."""
    by_event = [json.loads(one["value"]) for one in run.custom if one["name"] == "on_interrupt"]
    if front.generation is not None:
        assert ("outcome" in (run.last or {}), run.openInterrupts) == (False, [])
        return by_event
    assert by_event == []
    return [one["metadata"].get("value", one["message"]) for one in interrupts_of(run)]


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@stored(GENERATIONS)
def test_text_and_tools(front, saver):
    """A block of text of these models is sent as a text: no opaque value is needed."""
    block = text_chunk("It is x.", 0)
    block.response_metadata = {"model_provider": "google_genai"}
    model = Scripted(["Let me ", "look", call("look", "c1", q="x")], [block], ["Bye."])
    front.use(LangGraphAgent(create_agent(model, [look], checkpointer=saver)))
    first = front.run("hi")
    expected = [("user", "hi", []), ("assistant", "Let me look", ["look"]), ("tool", "found x", [])]
    assert shape(first) == [*expected, ("assistant", "It is x.", [])]
    second = front.run("bye")
    assert shape(second) == [*shape(first), ("user", "bye", []), ("assistant", "Bye.", [])]


@stored(MODERN)
def test_reasoning(front, saver):
    turn = [thinking("hm", 0), thinking(index=0, signature="SIG"), text_chunk("Yes", 1)]
    model = Scripted(turn, ["Really."])
    front.use(LangGraphAgent(create_agent(model, checkpointer=saver)))
    first = front.run("hi")
    assert shape(first) == [("user", "hi", []), ("reasoning", "hm", []), ("assistant", "Yes", [])]
    second = front.run("sure?")
    assert shape(second) == [*shape(first), ("user", "sure?", []), ("assistant", "Really.", [])]
    thought = {"type": "thinking", "thinking": "hm", "signature": "SIG", "index": 0}
    assert model.seen[-1][1].content == [thought, {"type": "text", "text": "Yes", "index": 1}]


@stored(GENERATIONS)
def test_a_frontend_tool(front, saver):
    model = Scripted([call("paint", "c1", color="red")], ["Painted."])
    graph = create_agent(model, middleware=[AGUIMiddleware()], checkpointer=saver)
    front.use(LangGraphAgent(graph))
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


@stored(GENERATIONS)
def test_state_both_ways_twice(front, saver):
    saw = []

    async def note(state: Board) -> dict[str, Any]:
        saw.append((state.get("title"), list(state.get("notes", ()))))
        return {"notes": [state["messages"][-1].text], "messages": [("ai", "Noted.")]}

    front.use(LangGraphAgent(chain_of(note, state=Board, checkpointer=saver)))
    mine = "mine" * 50  # long enough for a patch to be shorter than the state
    first = front.run("one", state={"title": mine})
    assert first.state == {"title": mine, "notes": ["one"]}
    second = front.run("two")
    assert second.state == {"title": mine, "notes": ["one", "two"]}
    assert saw == [(mine, []), (mine, ["one"])]
    # CopilotKit's runtime applies the patches of a run to an empty state.
    told = next(kind for kind in second.events if kind.startswith("STATE_"))
    assert told == ("STATE_DELTA" if front.generation is None else "STATE_SNAPSHOT")


@tool
def transfer(amount: int) -> str:
    """Transfer money."""
    return f"sent {amount}"


def transferring(*thought):
    model = Scripted([*thought, call("transfer", "c1", len(thought), amount=5)], ["Done."])
    middleware = HumanInTheLoopMiddleware({"transfer": True})
    return create_agent(model, [transfer], middleware=[middleware], checkpointer=InMemorySaver())


def resolved(front, asked, payload):
    [question] = interrupts_of(asked)
    answer = {"interruptId": question["id"], "status": "resolved", "payload": payload}
    return front.run(resume=[answer])


def check_decision(run, approved):
    assert shape(run)[-1] == ("assistant", "Done.", [])
    assert (("tool", "sent 5", []) in shape(run)) == approved


@of(GENERATIONS, approved=[True, False, False])
def test_an_approval(front, approved):
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
    check_decision(run, approved)


@of(ANSWERING, approved=[True, False])
def test_an_approval_by_the_outcome(front, approved):
    front.use(LangGraphAgent(transferring(), **BY_OUTCOME))
    run = front.run("send 5")
    assert (run.custom, [one["toolCallId"] for one in interrupts_of(run)]) == ([], ["c1"])
    check_decision(resolved(front, run, {"approved": approved}), approved)


THOUGHT = [thinking("hm", 0), thinking(index=0, signature="SIG")]


@of(GENERATIONS, approved=[True, False, True])
def test_an_approval_as_a_tool_call(front, approved):
    options = BY_CALLS if front.generation != "0.0.42" else WITHOUT_REASONING
    thought = THOUGHT if front.generation == "0.0.42" else []
    front.use(LangGraphAgent(transferring(*thought), **options))
    asked = front.run("send 5").messages[-1]["toolCalls"][0]
    assert asked["function"]["name"] == "request_approval"
    content = json.dumps({"approved": approved})
    answer = {"id": "answer", "role": "tool", "toolCallId": asked["id"], "content": content}
    check_decision(front.run(add=[answer]), approved)


async def ask(state: Board) -> dict[str, Any]:
    return {"messages": [("ai", f"You said {interrupt({'question': 'Which?'})}.")]}


@of(GENERATIONS)
def test_a_question(front):
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


@of(ANSWERING)
def test_a_question_by_the_outcome(front):
    graph = chain_of(ask, state=Board, checkpointer=InMemorySaver())
    front.use(LangGraphAgent(graph, **BY_OUTCOME))
    run = front.run("hi")
    assert (run.custom, [one["message"] for one in interrupts_of(run)]) == ([], ["Which?"])
    assert shape(resolved(front, run, "that"))[-1] == ("assistant", "You said that.", [])


@stored(MODERN)
def test_subagents(front, saver):
    helper = create_agent(Scripted(["I help."]), name="helper")

    @tool
    async def delegate(task: str) -> str:
        """Let the helper do it."""
        result = await helper.ainvoke({"messages": [("user", task)]})
        return str(result["messages"][-1].text)

    model = Scripted([call("delegate", "c1", task="help")], ["Helped."])
    front.use(LangGraphAgent(create_agent(model, [delegate], checkpointer=saver)))
    run = front.run("hi")
    assert ("assistant", "I help.", []) in shape(run)
    assert shape(run)[-1] == ("assistant", "Helped.", [])
    assert ("SUBAGENT_STARTED" in run.events) == (front.generation is None)


@stored(GENERATIONS)
def test_an_error(front, saver):
    async def fail(state: Board) -> dict[str, Any]:
        raise RuntimeError

    front.use(LangGraphAgent(chain_of(fail, state=Board, checkpointer=saver)))
    run = front.ask("hi")
    assert run.runError is None or run.runError["code"] == "graph_error"


@of(GENERATIONS)
def test_a_run_that_is_cancelled(front):
    begun = asyncio.Event()

    async def hang(state: Board) -> dict[str, Any]:
        begun.set()
        await asyncio.sleep(3600)
        return {}

    agent = LangGraphAgent(chain_of(hang, state=Board, checkpointer=InMemorySaver()))
    front.use(agent)

    async def stop():
        await eventually(begun.is_set, "the node hangs")
        for run in agent._running:
            assert await agent.cancel(run.input.thread_id, run.input.run_id)

    stopping = asyncio.run_coroutine_threadsafe(stop(), front._served.loop)
    run = front.run("hi")
    stopping.result(PATIENCE)
    assert ("outcome" in (run.last or {})) == (front.generation is None)
