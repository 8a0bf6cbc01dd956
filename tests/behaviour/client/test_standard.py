"""LangChain's own tests of chat models, of a model whose answers come from a real agent behind a
real socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from langgraph_agui.client import AGUIChatModel
from tests.kit.expect.standard import does_not_apply
from tests.kit.models.media_files import png, wav
from tests.kit.models.scripted import add
from tests.kit.processes.client_agents import remote, tooled

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "magic_function": {"input": 3},
    "greeting_generator": {"answer_style": "pirate"},
    "get_weather": {"location": "San Francisco, CA"},
    "my_adder_tool": {"a": 3, "b": 4},
    "Joke": {"setup": "Why do cats sit on keyboards?", "punchline": "To keep a paw on the mouse."},
}
_ASKS = ("the tool", "customer named", "the weather", "joke", "3 + 4")
_MEDIA = {"Summarize this document:": "file", "Give a concise description of this image.": "image"}
_MEDIA |= {"Describe this audio:": "audio", "what's your favorite color in this image": "image"}
_USAGE: Any = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
_USAGE |= {
    "input_token_details": {"cache_read": 4, "cache_creation": 2},
    "output_token_details": {"reasoning": 3},
}
_DETAILS = ["reasoning_output", "cache_read_input", "cache_creation_input"]


class Obliging(BaseChatModel):
    """The agent's model: does what these tests ask of models, and fails if a part of what they send
    is missing."""

    @property
    def _llm_type(self) -> str:
        return "obliging"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "obliging", "ls_model_name": "obliging-1", "ls_model_type": "chat"}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool)["function"]["name"] for tool in tools])

    def _generate(
        self, messages: list[BaseMessage], *args: Any, tools: tuple[str, ...] = (), **kwargs: Any
    ) -> ChatResult:
        for message in messages:
            _check_media(message)
        last = messages[-1]
        about = {"model_name": "obliging-1"}
        answer = AIMessage("hello, friend", usage_metadata=_USAGE, response_metadata=about)
        if tools and isinstance(last, HumanMessage) and any(ask in last.text for ask in _ASKS):
            given = _ARGUMENTS.get(tools[0], {})
            if tools[0] == "unicode_customer":
                given = {"customer_name": last.text.split("'")[1], "description": "new"}
            made: Any = {"type": "tool_call", "name": tools[0], "args": given}
            answer.tool_calls = [{**made, "id": f"call_{len(messages)}"}]
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _check_media(message: BaseMessage) -> None:
    kinds = {block["type"] for block in message.content_blocks}
    names = {"random_image": "image", "random_pdf": "file"}
    wanted = {_MEDIA.get(message.text), names.get(message.name or "")} - {None}
    assert wanted <= kinds, f"no {wanted} among {kinds} of {message.text!r}"


@pytest.fixture(scope="module")
def agent_url() -> Iterator[str]:
    with remote(tooled(Obliging())) as agent:
        yield agent.url


class TestUnit(ChatModelUnitTests):
    chat_model_class = AGUIChatModel
    chat_model_params = {"url": "http://127.0.0.1:1/agent"}  # noqa: RUF012
    has_tool_choice = False

    @pytest.mark.xfail(strict=True, reason="No call can name another model of an agent.")
    def test_standard_params_model_override(self, model: BaseChatModel) -> None:
        super().test_standard_params_model_override(model)

    test_init_from_env = does_not_apply("The model reads nothing from the environment.")
    test_serdes = does_not_apply("It is not serializable: its headers may hold secrets.")
    test_init_time = does_not_apply("Speed is no matter of a test here.")


def download(url: str, **kwargs: Any) -> httpx.Response:
    """Return a file of the kind that the suite expects there."""
    ending = url.rpartition(".")[2].lower()
    return httpx.Response(200, content={"wav": wav(), "pdf": b"%PDF-1.4"}.get(ending, png()))


class TestIntegration(ChatModelIntegrationTests):
    @pytest.fixture(autouse=True)
    def _agent(self, agent_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The agent's address; and what the suite would download, from here."""
        self.url = agent_url
        monkeypatch.setattr(httpx, "get", download)
        monkeypatch.setenv("LANGCHAIN_TESTS_USER_AGENT", "nobody is asked")

    chat_model_class = AGUIChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"url": self.url}

    has_tool_choice = False
    supports_image_inputs = supports_image_urls = supports_pdf_inputs = True
    supports_audio_inputs = supports_anthropic_inputs = True
    supports_image_tool_message = supports_pdf_tool_message = True
    supported_usage_metadata_details = {"invoke": _DETAILS, "stream": _DETAILS}  # noqa: RUF012

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        model = AGUIChatModel(url=self.url)
        return add(list(model.stream("Think."))) if stream else model.invoke("Think.")

    invoke_with_cache_read_input = invoke_with_reasoning_output
    invoke_with_cache_creation_input = invoke_with_reasoning_output

    test_tool_choice = does_not_apply("AG-UI has no way to make an agent call a tool.")
    test_json_mode = does_not_apply("AG-UI has no way to ask an agent for JSON.")
    test_stream_time = does_not_apply("Speed is no matter of a test here.")
    test_invoke_with_model_override = does_not_apply("An agent chooses its models itself.")
    test_ainvoke_with_model_override = test_invoke_with_model_override
    test_stream_with_model_override = test_invoke_with_model_override
    test_astream_with_model_override = test_invoke_with_model_override
