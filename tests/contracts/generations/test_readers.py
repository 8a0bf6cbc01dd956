"""Readers of one run, each of its own generation: who began it, and who joined by `connect`, get
their own form of it.

All hold the same in the end, though they were not sent the same.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.behaviour.threads.test_threads_http import served_readers
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun
from tests.kit.waiting import PATIENCE, wait_for

NEW, OLD = None, "0.0.59"
GO: dict[str, Any] = {"id": "u1", "role": "user", "content": "go"}
TITLE = "A draft" * 30  # long enough for a patch to be shorter than the state
PAINT = {
    "name": "paint",
    "description": "Paint",
    "parameters": {"type": "object", "properties": {}},
}


class Board(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    title: str


class Waiting(Scripted):
    """Stops in the middle of its answer, until the gate is open."""

    gate: Any = None

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            if chunk.message.text == "Well":
                self.hung.set()
                await self.gate.wait()


async def begin(state: Board) -> dict[str, Any]:
    return {"notes": ["begun"], "title": TITLE}


async def finish(state: Board) -> dict[str, Any]:
    return {"notes": ["finished"]}


async def ask(state: Board) -> dict[str, Any]:
    return {"title": interrupt({"question": "Which title?"})}


async def hang(state: Board) -> dict[str, Any]:
    await asyncio.sleep(3600)
    return {}


class Stage:
    """An agent behind a path for each reader, so that it is known who got which stream."""

    def __init__(self, *last: Any) -> None:
        helper = create_agent(Scripted(["I help."]), name="helper")

        async def consult(state: Board) -> dict[str, Any]:
            """A subagent: its words stay inside."""
            await helper.ainvoke({"messages": [HumanMessage("help")]})
            return {}

        words = [
            thinking("Hm.", 0),
            thinking(index=0, signature="s"),
            text_chunk("Well", 1),
            text_chunk(", yes.", 1),
        ]
        self.model = Waiting(
            [*words, *([] if ask in last else [call("paint", "c1", 2)])], gate=asyncio.Event()
        )
        nodes = [begin, consult, talker(self.model), finish, *last]
        self.agent = LangGraphAgent(chain_of(*nodes, state=Board, checkpointer=InMemorySaver()))
        app = FastAPI()
        for name in ("first", "old", "new"):
            app.include_router(agui_router(self.agent, f"/{name}"))
        self.tape = Tape(app)

    def recorded(self, path: str, run: ClientRun) -> RecordedRun:
        """The stream of a reader, verified."""
        assert run.input is not None
        [answer] = self.tape.answers[path]
        return RecordedRun(list(decode([answer])), parse_input(run.input))


@pytest.fixture(scope="module")
def clients(node_client: NodeClient) -> Iterator[list[NodeClient]]:
    """One process for each reader: a process runs one client at a time."""
    others = [NodeClient(), NodeClient()]
    yield [node_client, *others]
    for other in others:
        other.close()


def read(
    stage: Stage,
    served: Served,
    clients: list[NodeClient],
    first: str | None,
    held: list[Any],
    *,
    cancel: bool = False,
) -> dict[str, ClientRun]:
    """Let a client of the generation `first` begin a run, and two join it in the middle of a
    word."""
    given: dict[str, Any] = {"threadId": "t", "tools": [PAINT]}
    with ThreadPoolExecutor(3) as pool:
        begun = {
            "/first": pool.submit(
                clients[0].run,
                url=served.url("/first"),
                generation=first,
                runId="live",
                **given,
                add=[GO],
            )
        }
        wait_for(stage.model.hung.is_set, "the model speaks")
        for client, (path, generation) in zip(
            clients[1:], {"/old/connect": OLD, "/new/connect": NEW}.items(), strict=True
        ):
            url = served.url(path)
            begun[path] = pool.submit(
                client.run, url=url, generation=generation, **given, messages=held
            )
        wait_for(lambda: len(served_readers(served)) == 3, "both have joined")
        served.loop.call_soon_threadsafe(stage.model.gate.set)
        if cancel:
            wait_for(lambda: asyncio.run(stage.agent.cancel("t", "live")), "the run is cancelled")
        return {path: done.result(PATIENCE) for path, done in begun.items()}


def check_form(stream: RecordedRun, generation: str | None, *, subagents: bool) -> None:
    """The stream is in the form of its reader's generation."""
    wire = "".join(event.model_dump_json(by_alias=True) for event in stream.events)
    states = [kind for kind in stream.types if kind.startswith("STATE_")]
    if generation == OLD:
        assert states[0] == "STATE_SNAPSHOT"
        assert stream.last.outcome is None
        assert "SUBAGENT" not in "".join(stream.types)
        assert "subagentRunId" not in wire
    else:
        assert stream.last.outcome is not None
        assert ("SUBAGENT_FINISHED" in stream.types, "subagentRunId" in wire) == (
            subagents,
            subagents,
        )


def plain(run: ClientRun) -> list[dict[str, Any]]:
    """What the client holds, without the ids of subagents."""
    return [
        {key: value for key, value in one.items() if key != "subagentRunId"} for one in run.messages
    ]


def check(stage: Stage, runs: dict[str, ClientRun], first: str | None) -> dict[str, RecordedRun]:
    """Each stream is right for its reader, who took it; all hold the same."""
    generations = {"/first": first, "/old/connect": OLD, "/new/connect": NEW}
    streams = {path: stage.recorded(path, run) for path, run in runs.items()}
    for path, run in runs.items():
        assert (run.error, run.runError, run.warnings) == (None, None, []), path
        assert [
            message.model_dump(by_alias=True, mode="json") for message in streams[path].messages
        ] == run.messages
        assert (plain(run), run.state) == (plain(runs["/first"]), runs["/first"].state), path
        # Who begins a run decides what it tells of subagents; an old client is told nothing in any
        # case.
        check_form(streams[path], generations[path], subagents=first == NEW)
    return streams


@pytest.mark.parametrize("held", [[], [GO]], ids=["nothing", "the question"])
@pytest.mark.parametrize("first", [NEW, OLD], ids=["1.0.0 begins", "0.0.59 begins"])
def test_a_frontend_tool(first: str | None, held: list[Any], clients: list[NodeClient]) -> None:
    stage = Stage()
    with serving(stage.tape) as served:
        runs = read(stage, served, clients, first, held)
    streams = check(stage, runs, first)
    contents = [one.get("content") for one in runs["/first"].messages]
    assert contents == ["go", "I help.", "Hm.", "Well, yes."]
    assert runs["/first"].state == {"notes": ["begun", "finished"], "title": TITLE}
    assert streams["/new/connect"].last.outcome.pending_tool_call_ids == ["c1"]
    assert runs["/new/connect"].pendingToolCallIds == ["c1"]
    assert all("STATE_DELTA" in stream.types for stream in streams.values())


@pytest.mark.parametrize("first", [NEW, OLD], ids=["1.0.0 begins", "0.0.59 begins"])
def test_a_question(first: str | None, clients: list[NodeClient]) -> None:
    stage = Stage(ask)
    with serving(stage.tape) as served:
        runs = read(stage, served, clients, first, [GO])
    streams = check(stage, runs, first)
    [asked] = streams["/new/connect"].last.outcome.interrupts
    assert asked.metadata["value"] == {"question": "Which title?"}
    old = {"/old/connect"} | ({"/first"} if first == OLD else set())
    for path, run in runs.items():
        if path in old:
            [event] = run.custom
            assert (event["name"], json.loads(event["value"])) == (
                "on_interrupt",
                asked.metadata["value"],
            )
            assert event["rawEvent"]["id"] == asked.id
        else:
            assert run.custom == []
            assert run.last is not None
            assert [one["id"] for one in run.last["outcome"]["interrupts"]] == [asked.id]


@pytest.mark.parametrize("first", [NEW, OLD], ids=["1.0.0 begins", "0.0.59 begins"])
def test_a_run_that_is_cancelled(first: str | None, clients: list[NodeClient]) -> None:
    stage = Stage(hang)
    with serving(stage.tape) as served:
        runs = read(stage, served, clients, first, [GO], cancel=True)
    streams = check(stage, runs, first)
    assert streams["/new/connect"].last.outcome.type == "cancelled"
