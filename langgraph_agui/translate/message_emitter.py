"""Emits the messages of a run: each assistant message as a `StreamingMessage`, and users' messages
and tool results.

The output of models and nodes enters `MessageEmitter`. Events leave through the sink, and the
`Conversation` keeps what was emitted.
"""

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial
from typing import cast

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.blocks import read_blocks
from langgraph_agui.messages.content import SettlingResult, interrupted, text_of, unanswered
from langgraph_agui.messages.encrypted_values import AGENT, EncryptedValueCodec, MessageSource
from langgraph_agui.messages.hidden import NOTHING, Hidden, hidden_in
from langgraph_agui.messages.to_agui import agui_role, tool_message, user_message
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.streaming_message import StreamingMessage, emit_value
from langgraph_agui.translate.subagents import PublicCallIds, subagent_sink


class MessageEmitter:
    """Emits the messages of one run: streamed ones, whole ones and the results of tools.

    Args:
        call_ids: The client's ids of tool calls.
        sink: Receives the events.
        codec: Encodes the encrypted values.
    """

    def __init__(self, call_ids: PublicCallIds, sink: Sink, codec: EncryptedValueCodec) -> None:
        self._conversation = call_ids.conversation
        self._call_ids = call_ids
        self._sink = sink
        self._codec = codec
        self._messages: dict[AssistantTurn, StreamingMessage] = {}
        self._by_agent: defaultdict[str | None, list[StreamingMessage]] = defaultdict(list)
        self._answered: set[str] = set()

    def open(
        self,
        message_id: str,
        provider: str | None = None,
        model: str | None = None,
        *,
        source: MessageSource = AGENT,
        streamed: bool = True,
        hidden: Hidden = NOTHING,
    ) -> StreamingMessage:
        """Open an assistant message. `message_id` must be new to the conversation."""
        ids, public_call = (
            self._conversation.ids,
            partial(self._call_ids.assign, source.subagent_run_id),
        )
        turn = AssistantTurn(
            message_id,
            ids,
            self._codec,
            source,
            public_call,
            provider=provider,
            model=model,
            hidden=hidden,
        )
        live = StreamingMessage(turn, self._conversation, self._sink, streamed=streamed)
        self._messages[turn] = live
        self._by_agent[source.subagent_run_id].append(live)
        return live

    def emit_whole(
        self, message: BaseMessage, message_id: str, source: MessageSource = AGENT
    ) -> StreamingMessage | None:
        """Emit a message that arrives in one piece; return it if it is an assistant message."""
        match agui_role(message):
            case "assistant":
                metadata = message.response_metadata
                provider, model = metadata.get("model_provider"), metadata.get("model_name")
                hidden = hidden_in(message)
                live = self.open(
                    message_id, provider, model, source=source, streamed=False, hidden=hidden
                )
                live.emit_deltas(read_blocks(message, whole=True))
                live.close()
                if isinstance(message, AIMessage):
                    live.emit_values(message)
                return live
            case "tool":
                self._emit_result(cast("ToolMessage", message), message_id, source)
            case "user":
                user = user_message(message, message_id, self._codec, source)
                sink = subagent_sink(self._sink, source.visible_id)
                sink.event(
                    agui.TextMessageStartEvent(message_id=message_id, role="user", name=user.name)
                )
                if text := text_of(user.content):
                    sink.event(agui.TextMessageContentEvent(message_id=message_id, delta=text))
                sink.event(agui.TextMessageEndEvent(message_id=message_id))
                self._conversation.add(user, source)
                emit_value(message_id, user.encrypted_value, sink)
        return None

    def _emit_result(self, message: ToolMessage, message_id: str, source: MessageSource) -> None:
        call_id = self._call_ids.find(source.subagent_run_id, message.tool_call_id)
        if call_id in self._conversation.answered or call_id not in self._conversation.holders:
            # the client has a result, or the call is hidden; a call that the client lacks comes
            # with its result
            return
        name = self._conversation.call_names.get(call_id)
        result = tool_message(message, message_id, self._codec, name, source, call_id)
        self._answered.add(call_id)
        self._conversation.answer(result, source)
        event = agui.ToolCallResultEvent(
            message_id=result.id,
            tool_call_id=call_id,
            content=result.content,
            role="tool",
            metadata=result.metadata,
            subagent_run_id=result.subagent_run_id,
        )
        self._sink.event(event)
        emit_value(result.id, result.encrypted_value, subagent_sink(self._sink, source.visible_id))

    @property
    def is_open(self) -> bool:
        """Whether a message is open, so that a snapshot would hold a part of it."""
        return any(live.is_open for live in self._messages.values())

    def withdraw(self, live: StreamingMessage, answer: SettlingResult) -> None:
        """Take back a message of this run. Its open calls get a result first: clients count calls,
        not messages.

        Args:
            live: The message.
            answer: Makes these results.
        """
        if live.is_open:
            live.close()
        self._settle(live, answer)
        del self._messages[live.turn]
        self._by_agent[live.turn.source.subagent_run_id].remove(live)
        self._call_ids.withdraw(self._conversation.withdraw(live.turn))

    def update(self, turn: AssistantTurn, message: BaseMessage) -> None:
        """Take a message of this run as its node has returned it."""
        if isinstance(message, AIMessage):
            self._messages[turn].update(message)

    def mark_in_thread(self, message: BaseMessage, message_id: str) -> None:
        """Note that the main agent's own history holds a message that a subagent sent in this
        run.
        """
        source, held = self._conversation.claim(message_id), self._conversation.find(message_id)
        if isinstance(held, AssistantTurn):
            held.source = source
            if isinstance(message, AIMessage):
                self._messages[held].emit_values(message)
            return
        kept: agui.ToolMessage | agui.UserMessage
        if isinstance(held, agui.ToolMessage):
            name, result = (
                self._conversation.call_names.get(held.tool_call_id),
                cast("ToolMessage", message),
            )
            kept = tool_message(result, message_id, self._codec, name, source, held.tool_call_id)
        else:
            kept = user_message(message, message_id, self._codec, source)
        self._conversation.replace(kept)
        emit_value(kept.id, kept.encrypted_value, subagent_sink(self._sink, source.visible_id))

    # -- the end ----------------------------------------------------------------------------------

    def settle_calls_of(self, tools: Collection[str]) -> None:
        """Answer the open calls of these tools, which nobody will answer."""
        for live in self._messages.values():
            if not live.is_open:
                self._settle(live, unanswered, lambda name: name in tools)

    def settle_calls(self, ended: Collection[str], client_tools: Collection[str]) -> None:
        """Answer calls that nobody will answer: of models that have failed, and of agents that have
        ended.

        Args:
            ended: The subagents that have ended, or have handed over.
            client_tools: The client's tools; it answers their calls itself.
        """
        for live in self._messages.values():
            if live.failed:
                self._settle(live, interrupted)
            elif live.turn.source.subagent_run_id in ended:
                self._settle(live, unanswered, lambda name: name not in client_tools)

    def abandon(self, subagent_run_id: str) -> None:
        """Close the messages of a subagent that has failed, and answer its open calls as
        interrupted.
        """
        for live in self._by_agent[subagent_run_id]:
            if live.is_open:
                live.close()
            self._settle(live, interrupted)

    def _settle(
        self,
        live: StreamingMessage,
        answer: SettlingResult,
        may_answer: Callable[[str | None], bool] = lambda _: True,
    ) -> None:
        """Answer the open calls of a message by `answer`, if `may_answer` is true of their
        tools.
        """
        for block in live.turn.blocks:
            if block.kind == "call" and block.id not in self._answered and may_answer(block.name):
                result = answer(block.id, block.name, live.turn.message_id)
                self._emit_result(result, str(result.id), live.turn.source)

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open messages of a subagent, or (None) all that are open."""
        for live in (
            self._messages.values() if subagent_run_id is None else self._by_agent[subagent_run_id]
        ):
            if live.is_open:
                live.close()

    def pending_calls(self) -> list[str]:
        """Return the calls of this run without a result, in order (AG-UI 1.0,
        `pendingToolCallIds`).
        """
        blocks = (block for live in self._messages.values() for block in live.turn.blocks)
        calls = {block.id for block in blocks if block.kind == "call"}
        return self._conversation.in_order(calls - self._answered)
