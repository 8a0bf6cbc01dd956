"""Agents of any class, as routes need them.

An object with `run(input)` enters; a stream of SSE frames leaves. A subclass may override `run`. A
foreign agent may keep the state of a run in itself: each request gets a clone of it.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final, Protocol

from ag_ui.core import BaseEvent, RunAgentInput
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui.kernel.errors import ErrorCode
from langgraph_agui.protocol.open_items import OpenItems
from langgraph_agui.protocol.sse import encode
from langgraph_agui.translate.lifecycle import is_last, run_error

# Seconds that an agent has to end when its client has left.
_CLOSE_TIMEOUT: Final = 5.0


class RunsInputs(Protocol):
    """An agent: `run` yields the events of a run."""

    def run(self, run_input: RunAgentInput, /) -> AsyncIterator[Any]:
        """Run and yield the events."""


def check_agent(agent: object) -> None:
    """Check that an object can be served as an agent.

    Raises:
        TypeError: It cannot; the text names the remedy.
    """
    if isinstance(agent, StateGraph | Pregel | RemoteGraph):
        raise TypeError("This is a graph. Serve an agent: LangGraphAgent(graph).")
    if isinstance(agent, type):
        raise TypeError(f"{agent.__name__} is a class. Serve an instance of it.")
    if not callable(getattr(agent, "run", None)):
        raise TypeError(
            f"An agent has a method run(input), like LangGraphAgent(graph); "
            f"{type(agent).__name__} has none."
        )


def accepted(method: Callable[..., object], **options: object) -> dict[str, object]:
    """Return those of the options that are set, for a method of an agent.

    Raises:
        TypeError: The method does not take one that is set.
    """
    parameters = inspect.signature(method).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    given = {name: value for name, value in options.items() if value is not None}
    if refused := [name for name in given if name not in parameters and not takes_all]:
        raise TypeError(
            f"{method.__qualname__} takes no {', '.join(refused)}: add it as a keyword parameter"
        )
    return given


def opener(agent: RunsInputs, method: str, **factories: object) -> Callable[..., "AgentEvents"]:
    """Return the function that opens the events of a method of an agent for a `CleanInput`; of a
    clone, if the agent makes clones.

    Args:
        agent: The agent.
        method: `run` or `connect`.
        factories: The makers of the options that the method is called with; None for those that it
            is not.

    Raises:
        TypeError: The method does not take the value of a factory.
    """
    accepted(getattr(agent, method), **factories)
    return lambda clean, **options: AgentEvents(_events(agent, method, clean.input, options))


def published(found: object) -> object:
    """Return the capabilities of an agent as JSON data."""
    return found.model_dump(by_alias=True, mode="json") if isinstance(found, BaseModel) else found


class AgentEvents:
    """The events of one run of any agent, as SSE frames; to be read like a subscription.

    Args:
        events: The events, the terminal one last.
    """

    def __init__(self, events: AsyncGenerator[BaseEvent, None]) -> None:
        self._events = events
        self._next: asyncio.Task[BaseEvent | None] | None = None

    async def __aenter__(self) -> "AgentEvents":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._next is not None:
            self._next.cancel()
            done, _pending = await asyncio.wait({self._next}, timeout=_CLOSE_TIMEOUT)
            if not done:
                return  # it ignores that it is cancelled
        await self._events.aclose()

    async def take_frames(self) -> bytes:
        """Return the next frame; none when the run has ended. May be cancelled and called
        again.
        """
        if self._next is None:
            self._next = asyncio.create_task(anext(self._events, None))
        event = await asyncio.shield(self._next)
        self._next = None
        return encode(event) if event is not None else b""


async def _events(
    agent: RunsInputs, method: str, run_input: RunAgentInput, options: Mapping[str, object]
) -> AsyncGenerator[BaseEvent, None]:
    """Yield the events of an agent's method up to the terminal one; if it has none, an error. What
    is open is closed before it.
    """
    events: AsyncIterator[BaseEvent] | None = None
    open_items = OpenItems()
    try:
        clone = getattr(agent, "clone", None)
        called = getattr(clone() if clone is not None else agent, method)
        events = called(run_input, **accepted(called, **options))
        async for event in events:
            if event is None:
                continue
            for one in open_items.feed(event):
                yield one
            if is_last(event):
                return
        raise RuntimeError("The agent ended without a terminal event")
    except Exception as error:
        for one in open_items.feed(run_error(run_input, error, ErrorCode.INTERNAL)):
            yield one
    finally:
        if (aclose := getattr(events, "aclose", None)) is not None:
            await aclose()
