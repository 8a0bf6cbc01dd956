"""The three modes beside each other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

import pytest
from ag_ui.core import Event, Message

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.expect.owners import check_no_subagents, sayings, tag
from tests.kit.graphs.subagents import GRAPHS, Build, few_graphs
from tests.kit.run.agents import RecordedRun, plain, record_run, run_input

Mode = Literal["attributed", "inline", "hidden"]
graphs = pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS)


async def received(build: Build, mode: Mode, saver: Any = None) -> RecordedRun:
    agent = LangGraphAgent(graph=build(saver).graph, clients=ClientOptions(subagents=mode))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return recorded


def comparable(messages: Iterable[Message]) -> list[str]:
    """Messages without what differs between two runs: ids that LangChain makes, owners, and the
    order of subagents."""
    return sorted(
        json.dumps([_kept(message.model_dump(mode="json"))], sort_keys=True) for message in messages
    )


def _kept(message: dict[str, Any]) -> dict[str, Any]:
    kept = ("role", "content", "tool_calls", "tool_call_id")
    found = {key: message.get(key) for key in kept}
    found["tool_calls"] = [(call["id"], call["function"]) for call in found["tool_calls"] or ()]
    return found


def recorded_of(events: Iterable[Event]) -> list[str]:
    """Events without ids that are made for the run."""
    kept = (
        "type",
        "delta",
        "toolCallId",
        "toolCallName",
        "stepName",
        "name",
        "value",
        "content",
        "role",
    )
    return [
        json.dumps({key: data[key] for key in kept if key in data}) for data in map(plain, events)
    ]


def results(recorded: RecordedRun) -> dict[str, Any]:
    """The results of the parent's calls."""
    return {
        event.tool_call_id: event.content
        for event in recorded.of("TOOL_CALL_RESULT")
        if tag(event) is None
    }


def parents(recorded: RecordedRun) -> list[Event]:
    """What is the parent's of a stream, but for the snapshot."""
    apart = ("MESSAGES_SNAPSHOT", "SUBAGENT")
    return [
        event
        for event in recorded.events
        if not event.type.value.startswith(apart) and tag(event) is None
    ]


def usage(recorded: RecordedRun) -> list[Any]:
    return [entry.model_dump() for entry in recorded.last.usage]


@few_graphs
async def test_inline_says_all_and_nothing_of_subagents(build: Build) -> None:
    inline, attributed = await received(build, "inline"), await received(build, "attributed")
    inline.check_snapshot()
    check_no_subagents(inline)
    built = build(None)
    copied = bool(built.copied)  # what the parent repeats of a subagent's is a repetition only here
    assert set(comparable(inline.messages)) == set(comparable(attributed.messages))
    assert copied or comparable(inline.messages) == comparable(attributed.messages)
    # Steps of subagents that are open at once have one name in common where nobody says whose they
    # are. Opaque values say whether the root's own history holds a message, and that is told where
    # it is not to be expected.
    apart = ("SUBAGENT", "MESSAGES_SNAPSHOT", "STEP", "REASONING_ENCRYPTED_VALUE")
    both = [
        [event for event in recorded.events if not event.type.value.startswith(apart)]
        for recorded in (inline, attributed)
    ]
    assert copied or sorted(recorded_of(both[0])) == sorted(recorded_of(both[1]))


@few_graphs
async def test_hidden_tells_what_the_parent_says_and_nothing_of_subagents(build: Build) -> None:
    hidden, attributed = await received(build, "hidden"), await received(build, "attributed")
    built = build(None)
    hidden.check_snapshot()
    check_no_subagents(hidden)
    assert {speaker for speaker, _ in sayings(hidden.events)} == {"boss"} | built.shared
    assert hidden.messages[-1].content == attributed.messages[-1].content == "boss: ends 1"
    assert results(hidden) == results(attributed)
    if not built.shared:
        assert sorted(recorded_of(parents(hidden))) == sorted(recorded_of(parents(attributed)))
        own = [message for message in attributed.messages if tag(message) is None]
        assert comparable(hidden.messages) == comparable(own)
    counts = [usage(hidden), usage(attributed), usage(await received(build, "inline"))]
    assert counts[0] == counts[1] == counts[2]
    assert counts[0][0]["input_tokens"] >= 20  # the boss's and a subagent's


@pytest.mark.parametrize("name", ["declared_shared", "declared_agent", "copied"])
async def test_hidden_tells_what_the_state_holds_as_the_parents(name: str) -> None:
    recorded, built = await received(GRAPHS[name], "hidden"), GRAPHS[name](None)
    recorded.check_snapshot()
    for speaker in built.shared:
        texts = [message.content for message in recorded.messages if message.role == "assistant"]
        assert texts.count(f"{speaker}: ends 1") == 1


def test_another_mode_is_refused() -> None:
    graph = GRAPHS["async_tools"](None).graph
    with pytest.raises(ValueError, match="subagents"):
        LangGraphAgent(graph=graph, clients=ClientOptions(subagents="nested"))  # type: ignore[arg-type]
