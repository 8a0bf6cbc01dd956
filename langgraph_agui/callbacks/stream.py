"""`astream_agui`: one run of any Runnable, as the events that its client is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast

from ag_ui.core import Event, RunAgentInput
from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_agui.callbacks.event_queue import RunEventQueue, is_last
from langgraph_agui.callbacks.root import RootRun, lock
from langgraph_agui.configs import merge_run_configs
from langgraph_agui.errors import RunStopped
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.settings import Subagents, check_choice
from langgraph_agui.translate.event_sinks import EventSink


async def astream_agui(
    runnable: Runnable[Any, Any],
    input: object,  # noqa: A002  # as every Runnable calls it
    run_input: RunAgentInput,
    *,
    config: RunnableConfig | None = None,
    messages_key: str = "messages",
    reasoning: ReasoningOptions | None = None,
    subagents: Subagents = "attributed",
    expose_errors: bool = False,
) -> AsyncGenerator[Event, None]:
    """Run any Runnable and yield the events of the run.

    `RUN_STARTED` comes first, with the ids of `run_input`; then all that models, tools, nodes and subagents do; a
    `MESSAGES_SNAPSHOT` of the client's messages with what was said; and one of `RUN_FINISHED` and `RUN_ERROR`: a
    run that fails does not raise. What the Runnable returns without having said it is `RUN_FINISHED.result`. Leaving
    the iterator cancels the Runnable. For graphs with threads, state and approvals there is `LangGraphAgent`.

    Args:
        runnable: A chain, a model, an agent; its `ainvoke` is used, under which chat models stream.
        input: What it takes. `agui_messages_to_langchain(run_input.messages)` makes messages of what the client sent.
        run_input: What the client sent (AG-UI 1.0, `RunAgentInput`): the ids of the run, the messages that it holds.
        config: Configuration of the Runnable.
        messages_key: The state channel that holds the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels (docs/reasoning.md).
        subagents: What is seen of subagents (docs/subagents.md).
        expose_errors: Whether `RUN_ERROR.message` is the exception's text, which may hold secrets.

    Raises:
        ValueError: There is no such way to show subagents.
    """
    check_choice("subagents", subagents, Subagents)
    waiting = RunEventQueue(keeps=True)
    run = RootRun(
        run_input,
        EventSink(waiting.put),
        lock(),
        messages_key=messages_key,
        reasoning=reasoning,
        subagents=subagents,
        expose_errors=expose_errors,
    )
    run.translation.emit_run_started()
    task = asyncio.create_task(_drive(runnable, input, config, run), name=f"agui-run-{run_input.run_id}")
    going = True
    try:
        while going:
            event = await waiting.take()
            going = not is_last(event)
            yield cast("Event", event)
    finally:
        run.source.stopped = going  # what a run that has ended leaves running is nobody's to stop
        task.cancel()
        await asyncio.wait({task}, timeout=1)


async def _drive(runnable: Runnable[Any, Any], given: object, config: RunnableConfig | None, run: RootRun) -> None:
    try:
        await runnable.ainvoke(given, merge_run_configs(config, {"callbacks": [run.source]}))
        run.translation.emit_messages_snapshot()
        run.translation.finish_run()
    except BaseException as error:
        with suppress(RunStopped):  # nobody reads any more
            run.fail(error)
        if not isinstance(error, Exception):
            raise
