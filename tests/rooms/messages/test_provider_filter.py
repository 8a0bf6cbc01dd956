"""Whose reasoning a graph's models may be sent: what is found in the graph, and what its runs have
shown."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage

from langgraph_agui.chat_models.find import providers_in, walk
from langgraph_agui.messages.to_langchain import ProviderFilter
from tests.kit.models.scripted import Scripted

CLAUDE = ChatAnthropic(model="claude-sonnet-4-5", api_key="none")  # type: ignore[call-arg,arg-type]


def thought(provider: str) -> AIMessage:
    block = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "sig"}}
    return AIMessage(
        [block, {"type": "text", "text": "a"}], response_metadata={"model_provider": provider}
    )


def filter_of(model: Any) -> ProviderFilter:
    return ProviderFilter(providers_in([*walk(create_agent(model, []))]), learns=True)


def admitted(providers: ProviderFilter, *names: str) -> list[Any]:
    return [message.content for message in providers.apply([thought(name) for name in names])]


def test_others_keep_their_text() -> None:
    own, other = admitted(filter_of(CLAUDE), "anthropic", "openai")
    assert own == thought("anthropic").content
    assert other == "a"


def test_a_provider_that_has_spoken_is_one_of_the_graphs() -> None:
    providers = filter_of(CLAUDE)
    providers.learn({"openai"})
    assert admitted(providers, "openai") == [thought("openai").content]


def test_nothing_is_held_back_where_a_model_is_unknown_or_chosen_later() -> None:
    chosen = init_chat_model(
        "claude-sonnet-4-5", model_provider="anthropic", configurable_fields="any", api_key="none"
    )
    for model in (Scripted(["a"]), chosen):
        assert admitted(filter_of(model), "openai") == [thought("openai").content]
