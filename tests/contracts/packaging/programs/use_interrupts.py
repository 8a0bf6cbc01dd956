"""Answers to an interrupt are checked by its response schema."""

import asyncio

from ag_ui.core import ResumeEntry, RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import verify


class State(TypedDict):
    age: int


def ask(state: State) -> State:
    return {
        "age": interrupt(
            {"message": "How old?", "responseSchema": {"type": "integer", "minimum": 0}}
        )
    }


graph = StateGraph(State).add_node(ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
agent = LangGraphAgent(graph=graph, name="assistant")


async def run(state: object = None, *resume: ResumeEntry) -> list:
    given = RunAgentInput(
        protocol_version="1.0",
        thread_id="t",
        run_id="r",
        messages=[],
        state=state,
        resume=list(resume) or None,
    )
    return verify([event async for event in agent.run(given)], strict=True)


async def main() -> None:
    paused = await run({"age": 1})
    [question] = paused[-1].outcome.interrupts
    refused = await run(None, ResumeEntry(interrupt_id=question.id, status="resolved", payload=-1))
    assert refused[-1].code == "interrupt_invalid", refused[-1]
    await run(None, ResumeEntry(interrupt_id=question.id, status="resolved", payload=36))
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert state.values == {"age": 36}, state.values


asyncio.run(main())
