"""The closing snapshot: the graph's messages and the client's, as one conversation that loses nothing.

The messages of the root graph's state enter while the run goes on; the list for `MESSAGES_SNAPSHOT` leaves at its end.
A message that both sides hold is the client's copy unless this run said it or the graph changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias, cast

from ag_ui.core import AssistantMessage, Message, ToolMessage
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.conversation import Conversation, merge_messages
from langgraph_agui.messages.encrypted_values import AGENT, EncryptedValueCodec
from langgraph_agui.messages.to_agui import agui_role, tool_message, user_message
from langgraph_agui.translate.call_ids import CallIds

_Said: TypeAlias = tuple[str, tuple[str | None, ...]]


class StateMessages:
    """The messages of the root graph's state: as the run found them, as they are now, and under which public ids.

    Args:
        values: Writes the opaque values of messages that the stream did not tell.
    """

    def __init__(self, values: EncryptedValueCodec) -> None:
        self._values = values
        self._before: dict[str, BaseMessage] = {}
        self.now: Sequence[BaseMessage] = ()
        self._aliases: dict[str, str] = {}
        self._hidden: set[str] = set()

    def begin(self, messages: Sequence[BaseMessage]) -> None:
        """Take what the run starts from."""
        self._before = {message.id: message for message in messages if message.id}
        self.now = messages

    def update(self, messages: Sequence[BaseMessage]) -> None:
        """Take what a superstep has made of them."""
        self.now = messages

    def alias(self, state_id: str, public_id: str) -> None:
        """Note that the client knows the message `state_id` as `public_id`."""
        self._aliases[state_id] = self._aliases.get(public_id, public_id)

    def hide(self, state_id: str) -> None:
        """Note that the client is not to see this message."""
        self._hidden.add(state_id)

    def hides(self, state_id: str) -> bool:
        """Whether the client is not to see this message."""
        return state_id in self._hidden

    def snapshot(self, conversation: Conversation, call_ids: CallIds) -> list[Message]:
        """The client's messages with the state's among them."""
        shown = [message for message in self.now if self._is_shown(message, conversation)]
        self._find_twins(shown, conversation)
        self._find_results(shown, conversation)
        return merge_messages(
            conversation.messages(), [self._place(message, conversation, call_ids) for message in shown]
        )

    def _is_shown(self, message: BaseMessage, conversation: Conversation) -> bool:
        if message.id is None or message.id in self._hidden or agui_role(message) is None:
            return False
        hidden_call = isinstance(message, LCToolMessage) and not conversation.knows_call(message.tool_call_id)
        return not hidden_call or message.id in conversation.ids

    def public(self, state_id: str) -> str:
        """The id under which the client knows the message `state_id`."""
        return self._aliases.get(state_id, state_id)

    def _public(self, message: BaseMessage) -> str:
        return self.public(cast("str", message.id))

    def _find_twins(self, shown: Sequence[BaseMessage], conversation: Conversation) -> None:
        """Find answers that the client holds under an id of an earlier run, which only that run could tell.

        A node that streams a model may store the same words under an id of its own.
        """
        lost = [
            message
            for message in shown
            if isinstance(message, AIMessage) and self._public(message) not in conversation.ids
        ]
        if not lost:
            return
        claimed = {self._public(message) for message in shown}
        twins: dict[_Said, list[str]] = {}
        for held in conversation.messages():
            if isinstance(held, AssistantMessage) and held.id not in claimed and held.id not in conversation.sources:
                said = (held.content or "", tuple(call.id for call in held.tool_calls or ()))
                twins.setdefault(said, []).append(held.id)
        for message in lost:
            its = AssistantTurn.from_message(message, cast("str", message.id), values=self._values).assistant_message()
            ids = twins.get((its.content or "", tuple(call["id"] for call in message.tool_calls)))
            if ids:
                self._aliases[cast("str", message.id)] = ids.pop(0)

    def _find_results(self, shown: Sequence[BaseMessage], conversation: Conversation) -> None:
        """Find results that the client holds and the thread has lost: what the thread has instead goes in their place.

        A run that is killed may have told a result that was never saved; its call is answered as interrupted.
        """
        lost = {
            message.tool_call_id: message
            for message in shown
            if isinstance(message, LCToolMessage) and self._public(message) not in conversation.ids
        }
        if lost:
            claimed = {self._public(message) for message in shown}
            for held in conversation.messages():
                if isinstance(held, ToolMessage) and held.id not in claimed and held.tool_call_id in lost:
                    self._aliases[cast("str", lost.pop(held.tool_call_id).id)] = held.id

    def _place(
        self, message: BaseMessage, conversation: Conversation, call_ids: CallIds
    ) -> tuple[str, Sequence[Message]]:
        """The public id that marks the message's place, and the AG-UI messages to put there, if any."""
        public = self._public(message)
        live = conversation.records.get(public)
        before = self._before.get(cast("str", message.id))
        if live is None and public in conversation.ids and before is message:
            return public, ()  # this run did not touch it
        source = conversation.sources.get(public, AGENT)
        if source.subagent_run_id is not None:  # the state holds it
            source = source._replace(in_thread=True)
        match agui_role(message):
            case "assistant":
                own = {item.id for item in live.blocks} if live is not None else set[str]()
                taken, known = conversation.ids - own, partial(call_ids.of, source.subagent_run_id)
                fresh = AssistantTurn.from_message(
                    message, public, taken, self._values, like=live, source=source, public_call=known
                )
                if live is not None and live.same_content(fresh):
                    return public, ()
                if isinstance(message, AIMessage):
                    fresh.encode_values(message)
                return public, _messages_of(fresh)
            case "tool":
                result = cast("LCToolMessage", message)
                call_id = call_ids.of(source.subagent_run_id, result.tool_call_id)
                name = conversation.call_name(call_id)
                return public, [tool_message(result, public, self._values, name, source, call_id)]
            case _:
                changed = before is not None and before.content != message.content
                return public, [
                    user_message(message, public, self._values, source)
                ] if changed or public not in conversation.ids else ()


def _messages_of(record: AssistantTurn) -> list[Message]:
    alone = Conversation()
    alone.hold(record)
    return alone.messages()
