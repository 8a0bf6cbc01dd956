"""`ReasoningChatMistralAI`: `ChatMistralAI` that keeps the text and reasoning of messages with tool
calls.
"""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_mistralai import ChatMistralAI

from langgraph_agui.chat_models.replay import Replay, chosen


class ReasoningChatMistralAI(ChatMistralAI):
    """`ChatMistralAI` that sends back the content of messages with tool calls, thinking and text.

    The package empties it: in 2024 the API refused content beside calls. Documented
    (mistral-common, the validators of request version 5 and later): models since then take both,
    and an assistant message may hold thinking chunks, which is where their reasoning is. For older
    models keep `ChatMistralAI`. The package sends the thinking of other messages back, so by
    default all of it goes back here, too.
    """

    # Which assistant messages are sent back with their thinking; the text of all of them is.
    replay_reasoning: Replay = "always"

    def _create_message_dicts(
        self, messages: list[BaseMessage], stop: list[str] | None
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        sent, params = super()._create_message_dicts(messages, stop)
        without_calls, _ = super()._create_message_dicts(
            [_without_calls(message) for message in messages], stop
        )
        selected = chosen(messages, self.replay_reasoning)
        for message, body, full, wanted in zip(
            messages, sent, without_calls, selected, strict=True
        ):
            # Blocks of other providers are not fit for Mistral.
            is_own = message.response_metadata.get("model_provider") == "mistralai"
            if body["role"] == "assistant" and (is_own or isinstance(message.content, str)):
                body["content"] = full["content"] if wanted else _without_thinking(full["content"])
        return sent, params


def _without_calls(message: BaseMessage) -> BaseMessage:
    """The message as the package would serialise it if it called no tools."""
    if not isinstance(message, AIMessage):
        return message
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    return message.model_copy(
        update={"tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": kwargs}
    )


def _without_thinking(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [block for block in content if block.get("type") != "thinking"] or ""
