"""The scripted model: what it decides, how it streams, and that `create_agent` cannot tell it from a real one."""

from __future__ import annotations

import json
import time

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli.demo import build_demo_graph
from langgraph_agui.cli.demo_guide import sights
from langgraph_agui.cli.demo_model import DemoModel, DemoModelError
from langgraph_agui.cli.demo_script import SUGGESTIONS, next_turn
from langgraph_agui.cli.demo_tools import CLIMATE, DEMO_TOOLS, calculate, get_weather
from tests.adapter.streams import run_input, tell

ALL = frozenset({"plan_day", *(tool.name for tool in DEMO_TOOLS)})
THREAD = {"configurable": {"thread_id": "t"}}


def model():
    return DemoModel(delay=0).bind_tools(DEMO_TOOLS)


def wanted(text: str) -> list[tuple[str, dict]]:
    return [(call.name, call.args) for call in next_turn([HumanMessage(text)], ALL).calls]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("What is the weather in Rome?", [("get_weather", {"city": "Rome"})]),
        ("weather in rome and OSLO", [("get_weather", {"city": "Rome"}), ("get_weather", {"city": "Oslo"})]),
        ("Is Rome, as ever, warmer than Rome?", [("get_weather", {"city": "Rome"})]),
        ("And in Oslo?", [("get_weather", {"city": "Oslo"})]),
        ("What is the weather like in Ulan Bator today?", [("get_weather", {"city": "Ulan Bator"})]),
        ("What is 12 * (3 + 4)?", [("calculate", {"expression": "12 * (3 + 4)"})]),
        ("compute -3 × 2, please", [("calculate", {"expression": "-3 * 2"})]),
        ("What is 15% of 80?", [("calculate", {"expression": "15 / 100 * 80"})]),
        ("Remember: milk and eggs.", [("remember", {"note": "milk and eggs"})]),
        ("Mail ada@example.com saying hi", [("send_email", {"to": "ada@example.com", "body": "hi"})]),
        ("Plan a day in Rome and one in Oslo", [("plan_day", {"city": "Rome"}), ("plan_day", {"city": "Oslo"})]),
        ("Plan a trip for me to see Ulan Bator", []),
        ("please plan my day in Ulan Bator", [("plan_day", {"city": "Ulan Bator"})]),
        ("Rome is a hotel town, founded 753", []),
        ("It was 2024", []),
        ("unbalanced (3 + 4", []),
        ("", []),
    ],
)
def test_the_script_reads_the_message(text, calls):
    assert wanted(text) == calls


def test_every_suggestion_leads_to_a_tool():
    assert all(wanted(suggestion) for suggestion in SUGGESTIONS)


def test_only_bound_tools_are_called():
    message = DemoModel(delay=0).invoke("What is the weather in Rome?")
    assert message.tool_calls == []
    assert "scripted model" in message.text


async def test_reasoning_streams_first_then_calls_in_pieces():
    chunks = [chunk async for chunk in model().astream("Is it warmer in Rome or in Oslo?")]
    kinds = [
        "call" if chunk.tool_call_chunks else chunk.content[0]["type"]
        for chunk in chunks
        if chunk.tool_call_chunks or chunk.content
    ]
    assert kinds == sorted(kinds, key=["reasoning", "call"].index)
    assert kinds.count("reasoning") > 5
    assert {chunk.tool_call_chunks[0]["index"] for chunk in chunks if chunk.tool_call_chunks} == {0, 1}
    assert kinds.count("call") > 4

    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert isinstance(whole, AIMessageChunk)
    assert [call["args"] for call in whole.tool_calls] == [{"city": "Rome"}, {"city": "Oslo"}]
    assert len({call["id"] for call in whole.tool_calls}) == 2
    assert [block["type"] for block in whole.content] == ["reasoning"]
    assert whole.content[0]["reasoning"].startswith("The user wants the weather in Rome and the weather in Oslo.")


async def test_usage_comes_once_and_adds_up():
    chunks = [chunk async for chunk in model().astream("hello")]
    (usage,) = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert chunks[-2].usage_metadata is None or chunks[-1].usage_metadata is None
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert 0 < usage["output_token_details"]["reasoning"] < usage["output_tokens"]


def test_streamed_and_whole_answers_are_the_same():
    whole = model().invoke("hello\n there  ")
    first, *rest = model().stream("hello\n there  ")
    for chunk in rest:
        first += chunk
    assert whole.content == first.content
    assert whole.usage_metadata == first.usage_metadata
    assert "You wrote: hello\n there  " in whole.text
    assert [block["type"] for block in whole.content_blocks] == ["reasoning", "text"]


async def test_the_delay_is_kept_between_chunks():
    began = time.monotonic()
    chunks = [chunk async for chunk in DemoModel(delay=0.01).astream("hello")]
    assert time.monotonic() - began >= 0.01 * (len(chunks) - 1)


async def test_a_crash_comes_after_some_reasoning():
    chunks = model().astream("please crash")
    assert (await anext(chunks)).content_blocks[0]["type"] == "reasoning"
    with pytest.raises(DemoModelError):
        [chunk async for chunk in chunks]


async def test_an_agent_loops_until_it_can_answer():
    result = await build_demo_graph(delay=0).ainvoke(
        {"messages": [("user", "Is it warmer in Rome or in Oslo, and by how much?")]}, THREAD
    )
    kinds = [type(message) for message in result["messages"]]
    assert kinds == [HumanMessage, AIMessage, ToolMessage, ToolMessage, AIMessage, ToolMessage, AIMessage]
    rome, oslo = CLIMATE["Rome"][0], CLIMATE["Oslo"][0]
    assert f"{rome} - {oslo} = {rome - oslo}." in result["messages"][-1].text
    assert "scripted" in result["messages"][-1].text


async def test_a_failing_tool_is_told_as_it_is():
    result = await build_demo_graph(delay=0).ainvoke({"messages": [("user", "What is 1/0?")]}, THREAD)
    assert result["messages"][-2].status == "error"
    assert "could not finish calculate: '1/0' divides by zero" in result["messages"][-1].text


async def test_notes_land_in_the_shared_state_and_stay():
    graph = build_demo_graph(delay=0)
    for note in ("milk", "eggs"):
        result = await graph.ainvoke({"messages": [("user", f"remember {note}")]}, THREAD)
    assert result["notes"] == ["milk", "eggs"]


@pytest.mark.parametrize(
    ("decision", "answer"), [("approve", "No e-mail left"), ("reject", "could not finish send_email")]
)
async def test_an_email_waits_for_approval(decision, answer):
    graph = build_demo_graph(delay=0)
    result = await graph.ainvoke({"messages": [("user", "email ada@example.com saying hi")]}, THREAD)
    (pause,) = result["__interrupt__"]
    assert pause.value["action_requests"][0]["args"] == {"to": "ada@example.com", "body": "hi"}
    result = await graph.ainvoke(Command(resume={"decisions": [{"type": decision}]}), THREAD)
    assert answer in result["messages"][-1].text


def test_earlier_turns_do_not_leak_into_the_next():
    history = [
        SystemMessage("prompt"),
        HumanMessage("weather in Rome"),
        AIMessage("", tool_calls=[{"name": "get_weather", "args": {"city": "Rome"}, "id": "c"}]),
        ToolMessage(get_weather.invoke({"city": "Rome"}), tool_call_id="c"),
        AIMessage("sunny"),
        HumanMessage("and in Oslo?"),
    ]
    assert [call.args for call in next_turn(history, ALL).calls] == [{"city": "Oslo"}]


def test_unknown_cities_always_have_the_same_weather():
    reports = [json.loads(get_weather.invoke({"city": city})) for city in ("Ulan Bator", "ULAN BATOR")]
    assert reports[0]["celsius"] == reports[1]["celsius"]
    assert reports[0]["city"] == "Ulan Bator"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 ** 10", "1024"),
        ("7 // 2 + 7 % 2", "4"),
        ("0.1 + 0.2", "0.3"),
        ("-(2 - 5)", "3"),
        ("10 ** 20", "1" + "0" * 20),
    ],
)
def test_arithmetic(expression, value):
    assert calculate.invoke({"expression": expression}) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "10**200*10**200",
        "1e400",
        "(-8)**0.5",
        "__import__('os')",
        "a",
        "True",
        "'x'*9",
        "(" * 300,
        "",
        "1" * 5000,
    ],
)
def test_arithmetic_refuses_what_it_should(expression):
    call = {"name": "calculate", "args": {"expression": expression}, "id": "c", "type": "tool_call"}
    assert calculate.invoke(call).status == "error"


async def test_guides_plan_days_at_once() -> None:
    told = await tell(LangGraphAgent(graph=build_demo_graph(delay=0.001)), run_input(SUGGESTIONS[-1]))
    guides = {event.subagent_run_id: event for event in told.of("SUBAGENT_STARTED")}
    assert [guide.name for guide in guides.values()] == ["guide", "guide"]
    first, second = guides
    order = [event.subagent_run_id for event in told.of("REASONING_MESSAGE_CONTENT")]
    assert order.index(second) < len(order) - 1 - order[::-1].index(first), "they speak at once"
    found = {message.subagent_run_id: message.content for message in told.streamed if message.role == "activity"}
    for guide, city in zip(guides, ("Rome", "Oslo"), strict=True):
        assert found[guide]["output"] == [f"found {sight}\n" for sight in sights(city)]
        assert found[guide]["status"] == "done"
        words = [message.content for message in told.messages if message.subagent_run_id == guide]
        assert any(f"In {city} it is {CLIMATE[city][0]} °C" in str(word) for word in words)
    answer = told.messages[-1].content
    assert all(sight in answer for city in ("Rome", "Oslo") for sight in sights(city))
    assert answer.count("scripted model") == 1
