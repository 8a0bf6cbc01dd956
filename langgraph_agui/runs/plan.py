"""The four plans of a run: `RunPlanner` makes one, `Run` carries it out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from langgraph_agui.graphs import Thread
from langgraph_agui.interrupts.answers import Resolution
from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.interrupts.used_answers import AnswerUse


@dataclass(frozen=True, slots=True)
class Execute:
    """Run the graph with an input.

    Attributes:
        input: The input; None to continue the thread as it is.
        thread: The thread that the run starts from; None if the graph keeps none.
        config: Merged into the run's configuration: the checkpoint to begin at, metadata for
            checkpoints.
        healed: Results in the input that the thread lacked, made by the server.
        settle_first: Whether to end the last superstep first, which was killed: new input would
            delete the writes of its finished nodes.
        taken: The ids of the client's messages in the input.
    """

    input: object
    thread: Thread | None = None
    config: RunnableConfig | None = None
    healed: Sequence[BaseMessage] = ()
    settle_first: bool = False
    taken: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume a paused graph with the client's answers.

    Attributes:
        resolution: The meaning of the answers.
        thread: The thread.
        config: Merged into the run's configuration: metadata for checkpoints.
        command: The answers, and the client's changes of the state; None to continue from a
            breakpoint.
        superstep: The values that finished tasks of the paused superstep have written.
        use: The use of the answers, to be recorded before the graph goes on.
        taken: The ids of the client's messages that are to run when the thread waits for nothing.
    """

    resolution: Resolution
    thread: Thread
    config: RunnableConfig
    command: Command[str] | None
    superstep: Mapping[str, object]
    use: AnswerUse
    taken: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Abandon:
    """End a pause without running anything of it.

    Attributes:
        resolution: The meaning of the answers.
        thread: The thread.
        config: Merged into the run's configuration: metadata for checkpoints.
        node: The node that the thread is paused before.
        writes: The client's changes of the state.
        taken: As for `Resume`.
    """

    resolution: Resolution
    thread: Thread
    config: RunnableConfig
    node: str
    writes: Mapping[str, object]
    taken: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Show:
    """Run nothing; send the thread as it stands.

    Attributes:
        thread: The thread.
        values: Its state; None to send no state.
        pending: The interrupts that it waits for.
        taken: None of the client's messages.
    """

    thread: Thread
    values: object = None
    pending: PendingInterrupts = field(default_factory=PendingInterrupts)
    taken: Collection[str] = ()


RunPlan: TypeAlias = Execute | Resume | Abandon | Show
