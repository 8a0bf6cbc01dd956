"""Clients of before AG-UI 1.0 and an agent on a LangGraph server: they get their form of its
events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.deep import deep
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving
from tests.kit.run.agents import RecordedRun

pytestmark = [pytest.mark.xdist_group("remote"), deep]

# tests/contracts/generations has all of them, with local graphs.
generations = pytest.mark.parametrize("generation", ["0.0.48", "0.0.59", None], ids=str)


class Front:
    """A client of one generation, in a thread of an agent on a LangGraph server."""

    def __init__(
        self, node: NodeClient, app: FastAPI, served: Served, tape: Tape, server: str
    ) -> None:
        self._node, self._app, self._served, self._tape, self._server = (
            node,
            app,
            served,
            tape,
            server,
        )

    def use(self, name: str, generation: str | None) -> Front:
        self.thread, self.generation = str(uuid4()), generation
        self._path = f"/{self.thread}"
        self._app.include_router(
            agui_router(LangGraphAgent(RemoteGraph(name, url=self._server)), self._path)
        )
        return self

    def run(self, text: str | None = None, **more: Any) -> tuple[ClientRun, RecordedRun]:
        """One turn: the client takes it without a word, and holds what we fold of the verified
        stream."""
        asked = [{"id": f"u-{uuid4()}", "role": "user", "content": text}] if text else []
        given = {"url": self._served.url(self._path), "agent": self._path, "threadId": self.thread}
        run = self._node.run(
            **given, generation=self.generation, add=[*asked, *more.pop("add", ())], **more
        )
        assert (run.error, run.runError, run.warnings) == (None, None, [])
        assert run.input is not None
        stream = RecordedRun(
            list(decode([self._tape.answers[self._path][-1]])), parse_input(run.input)
        )
        folded = [one.model_dump(by_alias=True, mode="json") for one in stream.messages]
        assert comparable(folded, self.generation) == comparable(run.messages, self.generation)
        assert stream.state == run.state
        return run, stream


@pytest.fixture(scope="module")
def _stage() -> Iterator[tuple[FastAPI, Tape, Served]]:
    app = FastAPI()
    tape = Tape(app)
    with serving(tape) as served:
        yield app, tape, served


@pytest.fixture
def front(node_client: NodeClient, _stage: tuple[FastAPI, Tape, Served], server: str) -> Front:
    app, tape, served = _stage
    return Front(node_client, app, served, tape, server)


def comparable(messages: list[dict[str, Any]], generation: str | None) -> list[dict[str, Any]]:
    """Messages as a client of that generation has them: some put results last, and keep no metadata
    of them."""
    if generation is None:
        return messages
    plain = [{key: value for key, value in one.items() if key != "metadata"} for one in messages]
    return sorted(plain, key=lambda one: str(one["id"]))


def check_form(stream: RecordedRun, generation: str | None) -> None:
    """The stream is in the form of its reader's generation."""
    if generation is None:
        assert stream.last.outcome is not None
        return
    assert stream.last.outcome is None
    states = [kind for kind in stream.types if kind.startswith("STATE_")]
    assert states[:1] in ([], ["STATE_SNAPSHOT"])
    assert "SUBAGENT" not in "".join(stream.types)
    assert "subagentRunId" not in "".join(
        event.model_dump_json(by_alias=True) for event in stream.events
    )


def shape(run: ClientRun) -> list[Any]:
    return [(one["role"], one.get("content") or "") for one in run.messages]


@generations
def test_tools_and_state(front: Front, generation: str | None) -> None:
    run, stream = front.use("parallel_tools", generation).run("weather?")
    check_form(stream, generation)
    assert run.state == {"notes": ["looked up"]}
    assert shape(run)[1:] == [
        ("assistant", "Looking."),
        ("tool", "sunny in Rome"),
        ("tool", "sunny in Oslo"),
        ("assistant", "Both found."),
    ]


@generations
def test_a_question(front: Front, generation: str | None) -> None:
    front.use("asking", generation)
    run, stream = front.run("go")
    check_form(stream, generation)
    if generation is None:
        assert run.custom == []
        [asked] = stream.last.outcome.interrupts
        answer: Any = {
            "resume": [{"interruptId": asked.id, "status": "resolved", "payload": "blue"}]
        }
    else:
        [event] = run.custom
        assert event["name"] == "on_interrupt"
        answer = {
            "forwardedProps": {"command": {"resume": "blue", "interruptEvent": event["value"]}}
        }
    run, stream = front.run(**answer)
    check_form(stream, generation)
    assert run.messages[-1]["content"] == "You said blue."
