"""`ReasoningChatGroq`: `ChatGroq` that sends reasoning back."""

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_groq import ChatGroq

from langgraph_agui.chat_models.replay import Replay, give_back


class ReasoningChatGroq(ChatGroq):
    """`ChatGroq` that sends `reasoning` back.

    Documented (Groq's API reference): an assistant message takes the `reasoning` that came with
    `reasoning_format="parsed"`, for models that reason. Others refuse the request, so the reasoning
    of other models stays out. OpenAI's format for gpt-oss ("Handling reasoning output in subsequent
    sampling") keeps the reasoning of a tool loop and drops it once the answer is given, hence the
    default. Inferred: Qwen on Groq wants no more than that.
    """

    # Which assistant messages are sent back with their reasoning.
    replay_reasoning: Replay = "tool_calls"

    def _create_message_dicts(
        self, messages: list[BaseMessage], stop: list[str] | None
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        sent, params = super()._create_message_dicts(messages, stop)
        give_back(sent, messages, self.replay_reasoning, "reasoning", "groq", model=self.model_name)
        return sent, params
