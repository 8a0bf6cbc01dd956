"""The name of a model's provider is the one that its messages carry."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_deepseek import ChatDeepSeek
from langchain_openai import AzureChatOpenAI

from langgraph_agui.chat_models import provider_of
from langgraph_agui.messages.providers import maker_of
from tests.kit.models.provider_models import KEY, PROVIDERS, VARIANTS, make_model
from tests.kit.models.reading import stream_whole
from tests.kit.models.turns import Text, turn

if TYPE_CHECKING:
    from tests.kit.models.server import ProviderServer


@pytest.mark.parametrize("provider", [*PROVIDERS, *VARIANTS])
async def test_the_provider_is_the_one_that_the_messages_name(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, *[turn(Text("hello"))] * 2)
    model = make_model(provider, provider_server)
    whole, streamed = await model.ainvoke("hi"), await stream_whole(model, "hi")  # type: ignore[arg-type]
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


def test_other_classes() -> None:
    azure = AzureChatOpenAI(
        api_key=KEY,
        azure_endpoint="https://x.openai.azure.com",
        api_version="1",
        azure_deployment="gpt-5.1",
    )
    assert provider_of(azure) == "openai"
    assert provider_of(MyDeepSeek(model="deepseek-v4-pro", api_key=KEY)) == "deepseek"
    assert provider_of(GenericFakeChatModel(messages=iter(()))) is None
    assert provider_of(Named(messages=iter(()), name="mine")) is None
    cohere = types.new_class(
        "ChatCohere", (Named,), exec_body=lambda body: body.update(__module__="langchain_cohere.x")
    )
    assert provider_of(cohere(messages=iter(()), name="cohere")) == "cohere"
    assert provider_of(cohere(messages=iter(()))) is None


@pytest.mark.parametrize(("converse", "provider"), [(False, "bedrock"), (True, "bedrock_converse")])
def test_bedrock_by_its_two_ways(converse: bool, provider: str) -> None:
    from langchain_aws import ChatBedrock

    model = ChatBedrock(
        model="anthropic.claude-sonnet-4-5-20250929-v1:0",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        beta_use_converse_api=converse,
    )
    assert provider_of(model) == provider


def test_claude_on_bedrock_speaks_as_claude() -> None:
    from langchain_aws import ChatAnthropicBedrock

    model = ChatAnthropicBedrock(
        model="anthropic.claude-sonnet-4-5-20250929-v1:0",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
    )
    assert provider_of(model) == "anthropic"
