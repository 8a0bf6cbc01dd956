"""Whose reasoning a graph's models may be sent: what is found in the graph, and what its runs have
shown."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage

from langgraph_agui.chat_models.find import providers_in, walk
from langgraph_agui.messages.to_langchain import ProviderFilter
from tests.kit.models.scripted import Scripted

CLAUDE = ChatAnthropic(model="claude-sonnet-4-5", api_key="none")


def thought(provider: str) -> AIMessage:
    block = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "sig"}}
    return AIMessage(
        [block, {"type": "text", "text": "a"}], response_metadata={"model_provider": provider}
    )


def test_others_keep_their_text() -> None:
    """A provider that has spoken is one of the graph's. Nothing is held back where a model is
    unknown or chosen later."""
    later = init_chat_model(
        "claude-sonnet-4-5", model_provider="anthropic", configurable_fields="any", api_key="none"
    )
    for model, learnt, held_back in (
        *((CLAUDE, set(), True), (CLAUDE, {"openai"}, False)),
        *((Scripted(["a"]), set(), False), (later, set(), False)),
    ):
        found = ProviderFilter(providers_in([*walk(create_agent(model, []))]), learns=True)
        found.learn(learnt)
        own, other = found.apply([thought("anthropic"), thought("openai")])
        assert own.content == thought("anthropic").content
        assert other.content == ("a" if held_back else thought("openai").content)
