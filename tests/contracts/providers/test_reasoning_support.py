"""What is said of a model is what it does: judgements against the requests of real packages, and
setting by setting."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrockConverse
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_groq import ChatGroq
from langchain_mistralai import ChatMistralAI
from langchain_ollama import ChatOllama
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from langchain_openrouter import ChatOpenRouter
from langchain_xai import ChatXAI

from langgraph_agui import chat_models as models
from langgraph_agui.chat_models import Finding, check_reasoning
from langgraph_agui.messages.blocks import read_blocks
from tests.contracts.providers.playing import REPLAYING, make_replaying, run_case
from tests.kit.deep import together
from tests.kit.models.cases import BY_ID
from tests.kit.models.provider_models import KEY, PROVIDERS, VARIANTS, make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.wires.base import compact

_CHAINED = {"openai-chained"}  # the server keeps what would be sent back


def judged(model: BaseChatModel) -> tuple[bool | None, bool | None]:
    finding = check_reasoning(model)
    assert finding.wrong == (finding.out is False or finding.back is False)
    assert finding.advice or not finding.wrong, "a model that should be changed needs advice"
    return finding.out, finding.back


@together(
    pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"]),
    pytest.mark.parametrize("provider", sorted({*PROVIDERS, *VARIANTS} - _CHAINED)),
)
async def test_judgements_are_what_the_packages_do(
    provider: str, stream: bool, provider_server: ProviderServer
) -> None:
    """Each package in a tool loop: does its message say reasoning, does the next request bring it
    back?"""
    case = BY_ID[f"{provider}-tool-loop"]
    finding = check_reasoning(make_model(provider, provider_server))
    first = (await run_case(case, provider_server, stream=stream))[0]
    parts = read_blocks(first, whole=not stream)
    said = [part.text for part in parts if part.kind == "reasoning"]
    traces = [compact(text)[1:-1] for text in (*said, case.turns[0].reasoning)]
    sent = compact(provider_server.bodies[1])
    assert finding.out in (bool(said), None)
    assert finding.back in (any(one in sent for one in (*case.seen[0].opaque, *traces)), None)


def test_few_are_not_known(provider_server: ProviderServer) -> None:
    every = {name: judged(make_model(name, provider_server)) for name in (*PROVIDERS, *VARIANTS)}
    unsure = {name for name, judgement in every.items() if None in judgement}
    assert unsure == {"xai", "xai-v1", "xai-responses", "bedrock-oss"}


@pytest.mark.parametrize("provider", REPLAYING)
def test_the_classes_that_replay(provider: str, provider_server: ProviderServer) -> None:
    """One that loses reasoning is told of ours."""
    out = None if provider == "xai" else True
    assert judged(make_replaying(provider, provider_server)) == (out, True)
    never = check_reasoning(make_replaying(provider, provider_server, replay_reasoning="never"))
    assert (never.out, never.back) == (out, False)
    assert never.advice[-1] == 'replay_reasoning="never" keeps reasoning from going back.'
    plain = check_reasoning(make_model(provider, provider_server))
    ours = f"{REPLAYING[provider][0]} from langgraph_agui.chat_models"
    assert (plain.wrong, any(ours in one for one in plain.advice)) == (True, True)


OURS = {"model": "qwen3.6", "base_url": "http://gpu:8000/v1"}
KEYS = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY, "region_name": "us-east-1"}
AZURE = {"azure_endpoint": "https://x.example", "api_version": "1", "azure_deployment": "gpt-5.1"}
openai = partial(ChatOpenAI, api_key=KEY)
gpt = partial(openai, model="gpt-5.1")
summing = partial(gpt, use_responses_api=True, reasoning={"effort": "low", "summary": "auto"})
claude = partial(ChatAnthropic, model="claude-sonnet-4-5", api_key=KEY)
opus = partial(claude, model="claude-opus-4-7")
gemini = partial(ChatGoogleGenerativeAI, model="gemini-3-pro-preview", api_key=KEY)
qwen = partial(ChatOllama, model="qwen3")
groq = partial(ChatGroq, model="qwen/qwen3-32b", api_key=KEY)
mistral = partial(ChatMistralAI, model="mistral-small-latest", api_key=KEY)
openrouter = partial(ChatOpenRouter, model="anthropic/claude-sonnet-4.5", api_key=KEY)
grok = partial(ChatXAI, model="grok-4.5", api_key=KEY)
sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
bedrock = partial(ChatBedrockConverse, **KEYS)

ENCRYPTED = ["reasoning.encrypted_content"]
ENABLED = {"type": "enabled", "budget_tokens": 2048}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
OFF = {"thinking": {"type": "disabled"}}
NO, BACK, OUT, BOTH = (False, False), (False, True), (True, False), (True, True)
UNKNOWN = (None, None)


@pytest.mark.parametrize(
    ("model", "judgement", "advice"),
    [
        (gpt(), NO, "use_responses_api=True"),
        (gpt(reasoning_effort="high"), NO, '"summary": "auto"'),
        (gpt(use_responses_api=True), BACK, "No summary is requested"),
        (gpt(output_version="responses/v1"), BACK, "No summary is requested"),
        (gpt(reasoning={"effort": "low"}), BACK, "No summary is requested"),
        (summing(), BOTH, ""),
        (summing(store=False), OUT, 'include=["reasoning.encrypted_content"]'),
        (summing(store=False, include=ENCRYPTED), BOTH, ""),
        (summing(store=False, include=ENCRYPTED, base_url="http://gpu:8000/v1"), BOTH, ""),
        (gpt(base_url="https://eu.api.openai.com/v1"), NO, "use_responses_api=True"),
        (openai(**OURS), NO, "(gpu), both ways. Use the class of this provider's own package, or"),
        (openai(**OURS), NO, "own package, or else ReasoningChatOpenAI"),
        (gpt(base_url="https://api.deepseek.com"), NO, "(api.deepseek.com), both ways. Use the"),
        (openai(model="gpt-4o"), UNKNOWN, "gpt-4o does not reason"),
        (models.ReasoningChatOpenAI(model="gpt-5.1", api_key=KEY), NO, "use_responses_api=True"),
        (AzureChatOpenAI(api_key=KEY, **AZURE), NO, "use_responses_api=True"),
        (claude(), BACK, 'thinking={"type": "enabled", "budget_tokens": 2048}'),
        (claude(thinking=OFF["thinking"]), BACK, "No reasoning is requested"),
        (claude(thinking=ENABLED), BOTH, ""),
        (claude(thinking={**ENABLED, "display": "omitted"}), BACK, "without showing its thoughts"),
        (claude(model="claude-in-disguise", thinking=ENABLED), BOTH, ""),
        (opus(), BACK, 'thinking={"type": "adaptive", "display": "summarized"}'),
        (opus(thinking={"type": "adaptive"}), BACK, "without showing its thoughts"),
        (opus(thinking=ADAPTIVE), BOTH, ""),
        (opus(effort="high"), BOTH, ""),
        (gemini(), BACK, "include_thoughts=True"),
        (gemini(include_thoughts=True), BOTH, ""),
        (gemini(include_thoughts=True, thinking_budget=0), BACK, "no thinking_budget=0"),
        (qwen(), BACK, "reasoning=True"),
        (qwen(reasoning=False), BACK, "switches it off"),
        (qwen(reasoning="high"), BOTH, ""),
        (groq(), BACK, "think_tags=True"),
        (groq(reasoning_format="raw"), BACK, "think_tags=True"),
        (groq(reasoning_format="hidden"), NO, '"hidden" hides it'),
        (groq(model="openai/gpt-oss-120b"), OUT, "ReasoningChatGroq"),
        (groq(model="llama-3.1-8b-instant"), UNKNOWN, "does not reason"),
        (mistral(), NO, 'model_kwargs={"reasoning_effort": "high"}'),
        (mistral(model_kwargs={"reasoning_effort": "high"}), OUT, "ReasoningChatMistralAI"),
        (mistral(model="magistral-medium-latest"), OUT, "ReasoningChatMistralAI"),
        (models.ReasoningChatMistralAI(model="magistral-medium-latest", api_key=KEY), BOTH, ""),
        (openrouter(), (None, True), "reasoning="),
        (openrouter(reasoning={"effort": "high"}), BOTH, ""),
        (openrouter(reasoning={"effort": "none"}), BACK, "excludes it"),
        (grok(), (None, False), "use_responses_api=True"),
        (grok(use_responses_api=True), (None, True), ""),
        (grok(use_responses_api=True, store=False), (None, False), "include="),
        (
            models.ReasoningChatDeepSeek(model="x", api_key=KEY, extra_body=OFF),
            BACK,
            "thinking off",
        ),
        (
            bedrock(model=sonnet),
            BACK,
            'additional_model_request_fields={"thinking": {"type": "enab',
        ),
        (bedrock(model=sonnet, additional_model_request_fields={"thinking": ENABLED}), BOTH, ""),
        (bedrock(model="openai.gpt-oss-120b-1:0"), UNKNOWN, "carried both ways"),
    ],
)
def test_settings(model: BaseChatModel, judgement: Any, advice: str) -> None:
    assert judged(model) == judgement
    said = " ".join(check_reasoning(model).advice)
    assert advice in said
    assert bool(advice) == bool(said)


class Unknown(GenericFakeChatModel):
    """A class of a user."""


class Together(BaseChatOpenAI):
    """A class of another package on langchain-openai, which may do anything."""


class Plain(ChatOpenAI):
    """A user's that changes nothing about reasoning."""


class Mended(ChatOpenAI):
    """A user's that does what `ReasoningChatOpenAI` does."""

    def _get_request_payload(self, *args: Any, **kwargs: Any) -> Any:
        return super()._get_request_payload(*args, **kwargs)


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (Unknown(messages=iter(())), "Unknown is not known here. It is assumed to be right"),
        (Together(model="x", api_key=KEY), "Together is not known here."),
        (Mended(api_key=KEY, **OURS), "Mended has its own _get_request_payload()"),
    ],
)
def test_classes_that_are_not_known(model: BaseChatModel, advice: str) -> None:
    """Subclasses that change nothing are judged like their bases."""
    finding = check_reasoning(model)
    assert (finding.out, finding.back, finding.wrong) == (None, None, False)
    assert finding.advice[0].startswith(advice)
    assert judged(Plain(model="gpt-5.1", api_key=KEY)) == NO


def test_think_tags_are_no_loss_where_they_are_split() -> None:
    for model in (groq(), groq(reasoning_format="raw"), qwen()):
        assert check_reasoning(model).wrong
        name = models.provider_of(model)
        assert check_reasoning(model, splits=True) == Finding(model, name, out=True, back=True)
    for model in (groq(reasoning_format="parsed"), qwen(reasoning=False)):
        assert check_reasoning(model, splits=True).wrong
