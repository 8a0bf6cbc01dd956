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


class TestUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ScriptedChatModel

    test_init_from_env = does_not_apply("The model reads nothing from the environment.")
    test_serdes = does_not_apply("A script may hold functions, so the model is not serializable.")
    test_init_time = does_not_apply("Speed is no matter of a test here.")
    test_standard_params_model_override = does_not_apply("A script stands for one model.")


class TestIntegration(ChatModelIntegrationTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return Obliging

    test_tool_choice = does_not_apply("The script alone decides about calls.")
    test_json_mode = does_not_apply("A script has no modes.")
    test_stream_time = does_not_apply("Speed is no matter of a test here.")
    test_invoke_with_model_override = does_not_apply("A script stands for one model.")
    test_ainvoke_with_model_override = does_not_apply("A script stands for one model.")
    test_stream_with_model_override = does_not_apply("A script stands for one model.")
    test_astream_with_model_override = does_not_apply("A script stands for one model.")
    test_pdf_inputs = does_not_apply("A script looks at no media.")
    test_audio_inputs = does_not_apply("A script looks at no media.")
    test_image_inputs = does_not_apply("A script looks at no media.")
    test_image_tool_message = does_not_apply("A script looks at no media.")
    test_pdf_tool_message = does_not_apply("A script looks at no media.")
    test_anthropic_inputs = does_not_apply("A script looks at no media.")
