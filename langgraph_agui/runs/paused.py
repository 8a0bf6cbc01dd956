"""What a client has seen of a paused step: kept beside the pause, as a record of the thread.

The messages that a graph does not keep when it pauses enter. They leave when the thread is loaded
again, maybe in another process: they are shown as long as the question is open, and go when their
step runs again.
"""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import uuid4

from ag_ui.core import ActivityMessage, Message
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot
from pydantic import TypeAdapter

from langgraph_agui.graphs import GraphAdapter, Thread
from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.kernel.errors import CodedError
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.conversation import Unkept
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec, MessageSource
from langgraph_agui.messages.to_agui import history_as_agui
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.translate.run_events import PausedStep

logger = run_logger(__name__)

# The keys of a record: the fields of the step, and its number, because the newest record counts.
_UNKEPT: Final = "unkept"
_TASKS: Final = "tasks"
_ASKERS: Final = "askers"
_NUMBER: Final = "number"

_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)


async def store_step(graph: GraphAdapter, pause: StateSnapshot, step: PausedStep) -> None:
    """Keep a step beside its pause. If the store fails, the log tells, and the run goes on."""
    try:
        records = await graph.load_records(pause)
        # Without these, the thread itself has all.
        if not step.unkept and not any(_UNKEPT in record for record in records):
            return
        number = len(records)
        messages = [
            {
                "message": message.model_dump(mode="json", by_alias=True, exclude_none=True),
                "task": task,
                "kept": is_kept,
                "source": list(source),
            }
            for message, task, is_kept, source in step.unkept
        ]
        record = {
            "id": str(uuid4()),
            _NUMBER: number,
            _UNKEPT: messages,
            _TASKS: list(step.tasks),
            _ASKERS: dict(step.askers),
        }
        await graph.store_record(pause, number, record)
    except CodedError:
        logger.warning("The messages of a paused step could not be stored.", exc_info=True)


async def load_step(
    agent: AgentContext,
    thread: Thread,
    pending: PendingInterrupts,
    config: RunnableConfig,
    *,
    shown: bool = True,
) -> PausedStep:
    """Return the paused step of a thread; an empty one if the thread waits for nothing.

    Of a pause that no run of an agent has made, the checkpoints of the graphs inside tell.

    Args:
        agent: The agent.
        thread: The thread.
        pending: The interrupts that it waits for.
        config: Names the thread.
        shown: Whether the step is to be shown.
    """
    if (newest := _newest(pending)) is not None:
        return _read_step(newest)
    if not (pending and shown) or not any(task.state for task in thread.state.tasks):
        return PausedStep()
    inner = await agent.graph.load_inner_graphs(config, agent.messages_key)
    thread_id = str(config["configurable"].get("thread_id", ""))
    transformers = agent.graph.run_transformers()
    unkept: list[Unkept] = []
    for graph in inner:
        own = transformers.of_stored(graph.namespace)
        values = EncryptedValueCodec(agent.reasoning, thread_id, own)
        unkept += [
            Unkept(message, graph.namespace, is_kept=True)
            for message in history_as_agui(graph.messages, values)
            if not isinstance(message, ActivityMessage)
        ]
    return PausedStep(unkept, askers={asked: None for graph in inner for asked in graph.asked})


def unkept_ids(pending: PendingInterrupts) -> list[str]:
    """Return the ids of the messages that were kept beside a pause."""
    newest = _newest(pending)
    return [one.message.id for one in _read(newest[_UNKEPT])] if newest is not None else []


def _newest(pending: PendingInterrupts) -> Mapping[str, object] | None:
    records = [one for one in pending.used.records if _UNKEPT in one]
    return max(records, key=_number, default=None)


def _number(record: Mapping[str, object]) -> int:
    number = record.get(_NUMBER)
    return number if isinstance(number, int) else -1


def _read_step(record: Mapping[str, object]) -> PausedStep:
    tasks, askers = record.get(_TASKS), record.get(_ASKERS)
    return PausedStep(
        [*_read(record[_UNKEPT])],
        tasks if isinstance(tasks, list) else (),
        askers if isinstance(askers, Mapping) else {},
    )


def _read(stored: object) -> Iterable[Unkept]:
    for one in stored if isinstance(stored, list) else ():
        match one:
            case {
                "message": message,
                "task": str(task),
                "kept": bool(is_kept),
                "source": [str() | None as subagent, bool(attributed), bool(in_thread)],
            }:
                source = MessageSource(subagent, attributed, in_thread)
                yield Unkept(_MESSAGE.validate_python(message), task, is_kept, source)
