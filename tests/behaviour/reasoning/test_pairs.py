"""Histories of one provider or of several before a model of another: text and calls come over,
opaque values do not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from ag_ui.core import Message

from langgraph_agui import agui_messages_to_langchain
from tests.kit.expect.bodies import forms, keys, strings, types
from tests.kit.models.cases import seen_as
from tests.kit.models.loops import answer, city, loop
from tests.kit.models.provider_models import PROVIDERS
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.rig import MORE, Json, Rig

SOURCES = (*PROVIDERS, "openai-stored", "xai-responses", "bedrock-oss")
TARGETS = (*PROVIDERS, "openai-stored", "xai-responses")
NAMES = {"google": "google_genai", "mistral": "mistralai", "bedrock": "bedrock_converse"}

MIXED = [
    ("anthropic", "openai", "google"),
    ("google", "anthropic", "openai"),
    ("openai", "google", "bedrock"),
    ("bedrock", "openrouter", "anthropic"),
    ("openrouter", "bedrock", "openai-stored"),
    ("anthropic", "google-v1", "openai-chat"),
    ("openai-v1", "anthropic-v1", "ollama"),
    ("google", "bedrock", "openrouter"),
    ("anthropic", "openai", "anthropic"),
    ("openai", "anthropic", "openai"),
    ("google", "openai-stored", "google"),
    ("bedrock", "google", "bedrock"),
    ("openrouter", "anthropic", "openrouter"),
    ("mistral", "deepseek", "groq"),
]

_RESPONSES = {"message", "reasoning", "summary_text", "output_text", "input_text"}
_RESPONSES |= {"function_call", "function_call_output"}
_TYPES: dict[str, set[str]] = {
    "anthropic": {"text", "thinking", "redacted_thinking", "tool_use", "tool_result"},
    "google": set(),
    "bedrock": set(),
    "mistral": {"function", "text", "thinking"},
    "openrouter": {
        "function",
        "text",
        "reasoning.text",
        "reasoning.summary",
        "reasoning.encrypted",
    },
}
_IDS = re.compile(r"\b(?:rs|fc|msg|resp)_\w+")

pytestmark = pytest.mark.xdist_group("pairs")


@pytest.mark.parametrize(
    ("source", "target"),
    [(one, one) for one in TARGETS]
    + [(one, TARGETS[(n + 3) % len(TARGETS)]) for n, one in enumerate(SOURCES)],
)
def test_pair(source: str, target: str, rig: Rig) -> None:
    history, opaque = tool_loop(rig, source)
    for request in requests(rig, target, history):
        check_request(request, target, 1)
        if foreign(source, target):
            check_nothing_of(request, opaque)
        elif source == target:
            check_all_of(request, opaque)


@pytest.mark.parametrize(("first", "second", "target"), MIXED)
def test_mixed(first: str, second: str, target: str, rig: Rig) -> None:
    begun, of_first = tool_loop(rig, first)
    history, of_second = tool_loop(rig, second, 1, begun)
    for request in requests(rig, target, history):
        check_request(request, target, 2)
        for source, opaque in ((first, of_first), (second, of_second)):
            if foreign(source, target):
                check_nothing_of(request, opaque)
            else:
                check_all_of(request, opaque)


@dataclass(frozen=True)
class Opaque:
    """What only its provider understands: values that have to come back to it, and ids of its
    items."""

    values: list[str]
    ids: set[str]


def tool_loop(
    rig: Rig, source: str, number: int = 0, before: Sequence[Message] = ()
) -> tuple[list[Message], Opaque]:
    """The conversation after one more tool loop of `source`."""
    question = user(f"Question {number}?", f"question-{number}")
    recorded, _ = run(rig, source, [*before, question], number)
    own = rig.actor(source).received.runs[-1]
    new = own[[message.id for message in own].index(question.id) :]
    values = [value for turn in loop(source, number) for value in seen_as(source, turn).opaque]
    return recorded.messages, Opaque(
        values, {found for message in new for found in _IDS.findall(repr(message))}
    )


def run(
    rig: Rig, provider: str, messages: Sequence[Message], number: int | None
) -> tuple[RecordedRun, list[Json]]:
    script = (MORE,) if number is None else loop(provider, number)
    agent = rig.actor(provider).agent
    recorded, sent = rig.run(
        lambda: record_run(agent, run_input(*messages, thread="pairs")), *script
    )
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert len(sent) == len(script)
    return recorded, sent


def requests(rig: Rig, target: str, history: Sequence[Message]) -> Iterator[Json]:
    """What `target` is sent by an agent that finds it in its graph, and by who says its name."""
    messages = [*history, user("Anything else?", "question-last")]
    recorded, [request] = run(rig, target, messages, None)
    assert plain(recorded.messages)[: len(messages)] == plain(messages)
    yield request
    name = NAMES.get(package(target), package(target))
    rebuilt = agui_messages_to_langchain(plain(messages), provider=name)

    async def stream() -> None:
        async for _ in rig.actor(target).graph.astream(
            {"messages": rebuilt}, stream_mode="messages"
        ):
            pass

    _, [request] = rig.run(stream, MORE)
    yield request


def plain(messages: Iterable[Message]) -> list[Json]:
    return [message.model_dump(by_alias=True, mode="json") for message in messages]


def package(provider: str) -> str:
    return provider.partition("-")[0]


def foreign(source: str, target: str) -> bool:
    return package(source) != package(target)


def check_request(request: Json, target: str, count: int) -> None:
    """Questions, calls, results and answers are there, in blocks that the target knows."""
    received = [*strings(request["body"])]
    for number in range(count):
        for text in (
            f"Question {number}?",
            city(number),
            f"Sunny in {city(number)}",
            answer(number),
        ):
            assert any(text in string for string in received), text
    assert sum(string == "get_weather" for string in received) >= count
    body = request["body"]
    sent = body.get("messages") or body.get("input") or body.get("contents")
    known = _RESPONSES if "input" in body else _TYPES.get(package(target), {"function", "text"})
    assert {*types(sent)} <= known
    assert "extras" not in {*keys(sent)}


def check_nothing_of(request: Json, opaque: Opaque) -> None:
    received = [*strings(request["body"])]
    for value in (*opaque.values, *opaque.ids):
        for form in forms(value):
            assert not [string for string in received if form in string], value


def check_all_of(request: Json, opaque: Opaque) -> None:
    received = [*strings(request["body"])]
    for value in opaque.values:
        assert any(form in string for form in forms(value) for string in received), value
