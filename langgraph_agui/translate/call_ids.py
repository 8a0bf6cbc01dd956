"""Which id a client knows a tool call by: models may number their calls, and those of two agents be the same.

A speaker and the id that its model has given enter, the public id leaves. That is the model's own, unless another
speaker's call has it already: a client has one call under one id (AG-UI 1.0, tool calls).
"""

from __future__ import annotations

from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.values import Speaker, lane_of


class CallIds:
    """The public ids of the calls of one run.

    Args:
        conversation: What the client holds.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._public: dict[tuple[str | None, str], str] = {}

    def announce(self, speaker: Speaker | None, call_id: str) -> str:
        """The public id of a call that is about to be said."""
        lane = lane_of(speaker)
        public = self._public.get((lane, call_id))
        if public is None:
            public = call_id if self._is_free(lane, call_id) else _derived(lane, call_id)
            self._public[lane, call_id] = public
        return public

    def _is_free(self, lane: str | None, call_id: str) -> bool:
        holder = self._conversation.holder(call_id)
        return holder is None or lane_of(self._conversation.speakers.get(holder)) == lane

    def of(self, speaker: Speaker | None, call_id: str) -> str:
        """The public id of a call that was said, in this run or in an earlier one."""
        lane = lane_of(speaker)
        public = self._public.get((lane, call_id))
        if public is None:
            derived = _derived(lane, call_id)
            public = derived if self._conversation.holds_call(derived) else call_id
        return public


def _derived(lane: str | None, call_id: str) -> str:
    return f"{lane or 'agent'}:{call_id}"
