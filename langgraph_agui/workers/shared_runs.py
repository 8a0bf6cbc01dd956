"""Runs that all workers of an agent can follow and stop, by a `RunStore`.

A run of this worker enters `SharedRuns.share`, and leaves into the store when another worker asks
for it (`published.py`). A run of another worker comes from the store, and leaves through the
subscriptions of the clients that follow it here (`followed.py`).
"""

import asyncio
import json
import logging
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeVar
from uuid import uuid4

from ag_ui.core import RunAgentInput

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.run import Run
from langgraph_agui.runs.show_thread import ThreadSnapshot
from langgraph_agui.workers.followed import Feed, FollowedRun
from langgraph_agui.workers.published import CANCEL, FOLLOW, PING, PublishedRun
from langgraph_agui.workers.store import RunStore

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that the store has to answer.
_ANSWER: Final = 3.0


class SharedRuns:
    """The runs that the workers of one agent share.

    Args:
        agent: What the runs of the agent share.
        store: Where the workers find each other's runs.
        name: The agent's name. Agents of one name share their runs.
    """

    def __init__(self, agent: AgentContext, store: RunStore, name: str) -> None:
        self._agent = agent
        self._store = store
        self._name = name
        self._feeds: dict[str, Feed] = {}
        self._published: dict[Run, PublishedRun] = {}
        self._serving: set[asyncio.Task[None]] = set()

    def _key(self, *ids: str) -> str:
        return sha256(json.dumps([self._name, *ids]).encode()).hexdigest()

    def share(self, run: Run) -> None:
        """Let other workers follow and stop a run of this one."""
        thread_id, run_id = run.input.thread_id, run.input.run_id
        thread = self._key(thread_id) if self._agent.graph.has_checkpointer else None
        # Not the client's ids: it may use them again, while the last frames of the run before are
        # written.
        published = PublishedRun(self._store, run, uuid4().hex, self._agent.limits.unread)
        self._published[run] = published
        run.task.add_done_callback(lambda _task: self._published.pop(run))
        task = asyncio.create_task(
            published.serve(self._key(thread_id, run_id), thread), name=f"agui-share-{run_id}"
        )
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def join(self, run: Run, run_id: str) -> None:
        """Let other workers stop a run of this one by the id that a client which has joined it here
        has for it.
        """
        keep_alive(
            asyncio.create_task(
                self._published[run].add_name(self._key(run.input.thread_id, run_id))
            )
        )

    async def drain(self) -> None:
        """Wait until the store has the ends of this worker's runs."""
        if self._serving:
            await asyncio.wait(self._serving, timeout=_ANSWER)

    async def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop a run of another worker. Return whether it was going on.

        Raises:
            StateError: The store does not answer.
        """
        try:
            async with asyncio.timeout(_ANSWER):
                run = await self._store.find(self._key(thread_id, run_id))
                return run is not None and await self._store.signal(run, CANCEL)
        except Exception as error:
            raise StateError("The store of live runs does not answer.") from error

    def follow(
        self, run_input: RunAgentInput, reader: Subscription[T], show: Callable[[], ThreadSnapshot]
    ) -> FollowedRun:
        """Show a client the run that goes on in its thread in another worker; what `show` shows if
        there is none.
        """
        return FollowedRun(self._agent, self._find, run_input, reader, show)

    async def _find(self, run_input: RunAgentInput) -> tuple[Feed, int] | None:
        """Return the feed of a run in another worker, and behind which position of it the client
        may begin.

        A client that holds messages begins with what the run's worker writes after it came: else it
        would get some of them again. Returns None if no run goes on in another worker, or the store
        does not answer.
        """
        try:
            async with asyncio.timeout(_ANSWER):
                ids = [run_input.thread_id]
                if (
                    not self._agent.graph.has_checkpointer
                ):  # the thread's id is no proof of having begun the run
                    ids.append(run_input.run_id)
                run = await self._store.find(self._key(*ids))
                after = await self._store.end(run) if run is not None and run_input.messages else 0
                signal = FOLLOW if after or run not in self._feeds else PING
                name = self._key(run_input.thread_id, run_input.run_id)
                if run is None or not await self._store.signal(run, f"{signal} {name}"):
                    return None
        except Exception:
            logger.warning("The store of live runs does not answer.", exc_info=True)
            return None
        return self._feeds.get(run) or Feed(self._store, run, self._feeds), after
