"""Clients that stop reading, lose their stream or come back with old values.

A value that the thread had in one of its last checkpoints is no change, and a key that was only
previewed is not written until its client has seen a run to its end.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from copy import copy
from typing import Any

import pytest
from ag_ui.core import SystemMessage as Prompt
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent, PredictState, StateOptions, emit_state
from tests.behaviour.state.clients import THREAD, Client, Paper, agent_of
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.waiting import eventually

PREDICT: Any = {"predict": [PredictState("write_doc", "doc")]}


class Scene:
    """A client, and a graph that answers, and for a message that says so, previews, writes, waits
    or fails first."""

    def __init__(
        self, on_disconnect: Any = "cancel", when_paused: Any = "refuse", **options: Any
    ) -> None:
        self.saw: list[Any] = []
        self.hang = asyncio.Event()
        self.log: list[Any] = []

        async def first(state: Paper) -> dict[str, Any]:
            self.saw.append(state.get("doc"))
            match state["messages"][-1].content.removeprefix("hush ").split():
                case ["ask"]:
                    emit_state({"doc": "preview"})
                    interrupt("go on?")
                case ["preview", value]:
                    emit_state({"doc": value, "progress": 0.5})
                    await self.hang.wait()
                case ["flash", value]:
                    emit_state({"doc": value})
                case ["write", value]:
                    return {"doc": value}
                case ["predict", value]:
                    pieces = [calling(part("write_doc", '{"doc": "', "c1"))]
                    pieces += [calling(part(None, letter)) for letter in value]
                    await Scripted([*pieces, 9.0]).ainvoke(state["messages"])
            return {}

        async def second(state: Paper) -> dict[str, Any]:
            if state["messages"][-1].content.endswith("!"):
                raise RuntimeError
            if state["messages"][-1].content.endswith("..."):
                await self.hang.wait()
            hidden = [SystemMessage("to itself")] * state["messages"][-1].content.startswith("hush")
            return {"messages": [AIMessage("done"), *hidden]}

        state = StateOptions(**{**PREDICT, **options})
        more: Any = {"on_disconnect": on_disconnect, "on_busy": "wait"}
        more["approvals"] = ApprovalOptions(when_paused=when_paused)
        self.client = Client(agent_of(first, second, state=state, **more))

    async def play(self, step: str) -> None:
        client = self.client
        match step.split():
            case [sets] if "=" in sets:
                key, _, value = sets.partition("=")
                client.state[key] = [value] if key == "log" else value
                self.log = client.state.get("log", [])
            case [">", *doc]:
                await client.say("go on")
                self.check(*doc or [""])
            case ["again", ">", doc]:
                client.messages = client.messages[:-1]
                await client.say()
                self.check(doc)
            case ["ask"]:
                self.paused = await client.say("ask", ends="interrupt")
            case ["answer", "unseen"]:
                held = client.messages, client.state
                await client.answer(self.paused, ends="success")
                client.messages, client.state = held[0], dict(held[1])
            case ["answer", *more, ">", doc]:
                await client.answer(
                    self.paused, *([" ".join(more)] if more else []), ends="success"
                )
                self.check(doc)
            case [*words, "until", "previewed"]:
                await client.leave(" ".join(words), lambda _, state: state.get("doc") == words[-1])
            case [*words, "until", "written"]:
                await client.leave(
                    " ".join(words), lambda event, _: getattr(event, "step_name", "") == "second"
                )
            case [*words, "unread"]:
                await client.leave(" ".join(words), lambda *_: True)
            case [*words, "fails"]:
                await client.say(" ".join(words), ends="graph_error")
            case [*words, "unwatched"]:
                async with aclosing(client.agent.run(client.given(" ".join(words)))) as events:
                    await anext(events)
                    value = words[-1]
                    await eventually(lambda: client.stored.get("doc") == value, "it is written")
                    await anext(events)
            case ["guess", "is", "refused"]:
                client.state["unknown"] = 1
                await client.say("go on", ends="state_refused")
                del client.state["unknown"]
            case ["connect"]:
                client.messages = []
                await client.connect()
            case ["other", "writes", value]:
                other = copy(client)
                other.state = dict(client.state)
                await other.say(f"write {value}")
            case ["new", "process"]:
                client.agent = LangGraphAgent(client.agent.graph, state=StateOptions(**PREDICT))
            case ["application", "writes", value]:
                await client.agent.graph.aupdate_state(THREAD, {"doc": value}, "second")
            case ["let", "go"]:
                self.hang.set()
            case ["own", "id"]:
                own = {"id": f"own{len(client.messages)}"}
                client.messages[-1] = client.messages[-1].model_copy(update=own)
            case ["own", "words"]:
                own = {"id": "own", "content": "other words"}
                client.messages[-1] = client.messages[-1].model_copy(update=own)
            case ["forget"]:
                client.messages = [Prompt(id="prompt", content="Be kind.")]
            case _:
                await client.say(step)

    def check(self, doc: str) -> None:
        """The graph and the client hold this document, and nothing of a preview."""
        assert (self.saw[-1] or "") == doc
        assert self.client.state == ({"doc": doc} if doc else {}) | {"log": self.log}


STOPPED = "write good, preview bad until previewed"
ROWS = [
    ("emitted preview", {"predict": []}, f"{STOPPED}, > good"),
    ("predicted preview", {}, "write good, predict bad until previewed, > good"),
    ("stopped twice, refused between", {"forbidden_change": "refuse"},
     f"{STOPPED}, preview worse unread, guess is refused, > good"),
    ("edit of another key after stopping", {}, f"{STOPPED}, log=mine, > good"),
    ("stale prefix", {}, f"{STOPPED}, doc=ba, dropped > good, doc=ba, > ba"),
    ("stale preview", {}, f"{STOPPED}, doc=bad, > good, doc=bad, > bad"),
    ("edit of a previewed key", {}, f"{STOPPED}, doc=mine, dropped > good, doc=mine, > mine"),
    ("another process knows predicted keys", {},
     "write good, predict bad until previewed, new process, > good"),
    ("edit in another process", {},
     "write good, predict bad until previewed, new process, doc=mine, dropped > good"),
    ("undo of an edit that a stopped run took", {"predict": []},
     "doc=A, go on, doc=C, wait... until written, doc=A, > A"),
    ("undo after stopping", {"predict": []},
     "write one, write two... until written, doc=one, > two..., doc=one, > one"),
    ("own ids", {}, "flash bright, own id, doc=A, > A, own id, doc=B, > B, own id, doc=A, > A"),
    ("new messages only", {}, "flash bright, forget, doc=A, > A, forget, doc=B, > B, doc=A, > A"),
    ("own words, and behind", {}, "write one, own words, other writes two, > two"),
    ("edit after a failure", {}, "write one, flash two! fails, doc=mended, > mended"),
    ("undo after a failure", {}, "write one, write two! fails, doc=one, > one"),
    ("filled by the application", {}, "application writes theirs, doc=mine, > mine"),
    ("run that went on", {"on_disconnect": "continue"}, f"{STOPPED}, let go, > good"),
    ("previewed once, set later", {},
     "flash it, doc=it, > it, preview bad until previewed, > it, doc=bad, > bad"),
    ("missed change", {}, "write one, write two... unwatched, > two..."),
    ("missed change, another process", {},
     "write one, other writes two, new process, log=mine, > two"),
    ("only previewed", {"forbidden_change": "refuse"}, "preview bad until previewed, >"),
    ("only previewed, connects", {"forbidden_change": "refuse"},
     "preview bad until previewed, connect, >"),
    ("edit, and its message again", {}, "write one, doc=mine, go on, again > mine"),
    ("undo, and its message again", {}, "write one, doc=mine, go on, doc=one, again > one"),
    ("comes with an answer", {}, "doc=old, ask, doc=new, log=b, answer > new"),
    ("comes instead of an answer", {"when_paused": "cancel"}, "doc=old, ask, doc=mine, > mine"),
    ("comes beside spent answers", {}, "ask, answer unseen, doc=mine, answer use mine > mine"),
    ("undo after a message that clients never see", {}, "doc=old, hush write new, doc=old, > old"),
    ("written by the application", {},
     "write one, application writes theirs, log=mine, > theirs, other writes four, > four"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "steps"), [pytest.param(*row[1:], id=row[0]) for row in ROWS])
async def test_what_a_client_sends_is_its_edit_or_is_old(
    options: Any, steps: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With `> X` the client says "go on": the graph sees X, and the client holds it. `dropped`
    means a warning that an edit may be old."""
    scene = Scene(**options)
    for step in map(str.strip, steps.split(",")):
        caplog.clear()
        await scene.play(step.removeprefix("dropped "))
        warned = any("may be old" in one and "'doc'" in one for one in caplog.messages)
        assert warned or not step.startswith("dropped"), step
