"""Custom events by which nodes written for `ag-ui-langgraph` and CopilotKit show messages, calls
and state."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, StateOptions
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import RecordedRun, record_run, run_input


def shown(recorded: RecordedRun) -> list[Any]:
    """Role, text and ids of calls of each message after the question."""
    found = []
    for one in recorded.messages[1:]:
        calls = [call.id for call in getattr(one, "tool_calls", None) or ()]
        found.append((one.role, one.content or "", calls))
    return found


def told(recorded: RecordedRun) -> list[Any]:
    return [(event.name, event.value) for event in recorded.of("CUSTOM")]


async def emitted(name: str, value: Any, *messages: AIMessage) -> RecordedRun:
    """A run whose node emits an event and returns messages."""

    async def node(state: Chat) -> dict[str, Any]:
        await adispatch_custom_event(name, value)
        return {"messages": [*messages]}

    return await record_run(LangGraphAgent(chain_of(node)), run_input("hi"))


@pytest.mark.parametrize("prefix", ["", "copilotkit_"])
async def test_a_message(prefix: str) -> None:
    name, said = f"{prefix}manually_emit_message", ("assistant", "Step 1 of 2", [])
    value = {"message_id": "m1", "message": said[1], "role": "assistant"}
    for words, others in (([said[1]], []), ([], []), (["Done."], [("assistant", "Done.", [])])):
        recorded = await emitted(name, value, *map(AIMessage, words))
        recorded.check_snapshot()
        assert shown(recorded) == [said, *others]
        assert (recorded.messages[1].id, told(recorded)) == ("m1", [(name, value)])


@pytest.mark.parametrize(
    ("prefix", "args", "returned"), [("", {"q": "x"}, True), ("copilotkit_", '{"q": "x"}', False)]
)
async def test_a_call(prefix: str, args: Any, returned: bool) -> None:
    value = {"id": "c1", "name": "search", "args": args}
    made = AIMessage("", tool_calls=[{"id": "c1", "name": "search", "args": {"q": "x"}}])
    recorded = await emitted(f"{prefix}manually_emit_tool_call", value, *[made] * returned)
    recorded.check_snapshot()
    assert shown(recorded) == [("assistant", "", ["c1"])]
    assert recorded.types.count("TOOL_CALL_START") == 1
    assert "".join(event.delta for event in recorded.of("TOOL_CALL_ARGS")) == '{"q": "x"}'


class Steps(TypedDict, total=False):
    steps: list[str]


@pytest.mark.parametrize(
    "name", ["manually_emit_state", "copilotkit_manually_emit_intermediate_state"]
)
async def test_state(name: str) -> None:
    async def node(state: Steps) -> dict[str, Any]:
        await adispatch_custom_event(name, {"steps": ["one"]})
        await adispatch_custom_event(name, {"steps": ["one", "two"]})
        return {"steps": ["done"]}

    recorded = await record_run(LangGraphAgent(chain_of(node, state=Steps)), run_input("hi"))
    assert recorded.state == {"steps": ["done"]}
    assert "two" in str(recorded.of("STATE_DELTA", "STATE_SNAPSHOT"))
    assert [event_name for event_name, _ in told(recorded)] == [name, name]


@pytest.mark.parametrize("name", ["exit", "copilotkit_exit"])
async def test_exit(name: str) -> None:
    assert told(await emitted(name, {})) == [("Exit", True)]


@pytest.mark.parametrize("value", [None, "words", {}, {"message": 1}, {"id": "c", "name": 1}])
async def test_values_of_another_shape_are_custom_events(value: Any) -> None:
    for name in ("manually_emit_message", "manually_emit_tool_call", "manually_emit_state"):
        recorded = await emitted(name, value, AIMessage("done"))
        assert (shown(recorded), told(recorded)) == ([("assistant", "done", [])], [(name, value)])


async def test_state_that_clients_do_not_see_is_not_in_the_event_either() -> None:
    """Nodes emit their whole state."""

    class State(Chat):
        steps: list[str]
        secret: str

    async def node(state: State) -> dict[str, Any]:
        await adispatch_custom_event(
            "manually_emit_state", {**state, "steps": ["one"], "secret": "CANARY"}
        )
        return {"steps": ["one"], "secret": "CANARY"}

    agent = LangGraphAgent(chain_of(node, state=State), state=StateOptions(exclude={"secret"}))
    recorded = await record_run(agent, run_input("hi"))
    assert told(recorded) == [("manually_emit_state", {"steps": ["one"]})]
    assert not any("CANARY" in event.model_dump_json() for event in recorded.events)
