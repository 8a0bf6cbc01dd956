"""`ReasoningChatDeepSeek`: `ChatDeepSeek` that sends reasoning back."""

from collections.abc import Mapping
from typing import Any, ClassVar

from langchain_deepseek import ChatDeepSeek

from langgraph_agui.chat_models.openai import ReplayingChatOpenAI
from langgraph_agui.chat_models.replay import REASONING_FIELD


class ReasoningChatDeepSeek(ReplayingChatOpenAI, ChatDeepSeek):
    """`ChatDeepSeek` that sends `reasoning_content` back, as DeepSeek's thinking mode demands.

    Documented ("Thinking Mode", api-docs.deepseek.com): where tools are called, `reasoning_content`
    must be passed back in all subsequent requests, those of later turns included, else the API
    answers 400; where none are, it ignores reasoning. So by default all of it goes back.

    Inferred from reports of users: the field must be there even if the model did not think or
    another model answered. In requests with tools such messages get an empty one, unless thinking
    is switched off.
    """

    _provider: ClassVar[str] = "deepseek"

    def _field(self, payload: Mapping[str, Any]) -> tuple[str, str | None]:
        thinking = (payload.get("extra_body") or {}).get("thinking")
        # DeepSeek's default is on
        is_off = isinstance(thinking, dict) and thinking.get("type") == "disabled"
        return REASONING_FIELD, "" if payload.get("tools") and not is_off else None
