"""Approves, edits and rejects what an agent wants to do: `python -m
examples.client.approvals.client URL`."""

from __future__ import annotations

import json
import sys

from ag_ui.core import Interrupt
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from langgraph_agui.client import AGUISession, RemoteAgent

REQUEST = "Book 1,500 for Ada and 900 for Ben, and delete the records of 2019."


def decide(asked: Interrupt) -> dict[str, object]:
    """The payload that answers an approval."""
    call = asked.metadata or {}
    payload: dict[str, object] = {"approved": True}
    if call["name"] == "delete_records":
        payload = {"approved": False, "message": "Records are kept for ten years."}
    elif call["args"]["amount"] < 1000:
        payload = {"approved": True, "editedArgs": {**call["args"], "amount": 600}}
    print(f"  {call['name']} {json.dumps(call['args'])}? {json.dumps(payload)}")
    return payload


def with_session(url: str) -> None:
    session = AGUISession(url)
    turn = session.send(REQUEST).wait()
    turn = session.resume({asked.id: decide(asked) for asked in turn.interrupts}).wait()
    print(f"agent: {turn.text}")


def with_a_local_graph(url: str) -> None:
    """The remote agent is a node. Its questions are the graph's interrupts, kept by the graph's
    checkpointer."""
    builder = StateGraph(MessagesState)
    builder.add_node("expenses", RemoteAgent(url, name="expenses"))
    builder.add_edge(START, "expenses")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "expenses"}}

    paused = graph.invoke({"messages": [HumanMessage(REQUEST)]}, config)
    answers = {
        asked.id: decide(Interrupt.model_validate(asked.value)) for asked in paused["__interrupt__"]
    }
    done = graph.invoke(Command(resume=answers), config)
    print(f"agent: {done['messages'][-1].text}")


def main(url: str) -> None:
    print(f"user: {REQUEST}\n-- AGUISession")
    with_session(url)
    print("-- RemoteAgent, a node of a local graph")
    with_a_local_graph(url)


if __name__ == "__main__":
    main(*sys.argv[1:])
