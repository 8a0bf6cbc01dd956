"""Readers of one run, each of its own generation: who began it, and who joined by `connect`, get
their own form of it.

All hold the same in the end, though they were not sent the same.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, agui_router
from tests.behaviour.threads.test_threads_http import served_readers
from tests.contracts.generations.test_matrix import Board, TapedApp, dumped, recorded
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.serving import serving
from tests.kit.waiting import PATIENCE, wait_for

NEW, OLD = None, "0.0.59"
GO = {"id": "u1", "role": "user", "content": "go"}
TITLE = "A draft" * 30  # long enough for a patch to be shorter than the state
SCHEMA = {"type": "object", "properties": {}}
GIVEN = {
    "threadId": "t",
    "tools": [{"name": "paint", "description": "Paint", "parameters": SCHEMA}],
}
WORDS = [thinking("Hm.", 0), thinking(index=0, signature="s"), text_chunk("Well", 1)]


class Waiting(Scripted):
    """Stops in the middle of its answer, until the gate is open."""

    gate: Any = None

    async def _astream(self, *args, **kwargs):
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            if chunk.message.text == "Well":
                self.hung.set()
                await self.gate.wait()


async def begin(state: Board) -> dict[str, Any]:
    return {"notes": ["begun"], "title": TITLE}


async def consult(state: Board) -> dict[str, Any]:
    """A subagent: its words stay inside."""
    helper = create_agent(Scripted(["I help."]), name="helper")
    await helper.ainvoke({"messages": [HumanMessage("help")]})
    return {}


async def finish(state: Board) -> dict[str, Any]:
    return {"notes": ["finished"]}


async def ask(state: Board) -> dict[str, Any]:
    return {"title": interrupt({"question": "Which title?"})}


async def hang(state: Board) -> dict[str, Any]:
    await asyncio.sleep(3600)
    return {}


@pytest.fixture(scope="module")
def clients(node_client):
    """One process for each reader: a process runs one client at a time."""
    others = [NodeClient(), NodeClient()]
    yield [node_client, *others]
    for other in others:
        other.close()


def check_form(stream, generation, *, subagents):
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
        told = ("SUBAGENT_FINISHED" in stream.types, "subagentRunId" in wire)
        assert told == (subagents, subagents)


def plain(run):
    """What the client holds, without the ids of subagents."""
    return [
        {key: value for key, value in one.items() if key != "subagentRunId"} for one in run.messages
    ]


@pytest.mark.parametrize(
    ("first", "last", "held"),
    [
        pytest.param(NEW, None, [], id="1.0.0 begins"),
        pytest.param(OLD, None, [GO], id="0.0.59 begins"),
        pytest.param(NEW, ask, [GO], id="1.0.0 begins, a question"),
        pytest.param(OLD, ask, [GO], id="0.0.59 begins, a question"),
        pytest.param(NEW, hang, [GO], id="1.0.0 begins, cancelled"),
        pytest.param(OLD, hang, [GO], id="0.0.59 begins, cancelled"),
    ],
)
def test_readers_of_one_run(first, last, held, clients):
    """A client of the generation `first` begins a run, and two join it in the middle of a word;
    each has a path of its own, so that it is known who got which stream."""
    paths = {"/first": first, "/old/connect": OLD, "/new/connect": NEW}
    calls = [] if last is ask else [call("paint", "c1", 2)]
    model = Waiting([*WORDS, text_chunk(", yes.", 1), *calls], gate=asyncio.Event())
    nodes = [begin, consult, talker(model), finish, *([last] if last else [])]
    agent, app = (
        LangGraphAgent(chain_of(*nodes, state=Board, checkpointer=InMemorySaver())),
        TapedApp(),
    )
    for name in ("first", "old", "new"):
        app.include_router(agui_router(agent, f"/{name}"))
    with serving(app) as served, ThreadPoolExecutor(3) as pool:
        begun = {}
        for client, (path, generation) in zip(clients, paths.items(), strict=True):
            more = {"messages": held} if begun else {"runId": "live", "add": [GO]}
            form = {"url": served.url(path), "generation": generation}
            begun[path] = pool.submit(client.run, **form, **GIVEN, **more)
            wait_for(model.hung.is_set, "the model speaks")
        wait_for(lambda: len(served_readers(served)) == 3, "both have joined")
        served.loop.call_soon_threadsafe(model.gate.set)
        if last is hang:
            wait_for(lambda: asyncio.run(agent.cancel("t", "live")), "the run is cancelled")
        runs = {path: done.result(PATIENCE) for path, done in begun.items()}
        streams = {path: recorded(served, path, run) for path, run in runs.items()}
    for path, run in runs.items():
        assert (run.error, run.runError, run.warnings) == (None, None, []), path
        assert run.messages == dumped(streams[path])
        assert (plain(run), run.state) == (plain(runs["/first"]), runs["/first"].state), path
        # Who begins a run decides what it tells of subagents; an old client is told nothing in any
        # case.
        check_form(streams[path], paths[path], subagents=first == NEW)
    outcome = streams["/new/connect"].last.outcome
    if last is not hang:
        contents = [one.get("content") for one in runs["/first"].messages]
        assert contents == ["go", "I help.", "Hm.", "Well, yes."]
        assert runs["/first"].state == {"notes": ["begun", "finished"], "title": TITLE}
        assert all("STATE_DELTA" in stream.types for stream in streams.values())
    if last is None:
        assert outcome.pending_tool_call_ids == runs["/new/connect"].pendingToolCallIds == ["c1"]
    elif last is hang:
        assert outcome.type == "cancelled"
    else:
        [asked] = outcome.interrupts
        value = {"question": "Which title?"}
        assert asked.metadata["value"] == value
        for path, run in runs.items():
            told = [
                (one["name"], json.loads(one["value"]), one["rawEvent"]["id"]) for one in run.custom
            ]
            assert told == ([("on_interrupt", value, asked.id)] if paths[path] == OLD else [])
            if paths[path] == NEW:
                assert [one["id"] for one in run.last["outcome"]["interrupts"]] == [asked.id]
