"""`ReasoningChatOpenAI`: `ChatOpenAI` for OpenAI-compatible servers, with their reasoning; and its
base class.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import PrivateAttr

from langgraph_agui.chat_models.replay import KEPT, Replay, give_back

_NAMES: Final = ("reasoning", "reasoning_content")


class ReplayingChatOpenAI(BaseChatOpenAI):
    """Puts reasoning back into chat-completions requests. As a base class it comes before the
    package's own class.

    Requests to the Responses API stay as they are: there the package sends reasoning back itself.
    """

    # Which assistant messages are sent back with their reasoning.
    replay_reasoning: Replay = "always"

    _provider: ClassVar[str]

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if "messages" in payload:
            history, (name, missing) = (
                self._convert_input(input_).to_messages(),
                self._field(payload),
            )
            give_back(
                payload["messages"],
                history,
                self.replay_reasoning,
                name,
                self._provider,
                missing=missing,
            )
        return payload

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        if result.llm_output:
            # "openai" here, though the message differs
            result.llm_output["model_provider"] = self._provider
        return result

    def _field(self, payload: Mapping[str, Any]) -> tuple[str, str | None]:
        """Return the field for reasoning, and its value in messages without reasoning; None
        for no field.
        """
        return KEPT, None


class ReasoningChatOpenAI(ReplayingChatOpenAI, ChatOpenAI):
    """`ChatOpenAI` for OpenAI-compatible servers (vLLM, SGLang, Qwen, Kimi, GLM, ...), with
    reasoning both ways.

    In: `reasoning_content` or `reasoning` of an answer, streamed or not, becomes
    `additional_kwargs["reasoning_content"]`. Out: it is sent back under the name that the server
    uses. Messages name `"openai_compatible"` as their provider: unlike OpenAI's, this is no
    summary, and `content_blocks` has it.

    OpenAI's own API shows reasoning in its Responses API only; use `ChatOpenAI` for that.

    Documented: vLLM returns and reads `reasoning`, and has dropped the older `reasoning_content`
    ("Reasoning Outputs", "Interleaved Thinking"); DeepSeek's and Qwen's services call it
    `reasoning_content`. In tool loops it belongs into the history (vLLM, DeepSeek, GLM "Thinking
    Mode"), with some models in later turns, too (DeepSeek, GLM). Inferred: sending all of it is
    right for the others as well, since a chat template leaves out parts that its model should not
    see.
    """

    # The field in which reasoning is sent back. None means the field in which the server last sent
    # reasoning to this object, and `reasoning_content` before that. Set it for a vLLM server if
    # threads outlive the process.
    reasoning_field: Literal["reasoning", "reasoning_content"] | None = None

    _provider: ClassVar[str] = "openai_compatible"
    _last_field: str = PrivateAttr(default=KEPT)

    def _field(self, payload: Mapping[str, Any]) -> tuple[str, str | None]:
        return self.reasoning_field or self._last_field, None

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        choices = response.get("choices") if isinstance(response, dict) else response.choices
        for generation, choice in zip(result.generations, choices or (), strict=False):
            answer = choice.get("message") if isinstance(choice, dict) else choice.message
            self._keep(generation.message, answer)
        return result

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        generation = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        # With a response format the SDK streams events that hold the server's chunk.
        choices = chunk.get("choices") or (chunk.get("chunk") or {}).get("choices")
        if generation is not None and choices:
            self._keep(generation.message, choices[0].get("delta"))
        return generation

    def _get_generation_chunk_from_completion(self, completion: Any) -> ChatGenerationChunk:
        generation = super()._get_generation_chunk_from_completion(completion)
        # it was in the chunks, and would be added to them
        generation.message.additional_kwargs.pop(KEPT, None)
        return generation

    def _keep(self, message: BaseMessage, answer: object) -> None:
        message.response_metadata["model_provider"] = self._provider
        for name in _NAMES:
            text = answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)
            if isinstance(text, str) and text:
                self._last_field, message.additional_kwargs[KEPT] = name, text
                break
