"""The demo's subagent: a guide, an agent of its own that the demo agent asks by calling `plan_day`.

It shows what a front end must render of a subagent: its words, its tool calls, several guides at once, and a tool that
tells its output while it runs (`find_sights`).
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Any, Final

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool

from langgraph_agui.cli.demo_tools import get_weather

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

GUIDE_PROMPT: Final = (
    "You are a city guide. Look up the weather and the sights at once, then answer in a sentence or two."
)
_SIGHTS: Final = (
    "the botanical garden",
    "the clock museum",
    "the covered market",
    "the old harbour",
    "the puppet theatre",
    "the roof terrace of the library",
    "the tram depot",
)
_SHOWN: Final = 3
_PACE: Final = 10
"""How much longer it takes to find a sight than to say a word."""


def sights(city: str) -> list[str]:
    """What there is to see in a city. Invented, and always the same."""
    first = zlib.crc32(city.strip().casefold().encode()) % len(_SIGHTS)
    return [_SIGHTS[(first + 2 * number) % len(_SIGHTS)] for number in range(_SHOWN)]


def plan_day_tool(model: BaseChatModel, delay: float) -> BaseTool:
    """Return the tool that asks a guide on `model`, whose own tools take a few times `delay` seconds."""

    @tool
    async def find_sights(city: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Find what there is to see in a city."""
        found = sights(city)
        for sight in found:
            await asyncio.sleep(_PACE * delay)
            runtime.emit_output_delta(f"found {sight}\n")
        return f"{', '.join(found[:-1])} and {found[-1]}"

    guide = create_agent(model, [get_weather, find_sights], system_prompt=GUIDE_PROMPT, name="guide")

    @tool
    async def plan_day(city: str) -> str:
        """Ask a guide to plan a day in a city."""
        question = f"What is the weather in {city}, and what is there to see in {city}?"
        answer = await guide.ainvoke({"messages": [HumanMessage(question)]})
        return str(answer["messages"][-1].text)

    return plan_day
