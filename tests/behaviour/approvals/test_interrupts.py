"""Pauses of nodes, and their answers: `interrupt()`, static breakpoints, and nodes that ask at the
same time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import Interrupt, ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import Mode, last_user_text, spend
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, answering, approvals, resolved
from tests.kit.run.thread_client import Client, asked, ending


class Notes(TypedDict, total=False):
    before: bool
    one: object
    two: object
    three: object


async def paused(**values: Any) -> tuple[Client, dict[str, Any]]:
    """A client whose nodes, named after the keys, ask with the values all at once; and questions."""
    builder = StateGraph(Notes).add_node("first", lambda state: {"before": True})
    builder.add_edge(START, "first")
    for name, value in values.items():
        node = lambda state, name=name, value=value: {name: interrupt(value)}  # noqa: E731
        builder.add_node(f"ask_{name}", node).add_edge("first", f"ask_{name}")
    client = Client(LangGraphAgent(builder.compile(checkpointer=InMemorySaver())))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    assert recorded.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    return client, {str(one.message): one for one in asked(recorded)}


async def test_several_answers_in_any_order_and_as_they_are() -> None:
    client, ask = await paused(one="1?", two="2?", three="3?")
    answers = [("3?", {"type": "reject"}), ("1?", None), ("2?", [False])]
    done = await client.send(resume=resolved(*((ask[one].id, value) for one, value in answers)))
    assert ending(done) == "success"
    assert done.state == {"before": True, "one": None, "two": [False], "three": {"type": "reject"}}


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
async def test_an_answer_that_nothing_asked_for(saver: Any) -> None:
    model = Scripted(["a"])
    client = Client(LangGraphAgent(chain_of(talker(model), checkpointer=saver)))
    assert ending(await client.send(resume=resolved(("x", "yes")))) == "interrupt_unknown"
    assert model.seen == []


async def test_without_a_checkpointer_a_pause_is_an_error_that_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def node(state: Chat) -> Any:
        if (last := state["messages"][-1].text) == "ask":
            interrupt("What?")
        return {"messages": [await Scripted([f"re {last}"]).ainvoke("x")]}

    agent = LangGraphAgent(chain_of(node))
    recorded = await record_run(agent, run_input(user("ask", "u1")))
    assert ending(recorded) == "no_checkpointer"
    assert recorded.last.message.endswith("needs a checkpointer, such as InMemorySaver().")
    assert "needs a checkpointer" in caplog.text
    after = await record_run(agent, run_input(user("ask", "u1"), user("hello", "u2")))
    assert (ending(after), after.messages[-1].content) == ("success", "re hello")


async def test_what_a_value_says_about_itself() -> None:
    end = "2999-01-01T00:00:00Z"
    says = {"question": "Sure?", "reason": "shop:sure", "toolCallId": "c1", "expiresAt": end}
    says["responseSchema"] = {"type": "boolean"}  # type: ignore[assignment]
    client, questions = await paused(one=says, two={"message": "2?", "reason": "not namespaced"})
    one, two = questions["Sure?"], questions["2?"]
    assert (one.reason, one.tool_call_id, one.expires_at) == ("shop:sure", "c1", end)
    assert one.response_schema == {"type": "boolean"}
    assert one.metadata == {"value": says, "langgraph": {"raw": says}}
    assert two.reason == "input_required"
    wrong = await client.send(resume=resolved((one.id, "yes"), (two.id, 1)))
    assert ending(wrong) == "interrupt_invalid"
    right = await client.send(resume=resolved((one.id, False), (two.id, 1)))
    assert right.state == {"before": True, "one": False, "two": 1}


async def test_a_value_with_an_end_of_its_own_is_cancelled_with_the_others() -> None:
    past = {"question": "1?", "expiresAt": "2020-01-01T00:00:00Z"}
    client, questions = await paused(one=past, two={"question": "2?"})
    both = [*questions.values()]
    assert ending(await client.send(resume=answering(both, "yes"))) == "interrupt_expired"
    assert ending(await client.send(resume=answering(both, ...))) == "cancelled"
    assert ending(await client.send(resume=answering(both, ...))) == "success"


async def test_ids_of_another_question_are_no_answer() -> None:
    """As `Command(resume=...)` has it: an object with ids as keys is none to return."""
    got: list[Any] = []

    def first(state: Any) -> None:
        got.append(interrupt("Delete a?"))

    def second(state: Any) -> None:
        got.append(interrupt("Delete b?"))

    client = Client(LangGraphAgent(chain_of(first, second, checkpointer=InMemorySaver())))
    [one] = await client.ask("go")
    given = {"command": {"resume": {one.id: "yes"}}}
    [two] = await client.ask(forwarded_props=given)
    assert ending(await client.send(forwarded_props=given)) == "interrupt_unknown"
    assert got == ["yes"]
    await client.send(forwarded_props={"command": {"resume": {two.id: "no"}}})
    assert got == ["yes", "no"]


async def test_a_call_that_a_resumed_run_passes_is_pending_as_in_any_run() -> None:
    async def talk(_: Chat) -> Any:
        interrupt("go on?")
        return {"messages": [call("look", "c1", index=None), AIMessage("done")]}

    client = Client(LangGraphAgent(chain_of(talk, checkpointer=InMemorySaver())))
    recorded = await client.send(resume=answering(await client.ask("go"), "yes"))
    assert recorded.last.outcome.pending_tool_call_ids == ["c1"]


def spends_twice(messages: list[Any]) -> list[Any]:
    turn = sum(isinstance(message, AIMessage) for message in messages)
    file = last_user_text(messages)
    return ["Done."] if turn > 1 else [call("spend", f"s{turn}", 0, file=file, amount=turn + 1)]


@pytest.mark.parametrize("payload", [True, False], ids=["approved", "rejected"])
async def test_each_stop_takes_an_approval_of_its_own(payload: Any, tmp_path: Any) -> None:
    """The agent stops before each of its two tools."""
    chat = Dialogue(tmp_path / "happened")
    chat.model = Scripted(script=spends_twice)
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_before": ["tools"]}
    chat.agent = LangGraphAgent(create_agent(chat.model, [spend], **options))
    [one] = asked(await chat.send(user(str(chat.file))))
    assert (one.reason, one.metadata) == ("langgraph:breakpoint", {"next": ["tools"]})
    if payload is not True:
        recorded = await chat.send(resume=answering([one], payload))
        assert ending(recorded) == "cancelled"
        assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["s0"]
        assert ending(await chat.send(user(str(chat.file)))) == "interrupt"
        assert chat.happened == []
    else:
        given = run_input(*chat.held, thread="t", resume=resolved((one.id, {"approved": True})))
        second, again = [await record_run(chat.agent, given) for _ in range(2)]
        assert second.last.outcome == again.last.outcome
        [two] = asked(second)
        assert (two.id != one.id, chat.happened) == (True, [1])
        chat.held = second.messages
        command = {"command": {"resume": {one.id: True}}}
        assert ending(await chat.send(forwarded_props=command)) == "interrupt_unknown"
        assert ending(await chat.send(resume=resolved((two.id, True)))) == "success"
        assert chat.happened == [1, 2]
    chat.check_model()


class Both(Client):
    """A client of nodes A and B, which ask two questions each, one after the other; A fails after
    its first until it is mended."""

    def __init__(self, broken: bool = True, **approvals: Any) -> None:
        self.done: list[tuple[str, Any, Any]] = []
        self.broken = broken

        async def a(state: Chat) -> None:
            first = interrupt("A1")
            if self.broken:
                await asyncio.sleep(0.05)  # B asks again before that
                raise ConnectionError("down")
            self.done.append(("A", first, interrupt("A2")))

        async def b(state: Chat) -> None:
            self.done.append(("B", interrupt("B1"), interrupt("B2")))

        builder = StateGraph(Chat).add_node("A", a).add_node("B", b)
        graph = builder.add_edge(START, "A").add_edge(START, "B").compile(InMemorySaver())
        super().__init__(LangGraphAgent(graph, approvals=ApprovalOptions(**approvals)))


def answers(questions: list[Interrupt]) -> list[ResumeEntry]:
    return resolved(*((one.id, f"to {one.message}") for one in questions))


def texts(questions: list[Interrupt]) -> list[str]:
    return sorted(str(one.message) for one in questions)


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_node_that_failed_asks_again_when_another_one_is_answered(cancels: bool) -> None:
    both = Both()
    first = await both.ask("go")
    assert texts(first) == ["A1", "B1"]
    failed = await both.send(resume=answers(first))
    assert failed.last.type.value == "RUN_ERROR"
    both.broken = False
    open_ = asked(await both.connect())
    assert texts(open_) == ["B2"]
    if cancels:
        assert ending(await both.send(resume=answering(open_, ...))) == "cancelled"
        assert (both.done, len(await both.ask("again"))) == ([], 2)
        return
    left = await both.ask(resume=answers(open_))
    assert texts(left) == ["A2"]
    assert [one.id for one in asked(await both.connect())] == [one.id for one in left]
    assert ending(await both.send(resume=answers(left))) == "success"
    assert sorted(both.done) == [("A", "to A1", "to A2"), ("B", "to B1", "to B2")]


async def test_an_approved_tool_that_failed_does_not_run_again_when_another_question_is_answered(
    mode: Mode,
) -> None:
    """LangGraph would run it again with its old approval: so the other question is closed too."""
    ran: list[int] = []

    @tool
    async def transfer(amount: int) -> str:
        """Transfer money."""
        await asyncio.sleep(0.05)  # the other tool asks again before that
        ran.append(amount)
        raise ConnectionError("the bank is closed")

    @tool
    async def ask() -> str:
        """Ask the user."""
        return f"{interrupt('One?')} {interrupt('Two?')}"

    def script(messages: list[BaseMessage]) -> list[Piece]:
        if isinstance(messages[-1], ToolMessage) or messages[-1].text != "go":
            return ["re ", messages[-1].text]
        return [call("transfer", "t1", 0, amount=1), call("ask", "a1", 1)]

    guarded = HumanInTheLoopMiddleware({"transfer": True}, interrupt_mode=mode)
    model, saver = Scripted(script=script), InMemorySaver()
    graph = create_agent(model, [transfer, ask], middleware=[guarded], checkpointer=saver)
    client = Client(LangGraphAgent(graph))
    failed = await client.send(resume=approvals(await client.ask("go")))
    assert ending(failed) == "tool_error"
    assert ending(await client.connect()) == "success"
    late = await client.send(resume=answering((await client.snapshot()).interrupts, "yes"))
    assert ending(late) == "interrupt_unknown"
    assert (await client.send("hello")).messages[-1].content == "re hello"
    assert ran == [1]


@pytest.mark.parametrize("policy", ["refuse", "cancel"])
async def test_a_message_beside_a_cancel_of_what_is_closed_while_others_are_open(
    policy: Any,
) -> None:
    """The cancel changes nothing: the message is refused, or heard, as it is without."""
    both = Both(broken=False, when_paused=policy)
    first = await both.ask("go")
    await both.ask(resume=answers(first))
    recorded = await both.send("more", resume=answering(first, ...))
    if policy == "refuse":
        assert (ending(recorded), await both.texts()) == ("interrupt_unanswered", ["go"])
    else:
        assert (texts(asked(recorded)), await both.texts()) == (["A1", "B1"], ["go", "more"])
    assert both.done == []
