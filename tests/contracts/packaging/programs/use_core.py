"""Without an extra: run a graph on a scripted model, verify its stream, and convert its history."""

import asyncio

from ag_ui.core import RunAgentInput, UserMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.protocol import decode, fold, verify
from langgraph_agui.testing import ScriptedChatModel, record_run

model = ScriptedChatModel("Hello you.", "Hello again.", "Hello at last.")


async def answer(state: MessagesState) -> MessagesState:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
agent = LangGraphAgent(graph=graph, name="assistant")
run_input = RunAgentInput(
    protocol_version="1.0",
    thread_id="t",
    run_id="r",
    messages=[UserMessage(id="m", content="Hello")],
)


async def main() -> None:
    events = verify([event async for event in agent.run(run_input)], strict=True)
    said = fold(events, run_input.messages).messages
    assert [message.content for message in said] == ["Hello", "Hello you."], said
    assert langchain_messages_to_agui(agui_messages_to_langchain(said)) == said
    frames = [frames async for frames in agent.stream_sse(run_input)]
    assert fold(verify(decode(frames)), run_input.messages).messages[-1].content == "Hello again."
    assert (await record_run(agent, "Hello")).text == "Hello at last."


asyncio.run(main())
