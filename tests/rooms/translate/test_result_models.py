"""Tools that return pydantic models, with `AGUIMiddleware` in the graph."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input


class Weather(BaseModel):
    city: str
    celsius: float


@tool
def one(city: str, config: RunnableConfig) -> Weather:
    """The weather of a city."""
    assert config["configurable"] is not None
    return Weather(city=city, celsius=25)


@tool
async def several(city: str) -> list[Weather]:
    """The weather of a city, twice."""
    return [Weather(city=city, celsius=25), Weather(city=city, celsius=26)]


@tool
def text(city: str) -> str:
    """The weather of a city in words."""
    return f"It is warm in {city}."


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (one, {"city": "Rome", "celsius": 25.0}),
        (several, [{"city": "Rome", "celsius": 25.0}, {"city": "Rome", "celsius": 26.0}]),
    ],
)
async def test_models_become_json(called: Any, expected: Any) -> None:
    model = Scripted([call(called.name, "c1", city="Rome")], ["Warm."])
    graph = create_agent(model, [called], middleware=[AGUIMiddleware()])
    recorded = await record_run(LangGraphAgent(graph), run_input("hi"))
    assert json.loads(recorded.of("TOOL_CALL_RESULT")[0].content) == expected
    assert json.loads(model.seen[-1][-1].content) == expected


async def test_other_results_stay() -> None:
    model = Scripted([call("text", "c1", city="Rome")], ["Warm."])
    graph = create_agent(model, [text], middleware=[AGUIMiddleware()])
    recorded = await record_run(LangGraphAgent(graph), run_input("hi"))
    assert recorded.of("TOOL_CALL_RESULT")[0].content == "It is warm in Rome."
