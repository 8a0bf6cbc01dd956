"""Histories of one provider or of several before a model of another: text and calls come over,
opaque values do not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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
    *("anthropic openai google", "google anthropic openai", "openai google bedrock"),
    *("bedrock openrouter anthropic", "openrouter bedrock openai-stored"),
    *("openai-v1 anthropic-v1 ollama", "anthropic openai anthropic", "google openai-stored google"),
    "mistral deepseek groq",
]

_TYPES: dict[str, set[str]] = {
    "anthropic": {"text", "thinking", "redacted_thinking", "tool_use", "tool_result"},
    "google": set(),
    "bedrock": set(),
    "mistral": {"function", "text", "thinking"},
    "openrouter": {
        "function",
        "text",
        *(f"reasoning.{one}" for one in ("text", "summary", "encrypted")),
    },
    "input": {
        *("message", "reasoning", "summary_text", "output_text", "input_text"),
        *("function_call", "function_call_output"),
    },
}
_IDS = re.compile(r"\b(?:rs|fc|msg|resp)_\w+")

pytestmark = pytest.mark.xdist_group("pairs")


@pytest.mark.parametrize(
    "pair",
    [f"{one} {one}" for one in TARGETS]
    + [f"{one} {TARGETS[(n + 3) % len(TARGETS)]}" for n, one in enumerate(SOURCES)]
    + MIXED,
)
def test_histories_before_a_model(pair: str, rig: Rig) -> None:
    """A tool loop of each, and then the last one is asked."""
    *sources, target = pair.split()
    history: list[Message] = []
    values: list[tuple[bool, str]] = []
    for number, source in enumerate(sources):
        history, values_of, ids = tool_loop(rig, source, number, history)
        its_own = source == target or (len(sources) > 1 and package(source) == package(target))
        foreign = package(source) != package(target)
        values += [(its_own, value) for value in values_of if its_own or foreign]
        values += [(False, found) for found in ids if foreign]
    for request in requests(rig, target, history):
        check_request(request, target, len(sources))
        received = [*strings(request["body"])]
        for came_back, value in values:
            found = any(form in string for form in forms(value) for string in received)
            assert found == came_back, value


def tool_loop(
    rig: Rig, source: str, number: int, before: Sequence[Message]
) -> tuple[list[Message], list[str], set[str]]:
    """The conversation after one more tool loop of `source`, and what only its provider
    understands: values that have to come back to it, and ids of its items."""
    question = user(f"Question {number}?", f"question-{number}")
    recorded, _ = run(rig, source, [*before, question], number)
    own = rig.actor(source).received.runs[-1]
    new = own[[message.id for message in own].index(question.id) :]
    values = [value for turn in loop(source, number) for value in seen_as(source, turn).opaque]
    return recorded.messages, values, {found for one in new for found in _IDS.findall(repr(one))}


def run(
    rig: Rig, provider: str, messages: Sequence[Message], number: int | None
) -> tuple[RecordedRun, list[Json]]:
    script = (MORE,) if number is None else loop(provider, number)
    agent, given = rig.actor(provider).agent, run_input(*messages, thread="pairs")
    recorded, sent = rig.run(lambda: record_run(agent, given), *script)
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
    given = {"messages": agui_messages_to_langchain(plain(messages), provider=name)}

    async def stream() -> None:
        async for _ in rig.actor(target).graph.astream(given, stream_mode="messages"):
            pass

    _, [request] = rig.run(stream, MORE)
    yield request


def plain(messages: Iterable[Message]) -> list[Json]:
    return [message.model_dump(by_alias=True, mode="json") for message in messages]


def package(provider: str) -> str:
    return provider.partition("-")[0]


def check_request(request: Json, target: str, count: int) -> None:
    """Questions, calls, results and answers are there, in blocks that the target knows."""
    body = request["body"]
    received = [*strings(body)]
    for n in range(count):
        for text in (f"Question {n}?", city(n), f"Sunny in {city(n)}", answer(n)):
            assert any(text in string for string in received), text
    assert sum(string == "get_weather" for string in received) >= count
    sent = body.get("messages") or body.get("input") or body.get("contents")
    known = _TYPES.get("input" if "input" in body else package(target), {"function", "text"})
    assert {*types(sent)} <= known
    assert "extras" not in {*keys(sent)}
