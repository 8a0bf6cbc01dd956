"""A numbered tool loop for every provider, with all the reasoning and opaque values that it
knows."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

from tests.kit.models.turns import Call, Reasoning, Text, Turn, turn
from tests.kit.models.wires import signs_reasoning, speaks_responses


def city(number: int) -> str:
    return f"Città {number}"


def answer(number: int) -> str:
    return f"Sunny, answer {number}. ☀️"


def before(number: int) -> str:
    """What is thought before the call."""
    return f"Weather first, thought {number}."


def after(number: int) -> str:
    """What is thought after it."""
    return f"Sunny then, thought {number}."


def loop(provider: str, number: int) -> tuple[Turn, Turn]:
    """Reasoning and a call of `get_weather`, then reasoning and the answer."""
    # Mistral takes nine characters
    call = Call("get_weather", {"city": city(number)}, id=f"callLoop{number}")
    text, thoughts = Text(answer(number)), (before(number), after(number))
    weather, sunny = map(Reasoning, thoughts)
    if signs_reasoning(provider):
        redacted = Reasoning(redacted=f"EmwKredacted{number}xyz")
        weather, sunny = (
            Reasoning(said, signature=f"EqQBsigned{name}{number}==")
            for said, name in zip(thoughts, ("before", "after"), strict=True)
        )
        return turn(redacted, weather, call), turn(sunny, text)
    if provider.startswith("google"):
        weather = replace(weather, signature=_base64(f"signature of thought {number}"))
        call = replace(call, signature=_base64(f"signature of call {number}"))
        text = replace(text, signature=_base64(f"signature of text {number}"))
    elif speaks_responses(provider):
        parts = (before(number), "**Planning**\n\nAsk.")
        weather = Reasoning(parts=parts, encrypted=f"gAAAAABbefore{number}")
        sunny = replace(sunny, encrypted=f"gAAAAABafter{number}")
    return turn(weather, call), turn(sunny, text)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
