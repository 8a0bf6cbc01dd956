"""Every case on the plain LangChain packages: what the fixtures send is what the packages read."""

from __future__ import annotations

import dataclasses
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.deep import deep
from tests.kit.models.cases import EACH_CASE, PROMPT, Case, Seen, cases
from tests.kit.models.provider_models import PROVIDERS, make_model
from tests.kit.models.reading import read_blocks, run_case
from tests.kit.models.turns import Text, turn
from tests.kit.models.wires.base import compact

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

    from tests.kit.models.server import ProviderServer

# The packages that send signatures and ciphertext back with the history.
_REPLAYING = {"anthropic", "anthropic-v1", "bedrock", "google", "google-v1"}
_REPLAYING |= {"openai", "openai-v1", "openrouter"}
_THINKING_REQUESTED: dict[str, Any] = {
    "anthropic": lambda body: body["thinking"]["type"] == "enabled",
    "openai": lambda body: body["reasoning"]["summary"] == "auto" and body["store"] is False,
    "openai-chat": lambda body: body["reasoning_effort"] == "medium",
    "google": lambda body: body["generationConfig"]["thinkingConfig"]["include_thoughts"] is True,
    "ollama": lambda body: body["think"] is True,
    "openrouter": lambda body: body["reasoning"] == {"effort": "medium"},
    "groq": lambda body: body["reasoning_format"] == "parsed",
    "bedrock": lambda body: (
        body["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 2048
    ),
}


def _check(message: AIMessage, seen: Seen) -> None:
    assert read_blocks(message) == seen.blocks
    for call, call_id in zip(message.tool_calls, seen.call_ids, strict=True):
        assert call["id"]
        assert call_id is None or call["id"] == call_id
    usage = message.usage_metadata
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"]) == (seen.usage.input, seen.usage.output)
    kept = compact(_json_safe([message.content, message.additional_kwargs]))
    for value in seen.opaque:
        assert value in kept


def _check_history(case: Case, first: dict[str, Any], second: dict[str, Any]) -> None:
    """The second request of a tool loop brings the first turn and the tool results back."""
    before, after = compact(first), compact(second)
    assert PROMPT in before
    assert PROMPT in after
    assert "get_weather" in before
    assert "Sunny in" not in before
    for call in case.turns[0].calls:
        assert f"Sunny in {call.dict_args.get('city', 'nowhere')}" in after
    if case.provider in _REPLAYING:
        for value in case.seen[0].opaque:
            assert value in after


def _json_safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_safe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_safe(item) for item in value]
    return value if isinstance(value, str | int | float | None) else repr(value)


@pytest.mark.parametrize("case", EACH_CASE, ids=str)
async def test_case_streams_as_described(case: Case, provider_server: ProviderServer) -> None:
    answers = await run_case(case, provider_server)
    for answer, seen in zip(answers, case.seen, strict=True):
        _check(answer, seen)
    assert all(request.streamed for request in provider_server.requests)
    assert provider_server.disconnects == 0
    assert provider_server.unanswered == 0
    if len(case.turns) > 1:
        _check_history(case, *provider_server.bodies[:2])


@pytest.mark.parametrize("case", EACH_CASE, ids=str)
async def test_case_answers_whole_as_described(case: Case, provider_server: ProviderServer) -> None:
    answers = await run_case(case, provider_server, stream=False)
    for answer, seen in zip(answers, case.seen, strict=True):
        _check(answer, seen)
    whole = {request.streamed for request in provider_server.requests}
    assert whole == {case.provider == "ollama"}  # langchain-ollama streams even when invoked


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_requests_ask_for_reasoning(provider: str, provider_server: ProviderServer) -> None:
    case = next(case for case in cases(provider) if not case.uses_tools)
    await run_case(case, provider_server)
    check = _THINKING_REQUESTED.get(provider) or _THINKING_REQUESTED.get(provider.split("-")[0])
    assert check is None or check(provider_server.bodies[0])


@deep
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_other_chunk_sizes_say_the_same(
    provider: str, provider_server: ProviderServer
) -> None:
    case = next(case for case in cases(provider) if case.id.endswith("tool-loop"))
    for seed in (1, 2):
        cut = tuple(dataclasses.replace(given, chunk=3, seed=seed) for given in case.turns)
        answers = await run_case(dataclasses.replace(case, turns=cut), provider_server)
        for answer, seen in zip(answers, case.seen, strict=True):
            _check(answer, seen)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nothing_but_the_local_server_is_contacted(
    provider: str, provider_server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    resolve = socket.getaddrinfo

    def watched(host: Any, *rest: Any, **options: Any) -> Any:
        asked.append(host)
        return resolve(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", watched)
    provider_server.script(provider, *[turn(Text("hello"))] * 2)
    model = make_model(provider, provider_server)
    await model.ainvoke("hi")
    model.invoke("hi")
    assert {host.decode() if isinstance(host, bytes) else host for host in asked} <= {"127.0.0.1"}
    assert len(provider_server.requests) == 2
