"""The root runs of a handler: which run belongs to which, when one begins and when it has ended.

LangChain's runs enter with their parents; root runs leave. A root run ends with its own hook, or, where LangChain tells
no end, with its task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import UUID

from ag_ui.core import RunAgentInput
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables.config import var_child_runnable_config

from langgraph_agui.callbacks.root import Lock, RootRun
from langgraph_agui.callbacks.run_serializer import RunSerializer, RunSlot
from langgraph_agui.translate.event_sinks import EventSink, Sink

Make: TypeAlias = Callable[[RunAgentInput, Sink], RootRun]


class Root:
    """A root run that is going on: its turn to speak, and the runs below it.

    Attributes:
        task: What waits for it, if it is a model's call: nobody tells when that is cancelled.
        alone: Whether that task can wait for nothing else meanwhile.
    """

    def __init__(self, run_id: UUID, run: RootRun, turn: RunSlot) -> None:
        self.run_id = run_id
        self.run = run
        self.turn = turn
        self.members = [run_id]
        self.task: asyncio.Task[Any] | None = None
        self.alone = False
        self._done: Callable[[asyncio.Task[Any]], None] | None = None

    def watch(self, task: asyncio.Task[Any], done: Callable[[asyncio.Task[Any]], None]) -> None:
        """Have `done` called when `task` is done, unless the run is released before."""
        self.task, self._done = task, done
        task.add_done_callback(done)

    def release(self) -> None:
        """The run has ended: its task, which may live for long, is to hold nothing of it."""
        if self.task is not None and self._done is not None:
            self.task.remove_done_callback(self._done)


class Roots:
    """The root runs of one handler.

    Args:
        make: Makes what translates a root run, for its ids and its sink.
        lock: Held while anything is said.
        turns: The order in which they speak.
        thread_id: Their AG-UI thread.
    """

    def __init__(self, make: Make, lock: Lock, turns: RunSerializer, thread_id: str) -> None:
        self._make = make
        self._lock = lock
        self._turns = turns
        self._thread_id = thread_id
        self._roots: dict[UUID, Root] = {}

    def of(self, run_id: UUID) -> Root | None:
        """The root run that a run is part of."""
        return self._roots.get(run_id)

    def enter(self, run_id: UUID, parent_run_id: UUID | None, calls: int = 0) -> tuple[Root, UUID | None]:
        """The root run that a run which begins is part of, and its parent; a new one, if it is part of none.

        Args:
            run_id: The run.
            parent_run_id: What LangChain says is its parent.
            calls: How many calls of a model begin together, if it is one.
        """
        parent = parent_run_id or _surrounding()
        root = self._roots.get(parent) if parent is not None else None
        if root is None:
            return self._roots.get(run_id) or self._begin(run_id, calls), None
        self._roots[run_id] = root
        root.members.append(run_id)
        return root, parent

    def _begin(self, run_id: UUID, calls: int) -> Root:
        run_input = RunAgentInput(
            thread_id=self._thread_id,
            run_id=str(run_id),
            state={},
            messages=[],
            tools=[],
            context=[],
            forwarded_props={},
        )
        self._give_up()
        with self._lock:
            turn = self._turns.join()
            root = self._roots[run_id] = Root(run_id, self._make(run_input, EventSink(turn.put)), turn)
        if calls and (task := _current_task()) is not None:
            root.watch(task, lambda _task: self.end(root, root.run.translation.cancel_run))
            root.alone = calls == 1
        root.run.tell(root.run.translation.emit_run_started)
        try:
            self._turns.tell(turn)
        except BaseException:
            self.end(root, lambda: None)  # LangChain does not tell the end of what has not begun
            raise
        return root

    def _give_up(self) -> None:
        """End a model's call that this task has left: LangChain does not tell when `ainvoke` was cancelled."""
        task = _current_task()
        if task is None or self._turns.telling:
            return
        for root in list(self._roots.values()):  # at once: other threads begin and end runs meanwhile
            if root.alone and root.task is task:
                self.end(root, root.run.translation.cancel_run)

    def end(self, root: Root, say: Callable[[], None]) -> None:
        """A root run has ended; `say` says so."""
        with self._lock:
            if root.turn.ended:
                return
            for member in root.members:
                self._roots.pop(member, None)
            root.release()
            try:
                say()
            finally:
                root.turn.end()
        self._turns.tell(root.turn)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        return None


def _surrounding() -> UUID | None:
    """The run that this code runs in: not every Runnable tells those inside it (`with_fallbacks`)."""
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    return callbacks.parent_run_id if isinstance(callbacks, BaseCallbackManager) else None
