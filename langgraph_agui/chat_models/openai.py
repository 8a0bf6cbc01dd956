"""`ReasoningChatOpenAI`: `ChatOpenAI` for OpenAI-compatible servers, with their reasoning; and its
base class.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import BaseModel, PrivateAttr

from langgraph_agui.chat_models import server_fields
from langgraph_agui.chat_models.reasoning_support import host_of, is_openai
from langgraph_agui.chat_models.replay import REASONING_FIELD, Replay, chosen, give_back
from langgraph_agui.messages.blocks import REASONING_KWARG, SERVER_FIELDS


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
        return REASONING_FIELD, None


class ReasoningChatOpenAI(ReplayingChatOpenAI, ChatOpenAI):
    """`ChatOpenAI` for OpenAI-compatible servers (vLLM, SGLang, Qwen, Kimi, GLM, ...), with
    reasoning both ways.

    In: `reasoning_content` or `reasoning` of an answer, streamed or not, becomes
    `additional_kwargs["reasoning_content"]`. Out: it is sent back under the name that the server
    uses. Messages name `"openai_compatible"` as their provider: unlike OpenAI's, this is no
    summary, and `content_blocks` has it.

    All other fields that the server adds to its message and to its tool calls (`reasoning_details`
    of OpenRouter, `thinking_blocks` of LiteLLM, `extra_content` of Gemini's compatible endpoint)
    come back as they came, joined if they were streamed, and to no other model or server.

    OpenAI's own API shows reasoning in its Responses API only; use `ChatOpenAI` for that.

    Documented: vLLM returns and reads `reasoning`, and has dropped the older `reasoning_content`
    ("Reasoning Outputs", "Interleaved Thinking"); DeepSeek's and Qwen's services call it
    `reasoning_content`. In tool loops it belongs in the history (vLLM, DeepSeek, GLM "Thinking
    Mode"), with some models in later turns, too (DeepSeek, GLM). Inferred: sending all of it is
    right for the others as well, since a chat template leaves out parts that its model should not
    see.
    """

    # The field in which reasoning is sent back. None means the field in which the server last sent
    # reasoning to this object, and `reasoning_content` before that. Set it for a vLLM server if
    # threads outlive the process.
    reasoning_field: Literal["reasoning", "reasoning_content"] | None = None

    # The names of the server's own fields that a request may carry, in messages of which
    # `replay_reasoning` says that they go back with their reasoning. None means all that the server
    # has sent, and none to OpenAI's own API, which refuses fields that it does not know.
    returned_fields: Sequence[str] | None = None

    _provider: ClassVar[str] = "openai_compatible"
    # Facts that the server has told, for all calls: its `reasoning_field`.
    _told: dict[str, str] = PrivateAttr(default_factory=dict)
    # The fields of the answer that is streamed; each call has a copy of the model.
    _streamed: server_fields.ServerFields = PrivateAttr(default_factory=server_fields.ServerFields)

    def _field(self, payload: Mapping[str, Any]) -> tuple[str, str | None]:
        return self.reasoning_field or self._told.get("reasoning_field", REASONING_FIELD), None

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload = super()._get_request_payload(input_, stop=stop, **kwargs)
        host, names = host_of(self), self.returned_fields
        if "messages" not in payload or (names is None and is_openai(self, host)):
            return payload
        history = self._convert_input(input_).to_messages()
        model = server_fields.digest_of(host, payload["model"])
        wanted = chosen(history, self.replay_reasoning)
        for body, message, goes in zip(payload["messages"], history, wanted, strict=True):
            if goes:
                server_fields.give_back(body, message, model, names)
        return payload

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        own = self._for_call(kwargs)
        return super(ReasoningChatOpenAI, own)._generate(messages, stop, run_manager, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        own = self._for_call(kwargs)
        answer = super(ReasoningChatOpenAI, own)._agenerate(messages, stop, run_manager, **kwargs)
        return await answer

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        own = self._for_call(kwargs)
        yield from super(ReasoningChatOpenAI, own)._stream(messages, stop, run_manager, **kwargs)
        if (last := own._last_chunk()) is not None:
            if run_manager is not None:
                run_manager.on_llm_new_token("", chunk=last)
            yield last

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        own = self._for_call(kwargs)
        chunks = super(ReasoningChatOpenAI, own)._astream(messages, stop, run_manager, **kwargs)
        async for chunk in chunks:
            yield chunk
        if (last := own._last_chunk()) is not None:
            if run_manager is not None:
                await run_manager.on_llm_new_token("", chunk=last)
            yield last

    def _for_call(self, kwargs: Mapping[str, Any]) -> "ReasoningChatOpenAI":
        """Return the model for one call, whose arguments may name another one. The pieces of a
        stream are joined here, because LangChain's sum of chunks glues what does not grow, and
        leaves apart what has no index.
        """
        own = self.model_copy()
        own.model_name = kwargs.get("model", self.model_name)
        own._streamed = server_fields.ServerFields()
        return own

    def _last_chunk(self) -> ChatGenerationChunk | None:
        """Return the chunk with the fields of the streamed answer; None if there are none."""
        message = AIMessageChunk(content="", response_metadata={"model_provider": self._provider})
        kept = self._streamed.keep(message, self._digest())
        return ChatGenerationChunk(message=message) if kept else None

    def _digest(self) -> str:
        return server_fields.digest_of(host_of(self), self.model_name)

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        choices = response.get("choices") if isinstance(response, dict) else response.choices
        for generation, choice in zip(result.generations, choices or (), strict=False):
            answer = _as_mapping(
                choice.get("message") if isinstance(choice, dict) else choice.message
            )
            self._keep(generation.message, answer)
            fields = server_fields.ServerFields()
            fields.add(answer)
            fields.keep(generation.message, self._digest())
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
            delta = _as_mapping(choices[0].get("delta"))
            self._keep(generation.message, delta)
            self._streamed.add(delta)
        return generation

    def _get_generation_chunk_from_completion(self, completion: Any) -> ChatGenerationChunk:
        generation = super()._get_generation_chunk_from_completion(completion)
        # They were in the chunks, and would be added to them.
        for key in (REASONING_KWARG, SERVER_FIELDS):
            generation.message.additional_kwargs.pop(key, None)
        return generation

    def _keep(self, message: BaseMessage, answer: Mapping[str, Any]) -> None:
        message.response_metadata["model_provider"] = self._provider
        for name in server_fields.REASONING:
            text = answer.get(name)
            if isinstance(text, str) and text:
                self._told["reasoning_field"] = name
                message.additional_kwargs[REASONING_KWARG] = text
                break


def _as_mapping(answer: object) -> Mapping[str, Any]:
    """Return a message or delta as a mapping. A parsed answer may be anything, and stays out."""
    if isinstance(answer, BaseModel):
        return answer.model_dump(exclude={"parsed"})
    return answer if isinstance(answer, Mapping) else {}
