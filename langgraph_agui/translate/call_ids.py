"""Which id a client knows a tool call by: models may number their calls, and those of two agents be the same.

A lane and the id that its model has given enter, the public id leaves. That is the model's own, unless another lane's
call has it already: a client has one call under one id (AG-UI 1.0, tool calls).
"""

from __future__ import annotations

from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import AGENT


class CallIds:
    """The public ids of the calls of one run. A lane is known by its id here; None is the agent itself.

    Args:
        conversation: What the client holds.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._public: dict[tuple[str | None, str], str] = {}

    def announce(self, lane: str | None, call_id: str) -> str:
        """The public id of a call that is about to be said."""
        public = self._public.get((lane, call_id))
        if public is None:
            public = call_id if self._is_free(lane, call_id) else _derived(lane, call_id)
            self._public[lane, call_id] = public
        return public

    def _is_free(self, lane: str | None, call_id: str) -> bool:
        holder = self._conversation.holder(call_id)
        return holder is None or self._conversation.sources.get(holder, AGENT).subagent_run_id == lane

    def of(self, lane: str | None, call_id: str) -> str:
        """The public id of a call that was said, in this run or in an earlier one."""
        public = self._public.get((lane, call_id))
        if public is None:
            derived = _derived(lane, call_id)
            public = derived if self._conversation.holds_call(derived) else call_id
        return public

    def asked_about(self, lane: str | None, call_id: str | None) -> str | None:
        """The public id of a call that needs an approval; None, if this run has told another lane's by that id."""
        public = self.of(lane, call_id) if call_id is not None else None
        others = {owner for owner, known in self._public.items() if known == public and owner[0] != lane}
        return None if others else public


def _derived(lane: str | None, call_id: str) -> str:
    return f"{lane or 'agent'}:{call_id}"
