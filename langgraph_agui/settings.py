"""What an agent decides for all of its runs, and what they share. An agent's options enter, every run reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from types import UnionType
from typing import (
    Final,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage

from langgraph_agui.aio import Duration, seconds
from langgraph_agui.frontend import SentInput
from langgraph_agui.graphs import GraphAdapter, Thread
from langgraph_agui.interrupts.decisions import OnApproval, log_approval
from langgraph_agui.interrupts.pending import PendingInterruptReader, PendingInterrupts
from langgraph_agui.interrupts.resume import CommandAnswers
from langgraph_agui.messages.media_urls import MediaUrlPolicy, MediaUrls
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.silence import Silence
from langgraph_agui.messages.to_langchain import HistoryConverter, ProviderFilter
from langgraph_agui.state.client_state import ClientStateCaches
from langgraph_agui.state.contract import StateContract
from langgraph_agui.state.options import PredictState

Approvals: TypeAlias = Literal["interrupt", "tool_call"]
ClientInstructions: TypeAlias = Literal["ignore", "accept"]
InputWhilePaused: TypeAlias = Literal["refuse", "cancel_and_continue"]
OnBusy: TypeAlias = Literal["refuse", "wait"]
OnDisconnect: TypeAlias = Literal["cancel", "continue"]
Subagents: TypeAlias = Literal["attributed", "inline", "hidden"]
SubagentsOption: TypeAlias = Literal["auto", Subagents]

# What becomes of the history that a client sends with a thread that the server does not know.
UnknownThreads: TypeAlias = Literal["import", "ignore"]

# Key in the metadata of checkpoints: a JSON list of the graph's tools that the client of the run offered to run.
OFFERED: Final = "agui_offered"

# Whether clients see the messages of models that tools call.
InnerModels: TypeAlias = Literal["live", "hidden"]

# How clients are asked: by the outcome of `RUN_FINISHED`, by `CUSTOM on_interrupt` events, or by both. "auto" is the
# events for clients of before 1.0, whose front ends prefer an outcome if there is one, and the outcome for others.
InterruptForm: TypeAlias = Literal["auto", "outcome", "legacy", "both"]

# Which form of the protocol clients get; "auto" is that of 1.0 for clients that send a `protocolVersion`.
ClientProtocol: TypeAlias = Literal["auto", "1.0", "0.x"]


def check_choice(name: str, value: object, choices: object) -> None:
    """Check that the option `name` has one of the values in `choices`, a `Literal`.

    Raises:
        ValueError: It has another value.
    """
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


def check_names(owner: str, given: Collection[str], known: Collection[str]) -> None:
    """Check that `owner` takes all options that it is given.

    Raises:
        TypeError: It does not take one of them.
    """
    for name in sorted(set(given).difference(known)):
        close = get_close_matches(name, known, 1)
        raise TypeError(f"{owner} takes no option {name!r}" + (f": did you mean {close[0]!r}?" if close else ""))


def check_type(name: str, value: object, annotation: object) -> None:
    """Check that the option `name` is of one of the classes in `annotation`; anything fits one that is not of classes.

    Raises:
        TypeError: It is of another class.
    """
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    classes = tuple(kind for kind in (get_origin(kind) or kind for kind in kinds) if isinstance(kind, type))
    if len(classes) < len(kinds) or isinstance(value, classes) or (float in classes and isinstance(value, int)):
        return
    names = [kind.__name__ for kind in classes if kind is not type(None)]
    hint = f": write {name}={names[0]}(...)" if isinstance(value, dict) and classes[0] is not str else ""
    raise TypeError(f"{name} must be {' or '.join(names)}, not {type(value).__name__}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What an agent decides for all of its runs; see `LangGraphAgent`.

    Raises:
        ValueError: An option has an unknown value, or two options contradict each other.
    """

    messages_key: str = "messages"
    on_disconnect: OnDisconnect = "cancel"
    emit_raw: bool = False
    expose_errors: bool = False
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    subagents: SubagentsOption = "auto"
    client_protocol: ClientProtocol = "auto"
    inner_models: InnerModels = "live"
    interrupts: InterruptForm = "auto"
    unknown_threads: UnknownThreads = "import"
    approvals: Approvals = "interrupt"
    approval_timeout: timedelta | None = None
    on_approval: OnApproval = log_approval
    input_while_paused: InputWhilePaused = "refuse"
    client_instructions: ClientInstructions = "ignore"
    media_urls: MediaUrls = "public"
    on_busy: OnBusy = "refuse"
    run_timeout: Duration | None = None
    idle_timeout: Duration | None = None
    max_concurrent_runs: int | None = None
    max_waiting: int = 32
    max_readers: int = 32
    max_unread: int = 16 * 1024 * 1024
    merge_fragments: bool = True

    def __post_init__(self) -> None:
        for name, annotation in get_type_hints(type(self)).items():
            check = check_choice if get_origin(annotation) is Literal else check_type
            check(name, getattr(self, name), annotation)
        if not callable(self.media_urls):
            check_choice("media_urls", self.media_urls, MediaUrlPolicy)
        for name in ("run_timeout", "idle_timeout", "max_concurrent_runs", "max_waiting", "max_readers", "max_unread"):
            limit = seconds(getattr(self, name))
            if limit is not None and not limit > 0:
                raise ValueError(f"{name} must be more than 0, not {getattr(self, name)!r}")
        if self.emit_raw and self.reasoning.visibility != "full":
            raise ValueError("emit_raw sends all of the graph's state, which would show the reasoning that is hidden")

    def is_old_client(self, run_input: RunAgentInput) -> bool:
        """Return whether the client of an input is to be served as one of before AG-UI 1.0."""
        if self.client_protocol == "auto":
            return run_input.protocol_version is None
        return self.client_protocol == "0.x"

    def interrupts_for(self, run_input: RunAgentInput) -> InterruptForm:
        """Return how the client of an input is asked."""
        if self.interrupts == "auto":
            return "legacy" if self.is_old_client(run_input) else "outcome"
        return self.interrupts

    def asks_by_events(self, run_input: RunAgentInput) -> bool:
        """Return whether the client of an input is asked by `CUSTOM on_interrupt`."""
        return self.approvals == "interrupt" and self.interrupts_for(run_input) != "outcome"

    def subagents_for(self, run_input: RunAgentInput) -> Subagents:
        """Return what the client of an input sees of subagents."""
        if self.subagents == "auto":
            return "inline" if self.is_old_client(run_input) else "attributed"
        return self.subagents


class RunOptions(TypedDict, total=False):
    """The fields of `RunSettings` but `reasoning`, as keyword options of `LangGraphAgent`, which documents them."""

    messages_key: str
    on_disconnect: OnDisconnect
    emit_raw: bool
    expose_errors: bool
    subagents: SubagentsOption
    client_protocol: ClientProtocol
    inner_models: InnerModels
    interrupts: InterruptForm
    unknown_threads: UnknownThreads
    approvals: Approvals
    approval_timeout: timedelta | None
    on_approval: OnApproval
    input_while_paused: InputWhilePaused
    client_instructions: ClientInstructions
    media_urls: MediaUrls
    on_busy: OnBusy
    run_timeout: Duration | None
    idle_timeout: Duration | None
    max_concurrent_runs: int | None
    max_waiting: int
    max_readers: int
    max_unread: int
    merge_fragments: bool


class Conventions(Protocol):
    """What graphs and clients of other adapters expect beside AG-UI; see `langgraph_agui.conventions`."""

    def state_values(self, run_input: RunAgentInput, stored: Mapping[str, object]) -> dict[str, object]:
        """Return what the adapter fills into the graph's state for a run, given the thread's state before it."""

    def offered_tools(self, stored: Mapping[str, object]) -> Collection[str]:
        """Return the names of the client's tools that a thread's state holds since its last run."""

    def runtime_context(self, context: object, run_input: RunAgentInput) -> object:
        """Return the runtime context of a run, made of the server's own."""

    def question(self, value: object) -> str | None:
        """Return the question in the value of an interrupt of another form than ours; None if there is none."""

    def command_answers(self, run_input: RunAgentInput, pending: PendingInterrupts) -> CommandAnswers | None:
        """Return the answers to interrupts that a client sends in another way than by `resume`; None if it does not.

        Raises:
            RunInputError: They are for other questions, or do not name which of several.
        """


# The message or state that a custom event asks to show.
ShownByEvent: TypeAlias = BaseMessage | Mapping[str, object] | None


class NodeConventions(NamedTuple):
    """What nodes written for other adapters set on their model calls, and ask for by custom events.

    Attributes:
        silence_of: Returns what clients do not see of a model call with this metadata.
        predictions_of: Returns what a model call with this metadata predicts of the state.
        read_event: Returns name and value of a custom event as clients get it, and the message or state that it asks to
            show.
    """

    silence_of: Callable[[Mapping[str, object]], Silence]
    predictions_of: Callable[[Mapping[str, object]], Sequence[PredictState]]
    read_event: Callable[[str, object], tuple[str, object, ShownByEvent]]


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What the runs of one agent share.

    Attributes:
        name: The agent's name.
        graph: The graph.
        settings: What the agent decides.
        contract: What clients see and may change of the state.
        conventions: What graphs and clients of other adapters expect.
        node_conventions: What nodes written for other adapters expect.
        providers: Keeps what other providers' models made from the graph's models. Learns from each run.
        report_unread: Receives what a client sent when the graph has run, and warns of what nothing has read.
        client_states: What this process knows of the state that clients hold.
    """

    name: str
    graph: GraphAdapter
    settings: RunSettings
    contract: StateContract
    conventions: Conventions
    node_conventions: NodeConventions
    providers: ProviderFilter
    report_unread: Callable[[SentInput], None]
    client_states: ClientStateCaches = field(default_factory=ClientStateCaches)

    def interrupt_reader(self) -> PendingInterruptReader:
        """Return what reads the interrupts that threads of the graph wait for."""
        settings = self.settings
        show, question = self.contract.show, self.conventions.question
        return PendingInterruptReader(self.graph, settings.messages_key, show, settings.approval_timeout, question)

    def own_tools(self, run_input: RunAgentInput, thread: Thread | None = None) -> frozenset[str]:
        """Return the graph's tools that no client runs.

        A client may run a tool that a model of the graph is bound to. It offers that tool with its run, and may not
        offer it when it only looks at the thread.

        Args:
            run_input: What the client sent.
            thread: The thread, whose last run may have offered tools too.
        """
        offered = self.offered_tools(run_input)
        earlier = thread.metadata(OFFERED) if thread is not None else None
        return self._tool_names().difference(offered, json.loads(earlier) if isinstance(earlier, str) else ())

    def offered_tools(self, run_input: RunAgentInput) -> frozenset[str]:
        """Return the graph's tools that a client offers to run."""
        return self._tool_names().intersection(tool.name for tool in run_input.tools or ())

    def _tool_names(self) -> frozenset[str]:
        return self.graph.contents.tool_names if self.graph.contents is not None else frozenset()

    def converter(self, thread_id: str) -> HistoryConverter:
        """Return what converts the messages of a thread."""
        settings = self.settings
        return HistoryConverter(thread_id, settings.reasoning, settings.client_instructions, self.providers)
