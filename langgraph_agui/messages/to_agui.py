"""LangChain messages as AG-UI messages, with the ids and in the order of the live stream.

Whole messages enter, AG-UI messages leave. For user and tool messages the way back is here too: the
client sees their content, and an envelope holds what that loses. One is needed if the shape
changes: a list of texts becomes one string, and a block has keys that no AG-UI part has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, Literal, cast
from uuid import uuid4

from ag_ui import core as agui
from ag_ui.core import Message
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
)

from langgraph_agui.kernel.checks import check_type
from langgraph_agui.kernel.seal import InvalidEnvelope, RejectReason
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.content import (
    FAILED_WITHOUT_TEXT,
    IMAGES_KWARG,
    REMOTE_KWARG,
    Content,
    as_content,
    as_image_urls,
    content_blocks,
    content_parts,
    text_of,
    user_blocks,
    with_images,
)
from langgraph_agui.messages.conversation import Conversation, Record
from langgraph_agui.messages.encrypted_values import (
    AGENT,
    EncryptedValueCodec,
    Envelope,
    MessageSource,
)
from langgraph_agui.messages.envelope import fields_in, make_envelope
from langgraph_agui.messages.hidden import hidden_in
from langgraph_agui.messages.redaction import (
    hides_reasoning,
    redact_content,
    warn_reasoning_dropped,
)
from langgraph_agui.messages.template import Call, VisibleText
from langgraph_agui.options import ReasoningOptions
from langgraph_agui.protocol.json import clean_text, same

logger = run_logger(__name__)

# Metadata of the result of a tool that failed; `TOOL_CALL_RESULT` has no field for it (AG-UI 1.0,
# tools).
FAILED = {"status": "error"}

# `lc_source` of the user messages that LangChain's `SummarizationMiddleware` makes for the model.
SUMMARIZATION = "summarization"

Role = Literal["assistant", "user", "tool"]

_CHAT_ROLES: Mapping[str, Role] = {
    "assistant": "assistant",
    "ai": "assistant",
    "user": "user",
    "human": "user",
}


def langchain_messages_to_agui(
    messages: Iterable[BaseMessage],
    *,
    reasoning: ReasoningOptions | None = None,
    thread_id: str = "",
) -> list[Message]:
    """Return `messages` as an AG-UI client would have them after streaming them.

    System messages and messages of unknown kinds are left out; a message without an id gets a
    random one. Reasoning becomes separate messages before the assistant message that it led to.
    `encryptedValue` has the hidden parts that the provider needs: `agui_messages_to_langchain`
    makes the same messages again.

    Args:
        messages: LangChain messages. Anything else is left out with a warning.
        reasoning: Who sees reasoning, and how opaque values travel.
        thread_id: The thread that sealed values are bound to.

    Raises:
        TypeError: `reasoning` is none.
    """
    check_type("reasoning", reasoning, ReasoningOptions | None)
    return history_as_agui(messages, EncryptedValueCodec(reasoning, thread_id))


def history_as_agui(messages: Iterable[BaseMessage], values: EncryptedValueCodec) -> list[Message]:
    """Return LangChain messages as AG-UI messages, with opaque values that `values` encodes."""
    conversation = Conversation()
    for message in cast(
        "Iterable[object]", messages if isinstance(messages, Iterable) else [messages]
    ):
        if isinstance(message, BaseMessage):
            _append(conversation, message, message.id or str(uuid4()), values)
        else:
            logger.warning(
                "A %s is not a LangChain message and was left out.", type(message).__name__
            )
            count_dropped("message")
    return conversation.messages()


def _append(
    conversation: Conversation, message: BaseMessage, message_id: str, values: EncryptedValueCodec
) -> None:
    match agui_role(message):
        case "assistant":
            record = Record(message_id)
            new_call_id = partial(conversation.new_call_id, record)
            record.turn = AssistantTurn.from_message(
                message, message_id, conversation.ids, values, new_call_id=new_call_id
            )
            if isinstance(message, AIMessage):
                record.turn.finish(message)
            conversation.append_turn(record)
        case "tool":
            result = cast("ToolMessage", message)
            call = conversation.find_call(result.tool_call_id, None)
            name, call_id = (call.name, call.id) if call is not None else (None, None)
            record = Record(message_id, answers=call)
            conversation.answer(
                record, tool_message(result, message_id, values, name, call_id=call_id)
            )
        case "user":
            conversation.show(Record(message_id), user_message(message, message_id, values))
        case None:
            if message.type not in ("system", "remove"):
                logger.warning(
                    "A message of type %.80r has no AG-UI role and was left out.", message.type
                )
                count_dropped("message")


def agui_role(message: BaseMessage) -> Role | None:
    """Return the role under which a client sees `message`; None if it stays on the server (prompts,
    hidden calls).
    """
    if isinstance(message, AIMessage):
        return None if hidden_in(message).is_total else "assistant"
    if isinstance(message, ToolMessage):
        return "tool"
    if isinstance(message, HumanMessage):
        return None if is_summary(message) else "user"
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role)
    return None


def is_summary(message: BaseMessage) -> bool:
    """Return whether a message stands for earlier ones that were summed up; clients do not see
    it.
    """
    made_by = message.additional_kwargs.get("lc_source")
    return made_by == SUMMARIZATION and not isinstance(message, AIMessage)


def user_message(
    message: BaseMessage,
    message_id: str,
    values: EncryptedValueCodec,
    source: MessageSource = AGENT,
) -> agui.UserMessage:
    """Return a human message as the client sees it, media as parts."""
    name = clean_text(message.name) if message.name else None
    content, value = _encode_content(message, message_id, name, values, source)
    return agui.UserMessage(
        id=message_id,
        role="user",
        content=content,
        name=name,
        encrypted_value=value,
        subagent_run_id=source.visible_id,
    )


def tool_message(
    message: ToolMessage,
    message_id: str,
    values: EncryptedValueCodec,
    call_name: str | None,
    source: MessageSource = AGENT,
    call_id: str | None = None,
) -> agui.ToolMessage:
    """Return a tool's result as the client sees it, media as parts.

    A failed one has its text as `error` too, and is marked in its metadata.

    Args:
        message: The result.
        message_id: Its public id.
        values: Encodes its opaque value.
        call_name: The tool that its call names, as the client knows it.
        source: Which agent's tool has answered.
        call_id: The id that the client knows its call by, if not the call's own.
    """
    if values.transformers is not None:
        message = values.transformers.result(message)
    call_id = call_id or message.tool_call_id
    content, value = _encode_content(message, message_id, call_name, values, source, call_id)
    failed = message.status == "error"
    error = None
    if failed:
        error = content if isinstance(content, str) else FAILED_WITHOUT_TEXT
    return agui.ToolMessage(
        id=message_id,
        role="tool",
        content=content,
        tool_call_id=call_id,
        error=error,
        metadata=dict(FAILED) if failed else None,
        encrypted_value=value,
        subagent_run_id=source.visible_id,
    )


# -- the content of user and tool messages, both ways --------------------------------------------


# Fields of a user or tool message of which a client may see less.
_FIELDS: Final = ("content", "additional_kwargs", "name", "tool_call_id")


def _encode_content(
    message: BaseMessage,
    message_id: str,
    name: str | None,
    values: EncryptedValueCodec,
    source: MessageSource,
    call_id: str | None = None,
) -> tuple[Content, str | None]:
    """Return the visible part of a message's content, and the opaque value with all else; most
    messages need none.

    Args:
        message: A human message, or a tool's result. It may repeat a model's reasoning.
        message_id: Its public id.
        name: The name that the client knows.
        values: Encodes the value; has the options for reasoning.
        source: Which agent wrote the message.
        call_id: The id that the client knows the call by that a tool's result answers.
    """
    of_tool, sealed = isinstance(message, ToolMessage), values.options.seal is not None
    content = as_content(message.content) if of_tool else with_images(message)
    hides = hides_reasoning(message, values.options)
    visible = content_parts(
        as_content(redact_content(content, values.options)) if hides else content
    )
    envelope: Envelope | None = None
    if hides and not sealed:
        warn_reasoning_dropped()
    else:
        try:
            shown = _as_blocks(visible, message_id, of_tool=of_tool)
            own = _unseen_fields(message, shown, name, call_id, sealed=sealed)
            envelope = make_envelope(own, _visible_text(visible, call_id)) if own else None
        except RecursionError:
            logger.warning(
                "Message %.80r is nested too deeply; only what the client sees of it is kept.",
                message_id,
            )
            count_dropped("opaque_value")
    envelope = source.mark(envelope)
    if envelope is None:
        return visible, None
    value = values.encode("tool" if of_tool else "user", message_id, envelope)
    if value is None:
        logger.warning(
            "The opaque value of message %.80r exceeds max_bytes and is left out.", message_id
        )
        count_dropped("opaque_value")
    return visible, value


def _unseen_fields(
    message: BaseMessage,
    shown: tuple[object, Mapping[str, object]],
    name: str | None,
    call_id: str | None,
    *,
    sealed: bool,
) -> dict[str, object]:
    """Return the fields of a user or tool message that do not follow from what the client sees.

    Args:
        message: The message.
        shown: The content and `additional_kwargs` that follow from it.
        name: The name that the client knows.
        call_id: The id that the client knows the call by that a tool's result answers.
        sealed: Whether nobody but the server can read the fields.
    """
    content, kwargs = as_content(message.content), message.additional_kwargs
    shown_content, shown_kwargs = shown
    fields: dict[str, object] = {}
    same_images = same(shown_kwargs.get(IMAGES_KWARG), kwargs.get(IMAGES_KWARG))
    is_shown = same(shown_content, content) and (same_images or not sealed)
    if not is_shown and (sealed or _same_words(content, shown_content)):
        fields["content"] = content
    if not sealed:
        kwargs = _of_remote(kwargs)
    elif is_shown:
        kwargs = {key: value for key, value in kwargs.items() if key != IMAGES_KWARG}
    if kwargs:
        fields["additional_kwargs"] = kwargs
    if message.name != name and (sealed or message.name is None):
        fields["name"] = message.name
    if isinstance(message, ToolMessage) and message.tool_call_id != call_id:
        fields["tool_call_id"] = message.tool_call_id
    return fields


def user_or_tool_message(
    message: agui.UserMessage | agui.ToolMessage,
    name: str | None,
    envelope: Envelope | None = None,
    *,
    sealed: bool = True,
    call_id: str | None = None,
) -> HumanMessage | ToolMessage:
    """Return the LangChain message that the client sees as `message`.

    Args:
        message: The client's.
        name: Its name by default.
        envelope: The other parts of the message.
        sealed: Whether nobody but the server can have made the envelope. If not, a model gets
            nothing but what the client sees: the envelope only holds how that is cut into blocks,
            that a result has no name, which call it answers, and what a remote agent calls it.
        call_id: The id of the call that a result answers, as its assistant message has it.

    Raises:
        InvalidEnvelope: The envelope is of another message, the visible content has changed, or the
            envelope holds more than it may.
    """
    visible = tool_content(message) if isinstance(message, agui.ToolMessage) else message.content
    of_tool = isinstance(message, agui.ToolMessage)
    content, kwargs = _as_blocks(visible, message.id, of_tool=of_tool)
    fields: dict[str, object] = {
        "id": message.id,
        "name": name,
        "content": content,
        "additional_kwargs": kwargs,
    }
    if isinstance(message, agui.ToolMessage):
        failed = message.error is not None or (message.metadata or {}).get("status") == "error"
        own_id = call_id or message.tool_call_id
        fields |= {"tool_call_id": own_id, "status": "error" if failed else "success"}
    if envelope is not None:
        answers = message.tool_call_id if isinstance(message, agui.ToolMessage) else None
        held = fields_in(envelope, _visible_text(message.content, answers))
        if not sealed:
            # Older releases have sent all kwargs, and images as standard blocks.
            if "additional_kwargs" in held:
                held["additional_kwargs"] = _of_remote(held["additional_kwargs"])
            if isinstance(held.get("content"), list) and not of_tool:
                held["content"] = as_image_urls(held["content"])
            names = (name, None) if of_tool else (name,)
            if not (
                _same_words(held.get("content", content), content)
                and held.get("name", name) in names
                and held.get("tool_call_id", call_id) == call_id
            ):
                raise InvalidEnvelope(RejectReason.UNSEALED)
        own_kwargs = held.get("additional_kwargs", {})
        is_own_content = sealed and "content" in held
        held["additional_kwargs"] = own_kwargs if is_own_content else kwargs | own_kwargs
        fields |= {key: held[key] for key in _FIELDS if key in held and key in fields}
    try:
        return (ToolMessage if of_tool else HumanMessage).model_validate(fields)
    except (TypeError, ValueError) as error:
        raise InvalidEnvelope from error


def _as_blocks(
    visible: Content, message_id: str, *, of_tool: bool
) -> tuple[object, dict[str, object]]:
    """Return the content and the `additional_kwargs` that a model gets of visible content."""
    if of_tool:
        return content_blocks(visible, message_id=message_id), {}
    return user_blocks(visible, message_id=message_id)


def _of_remote(kwargs: object) -> dict[str, object]:
    """Return of `additional_kwargs` what a remote agent gets back of its own results: ids and
    opaque values.
    """
    if isinstance(kwargs, Mapping) and REMOTE_KWARG in kwargs:
        return {REMOTE_KWARG: kwargs[REMOTE_KWARG]}
    return {}


def _same_words(content: object, shown: object) -> bool:
    """Return whether a model reads the same in `content` as in `shown`, only cut into other
    blocks.
    """
    return same(_joined(shown), _joined(content))


def _joined(content: object) -> object:
    """Return content with the text blocks that stand together as one text."""
    if not isinstance(content, list):
        return [content]
    joined: list[object] = []
    for block in content:
        is_text = (
            isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text"
        )
        piece = block["text"] if is_text else block
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return joined or [""]


def tool_content(message: agui.ToolMessage) -> Content:
    """Return the text of a tool's result for the model: the content, and `error` if the content
    does not hold it.
    """
    content, error = message.content, message.error
    if not error or error == FAILED_WITHOUT_TEXT or (isinstance(content, str) and error in content):
        return content
    if not content:
        return error
    if isinstance(content, str):
        return f"{content}\n\n{error}"
    return [*content, agui.TextPart(text=error)]


def _visible_text(content: Content, call_id: str | None) -> VisibleText:
    """Return the visible part of a user message, or of the result of a call."""
    parts = () if isinstance(content, str) else content
    media = [part.source.value for part in parts if not isinstance(part, agui.TextPart)]
    calls = () if call_id is None else (Call(call_id),)
    return VisibleText(text_of(content), calls=calls, media=media)
