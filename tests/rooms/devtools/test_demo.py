"""The demo agent, run as a graph: what each kind of question leads to."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.demo import SUGGESTIONS, DemoModel, build_demo_graph, get_weather
from tests.kit.run.agents import record_run, run_input

THREAD: Any = {"configurable": {"thread_id": "t"}}


async def messages_of(*questions: str) -> list[Any]:
    """The messages of the last turn of a conversation."""
    graph = build_demo_graph(delay=0)
    for question in questions:
        state = await graph.ainvoke({"messages": [HumanMessage(question)]}, THREAD)
    messages = state["messages"]
    return messages[max(at for at, one in enumerate(messages) if isinstance(one, HumanMessage)) :]


@pytest.mark.parametrize(
    ("question", "name", "calls"),
    [
        (
            "What is the weather in Rome and Paris?",
            "get_weather",
            [{"city": "Rome"}, {"city": "Paris"}],
        ),
        ("weather in rome?", "get_weather", [{"city": "rome"}]),
        ("What is the weather like in Ulan Bator today?", "get_weather", [{"city": "Ulan Bator"}]),
        ("What is 12 * 7?", "calculate", [{"left": "12", "sign": "*", "right": "7"}]),
        ("Remember that milk is out", "remember", [{"note": "milk is out"}]),
        ("It was 2024", "", []),
        ("", "", []),
    ],
)
async def test_questions_lead_to_calls(question: str, name: str, calls: list[Any]) -> None:
    answer = (await messages_of(question))[1]
    assert [(one["name"], one["args"]) for one in answer.tool_calls] == [
        (name, args) for args in calls
    ]
    assert bool(answer.text) != bool(calls)


@pytest.mark.parametrize("suggestion", SUGGESTIONS)
async def test_every_suggestion_leads_to_a_tool(suggestion: str) -> None:
    assert (await messages_of(suggestion))[1].tool_calls


async def test_a_follow_up_asks_only_for_what_is_new() -> None:
    _, asked, _, answer = await messages_of("What is the weather in Rome?", "And in Oslo?")
    assert [call["args"] for call in asked.tool_calls] == [{"city": "Oslo"}]
    assert answer.text.startswith("In Oslo it is 11 °C, cloudy.\n\n(I am a scripted model")


async def test_an_agent_loops_until_it_can_answer() -> None:
    messages = await messages_of("Is it warmer in Rome or in Oslo, and by how much?")
    kinds = ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert [message.type for message in messages] == kinds
    assert "25 - 11 = 14." in messages[-1].text


async def test_a_failing_tool_is_reported() -> None:
    *_, result, answer = await messages_of("What is 1/0?")
    assert result.status == "error"
    assert "could not finish calculate: 1 / 0 divides by zero" in answer.text


@pytest.mark.parametrize(
    ("decision", "answer"),
    [("approve", "No e-mail left"), ("reject", "could not finish send_email")],
)
async def test_an_email_waits_for_approval(decision: str, answer: str) -> None:
    graph = build_demo_graph(delay=0)
    question = HumanMessage("email ada@example.com saying hi")
    paused = await graph.ainvoke({"messages": [question]}, THREAD)
    (pause,) = paused["__interrupt__"]
    assert pause.value["action_requests"][0]["args"] == {"to": "ada@example.com", "body": "hi"}
    result = await graph.ainvoke(Command(resume={"decisions": [{"type": decision}]}), THREAD)
    assert answer in result["messages"][-1].text


async def test_reasoning_streams_before_calls_in_pieces() -> None:
    model = DemoModel(delay=0).bind_tools([get_weather])
    asked = "What is the weather in Rome and Oslo?"
    chunks: list[Any] = [chunk async for chunk in model.astream(asked)]
    told = [chunk for chunk in chunks if chunk.tool_call_chunks or chunk.content]
    kinds = ["call" if chunk.tool_call_chunks else "reasoning" for chunk in told]
    assert kinds == sorted(kinds, reverse=True)
    assert min(kinds.count("call"), kinds.count("reasoning")) > 5
    usage = chunks[-1].usage_metadata
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert 0 < usage["output_token_details"]["reasoning"] < usage["output_tokens"]


async def test_only_bound_tools_are_called() -> None:
    message = await DemoModel(delay=0).ainvoke("What is the weather in Rome?")
    assert message.tool_calls == []
    assert "scripted model" in message.text


async def test_a_crash_comes_after_some_reasoning() -> None:
    chunks = DemoModel(delay=0).astream("please crash")
    assert (await anext(chunks)).content_blocks[0]["type"] == "reasoning"
    with pytest.raises(RuntimeError, match="crash"):
        [chunk async for chunk in chunks]


async def test_guides_plan_days_at_once() -> None:
    agent = LangGraphAgent(graph=build_demo_graph(delay=0.001))
    stream = await record_run(agent, run_input(SUGGESTIONS[-1]))
    guides = {event.subagent_run_id: event for event in stream.of("SUBAGENT_STARTED")}
    assert [guide.name for guide in guides.values()] == ["guide", "guide"]
    first, second = guides
    order = [event.subagent_run_id for event in stream.of("REASONING_MESSAGE_CONTENT")]
    assert order.index(second) < len(order) - 1 - order[::-1].index(first), "they run at once"
    activities = [one for one in stream.streamed if one.role == "activity"]
    outputs = {one.subagent_run_id: one.content for one in activities}
    answer = str(stream.messages[-1].content)
    for guide, weather in zip(guides, ("In Rome it is 25 °C", "In Oslo it is 11 °C"), strict=True):
        assert outputs[guide]["status"] == "done"
        assert len(outputs[guide]["output"]) == 3
        for line in outputs[guide]["output"]:
            assert line.removeprefix("found ").strip() in answer
        said = [one for one in stream.messages if one.subagent_run_id == guide]
        assert any(weather in str(message.content) for message in said)
    assert answer.count("scripted model") == 1
