"""A numbered tool loop for every provider, with all the reasoning and opaque values that it
knows."""

from __future__ import annotations

from base64 import b64encode

from tests.kit.models.turns import Block, Call, Reasoning, Text, Turn

CLAUDE = {"anthropic", "anthropic-v1", "bedrock", "bedrock-v1", "openrouter", "openrouter-v1"}
GEMINI = {"google", "google-v1"}
RESPONSES = {
    "openai",
    "openai-chained",
    "openai-stored",
    "openai-v0",
    "openai-v0-stored",
    "openai-v1",
    "openai-v1-stored",
    "xai-responses",
}


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
    text = Text(answer(number))
    weather, sunny = before(number), after(number)
    if provider in CLAUDE:
        return _turns(
            (
                Reasoning(redacted=f"EmwKredacted{number}xyz"),
                _signed(weather, f"before{number}"),
                call,
            ),
            (_signed(sunny, f"after{number}"), text),
        )
    if provider in RESPONSES:
        summed = Reasoning(
            parts=(weather, "**Planning**\n\nAsk."), encrypted=f"gAAAAABbefore{number}"
        )
        return _turns((summed, call), (Reasoning(sunny, encrypted=f"gAAAAABafter{number}"), text))
    if provider in GEMINI:
        signed_call = Call(
            call.name, call.args, id=call.id, signature=_base64(f"signature of call {number}")
        )
        signed_text = Text(text.text, signature=_base64(f"signature of text {number}"))
        thought = Reasoning(weather, signature=_base64(f"signature of thought {number}"))
        return _turns((thought, signed_call), (Reasoning(sunny), signed_text))
    return _turns((Reasoning(weather), call), (Reasoning(sunny), text))


def _turns(first: tuple[Block, ...], second: tuple[Block, ...]) -> tuple[Turn, Turn]:
    return Turn(first), Turn(second)


def _signed(text: str, name: str) -> Reasoning:
    return Reasoning(text, signature=f"EqQBsigned{name}==")


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
