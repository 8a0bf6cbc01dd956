"""Agents of one name share their runs in a store. Their graphs should be one graph; this warns if
they are not.

The keys of runs enter and leave: each begins with a digest of its agent's graph.
"""

import asyncio
import json
import logging
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Final
from uuid import uuid4

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.workers.bounded import BoundedStore

logger = logging.getLogger(__name__)

# Characters of a digest in the key of a run.
_DIGEST: Final = 16

# Seconds between two looks at the store.
_INTERVAL: Final = 60.0


class Namesakes:
    """The agents of one name in a store.

    Args:
        store: The store.
        name: The agents' name.
        key: A name in the store. One of the agents that are being served has it.
        graph: The graph of this agent.
    """

    def __init__(self, store: BoundedStore, name: str, key: str, graph: GraphAdapter) -> None:
        self._store = store
        self._name = name
        self._key = key
        self._graph = graph
        self._task: asyncio.Task[None] | None = None
        self._warned = set[str]()

    @cached_property
    def _own(self) -> str:
        return self.new_key()

    @cached_property
    def _digest(self) -> str:
        return sha256(json.dumps(self._graph.outline).encode()).hexdigest()[:_DIGEST]

    def new_key(self) -> str:
        """Return a key for a run of this agent, which no other run has."""
        return f"{self._digest}-{uuid4().hex}"

    def compare(self, run: str) -> None:
        """Warn if the run with this key is that of another graph; once for each graph."""
        digest, has_digest, _ = run.partition("-")
        if not has_digest or digest == self._digest or digest in self._warned:
            return
        self._warned.add(digest)
        logger.warning(
            "Two agents with the name %.80r and different graphs share their live runs in one "
            "store: clients of one can follow and stop runs of the other. If they are two "
            "services, give each a name of its own. If a new version is replacing an old one, all "
            "is well.",
            self._name,
        )

    async def enter(self) -> None:
        """Compare this agent with the one that other workers see; from now on each minute."""
        if self._task is None:
            self._task = asyncio.create_task(self._look_again(), name="agui-namesakes")
            await self._look()

    async def leave(self) -> None:
        """Stop that, and let other workers no longer see this agent."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        await asyncio.wait({task})
        with suppress(StateError):  # the worker ends, and is dead to the store then
            await self._store.finish(self._own)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            await self._look()

    async def _look(self) -> None:
        """Compare this agent with the one that is seen. If there is none, this one is from now on:
        as a run without a log.
        """
        with suppress(StateError):  # the store has logged it
            seen = await self._store.find(self._key)
            if seen is not None:
                self.compare(seen)
                return
            await self._store.begin(self._own, lambda _signal: None)
            await self._store.enter(self._key, self._own)
