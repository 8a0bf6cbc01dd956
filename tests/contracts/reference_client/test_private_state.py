"""What the graph keeps to itself never gets on the wire."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any

from ag_ui.core import ResumeEntry
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, PredictState, Private, StateOptions, emit_state
from tests.kit.expect.canary import CANARY, check_bytes
from tests.kit.graphs.small import Chat
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, run_input, user


class Secretive(Chat, total=False):
    shown: Any
    secret: Annotated[str, Private]
    trail: Annotated[list[str], Private, operator.add]
    left_out: str


class Given(Chat, total=False):
    shown: Any
    secret: str
    trail: list[str]
    left_out: str


async def secretive(state: Secretive) -> dict[str, Any]:
    system = SystemMessage(f"prompt {CANARY}")
    emit_state({"secret": CANARY, "shown": 1, "left_out": CANARY})
    emit_state([{"op": "add", "path": "/secret", "value": CANARY}])
    model = Scripted([call("remember", "c1", secret=CANARY)], disable_streaming=True)
    await model.with_config(tags=["nostream"]).ainvoke([system])
    values = {"secret": CANARY, "trail": [CANARY], "left_out": CANARY, "shown": 2}
    return {**values, "messages": [system]}


async def asking(state: Secretive) -> dict[str, Any]:
    return {"secret": f"{CANARY} {interrupt({'message': 'go on?'})}", "shown": 3}


async def test_a_canary_in_private_keys_messages_and_the_system_prompt_never_leaves() -> None:
    builder = StateGraph(Secretive, input_schema=Given, output_schema=Given)
    builder.add_sequence([secretive, asking]).set_entry_point("secretive")
    options = StateOptions(exclude={"left_out"}, predict=[PredictState("remember", "secret")])
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), state=options)

    async def checked(given: Any, way: Any = agent.run) -> RecordedRun:
        recorded = RecordedRun(await collect(way(given)), given)
        wires = [event.model_dump(by_alias=True, mode="json") for event in recorded.events]
        check_bytes(json.dumps(wires).encode())
        return recorded

    paused = await checked(run_input(user("hi", "u"), thread="t"))
    [asked] = paused.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")
    await checked(run_input(user("hi", "u"), thread="t", resume=[answer], state={"shown": 2}))
    assert (await checked(run_input(thread="t"), agent.connect)).state == {"shown": 3}
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values  # type: ignore[union-attr]
    assert (CANARY in stored["secret"], stored["trail"]) == (True, [CANARY])
