"""One turn of a conversation: a run, and those that follow it once local tools have answered its calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import (
    Event,
    Interrupt,
    TextMessageContentEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCall,
    ToolMessage,
    aggregate_token_usage,
)

from langgraph_agui.client.errors import AgentError
from langgraph_agui.client.readable import Readable
from langgraph_agui.protocol.message_store import joined

if TYPE_CHECKING:
    from langgraph_agui.client.reading import Outcome
    from langgraph_agui.client.remote_run import RemoteRun
    from langgraph_agui.client.session import AGUISession
    from langgraph_agui.client.tools import LocalTools

MAX_RUNS: Final = 50
"""How many runs one turn may take: an agent that calls local tools for ever is stopped."""


class Turn(Readable):
    """What came of saying something: the events of all its runs.

    ```python
    async for event in session.send("Hello"):  # or `for event in ...`
        ...
    turn = await session.send("Hello")  # without the events; or `session.send("Hello").wait()`
    print(turn.text)
    ```

    It raises what its runs raise (:mod:`langgraph_agui.client.errors`). Leaving it closes the connection; the session
    keeps what had been delivered.
    """

    def __init__(self, session: AGUISession[Any], begin: Callable[[], RemoteRun], tools: LocalTools) -> None:
        super().__init__()
        self._session, self._begin, self._tools = session, begin, tools
        self._runs: list[RemoteRun] = []
        self._texts: dict[str, list[str]] = {}
        """What the agent itself has said, by message."""
        self._answered: set[str] = set()
        """The calls that have run here: no snapshot that lacks their results makes them run again."""

    @property
    def outcome(self) -> Outcome | None:
        """How the last run has ended; None while it is going on, or if its stream broke off."""
        return self._runs[-1].outcome if self._runs else None

    @property
    def interrupts(self) -> list[Interrupt]:
        """What the agent waits for."""
        return self._runs[-1].interrupts if self._runs else []

    @property
    def result(self) -> object:
        """What the last run returned, if it was a success."""
        return self._runs[-1].result if self._runs else None

    @property
    def usage(self) -> list[TokenUsage]:
        """The tokens of all its runs, one entry for each provider and model."""
        return aggregate_token_usage([entry for run in self._runs for entry in run.usage])

    @property
    def text(self) -> str:
        """What the agent itself has said so far, not its subagents; a blank line between two messages."""
        return "\n\n".join(said for pieces in self._texts.values() if (said := joined(pieces)))

    async def _aread(self) -> AsyncGenerator[Event]:
        session = self._session
        with session.taken(self):
            run = self._begin()
            while True:
                with self._reading(run):
                    async with run:
                        async for event in run:
                            self._take(run, event)
                            yield event
                calls = self._to_answer()
                async for result in self._tools.aanswers(calls):
                    self._keep(result)
                if not calls or not self._goes_on():
                    return
                run = session.begin()

    def _read(self) -> Generator[Event]:
        session = self._session
        with session.taken(self):
            run = self._begin()
            while True:
                with self._reading(run), run:
                    for event in run:
                        self._take(run, event)
                        yield event
                calls = self._to_answer()
                for result in self._tools.answers(calls):
                    self._keep(result)
                if not calls or not self._goes_on():
                    return
                run = session.begin()

    def _reading(self, run: RemoteRun) -> AbstractContextManager[None]:
        self._runs.append(run)
        return self._session.reading(run)

    def _take(self, run: RemoteRun, event: Event) -> None:
        self._session.take(run, event)
        if (
            isinstance(event, TextMessageStartEvent)
            and event.subagent_run_id is None
            and event.role in (None, "assistant")
        ):
            self._texts.setdefault(event.message_id, [])
        if isinstance(event, TextMessageContentEvent) and event.message_id in self._texts:
            self._texts[event.message_id].append(event.delta)

    def _to_answer(self) -> list[ToolCall]:
        return [call for call in self._tools.mine(self._session.pending_tool_calls) if call.id not in self._answered]

    def _keep(self, result: ToolMessage) -> None:
        """Keep it at once: the tool after it may be stopped."""
        self._answered.add(result.tool_call_id)
        self._session.messages.append(result)

    def _goes_on(self) -> bool:
        """Whether there is another run: local tools have answered all that the agent waits for."""
        session = self._session
        if session.interrupts or session.pending_tool_calls:
            return False
        if len(self._runs) == MAX_RUNS:
            error = AgentError(f"The agent has called local tools in {MAX_RUNS} runs, one after the other.")
            error.messages, error.state = session.messages, self._runs[-1].state
            raise error
        return True
