"""Answers, checked before anything runs: those of a client enter, those for the graph leave.

An answer counts only for a request that the thread's checkpoint holds open. The ids of requests are
LangGraph's, which name one pause of one task, so an answer is for exactly the call and the
arguments in the request, and counts once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ag_ui.core import ResumeEntry, RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.interrupts.decisions import Decision
from langgraph_agui.interrupts.pauses import InterruptRequest, PendingInterrupts
from langgraph_agui.kernel.errors import CodedError, ErrorCode, RunInputError
from langgraph_agui.kernel.hooks import Hook, HookTimeoutError
from langgraph_agui.kernel.quoting import quoted_list
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.options import Approval
from langgraph_agui.protocol.response_schema import InvalidAnswer
from langgraph_agui.protocol.wire import has_expired

logger = run_logger(__name__)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The meaning of a set of answers.

    Attributes:
        values: The values to resume with, by id of the LangGraph interrupt; none for a breakpoint.
        abandoned: Whether the pause is abandoned: nothing of it runs.
        decisions: The decision about each request, in order.
    """

    values: dict[str, object] = field(default_factory=dict)
    abandoned: bool = False
    decisions: Sequence[tuple[InterruptRequest, ResumeEntry, Decision]] = ()

    async def report(
        self,
        on_answer: Hook[[Approval], object],
        run_input: RunAgentInput,
        config: RunnableConfig,
        context: object,
    ) -> None:
        """Call `on_answer` for each answer, before the graph resumes.

        Raises:
            CodedError: `on_answer` has raised: the answer is not accepted (`approval_refused`). Or
                it took too long (`hook_timeout`).
        """
        for request, entry, decision in self.decisions:
            action = request.action
            approval = Approval(
                thread_id=run_input.thread_id,
                run_id=run_input.run_id,
                interrupt_id=request.id,
                decision=decision.type,
                payload=entry.payload,
                tool_call_id=request.interrupt.tool_call_id,
                name=action.name if action is not None else None,
                args=action.args if action is not None else {},
                edited_args=decision.edited_args,
                config=config,
                context=context,
            )
            try:
                await on_answer(approval)
            except HookTimeoutError:
                raise
            except Exception as error:
                raise CodedError(ErrorCode.APPROVAL_REFUSED) from error


@dataclass(frozen=True, slots=True)
class CommandAnswers:
    """Answers that come without the ids of their questions.

    Attributes:
        entries: The same as entries of `resume`, for the open questions.
        fingerprint: Distinguishes the same input, sent again, from another with the same content.
    """

    entries: Sequence[ResumeEntry]
    fingerprint: str


def resolve(entries: Sequence[ResumeEntry], pending: PendingInterrupts) -> Resolution:
    """Check the answers to a pause and return their meaning.

    A `cancelled` approval is a rejection, where the graph takes rejections. A `cancelled` request
    of a remote agent is passed on to it. Any other cancelled request abandons the whole pause: then
    no other answer may let anything run.

    Raises:
        RunInputError: A request is answered twice, unknown, left out or expired, or its answer does
            not fit.
    """
    try:
        return _resolution(_by_request(entries, pending), pending)
    except InvalidAnswer as error:
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, str(error)) from error


def _resolution(answers: Mapping[str, ResumeEntry], pending: PendingInterrupts) -> Resolution:
    decisions = [
        (request, answers[request.id], _decide(request, answers[request.id]))
        for request in pending.requests
    ]
    kinds = {decision.type for _, _, decision in decisions}
    if pending.at_breakpoint:
        return Resolution(abandoned=kinds != {"approve"}, decisions=decisions)
    if "cancel" in kinds:
        if kinds - {"cancel", "reject"}:
            message = (
                "This interrupt cannot be rejected. To cancel it, cancel or reject all open "
                "interrupts."
            )
            raise RunInputError(ErrorCode.INTERRUPT_INVALID, message)
        return Resolution(abandoned=True, decisions=decisions)
    by_interrupt: dict[str, list[tuple[InterruptRequest, object]]] = {}
    for request, _, decision in decisions:
        by_interrupt.setdefault(request.graph_id, []).append((request, decision.value))
    values = {
        graph_id: answered[0][0].resume_value([value for _, value in answered])
        for graph_id, answered in by_interrupt.items()
    }
    return Resolution(values, decisions=decisions)


def _by_request(
    entries: Sequence[ResumeEntry], pending: PendingInterrupts
) -> dict[str, ResumeEntry]:
    open_ = {request.id for request in pending.requests}
    counts = Counter(entry.interrupt_id for entry in entries)
    if unknown := counts.keys() - open_:
        raise RunInputError(
            ErrorCode.INTERRUPT_UNKNOWN, f"No open interrupt has the id {min(unknown)!r}."
        )
    if twice := [name for name, count in counts.items() if count > 1]:
        raise RunInputError(
            ErrorCode.INTERRUPT_DUPLICATE, f"The interrupt {twice[0]!r} is answered more than once."
        )
    if missing := open_ - counts.keys():
        raise RunInputError(
            ErrorCode.INTERRUPT_UNANSWERED, f"The interrupt {min(missing)!r} is not answered."
        )
    return {entry.interrupt_id: entry for entry in entries}


def _decide(request: InterruptRequest, entry: ResumeEntry) -> Decision:
    if entry.status == "cancelled":
        return request.cancel()
    if has_expired(request.interrupt):
        raise RunInputError(
            ErrorCode.INTERRUPT_EXPIRED, f"The interrupt {request.id!r} can only be cancelled now."
        )
    return request.read(entry.payload)


# -- answers that are sent again -----------------------------------------------------------------


def unused(
    entries: Sequence[ResumeEntry], mark: str, last_mark: object, pending: PendingInterrupts
) -> list[ResumeEntry] | None:
    """Return the answers that have not had their effect yet; None if they all had it before.

    A client answers all questions that it knows, also closed ones: after a failed run it has no
    other way (AG-UI 1.0, resume). The same answers again, and cancelling closed questions, change
    nothing.

    Args:
        entries: The answers.
        mark: The mark of the input that brings them.
        last_mark: The mark of the last input with answers after which the graph has gone on.
        pending: The interrupts that the thread waits for.
    """
    if last_mark == mark or pending.used.has_input(mark):
        return None
    open_ = {request.id for request in pending.requests}
    effective: list[ResumeEntry] = []
    repeated, ignored = False, list[str]()
    for entry in entries:
        if entry.interrupt_id not in open_:
            if entry.status == "cancelled":
                ignored.append(entry.interrupt_id)
                continue
            if pending.used.has(entry):
                repeated = True
                continue
        effective.append(entry)
    if ignored:
        logger.warning(
            "Cancelled interrupts are not open and were ignored: %s.", quoted_list(ignored)
        )
    return None if repeated and not effective else effective
