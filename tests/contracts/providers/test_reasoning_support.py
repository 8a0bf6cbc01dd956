"""What is said of a model is what it does: judgements against the requests of real packages, and
setting by setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import GenericFakeChatModel
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
from tests.kit.deep import together
from tests.kit.models.cases import BY_ID
from tests.kit.models.playing import REPLAYING, make_replaying
from tests.kit.models.provider_models import KEY, PROVIDERS, VARIANTS, make_model
from tests.kit.models.reading import run_case
from tests.kit.models.wires.base import compact

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from tests.kit.models.server import ProviderServer

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
    thought = [
        part.text for part in read_blocks(first, whole=not stream) if part.kind == "reasoning"
    ]
    sent = provider_server.bodies[1]
    traces = [
        *case.seen[0].opaque,
        *(compact(text)[1:-1] for text in thought),
        compact(case.turns[0].reasoning)[1:-1],
    ]
    assert finding.out in (bool(thought), None)
    assert finding.back in (any(trace in compact(sent) for trace in traces), None)


def test_few_are_not_known(provider_server: ProviderServer) -> None:
    unsure = {
        provider
        for provider in (*PROVIDERS, *VARIANTS)
        if None in judged(make_model(provider, provider_server))
    }
    assert unsure == {"xai", "xai-v1", "xai-responses", "bedrock-oss"}


@pytest.mark.parametrize("provider", REPLAYING)
def test_the_classes_that_replay(provider: str, provider_server: ProviderServer) -> None:
    out = None if provider == "xai" else True
    assert judged(make_replaying(provider, provider_server)) == (out, True)
    never = check_reasoning(make_replaying(provider, provider_server, replay_reasoning="never"))
    assert (never.out, never.back) == (out, False)
    assert never.advice[-1] == 'replay_reasoning="never" keeps reasoning from going back.'


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("deepseek", "ReasoningChatDeepSeek"),
        ("groq", "ReasoningChatGroq"),
        ("xai", "ReasoningChatXAI"),
        ("openai-chat", "ReasoningChatOpenAI"),
        ("mistral", "ReasoningChatMistralAI"),
    ],
)
def test_a_class_that_loses_reasoning_is_told_ours(
    provider: str, name: str, provider_server: ProviderServer
) -> None:
    finding = check_reasoning(make_model(provider, provider_server))
    assert finding.wrong
    assert any(f"{name} from langgraph_agui.chat_models" in advice for advice in finding.advice)
    assert name in models.__all__


def openai(**options: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "gpt-5.1", "api_key": KEY, **options})


RESPONSES: dict[str, Any] = {
    "use_responses_api": True,
    "reasoning": {"effort": "low", "summary": "auto"},
}
ENCRYPTED = ["reasoning.encrypted_content"]
CLAUDE, NEW_CLAUDE = "claude-sonnet-4-5", "claude-opus-4-7"


def claude(**options: Any) -> ChatAnthropic:
    return ChatAnthropic(**{"model": CLAUDE, "api_key": KEY, **options})


def gemini(**options: Any) -> ChatGoogleGenerativeAI:
    return ChatGoogleGenerativeAI(**{"model": "gemini-3-pro-preview", "api_key": KEY, **options})


def groq(**options: Any) -> ChatGroq:
    return ChatGroq(**{"model": "qwen/qwen3-32b", "api_key": KEY, **options})


def mistral(**options: Any) -> ChatMistralAI:
    return ChatMistralAI(**{"model": "mistral-small-latest", "api_key": KEY, **options})


def openrouter(**options: Any) -> ChatOpenRouter:
    return ChatOpenRouter(**{"model": "anthropic/claude-sonnet-4.5", "api_key": KEY, **options})


def bedrock(
    model: str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", **options: Any
) -> BaseChatModel:
    from langchain_aws import ChatBedrockConverse

    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY, "region_name": "us-east-1"}
    return ChatBedrockConverse(model=model, **keys, **options)


ENABLED = {"type": "enabled", "budget_tokens": 2048}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
SETTINGS: list[tuple[Any, tuple[bool | None, bool | None], str]] = [
    (openai(), (False, False), "use_responses_api=True"),
    (openai(reasoning_effort="high"), (False, False), '"summary": "auto"'),
    (openai(use_responses_api=True), (False, True), "No summary is requested"),
    (openai(output_version="responses/v1"), (False, True), "No summary is requested"),
    (openai(reasoning={"effort": "low"}), (False, True), "No summary is requested"),
    (openai(**RESPONSES), (True, True), ""),
    (openai(**RESPONSES, store=False), (True, False), 'include=["reasoning.encrypted_content"]'),
    (openai(**RESPONSES, store=False, include=ENCRYPTED), (True, True), ""),
    (
        openai(**RESPONSES, store=False, base_url="http://gpu:8000/v1", include=ENCRYPTED),
        (True, True),
        "",
    ),
    (openai(base_url="https://eu.api.openai.com/v1"), (False, False), "use_responses_api=True"),
    (
        openai(base_url="http://gpu:8000/v1", model="qwen3.6"),
        (False, False),
        (
            "(gpu), both ways. Use the class of this provider's own package, or else "
            "ReasoningChatOpenAI"
        ),
    ),
    (
        openai(base_url="https://api.deepseek.com", model="x"),
        (False, False),
        "(api.deepseek.com), both ways. Use the class of",
    ),
    (openai(model="gpt-4o"), (None, None), "gpt-4o does not reason"),
    (
        models.ReasoningChatOpenAI(model="gpt-5.1", api_key=KEY),
        (False, False),
        "use_responses_api=True",
    ),
    (
        AzureChatOpenAI(
            api_key=KEY,
            azure_endpoint="https://x.example",
            api_version="1",
            azure_deployment="gpt-5.1",
        ),
        (False, False),
        "use_responses_api=True",
    ),
    (claude(), (False, True), 'thinking={"type": "enabled", "budget_tokens": 2048}'),
    (claude(thinking={"type": "disabled"}), (False, True), "No reasoning is requested"),
    (claude(thinking=ENABLED), (True, True), ""),
    (
        claude(thinking={**ENABLED, "display": "omitted"}),
        (False, True),
        "without showing its thoughts",
    ),
    (claude(model="claude-in-disguise", thinking=ENABLED), (True, True), ""),
    (
        claude(model=NEW_CLAUDE),
        (False, True),
        'thinking={"type": "adaptive", "display": "summarized"}',
    ),
    (
        claude(model=NEW_CLAUDE, thinking={"type": "adaptive"}),
        (False, True),
        "without showing its thoughts",
    ),
    (claude(model=NEW_CLAUDE, thinking=ADAPTIVE), (True, True), ""),
    (claude(model=NEW_CLAUDE, effort="high"), (True, True), ""),
    (gemini(), (False, True), "include_thoughts=True"),
    (gemini(include_thoughts=True), (True, True), ""),
    (gemini(include_thoughts=True, thinking_budget=0), (False, True), "no thinking_budget=0"),
    (ChatOllama(model="qwen3"), (False, True), "reasoning=True"),
    (ChatOllama(model="qwen3", reasoning=False), (False, True), "switches it off"),
    (ChatOllama(model="qwen3", reasoning="high"), (True, True), ""),
    (groq(), (False, True), "think_tags=True"),
    (groq(reasoning_format="raw"), (False, True), "think_tags=True"),
    (groq(reasoning_format="hidden"), (False, False), '"hidden" hides it'),
    (groq(model="openai/gpt-oss-120b"), (True, False), "ReasoningChatGroq"),
    (groq(model="llama-3.1-8b-instant"), (None, None), "does not reason"),
    (mistral(), (False, False), 'model_kwargs={"reasoning_effort": "high"}'),
    (mistral(model_kwargs={"reasoning_effort": "high"}), (True, False), "ReasoningChatMistralAI"),
    (models.ReasoningChatMistralAI(model="magistral-medium-latest", api_key=KEY), (True, True), ""),
    (openrouter(), (None, True), "reasoning="),
    (openrouter(reasoning={"effort": "high"}), (True, True), ""),
    (openrouter(reasoning={"effort": "none"}), (False, True), "excludes it"),
    (ChatXAI(model="grok-4.5", api_key=KEY), (None, False), "use_responses_api=True"),
    (ChatXAI(model="grok-4.5", api_key=KEY, use_responses_api=True), (None, True), ""),
    (
        ChatXAI(model="grok-4.5", api_key=KEY, use_responses_api=True, store=False),
        (None, False),
        "include=",
    ),
    (
        models.ReasoningChatDeepSeek(
            model="x", api_key=KEY, extra_body={"thinking": {"type": "disabled"}}
        ),
        (False, True),
        "switches thinking off",
    ),
    (bedrock(), (False, True), 'additional_model_request_fields={"thinking": {"type": "enabled"'),
    (bedrock(additional_model_request_fields={"thinking": ENABLED}), (True, True), ""),
    (bedrock("openai.gpt-oss-120b-1:0"), (None, None), "carried both ways"),
]


@pytest.mark.parametrize(("model", "judgement", "advice"), SETTINGS)
def test_settings(
    model: BaseChatModel, judgement: tuple[bool | None, bool | None], advice: str
) -> None:
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
        (
            Mended(model="x", api_key=KEY, base_url="http://gpu"),
            "Mended has its own _get_request_payload()",
        ),
    ],
)
def test_classes_that_are_not_known(model: BaseChatModel, advice: str) -> None:
    finding = check_reasoning(model)
    assert (finding.out, finding.back, finding.wrong) == (None, None, False)
    assert finding.advice[0].startswith(advice)


def test_a_subclass_is_judged_like_its_base() -> None:
    assert judged(Plain(model="gpt-5.1", api_key=KEY)) == (False, False)


@pytest.mark.parametrize("model", [groq(), groq(reasoning_format="raw"), ChatOllama(model="qwen3")])
def test_think_tags_are_no_loss_where_they_are_split(model: BaseChatModel) -> None:
    assert check_reasoning(model).wrong
    assert check_reasoning(model, splits=True) == Finding(
        model, models.provider_of(model), out=True, back=True
    )


def test_think_tags_are_of_no_use_elsewhere() -> None:
    assert check_reasoning(groq(reasoning_format="parsed"), splits=True).wrong
    assert check_reasoning(ChatOllama(model="qwen3", reasoning=False), splits=True).wrong
