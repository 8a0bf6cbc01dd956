"""What a server process holds: memory, objects, tasks, descriptors, threads, locks, caches."""

import asyncio
import gc
import sys
import weakref
from collections.abc import Collection, Iterator, Sequence

import psutil  # type: ignore[import-untyped]

from langgraph_agui import LangGraphAgent
from langgraph_agui.kernel import aio
from langgraph_agui.workers import locks_for

_CONTAINERS = (
    dict,
    set,
    list,
    weakref.WeakValueDictionary,
    weakref.WeakKeyDictionary,
    weakref.WeakSet,
)
_PROCESS = psutil.Process()


def busy(agents: Sequence[LangGraphAgent]) -> int:
    """How much is going on: runs, tasks that are kept, tasks at all."""
    return sum(len(agent._running) for agent in agents) + len(aio._kept) + len(asyncio.all_tasks())


def census(agents: Sequence[LangGraphAgent]) -> dict[str, float]:
    """Count everything that could grow."""
    gc.collect()
    return {
        "memory MB": _PROCESS.memory_info().rss / 1e6,
        "objects": len(gc.get_objects()),
        "tasks": len(asyncio.all_tasks()),
        "descriptors": _PROCESS.num_fds(),
        "threads": _PROCESS.num_threads(),
        "runs": sum(len(agent._running) for agent in agents),
        "thread locks": sum(len(locks._queues) for locks in locks_for._locks.values()),
        "kept tasks": len(aio._kept),
        "cache entries": sum(entries(agents).values()),
    }


def entries(agents: Sequence[LangGraphAgent]) -> dict[str, int]:
    """The size of every container and cache that the package's modules, or objects of the agents,
    hold; by name."""
    found: dict[str, int] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "langgraph_agui":
            for key, value in vars(module).items():
                if isinstance(value, _CONTAINERS) and not key.startswith("__"):
                    found[f"{name}.{key}"] = len(value)
                elif hasattr(value, "cache_info") and value.__module__ == name:
                    found[f"{name}.{key}"] = value.cache_info().currsize
    for agent in agents:
        for path, size in _held_by(agent, type(agent).__name__, set()):
            found[path] = found.get(path, 0) + size
    return found


def _held_by(owner: object, path: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    """The containers of an object of ours, and of those that it refers to."""
    if id(owner) in seen:
        return
    seen.add(id(owner))
    slots = [slot for base in type(owner).__mro__ for slot in getattr(base, "__slots__", ())]
    for key in [*getattr(owner, "__dict__", ()), *slots]:
        value = getattr(owner, key, None)
        if isinstance(value, _CONTAINERS):
            yield f"{path}.{key}", len(value)
        for one in (
            value
            if isinstance(value, Collection) and not isinstance(value, str | bytes)
            else [value]
        ):
            if type(one).__module__.partition(".")[0] == "langgraph_agui":
                yield from _held_by(one, f"{path}.{key}", seen)
