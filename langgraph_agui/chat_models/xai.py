"""`ReasoningChatXAI`: `ChatXAI` that sends reasoning back over chat completions."""

from typing import ClassVar

from langchain_xai import ChatXAI

from langgraph_agui.chat_models.openai import ReplayingChatOpenAI
from langgraph_agui.chat_models.replay import Replay


class ReasoningChatXAI(ReplayingChatOpenAI, ChatXAI):
    """`ChatXAI` that sends `reasoning_content` back, if you cannot use the Responses API.

    Documented ("Best Practices Guide", docs.x.ai): chat completions are deprecated and have no
    field for the encrypted reasoning of current models. The Responses API carries it:
    `ChatXAI(use_responses_api=True, store=False, include=["reasoning.encrypted_content"])`.
    Inferred: a model that returns `reasoning_content` (grok-3-mini did) takes it back while it
    works with tools.
    """

    replay_reasoning: Replay = "tool_calls"

    _provider: ClassVar[str] = "xai"
