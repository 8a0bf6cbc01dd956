"""LangChain's own tests of chat models, of a `ScriptedChatModel` that does what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from langgraph_agui.testing import Reply, ScriptedChatModel, call
from tests.kit.expect.standard import does_not_apply

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "magic_function": {"input": 3},
    "greeting_generator": {"answer_style": "pirate"},
    "get_weather": {"location": "San Francisco, CA"},
    "my_adder_tool": {"a": 3, "b": 4},
    "Joke": {"setup": "Why do cats sit on keyboards?", "punchline": "To keep a paw on the mouse."},
}


class Obliging(ScriptedChatModel):
    """Calls the first tool that it has, and answers behind its result."""

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        asked = messages[-1]
        if not tools or asked.type != "human" or asked.text == "hello":
            return "hello, friend"
        if tools[0] == "unicode_customer":
            return call(tools[0], customer_name=asked.text.split("'")[1], description="new")
        return call(tools[0], **_ARGUMENTS.get(tools[0], {}))


_NOT_SCRIPTED = does_not_apply("A script decides alone, and holds functions.")


class TestUnit(ChatModelUnitTests):
    chat_model_class: Any = property(lambda _: ScriptedChatModel)
    test_init_from_env = test_serdes = test_init_time = _NOT_SCRIPTED
    test_standard_params_model_override = _NOT_SCRIPTED


class TestIntegration(ChatModelIntegrationTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return Obliging

    test_tool_choice = test_json_mode = test_stream_time = _NOT_SCRIPTED
    test_invoke_with_model_override = test_ainvoke_with_model_override = _NOT_SCRIPTED
    test_stream_with_model_override = test_astream_with_model_override = _NOT_SCRIPTED
    test_pdf_inputs = test_audio_inputs = test_image_inputs = _NOT_SCRIPTED
    test_image_tool_message = test_pdf_tool_message = test_anthropic_inputs = _NOT_SCRIPTED
