"""The tool the scripted models call."""

from __future__ import annotations

from langchain_core.tools import tool


@tool
def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"Sunny in {city}"
