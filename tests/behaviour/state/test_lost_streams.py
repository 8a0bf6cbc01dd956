"""Clients that stop reading, lose their stream or come back with old values.

A value that the thread had in one of its last checkpoints is no change, and a key that was only
previewed is not written until its client has seen a run to its end.
"""

from __future__ import annotations

import asyncio
import operator
from contextlib import aclosing, suppress
from typing import Annotated, Any

import pytest
from ag_ui.core import SystemMessage
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import (
    ApprovalOptions,
    LangGraphAgent,
    PredictState,
    StateOptions,
    emit_state,
)
from langgraph_agui.protocol import Fold
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, record_run, record_until, run_input, user
from tests.kit.waiting import eventually


class Paper(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    log: Annotated[list[str], operator.add]


class Writer:
    """A graph that answers, and for a message that says so, previews, writes, waits or fails
    first."""

    def __init__(self, on_disconnect: Any = "cancel", **options: Any) -> None:
        self.saw: list[Any] = []
        self.hang = asyncio.Event()

        async def first(state: Paper) -> dict[str, Any]:
            self.saw.append(state.get("doc"))
            match state["messages"][-1].content.split():
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
            return {"messages": [AIMessage("done")]}

        options = {"predict": [PredictState("write_doc", "doc")], **options}
        self.graph = chain_of(first, second, state=Paper, checkpointer=InMemorySaver())
        state = StateOptions(**options)
        self.agent = LangGraphAgent(
            self.graph, state=state, on_disconnect=on_disconnect, on_busy="wait"
        )

    @property
    def doc(self) -> Any:
        return self.graph.get_state({"configurable": {"thread_id": "t"}}).values.get("doc")


class Client:
    """What a client holds; it may stop reading when its state is what it waits for."""

    def __init__(self, writer: Writer, agent: LangGraphAgent | None = None) -> None:
        self.agent = agent or writer.agent
        self.messages: list[Any] = []
        self.state: Any = {}

    async def stop_in_silence(self, *texts: str) -> None:
        """Say something, take all that comes, and stop when nothing has come for a while."""
        given = run_input(*self.messages, *texts, thread="t", state=self.state)
        fold, events = Fold(given.messages, given.state), self.agent.run(given)
        with suppress(TimeoutError):
            while True:
                fold.feed(await asyncio.wait_for(anext(events), 0.2))
        self.messages, self.state = fold.messages, fold.state

    async def say(self, *texts: str, until: Any = None) -> RecordedRun | None:
        given = run_input(*self.messages, *texts, thread="t", state=self.state)
        if until is None:
            recorded = await record_run(self.agent, given)
            self.messages, self.state = recorded.messages, recorded.state
            return recorded
        fold = await record_until(self.agent, given, until)
        self.messages, self.state = fold.messages, fold.state
        return None


def holding(value: Any) -> Any:
    return lambda state: state.get("doc") == value


@pytest.mark.parametrize(
    ("how", "predict"),
    [("predict", [PredictState("write_doc", "doc")]), ("preview", [])],
    ids=["predicted", "emitted"],
)
async def test_a_preview_that_a_client_was_left_with_is_not_its_edit(
    how: str, predict: list[PredictState]
) -> None:
    writer = Writer(predict=predict)
    client = Client(writer)
    await client.say("write good")
    await client.say(f"{how} bad", until=holding("bad"))
    assert client.state["doc"] == "bad"
    await client.say("go on")
    assert (writer.saw[-1], writer.doc, client.state) == (
        "good",
        "good",
        {"doc": "good", "log": []},
    )


async def test_stopped_twice_and_refused_in_between() -> None:
    writer = Writer(forbidden_change="refuse")
    client = Client(writer)
    await client.say("write good")
    await client.say("preview bad", until=holding("bad"))
    await client.say("preview worse", until=lambda _state: True)
    client.state["unknown"] = 1
    refused = await client.say("go on")
    assert refused is not None
    assert refused.last.code == "state_refused"
    del client.state["unknown"]
    await client.say("go on")
    assert (writer.saw[-1], client.state) == ("good", {"doc": "good", "log": []})


@pytest.mark.parametrize("value", ["", "ba", "bad", [], "mine"])
async def test_a_previewed_key_is_not_written_until_a_run_has_ended(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write good")
    await client.say("preview bad", until=holding("bad"))
    client.state["doc"] = value
    caplog.clear()
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("good", "good")
    assert [one for one in caplog.messages if "may be old" in one and "'doc'" in one]
    client.state["doc"] = value
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == (value, value)


async def test_an_edit_of_another_process_after_stopping_is_dropped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write good")
    await client.say("predict bad", until=holding("bad"))
    predict = StateOptions(predict=[PredictState("write_doc", "doc")])
    client.agent = LangGraphAgent(writer.graph, state=predict)
    client.state["doc"] = "mine"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("good", "good")
    assert [one for one in caplog.messages if "may be old" in one and "'doc'" in one]


async def test_an_undo_of_an_edit_that_a_stopped_run_took_counts() -> None:
    writer = Writer(predict=[])
    client = Client(writer)
    client.state = {"doc": "A"}
    await client.say("go on")
    client.state["doc"] = "C"
    await client.stop_in_silence("wait...")
    assert writer.doc == "C"
    client.state["doc"] = "A"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("A", "A")


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_client_with_messages_of_its_own_is_not_behind(forgets: bool) -> None:
    """It gives answers ids of its own, or sends nothing but what is new."""
    writer = Writer()
    client = Client(writer)
    await client.say("flash bright")
    for turn, value in enumerate(["A", "B", "A"]):
        if forgets:
            client.messages = [SystemMessage(id="prompt", content="Be kind.")]
        else:
            client.messages[-1] = client.messages[-1].model_copy(update={"id": f"own{turn}"})
        client.state["doc"] = value
        await client.say("go on")
        assert (writer.saw[-1], client.state["doc"]) == (value, value)


async def test_a_client_with_ids_of_its_own_may_be_behind() -> None:
    writer = Writer()
    client, other = Client(writer), Client(writer)
    await client.say("write one")
    client.messages[-1] = client.messages[-1].model_copy(
        update={"id": "own", "content": "other words"}
    )
    other.messages, other.state = client.messages, dict(client.state)
    await other.say("write two")
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("two", "two")


async def test_what_a_user_does_after_stopping_counts_for_other_keys() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write good")
    await client.say("preview bad", until=holding("bad"))
    client.state["log"] = ["mine"]
    await client.say("go on")
    assert (writer.saw[-1], client.state) == ("good", {"doc": "good", "log": ["mine"]})


async def test_what_a_user_mends_after_a_failure_counts() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    failed = await client.say("flash two!")
    assert failed is not None
    assert failed.last.code == "graph_error"
    client.state["doc"] = "mended"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("mended", "mended")


async def test_an_edit_counts_that_comes_instead_of_an_answer() -> None:
    saw: list[Any] = []

    async def ask(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        emit_state({"doc": "preview"})
        if state["messages"][-1].content == "ask":
            interrupt("go on?")
        return {"messages": [AIMessage("done")]}

    graph = chain_of(ask, state=Paper, checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph, approvals=ApprovalOptions(when_paused="cancel"))
    paused = await record_run(agent, run_input("ask", thread="t", state={"doc": "old"}))
    assert paused.last.outcome.type == "interrupt"
    edited = {**paused.state, "doc": "mine"}
    given = run_input(*paused.messages, "go on", thread="t", state=edited)
    recorded = await record_run(agent, given)
    assert (saw, recorded.state["doc"]) == (["old", "mine"], "mine")


async def test_a_thread_that_the_application_has_filled_may_be_edited() -> None:
    writer = Writer()
    config = {"configurable": {"thread_id": "t"}}
    await writer.graph.aupdate_state(config, {"doc": "theirs"}, "second")
    client = Client(writer)
    client.state = {"doc": "mine"}
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("mine", "mine")


async def test_a_run_that_went_on_without_its_client_leaves_no_preview() -> None:
    writer = Writer("continue")
    client = Client(writer)
    await client.say("write good")
    await client.say("preview bad", until=holding("bad"))
    writer.hang.set()
    await client.say("go on")  # waits for the run to end
    assert (writer.saw[-1], client.state) == ("good", {"doc": "good", "log": []})


async def test_what_was_previewed_once_may_be_set_later() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write good")
    await client.say("flash bright")
    assert client.state["doc"] == "good"
    client.state["doc"] = "bright"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("bright", "bright")
    await client.say("preview bad", until=holding("bad"))
    await client.say("go on")
    client.state["doc"] = "bad"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("bad", "bad")


async def test_another_process_knows_which_keys_are_predicted() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write good")
    await client.say("predict bad", until=holding("bad"))
    predict = StateOptions(predict=[PredictState("write_doc", "doc")])
    client.agent = LangGraphAgent(writer.graph, state=predict)
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("good", "good")


async def test_a_client_that_missed_a_change_does_not_take_it_back() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    given = run_input(*client.messages, "write two...", thread="t", state=client.state)
    async with aclosing(client.agent.run(given)) as events:
        await anext(events)
        await eventually(
            lambda: writer.doc == "two...", "the graph has written what the client does not read"
        )
        await anext(events)
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("two...", "two...")


async def test_another_process_guesses_what_a_client_has_missed() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    messages, state = client.messages, client.state
    await client.say("write two", "write two")
    later = Client(writer, LangGraphAgent(writer.graph))
    later.messages, later.state = messages, {**state, "log": ["mine"]}
    await later.say("go on")
    assert (writer.saw[-1], later.state) == ("two", {"doc": "two", "log": ["mine"]})


async def test_an_undo_of_what_a_failed_run_has_made_counts() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    failed = await client.say("write two!")
    assert failed is not None
    assert failed.last.code == "graph_error"
    assert client.state["doc"] == "two!"
    client.state["doc"] = "one"
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("one", "one")


async def test_what_was_stored_beside_a_failure_is_not_taken_back() -> None:
    saver, saw = InMemorySaver(), []

    async def write(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        return {"doc": "theirs", "messages": [AIMessage("done")]}

    def is_stored() -> bool:
        held = saver.get_tuple(config)
        return held is not None and any(
            channel == "doc" for _, channel, _ in held.pending_writes or ()
        )

    async def fail(state: Paper) -> dict[str, Any]:
        if state["messages"][-1].content == "fail":
            await eventually(is_stored, "the other node's write is stored")
            raise RuntimeError
        return {}

    builder = StateGraph(Paper)
    for node in (write, fail):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    config: Any = {"configurable": {"thread_id": "t"}}
    agent = LangGraphAgent(builder.compile(checkpointer=saver))
    first = await record_run(agent, run_input("fail", thread="t", state={"doc": "mine"}))
    assert (first.last.code, first.state["doc"]) == ("graph_error", "mine")
    second = await record_run(
        agent, run_input(*first.messages, user("go on"), thread="t", state=first.state)
    )
    assert saw == ["mine", "theirs"]
    assert second.state["doc"] == "theirs"


@pytest.mark.parametrize("connects", [True, False])
async def test_a_key_that_was_only_previewed_goes_away_again(connects: bool) -> None:
    writer = Writer(forbidden_change="refuse")
    client = Client(writer)
    await client.say("preview bad", until=lambda state: "progress" in state)
    if connects:
        given = run_input(thread="t", state=client.state)
        connected = RecordedRun([event async for event in writer.agent.connect(given)], given)
        assert connected.state == {"log": []}
        client.state = connected.state
    recorded = await client.say("go on")
    assert recorded is not None
    assert recorded.last.type.value == "RUN_FINISHED"
    assert client.state == {"log": []}


async def test_an_edit_comes_again_where_its_message_is_run_again() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    client.state["doc"] = "mine"
    await client.say("go on")
    assert writer.saw[-1] == "mine"
    client.messages = client.messages[:-1]
    await client.say()
    assert (writer.saw[-1], client.state["doc"]) == ("mine", "mine")


class Asked(Paper, total=False):
    answer: str


async def test_what_is_changed_while_a_run_waits_reaches_the_node() -> None:
    saw: list[Any] = []

    async def ask(state: Asked) -> dict[str, Any]:
        answer = interrupt("go on?")
        saw.append((state["doc"], state["log"]))
        return {"answer": answer, "log": ["asked"]}

    graph = chain_of(ask, state=Asked, checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph)
    hi = user("hi")
    paused = await record_run(agent, run_input(hi, thread="t", state={"doc": "old", "log": ["a"]}))
    answer = [
        {
            "interruptId": paused.last.outcome.interrupts[0].id,
            "status": "resolved",
            "payload": "yes",
        }
    ]
    changed = {**paused.state, "doc": "new", "log": ["b"]}
    recorded = await record_run(agent, run_input(hi, thread="t", resume=answer, state=changed))
    assert saw == [("new", ["b"])]
    assert recorded.state == {"doc": "new", "log": ["b", "asked"], "answer": "yes"}


async def test_an_undo_after_stopping_counts_when_a_run_has_ended() -> None:
    writer = Writer(predict=[])
    client = Client(writer)
    await client.say("write one")
    await client.stop_in_silence("write two...")
    assert client.state["doc"] == "two..."
    for seen in ("two...", "one"):
        client.state["doc"] = "one"
        await client.say("go on")
        assert (writer.saw[-1], client.state["doc"]) == (seen, seen)


async def test_an_undo_with_the_same_message_run_again_counts() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    client.state["doc"] = "mine"
    await client.say("go on")
    client.messages = client.messages[:-1]
    client.state["doc"] = "one"
    await client.say()
    assert (writer.saw[-1], client.state["doc"]) == ("one", "one")


async def test_what_somebody_else_has_written_is_not_taken_back() -> None:
    writer = Writer()
    client = Client(writer)
    await client.say("write one")
    config = {"configurable": {"thread_id": "t"}}
    await writer.graph.aupdate_state(config, {"doc": "theirs"}, "second")
    client.state["log"] = ["mine"]
    await client.say("go on")
    assert (writer.saw[-1], client.state) == ("theirs", {"doc": "theirs", "log": ["mine"]})
    other = Client(writer, LangGraphAgent(writer.graph))
    other.messages, other.state = client.messages, dict(client.state)
    await other.say("write four")
    await client.say("go on")
    assert (writer.saw[-1], client.state["doc"]) == ("four", "four")
