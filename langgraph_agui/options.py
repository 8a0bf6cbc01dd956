"""The options of `LangGraphAgent`, in groups, and the values that their functions get.

Each option stands here or in the signature of `LangGraphAgent`, once. Values are checked when a
group is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Literal, TypeAlias, TypeVar

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from langgraph_agui.kernel.aio import Duration, seconds
from langgraph_agui.kernel.checks import check_choice, check_fields, check_names
from langgraph_agui.kernel.seal import ReasoningSeal
from langgraph_agui.nodes import PredictState
from langgraph_agui.protocol.limits import InputLimits

OnBusy: TypeAlias = Literal["refuse", "wait"]
OnDisconnect: TypeAlias = Literal["cancel", "continue"]
Visibility: TypeAlias = Literal["full", "summary", "hidden", "off"]
AskBy: TypeAlias = Literal["auto", "outcome", "events", "both", "tool_call"]
WhenPaused: TypeAlias = Literal["refuse", "cancel"]
DecisionType: TypeAlias = Literal["approve", "edit", "reject", "respond"]
ClientProtocol: TypeAlias = Literal["auto", "1.0", "0.x"]
Subagents: TypeAlias = Literal["attributed", "inline", "hidden"]
MediaUrlPolicy: TypeAlias = Literal["public", "any", "none"]
MediaUrls: TypeAlias = MediaUrlPolicy | Callable[[str], bool]

GroupT = TypeVar("GroupT")


@dataclass(frozen=True, slots=True)
class Renamed:
    """The present spelling of an option of before 0.3, which is read until 0.5.

    Args:
        name: The option's name now.
        values: The names of its values now, by those of before.
        group: The name of its group of options, if it was in none.
    """

    name: str
    values: Mapping[str, str] = field(default_factory=dict)
    group: str = ""

    def value(self, given: object) -> object:
        """Return a given value, in its present spelling."""
        return self.values.get(given, given) if isinstance(given, str) else given

    def spelling(self, given: object) -> str:
        """Return the option as it is written now; a value that keeps its spelling is left out."""
        value = self.value(given)
        return f"{self.name}={'...' if value is given else repr(value)}"


def _option_group(**renamed: Renamed) -> Callable[[type[GroupT]], type[GroupT]]:
    """Return a decorator for a group of options. Errors for unknown options say what was probably
    meant, and options of before 0.3 are read with a `DeprecationWarning`.

    Args:
        renamed: The options of before 0.3, by their names.
    """

    def decorate(group: type[GroupT]) -> type[GroupT]:
        init: Callable[..., None] = group.__init__
        owner = group.__name__
        known = [one.name for one in fields(group)]  # type: ignore[arg-type]  # a dataclass
        spellings = {one: repr(one) for one in known}
        spellings |= {old: repr(now.name) for old, now in renamed.items()}

        @wraps(init)
        def read(self: GroupT, /, **given: Any) -> None:
            check_names(owner, given, spellings.keys(), spellings)
            anew: dict[str, Any] = {}
            for name in given.keys() & renamed.keys():
                now, value = renamed[name], given.pop(name)
                text = f"{owner}({name}=...) is deprecated: use {owner}({now.spelling(value)})"
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                anew[now.name] = now.value(value)
            init(self, **given, **anew)

        group.__init__ = read  # type: ignore[assignment, method-assign]
        return group

    return decorate


# -- reasoning -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """The tags between which a model writes its reasoning into its text, such as
    `<think>…</think>`.

    Args:
        opening: The tag before the reasoning.
        closing: The tag after it.
        opened: Whether the model's template has written the opening tag, so that answers begin
            inside reasoning. A whole text without a tag is the answer; it is shown as reasoning
            until it ends.

    Raises:
        TypeError: An argument is of another type.
        ValueError: A tag is empty, or begins or ends with whitespace, or both are equal.
    """

    opening: str = "<think>"
    closing: str = "</think>"
    opened: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for tag in (self.opening, self.closing):
            if not tag or tag != tag.strip():
                raise ValueError(
                    f"A tag must not be empty or have whitespace around it, unlike {tag!r}."
                )
        if self.opening == self.closing:
            raise ValueError(f"The opening and the closing tag are both {self.opening!r}.")


@_option_group()
@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningOptions:
    """How the client sees reasoning, and how it comes back for the provider (guides/reasoning.md).

    Args:
        visibility: `"full"` shows all reasoning. `"summary"` shows reasoning that its provider
            itself calls a summary, and hides the rest. `"hidden"` shows none. An empty reasoning
            message takes the place of hidden reasoning. With `seal` it comes back on the next turn;
            without, such a message goes back to its provider as text and calls. State, results,
            interrupts, custom events and tool results are redacted too. `"off"` sends no reasoning
            events at all, for clients that break on them: without a checkpointer, the reasoning is
            lost with the run.
        seal: Encrypts and authenticates every `encryptedValue`, bound to its thread and message.
            Values that it has not sealed are then dropped.
        max_bytes: The greatest length of one `encryptedValue`. A message that needs a longer one
            travels without its opaque values; a longer one that comes in is dropped.
        metadata: Whether `metadata` of reasoning messages name `provider` and `model`, and how many
            milliseconds the reasoning took (`durationMs`; not if it arrived in one piece).
        think_tags: The tags of models that write their reasoning into the text: True for `<think>`
            and `</think>`, a pair of others, or `ThinkTags`.
        provider: The provider of the agent's model, or several, by the names that messages have in
            `response_metadata["model_provider"]`; `langgraph_agui.chat_models.provider_of` returns
            that of a model. Opaque values of other providers are not sent to it. Values without an
            envelope are dropped, except those that another adapter is known to send for this
            provider, if it is the only one. Without this option the agent looks for chat models in
            its graph and filters by their providers.

    Raises:
        TypeError: An option is of another type.
        ValueError: `visibility` or `max_bytes` is none of the above.
    """

    visibility: Visibility = "full"
    seal: ReasoningSeal | None = None
    max_bytes: int = 1_000_000
    metadata: bool = False
    think_tags: ThinkTags | tuple[str, str] | bool | None = None
    provider: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.max_bytes < 1:
            raise ValueError(f"ReasoningOptions.max_bytes must be positive, not {self.max_bytes}")
        if isinstance(self.think_tags, tuple) and len(self.think_tags) != 2:
            raise ValueError(
                f"ReasoningOptions.think_tags must have two tags, not {self.think_tags!r}"
            )
        self.tags  # noqa: B018  # which checks them

    @property
    def tags(self) -> ThinkTags | None:
        """The tags of `think_tags`; None if there are none."""
        match self.think_tags:
            case None | False:
                return None
            case True:
                return ThinkTags()
            case (opening, closing):
                return ThinkTags(opening, closing)
            case tags:
                return tags

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of `provider`."""
        if self.provider is None:
            return ()
        return (self.provider,) if isinstance(self.provider, str) else tuple(self.provider)


# -- state ---------------------------------------------------------------------------------------


@_option_group(
    check_output=Renamed("check"),
    refused=Renamed("forbidden_change", {"warn": "ignore", "error": "refuse"}),
    emit=Renamed("send", {"delta": "patches", "snapshot": "snapshots"}),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """The keys of a graph's state that clients see, and those that they may change
    (guides/state.md).

    Keys that are not in the graph's output schema, keys marked `Private` and messages are never
    shown.

    Args:
        schema: A pydantic model of the state as clients see it. The state that a client sends is
            checked against it before anything runs. The capabilities publish it. By default, the
            graph's schemas describe the state.
        check: Whether the graph's values are checked against `schema` too. A value that does not
            fit ends the run with `state_invalid`.
        include: The keys that clients see; None for all. A further key of messages is visible only
            if it is listed.
        exclude: Keys that clients do not see.
        client_writable: The keys that clients may change: True for all that they see and that are
            in the graph's input schema, False for none, or a list of some.
        client_keys: Keys that the front end keeps in the state for itself. The graph does not get
            them.
        forbidden_change: What happens if a client changes a key that it may not change. `"ignore"`:
            the run goes on without the change and logs a warning. `"refuse"`: the run is refused
            with `state_refused`.
        send: `"patches"`: changes are sent as a JSON Patch, or as a snapshot where that is smaller.
            `"snapshots"`: the whole state is sent each time.
        predict: Tool arguments to show as state while they stream.

    Raises:
        TypeError: An option is of another type.
        ValueError: `forbidden_change` or `send` is none of the above.
    """

    schema: type[BaseModel] | None = None
    check: bool = True
    include: Collection[str] | None = None
    exclude: Collection[str] = ()
    client_writable: Collection[str] | bool = True
    client_keys: Collection[str] = ()
    forbidden_change: Literal["ignore", "refuse"] = "ignore"
    send: Literal["patches", "snapshots"] = "patches"
    predict: Sequence[PredictState] = ()

    def __post_init__(self) -> None:
        if self.schema is not None and not (
            isinstance(self.schema, type) and issubclass(self.schema, BaseModel)
        ):
            raise TypeError(f"StateOptions.schema must be a pydantic model, not {self.schema!r}")
        check_fields(self)


# -- approvals -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Approval:
    """A valid answer to an interrupt, just before the graph resumes with it.

    Attributes:
        thread_id: The thread.
        run_id: The run that carries the answer.
        interrupt_id: The interrupt.
        decision: `approve`, `edit`, `reject`, `respond`, `answer` (an `interrupt()` of the graph's
            own), or `cancel`.
        payload: The client's answer.
        tool_call_id: The tool call to approve, if it is one.
        name: Its tool; the nodes that come next for a breakpoint.
        args: The arguments to approve.
        edited_args: The arguments to run with instead.
        config: The run's configuration, with the values from `config_factory`.
        context: The run's context, with the values from `context_factory`: who answers.
    """

    thread_id: str
    run_id: str
    interrupt_id: str
    decision: str
    payload: object
    tool_call_id: str | None
    name: str | None
    args: Mapping[str, object]
    edited_args: Mapping[str, object] | None
    config: RunnableConfig
    context: object


# Called with each answer before the graph resumes; if it raises, the graph does not run.
OnAnswer: TypeAlias = Callable[[Approval], Awaitable[object] | object]


def _unchanged(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question in the value of an `interrupt()`, as clients see it and answer it.

    A question with `decisions` is an approval: a client may answer it in any form of an approval
    (guides/approvals.md).

    Args:
        message: The question, for people.
        reason: Why the graph asks: `tool_call`, `input_required`, `confirmation`, or
            `namespace:name`. By default, `tool_call` for an approval, else `input_required`.
        response_schema: The JSON Schema of answers. An answer that breaks it is refused. That of an
            approval is made of its `decisions`. If it is given, clients see it, but only `encode`
            can refuse arguments that break it.
        tool: The tool whose call the question is about. An approval names its tool.
        args: The arguments of that call.
        tool_call_id: The call. By default, the open call of `tool` with these `args`, where it is
            known which one it is.
        decisions: The decisions that the graph takes: some of `approve`, `edit`, `reject` and
            `respond`. None if the question is not an approval.
        decode: Takes an answer as the client sent it. Returns one that has the graph's own form as
            a decision of LangChain, or as `response_schema` has it, and others unchanged.
        encode: Takes a valid answer, and returns the value to resume the graph with. The answer to
            an approval is a decision of LangChain: `{"type": "approve"}`, for example. If this
            function or `decode` raises `ValueError`, the answer is refused.
        if_cancelled: The value to resume the graph with if the client cancels. By default, an
            approval is rejected if it takes that, and any other pause is abandoned.
        expires_at: Until when it may be answered (ISO 8601).
        metadata: More that clients see.

    Raises:
        TypeError: An argument is of another type.
        ValueError: There are decisions, and no `tool`; or a decision is none of the above.
    """

    message: str | None = None
    reason: str | None = None
    response_schema: Mapping[str, object] | None = None
    tool: str | None = None
    args: Mapping[str, object] | None = None
    tool_call_id: str | None = None
    decisions: Sequence[str] | None = None
    decode: Callable[[object], object] = _unchanged
    encode: Callable[[object], object] = _unchanged
    if_cancelled: object = None
    expires_at: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.decisions is not None and self.tool is None:
            raise ValueError(
                "A Question with decisions needs a `tool`, the name of the call's tool"
            )
        for decision in self.decisions or ():
            check_choice("Question.decisions", decision, DecisionType)


# Takes the value of an interrupt, as JSON data. Returns its question; None if the value has another
# form.
QuestionForm: TypeAlias = Callable[[object], Question | None]


@_option_group()
@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalOptions:
    """How clients are asked while a graph is paused, and what their answers do
    (guides/approvals.md).

    Args:
        timeout: Seconds, or a `timedelta`, for which an interrupt may be answered, unless its value
            has its own `expiresAt`.
        on_answer: Called with each answer before the graph resumes; may be async. If it raises,
            nothing runs. By default, each answer is a line in the log.
        ask_by: How clients are asked: by the outcome of `RUN_FINISHED` (`"outcome"`), by `CUSTOM
            on_interrupt` (`"events"`), by both, or by calls of a client tool `request_approval`
            (`"tool_call"`), for clients without interrupts. `"auto"` is events for clients older
            than AG-UI 1.0, and the outcome for others. Every form of answer is accepted.
        when_paused: Whether a new user message is refused while interrupts are open, or cancels all
            of them and runs.
        forms: The forms of your own questions. Each takes the value of an interrupt, as JSON data,
            and returns its `Question`, or None if the value has another form. The first that
            returns one is used; after them come the library's own forms. If a form raises, the run
            fails, and the thread stays paused.

    Raises:
        TypeError: An option is of another type.
        ValueError: An option is none of the above, or the time is less than 0.
    """

    timeout: Duration | None = None
    on_answer: OnAnswer | None = None
    ask_by: AskBy = "auto"
    when_paused: WhenPaused = "refuse"
    forms: Sequence[QuestionForm] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        timeout = seconds(self.timeout)
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"ApprovalOptions.timeout must be 0 or more, not {self.timeout!r}")


# -- clients, limits, trust ----------------------------------------------------------------------


@_option_group()
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The events that clients get (reference/clients.md).

    Args:
        protocol: Which version of AG-UI clients get: `"1.0"`, `"0.x"`, or (`"auto"`) 0.x if the
            input has no `protocolVersion`, else 1.0.
        subagents: How clients see subagents, the graphs inside the graph (guides/subagents.md):
            their messages under their own ids (`"attributed"`), the same as messages of the agent
            (`"inline"`), or nothing (`"hidden"`). With `"auto"`, clients older than AG-UI 1.0 get
            them inline, and others attributed.
        models_in_tools: Whether the words of models that tools call are streamed until the tool's
            node has ended (`"stream"`), or never seen (`"hidden"`).
        hold_messages: Whether a message is held back until its node and the hooks of middleware
            behind it (`after_model`, `after_agent`) have ended, and then sent whole. Set it if
            such a hook rewrites answers that nobody may see before (reference/middleware.md).
        hidden_tags: Tags of model calls that clients do not see, in addition to LangGraph's
            `nostream`.
        middleware_steps: Whether the hooks of an agent's middleware, such as
            `TodoListMiddleware.before_agent`, are steps that clients see.

    Raises:
        TypeError: An option is of another type.
        ValueError: An option is none of the above.
    """

    protocol: ClientProtocol = "auto"
    subagents: Literal["auto", Subagents] = "auto"
    models_in_tools: Literal["stream", "hidden"] = "stream"
    hold_messages: bool = False
    hidden_tags: Collection[str] = ()
    middleware_steps: Literal["hidden", "show"] = "hidden"

    def __post_init__(self) -> None:
        check_fields(self)


@_option_group()
@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The limits of a run (operations/limits.md). None turns a limit off.

    Args:
        total: Seconds, or a `timedelta`, after which a run is stopped (`run_timeout`). The time in
            which it waits for its thread does not count.
        idle: The same for a run that emits nothing for so long, even if only because its model's
            reasoning is hidden.
        hook: The same for one call of `authorize_thread`, `config_factory`, `context_factory`,
            `on_answer` or `get_capabilities`: it is cancelled, and the request or the run is
            refused (`hook_timeout`). Only a call that awaits can be cancelled.
        runs: How many runs this agent has at once in this process, including those that wait; one
            more is refused (`too_many_runs`).
        waiting: How many runs wait in one thread, if `on_busy` is `"wait"`; one more is refused
            (`thread_busy`).
        readers: How many clients follow one run; one more is refused (`too_many_readers`).
        unread: The bytes that wait for a client. With more it gets `reader_too_slow`, and has left
            the run.
        input: The limits of a request; a larger one is answered with 413 or 422.

    Raises:
        TypeError: A limit is of another type.
        ValueError: A limit is not more than 0.
    """

    total: Duration | None = None
    idle: Duration | None = None
    hook: Duration | None = 30
    runs: int | None = None
    waiting: int = 32
    readers: int = 32
    unread: int = 16 * 1024 * 1024
    input: InputLimits = field(default_factory=InputLimits)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("total", "idle", "hook", "runs", "waiting", "readers", "unread"):
            limit = seconds(getattr(self, name))
            if limit is not None and not limit > 0:
                raise ValueError(
                    f"RunLimits.{name} must be more than 0, not {getattr(self, name)!r}"
                )


@_option_group()
@dataclass(frozen=True, slots=True, kw_only=True)
class TrustOptions:
    """Which parts of a client's input are trusted (operations/security.md).

    Args:
        history: Whether the history that a client sends with a thread that the server does not know
            is imported, as without a checkpointer, or ignored except for the user's messages.
            Nothing imported counts as an approval, and no imported call is run.
        instructions: Whether the client's system and developer messages reach the model.
        media_urls: Which URLs media in a client's messages may have, because the server may fetch
            them: `https` to public hosts (`"public"`), `"any"` with a scheme, `"none"`, or those
            for which a function returns True. A path counts as a URL. Inline data is accepted if it
            is a file of the kind that the part names. A run with other media is refused.

    Raises:
        ValueError: An option is none of the above.
    """

    history: Literal["import", "ignore"] = "import"
    instructions: Literal["ignore", "accept"] = "ignore"
    media_urls: MediaUrls = "public"

    def __post_init__(self) -> None:
        check_fields(self)
        if not callable(self.media_urls):
            check_choice("TrustOptions.media_urls", self.media_urls, MediaUrlPolicy)
