"""Answers to approvals: what is told of them, what each does, how long they count, which edits they
take."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import InjectedState, ToolRuntime
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent
from tests.kit.deep import together
from tests.kit.graphs.failing_checkpointers import Full
from tests.kit.graphs.pauses import Mode, around, as_tool, happened, last_user_text, spender
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import answering, approvals, cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending


async def test_each_answer_is_told_once_before_it_takes_effect(make: Any, mode: Mode) -> None:
    told: list[Approval] = []

    def on_answer(approval: Approval) -> None:
        assert chat.happened == []
        told.append(approval)

    async def later(approval: Approval) -> None:
        await asyncio.sleep(0)
        on_answer(approval)

    chat = make(on_answer=later if mode == "per_call" else on_answer)
    one, two = await chat.ask()
    edited, no = {"file": str(chat.file), "amount": 5}, {"approved": False, "message": "no"}
    wrong = {"approved": True, "editedArgs": {"file": "f"}}
    for refused in ([(one, "true"), (two, True)], [(one, True)], [(one, wrong), (two, True)]):
        assert ending(await chat.send(resume=resolved(*refused))).startswith("interrupt_")
    assert told == []
    answers = resolved((one, {"approved": True, "editedArgs": edited}), (two, no))
    given = run_input(*chat.held, thread="t", resume=answers)
    config, context = {"configurable": {"user": "ada"}}, {"role": "boss"}
    for _ in range(2):  # the second time as a client whose connection broke
        run = await record_run(chat.agent, given, config=config, context=context)
        assert ending(run) == "success"
    assert chat.happened == [5]
    first, second = told if told[0].interrupt_id == one else told[::-1]
    assert (first.interrupt_id, first.decision, first.edited_args) == (one, "edit", edited)
    assert (first.tool_call_id, first.name, first.args["amount"]) == ("s1-1", "spend", 1)
    assert (second.interrupt_id, second.decision, second.edited_args) == (two, "reject", None)
    assert second.payload == no
    for each in told:
        assert (each.thread_id, each.run_id, each.context) == ("t", given.run_id, context)
        assert each.config["configurable"]["user"] == "ada"


async def test_a_record_that_cannot_be_made_stops_everything(make: Any) -> None:
    broken = [True]

    def on_answer(approval: Approval) -> None:
        if broken and approval.tool_call_id == "s1-2":
            raise OSError("the audit log is full")

    chat = make(on_answer=on_answer)
    chat.agent.graph.checkpointer = saver = Full()
    one, two = await chat.ask()
    answers, saver.written = resolved((one, True), (two, True)), 0
    failed = await chat.send(resume=answers)
    assert (failed.types, ending(failed)) == (["RUN_STARTED", "RUN_ERROR"], "approval_refused")
    assert "audit" not in failed.last.message
    assert (chat.happened, saver.written) == ([], 0)
    broken.clear()
    await chat.send(resume=answers)
    assert chat.happened == [1, 2]


async def test_responding_instead_of_the_tool(make: Any) -> None:
    chat = make("approve", "respond")
    one, two = await chat.ask()
    refused = await chat.send(resume=resolved((one, False), (two, True)))
    assert ending(refused) == "interrupt_invalid"
    paid = {"type": "respond", "message": "paid in cash"}
    recorded = await chat.send(resume=resolved((one, paid), (two, True)))
    results = {event.tool_call_id: event.content for event in recorded.of("TOOL_CALL_RESULT")}
    assert (chat.happened, results) == ([2], {"s1-1": "paid in cash", "s1-2": "spent 2"})


async def test_a_cancelled_question_that_takes_no_rejection_goes_with_all_others(make: Any) -> None:
    chat = make("approve", "edit")
    one, two = await chat.ask()
    mixed = await chat.send(resume=[*cancelled(one), *resolved((two, True))])
    assert ending(mixed) == "interrupt_invalid"
    recorded = await chat.send(resume=cancelled(one, two))
    assert (ending(recorded), chat.happened) == ("cancelled", [])
    assert {one.tool_call_id for one in recorded.of("TOOL_CALL_RESULT")} == {"s1-1", "s1-2"}
    chat.file = chat.file.with_name("next")
    assert len(await chat.ask()) == 2


async def test_questions_about_calls_with_the_same_arguments(make: Any) -> None:
    chat = make()
    script, file = chat.model.script, str(chat.file)
    twins = [call("spend", f"twin-{number}", number, file=file, amount=1) for number in (0, 1)]
    chat.model.script = lambda messages: twins if len(messages) == 1 else script(messages)
    ids = {one.tool_call_id: one.id for one in asked(await chat.send(user(file)))}
    answers = resolved((ids.pop("twin-1"), True), (ids.pop("twin-0"), False))
    answered = await chat.send(resume=answers)
    results = {event.tool_call_id: event.content for event in answered.of("TOOL_CALL_RESULT")}
    assert (ids, chat.happened, results["twin-1"]) == ({}, [1], "spent 1")
    assert "rejected" in results["twin-0"]


@pytest.mark.parametrize(("mode", "busy"), [("batched", "refuse"), ("per_call", "wait")])
async def test_the_same_answers_at_the_same_time(make: Any, busy: str) -> None:
    chat = make(options={"on_busy": busy})
    one, two = await chat.ask()
    given = {"thread": "t", "resume": resolved((one, True), (two, True))}
    runs = (record_run(chat.agent, run_input(*chat.held, **given)) for _ in range(3))
    ends = sorted(map(ending, await asyncio.gather(*runs)))
    assert chat.happened == [1, 2]
    assert ends == ["success", *(["thread_busy"] if busy == "refuse" else ["success"]) * 2]


async def test_a_refused_edit_names_the_argument_and_the_rule(make: Any) -> None:
    chat = make()
    one, two = await chat.ask()
    for args, rule in (
        ({"file": "f", "amount": "secret"}, "'type: integer' at edited_action/args/amount"),
        ({}, "'required' at edited_action/args/file"),
    ):
        edit = {"approved": True, "editedArgs": args}
        refused = await chat.send(resume=resolved((one, edit), (two, True)))
        assert refused.last.message == f"The answer to 'spend' breaks the rule {rule}."


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("mode", "place"),
    [("batched", "alone"), ("per_call", "alone"), ("batched", "tool"), ("per_call", "node")],
)
async def test_the_time_counts_from_the_question_itself(
    mode: Mode, place: str, tmp_path: Any
) -> None:
    thought: list[datetime] = []

    def script(messages: list[BaseMessage]) -> list[Piece]:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        asks = call("spend", f"s{number}", file=last_user_text(messages), amount=number)
        done: list[Piece] = ["Done."]
        return [asks, lambda: thought.append(datetime.now(UTC))] if number < 2 else done

    saver, inner = InMemorySaver(), spender(mode, model=Scripted(script=script))
    if place == "alone":
        inner.checkpointer = saver
    elif place == "tool":
        inner = as_tool(as_tool(inner, 2), 1, saver)
    else:
        inner = around(around(inner), saver)
    client = Client(LangGraphAgent(inner, approvals=ApprovalOptions(timeout=HOUR)))
    questions = await client.ask(str(tmp_path / "happened"))
    for number in range(2):
        [one] = questions
        since = datetime.fromisoformat(str(one.expires_at)) - HOUR
        assert thought[number] <= since <= datetime.now(UTC)
        assert [again.expires_at for again in asked(await client.connect())] == [one.expires_at]
        recorded = await client.send(resume=answering([one], {"approved": False}))
        questions = asked(recorded) if number == 0 else []
    assert ending(recorded) == "success"


@pytest.mark.parametrize("timeout", [timedelta.max, float("inf"), 1e12])
async def test_a_time_later_than_any_date_is_never(timeout: Any, tmp_path: Any) -> None:
    graph = spender("batched", InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(timeout=timeout)))
    questions = await client.ask(str(tmp_path / "happened"))
    assert [one.expires_at for one in questions] == [None, None]
    assert ending(await client.send(resume=approvals(questions))) == "success"


@pytest.mark.parametrize(("busy", "early"), [("refuse", 0.1), ("wait", 0.0), ("wait", -0.02)])
async def test_the_moment_at_which_it_runs_out(busy: Any, early: float, tmp_path: Any) -> None:
    """Two workers get the same answers around it: all of them count, or none, and once."""
    file, saver = str(tmp_path / "happened"), InMemorySaver()
    options: Any = {"approvals": ApprovalOptions(timeout=0.3), "on_busy": busy}
    one, other = (LangGraphAgent(spender("per_call", saver), **options) for _ in range(2))
    client = Client(one)
    questions = await client.ask(file)
    end = datetime.fromisoformat(str(questions[0].expires_at))
    await asyncio.sleep((end - datetime.now(UTC)).total_seconds() - early)
    clients = [Client(agent, held=client.held) for agent in (one, other, one)]
    runs = (each.send(resume=approvals(questions)) for each in clients)
    ends = {ending(run) for run in await asyncio.gather(*runs)} - {"thread_busy"}
    assert (ends, happened(file)) in [({"success"}, [1, 2]), ({"interrupt_expired"}, [])]
    late = LangGraphAgent(one.graph, approvals=ApprovalOptions(timeout=timedelta(0)))
    if ends == {"interrupt_expired"}:  # what is too late can be cancelled
        client.agent = late
        assert ending(await client.send(resume=answering(questions, ...))) == "success"
        assert happened(file) == []


MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])
Done = list[Any]


class Address(BaseModel):
    street: str
    number: int


class Parcel(BaseModel):
    to: Address
    count: int = 1


class ParcelV1(BaseModelV1):
    count: int


def tool_of(run: Any, schema: Any = None) -> Any:
    return StructuredTool.from_function(run, name="act", description="Act.", args_schema=schema)


def plain(done: Done) -> Any:
    def act(count: int, note: str = "") -> None:
        done.append(count)

    return tool_of(act)


def nested(done: Done) -> Any:
    def act(to: Address, count: int = 1) -> None:
        done.append((to.street, to.number, count))

    return tool_of(act, Parcel)


def injected(done: Done) -> Any:
    def act(
        count: int,
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
        account: Annotated[str, InjectedToolArg] = "own",
    ) -> None:
        done.append((count, type(state["messages"][0]).__name__, tool_call_id, account))

    return tool_of(act)


def version_1(done: Done) -> Any:
    return tool_of(lambda count: done.append(count), ParcelV1)


def json_schema(done: Done) -> Any:
    return tool_of(lambda **args: done.append(args), COUNT)


COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
COUNT["additionalProperties"] = False
HOME: dict[str, Any] = {"street": "Main", "number": 1}
HIGH = {"to": {"street": "High", "number": 2}, "count": 3}
FORGED = {"state": {"messages": []}, "tool_call_id": "c0", "runtime": {}, "account": "another"}
ONE, TWO = {"count": 1}, {"count": 2}
NOT_NESTED = [{}, {"to": "Main"}, {"to": {"street": 1, "number": 1}}, {"to": {"street": "Main"}}]

# What the model calls, wrong edits, a right edit, and what is done then.
CASES: dict[Any, Any] = {
    plain: (ONE, [{}, {"count": "two"}, {"count": [2]}, {"count": None}], TWO, 2),
    nested: ({"to": HOME}, NOT_NESTED, HIGH, ("High", 2, 3)),
    version_1: (ONE, [{}, {"count": "two"}], TWO, 2),
    json_schema: (ONE, [{}, {"count": "two"}, {"count": 2, "more": 3}], TWO, TWO),
    injected: (ONE, [FORGED], {**TWO, **FORGED}, (2, "HumanMessage", "c1", "own")),
}


def guarded(act: Any, model: Scripted, mode: Mode, saver: Any = None) -> Any:
    guard = HumanInTheLoopMiddleware({"act": True}, interrupt_mode=mode)
    return create_agent(model, [act], middleware=[guard], checkpointer=saver)


async def refused(client: Client, payload: Any) -> None:
    """Answer, and see that nothing came of it."""
    questions = asked(await client.connect())
    run = await client.send(resume=answering(questions, payload))
    assert (run.types, ending(run)) == (["RUN_STARTED", "RUN_ERROR"], "interrupt_invalid"), payload
    assert asked(await client.connect()) == questions


@together(MODES, pytest.mark.parametrize("make", CASES))
async def test_an_edit_fits_the_schema_of_the_tool(make: Any, mode: Mode) -> None:
    made, wrong, right, then = CASES[make]
    done: Done = []
    model = Scripted([call("act", "c1", **made)], ["Done."])
    client = Client(LangGraphAgent(guarded(make(done), model, mode, InMemorySaver())))
    questions = await client.ask("Go.")
    schema: Any = questions[0].response_schema
    assert {*made} <= {*schema["properties"]["editedArgs"]["properties"]}
    for args in wrong:
        await refused(client, {"approved": True, "editedArgs": args})
        await refused(client, {"type": "edit", "edited_action": {"name": "act", "args": args}})
    await refused(client, {"type": "edit", "edited_action": {"name": "other", "args": right}})
    assert done == []
    edit = {"approved": True, "editedArgs": right}
    assert ending(await client.send(resume=answering(questions, edit))) == "success"
    assert done == [then]


def delegating(name: str, inner: Any) -> Any:
    """A tool that runs an agent."""

    async def run() -> str:
        result = await inner.ainvoke({"messages": ["Go."]})
        return str(result["messages"][-1].text)

    return StructuredTool.from_function(coroutine=run, name=name, description="Delegate.")


@pytest.mark.parametrize(
    ("spare", "mode", "known"),
    [
        *((None, "batched", True), (plain, "batched", True)),
        *((nested, "batched", False), (nested, "per_call", True)),
    ],
)
async def test_the_tool_is_that_of_the_agent_that_asks(spare: Any, mode: Mode, known: bool) -> None:
    """Another tool of that name, of the agent around it, does not count. If subagents have several
    that differ, nobody knows which one it is, and the tool itself checks."""
    done: Done = []
    inner = guarded(plain(done), Scripted([call("act", "c1", count=1)], ["Inner."]), mode)
    tools = [nested(done), delegating("delegate", inner)]
    if spare is not None:
        tools.append(delegating("spare", guarded(spare([]), Scripted(["-"]), mode)))
    model = Scripted([call("delegate", "d1")], ["Done."])
    client = Client(LangGraphAgent(create_agent(model, tools, checkpointer=InMemorySaver())))
    questions = await client.ask("Go.")
    if known:
        await refused(client, {"approved": True, "editedArgs": {"to": HOME}})
    edit = {"approved": True, "editedArgs": {"count": 2}}
    assert ending(await client.send(resume=answering(questions, edit))) == "success"
    assert done == [2]
