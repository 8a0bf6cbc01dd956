"""Where a thread stands still: what its checkpoint holds open, as questions.

The state of a thread enters, a `Pause` leaves. The end of a run, `connect` and the check of a resume all ask here, so
what a client was shown and what it may answer cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ag_ui.core import Interrupt
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.decisions import Action, answer_schema
from langgraph_agui.interrupts.pending import InterruptRequest, PendingInterrupt, Show, calls_in, pending_interrupt
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.namespaces import subagent_run_id
from langgraph_agui.protocol.jsonable import to_jsonable

BREAKPOINT = "langgraph:breakpoint"
"""Reason of the interrupt for a static breakpoint."""

_BREAKPOINT_DECISIONS = ("approve", "reject")


@dataclass(frozen=True, slots=True)
class PendingInterrupts:
    """All that a thread waits for; nothing, if it does not wait.

    Attributes:
        pending: The open interrupts.
        breakpoint: The question of a static breakpoint, which has no interrupt behind it.
    """

    pending: Sequence[PendingInterrupt] = ()
    breakpoint: InterruptRequest | None = None

    def __bool__(self) -> bool:
        return bool(self.pending) or self.breakpoint is not None

    @property
    def questions(self) -> list[InterruptRequest]:
        """The questions, in the order in which they were raised."""
        own = [question for one in self.pending for question in one.questions]
        return [*own, self.breakpoint] if self.breakpoint is not None else own

    @property
    def interrupts(self) -> list[Interrupt]:
        """The same as AG-UI has them, for the interrupt outcome."""
        return [question.interrupt for question in self.questions]


@dataclass(frozen=True, slots=True)
class PendingInterruptReader:
    """Reads what threads wait for.

    Attributes:
        graph: The graph.
        messages_key: The state channel that holds the conversation.
        show: Makes of values what a client may see of them.
        expire: For how long a question may be answered; None for ever. A question that names its own end keeps it.
    """

    graph: GraphAdapter
    messages_key: str = "messages"
    show: Show = to_jsonable
    expire: timedelta | None = None

    async def of_thread(self, stored: StateSnapshot, config: RunnableConfig) -> PendingInterrupts:
        """What a thread waits for, by its checkpoint."""
        failed = {interrupt.id for task in stored.tasks if task.error is not None for interrupt in task.interrupts}
        if failed:
            failed -= await self.graph.reopened_interrupts(config, stored)
        waiting = [interrupt for interrupt in stored.interrupts if interrupt.id not in failed]
        if not waiting:
            return await self._at_breakpoint(stored)
        root = calls_in(self.graph.thread_messages(stored, self.messages_key))
        inside = await self.graph.find_holders(config, [interrupt.id for interrupt in waiting])
        open_ = []
        for interrupt in waiting:
            held = inside.get(interrupt.id)
            since = held.created_at if held is not None else stored.created_at
            if held is not None and held.namespace:
                calls = calls_in(extract_messages(held.values, self.messages_key))
                one = pending_interrupt(interrupt, calls, self.show).owned(_subagent_of(held.namespace, stored))
            else:
                one = pending_interrupt(interrupt, root, self.show)
            open_.append(self._expiring(one, since))
        return PendingInterrupts(open_)

    async def _at_breakpoint(self, stored: StateSnapshot) -> PendingInterrupts:
        nodes = await self.graph.stopped_before(stored)
        if not nodes:
            return PendingInterrupts()
        name = ", ".join(nodes)
        checkpoint = str(stored.config["configurable"].get("checkpoint_id", ""))
        interrupt = Interrupt(
            id=f"breakpoint:{checkpoint}",
            reason=BREAKPOINT,
            message=f"The agent stopped before {name}.",
            response_schema=answer_schema(_BREAKPOINT_DECISIONS),
            metadata={"next": list(nodes)},
        )
        question = InterruptRequest(interrupt, Action(name, allowed=_BREAKPOINT_DECISIONS))
        return PendingInterrupts(breakpoint=self._dated(question, stored.created_at))

    def _expiring(self, one: PendingInterrupt, since: str | None) -> PendingInterrupt:
        return replace(one, questions=[self._dated(question, since) for question in one.questions])

    def _dated(self, question: InterruptRequest, since: str | None) -> InterruptRequest:
        if self.expire is None or question.interrupt.expires_at is not None or since is None:
            return question
        end = (datetime.fromisoformat(since) + self.expire).isoformat()
        return replace(question, interrupt=question.interrupt.model_copy(update={"expires_at": end}))


def _subagent_of(namespace: str, stored: StateSnapshot) -> str | None:
    """Return the `subagentRunId` of the graph with this checkpoint namespace; None for the root graph.

    The namespace of a graph that keeps its own state does not name the task that runs it: the running task does.
    """
    if not namespace:
        return None
    run_id = subagent_run_id(namespace.split("|"))
    running = {task.name: f"{task.name}:{task.id}" for task in stored.tasks}
    return running.get(run_id, run_id) if run_id is not None else None
