"""The workers of one agent: each can follow and stop the runs of all, by a `RunStore`.

A run of this worker enters `Workers.share`, and leaves into the store when another worker asks for
it (`run_writer.py`). A run of another worker comes from the store, and leaves through the
subscriptions of the clients that follow it here (`run_reader.py`).
"""

import asyncio
import json
from collections.abc import Callable
from hashlib import sha256

from ag_ui.core import RunAgentInput

from langgraph_agui.kernel.aio import OneEventLoop, keep_alive
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.run import Run
from langgraph_agui.runs.show_thread import ShownThread
from langgraph_agui.workers.bounded import ANSWER, BoundedStore
from langgraph_agui.workers.entries import EntryDecoder
from langgraph_agui.workers.namesakes import Namesakes
from langgraph_agui.workers.run_reader import RemoteReader, RunReader
from langgraph_agui.workers.run_writer import RunWriter
from langgraph_agui.workers.signals import Signal
from langgraph_agui.workers.store import RunStore


class Workers:
    """The workers of one agent, as this one sees them.

    Args:
        agent: The context of all runs of the agent.
        store: Where the workers find each other's runs.
        name: The agent's name. Agents of one name share their runs.

    Attributes:
        event_loop: Lets in the event loop to which the connections of the store belong.
        namesakes: The agents of the same name in the store, this one among them.
    """

    def __init__(self, agent: AgentContext, store: RunStore, name: str) -> None:
        self._agent = agent
        self._store = BoundedStore(store)
        self._name = name
        self.event_loop = OneEventLoop()
        self.namesakes = Namesakes(self._store, name, self._key(), agent.graph)
        self._decoder = EntryDecoder()
        self._readers: dict[str, RunReader] = {}
        self._writers: dict[Run, RunWriter] = {}
        self._serving: set[asyncio.Task[None]] = set()

    def _key(self, *ids: str) -> str:
        return sha256(json.dumps([self._name, *ids]).encode()).hexdigest()

    def _key_of_joined(self, thread_id: str, run_id: str) -> str:
        """Return the name of a run for a client that has joined it. The client chooses the id, so
        it must not be the name of a run whose own id it is.
        """
        return self._key(thread_id, run_id, "joined")

    def share(self, run: Run) -> None:
        """Let other workers follow and stop a run of this one."""
        thread_id, run_id = run.input.thread_id, run.input.run_id
        thread = self._key(thread_id) if self._agent.graph.has_checkpointer else None
        # The key is not made of the client's ids. The client may use those again while the last
        # frames of the run before are written.
        key = self.namesakes.new_key()
        writer = RunWriter(self._store, run, key, self._agent.limits.unread)
        self._writers[run] = writer
        run.task.add_done_callback(lambda _task: self._writers.pop(run))
        task = asyncio.create_task(
            writer.serve(self._key(thread_id, run_id), thread), name=f"agui-share-{run_id}"
        )
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def join(self, run: Run, run_id: str) -> None:
        """Let other workers stop a run of this one by one more id: that of a client which has
        joined it here.
        """
        name = self._key_of_joined(run.input.thread_id, run_id)
        keep_alive(asyncio.create_task(self._writers[run].add_name(name)))

    async def drain(self) -> None:
        """Wait until the store has the ends of this worker's runs."""
        if self._serving:
            await asyncio.wait(self._serving, timeout=ANSWER)

    async def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop the run of another worker that has this id. Return whether it was going on.

        Raises:
            RunInputError: The store belongs to another event loop (`wrong_event_loop`).
            StateError: The store does not answer.
        """
        return await self._cancel(self._key(thread_id, run_id))

    async def cancel_joined(self, thread_id: str, run_id: str) -> bool:
        """Do the same to the run that a client with this run id has joined."""
        return await self._cancel(self._key_of_joined(thread_id, run_id))

    async def _cancel(self, name: str) -> bool:
        self.event_loop.enter()
        run = await self._store.find(name)
        if run is None:
            return False
        self.namesakes.compare(run)
        return await self._store.signal(run, Signal("cancel").to_text())

    def follow(
        self, run_input: RunAgentInput, reader: Subscription, show: Callable[[], ShownThread]
    ) -> RemoteReader:
        """Show a client the run that is going on in its thread in another worker. If there is none,
        `show` shows the thread as it stands.

        Raises:
            RunInputError: The store belongs to another event loop (`wrong_event_loop`).
        """
        self.event_loop.enter()
        return RemoteReader(self._agent, self._find, run_input, reader, show)

    async def _find(self, run_input: RunAgentInput) -> tuple[RunReader, str] | None:
        """Return the reader of a run in another worker, and the name by which its client can stop
        the run. Return None if there is no such run, or the store does not answer.
        """
        ids = [run_input.thread_id]
        if not self._agent.graph.has_checkpointer:
            # Then the id of the thread is no proof of having begun the run.
            ids.append(run_input.run_id)
        try:
            run = await self._store.find(self._key(*ids))
        except StateError:
            return None
        if run is None:
            return None
        self.namesakes.compare(run)
        reader = self._readers.get(run) or RunReader(
            self._store, run, self._readers, self._decoder, self._agent.limits.unread
        )
        return reader, self._key_of_joined(run_input.thread_id, run_input.run_id)
