"""The name of a model's provider is the one that its messages carry."""

from __future__ import annotations

import types
from typing import Any

import pytest
from langchain_aws import ChatAnthropicBedrock, ChatBedrock
from langchain_core.language_models import GenericFakeChatModel
from langchain_deepseek import ChatDeepSeek
from langchain_openai import AzureChatOpenAI

from langgraph_agui.chat_models import provider_of
from langgraph_agui.messages.providers import maker_of
from tests.contracts.providers.playing import ask
from tests.kit.models.provider_models import KEY, PROVIDERS, VARIANTS, make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn


@pytest.mark.parametrize("provider", [*PROVIDERS, *VARIANTS])
async def test_the_provider_is_the_one_that_the_messages_name(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, *[turn(Text("hello"))] * 2)
    model = make_model(provider, provider_server)
    whole, streamed = [await ask(model, "hi", stream=stream) for stream in (False, True)]
    assert provider_of(model) == maker_of(whole.response_metadata)
    assert provider_of(model) == maker_of(streamed.response_metadata)
    if provider != "xai-responses":  # langchain-xai says that OpenAI made these
        assert provider_of(model) == streamed.response_metadata["model_provider"]


class MyDeepSeek(ChatDeepSeek):
    """A user's."""


class Named(GenericFakeChatModel):
    name: str | None = None

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        if self.name is None:
            raise ValueError("no name")
        return {"ls_provider": self.name}


Cohere = types.new_class(
    "ChatCohere", (Named,), exec_body=lambda body: body.update(__module__="langchain_cohere.x")
)
AZURE = {"azure_endpoint": "https://x.example", "api_version": "1", "azure_deployment": "gpt-5.1"}
BEDROCK = {
    "model": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "region_name": "us-east-1",
    "aws_access_key_id": KEY,
    "aws_secret_access_key": KEY,
}


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        (AzureChatOpenAI(api_key=KEY, **AZURE), "openai"),
        (MyDeepSeek(model="deepseek-v4-pro", api_key=KEY), "deepseek"),
        (GenericFakeChatModel(messages=iter(())), None),
        (Named(messages=iter(()), name="mine"), None),
        (Cohere(messages=iter(()), name="cohere"), "cohere"),
        (Cohere(messages=iter(())), None),
        (ChatBedrock(**BEDROCK, beta_use_converse_api=False), "bedrock"),
        (ChatBedrock(**BEDROCK, beta_use_converse_api=True), "bedrock_converse"),
        (ChatAnthropicBedrock(**BEDROCK), "anthropic"),
    ],
)
def test_other_classes(model: Any, provider: str | None) -> None:
    assert provider_of(model) == provider
