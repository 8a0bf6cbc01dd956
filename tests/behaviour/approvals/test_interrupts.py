"""Pauses of nodes, and their answers: `interrupt()`, and static breakpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import last_user_text, spend
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, answering, cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending


def answer(interrupt_id: str, payload: Any = "yes", status: Any = "resolved") -> ResumeEntry:
    return ResumeEntry(interrupt_id=interrupt_id, status=status, payload=payload)


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


@pytest.mark.parametrize("inside", [False, True], ids=["node", "node of a subgraph"])
async def test_a_pause_and_its_answer(inside: bool) -> None:
    async def ask(state: Chat) -> Any:
        said = interrupt({"question": "go on?"})
        return {"messages": [await Scripted([f"got {said}"]).ainvoke("x")]}

    graph = chain_of(talker(Scripted(["before"], ["never"])), ask)
    if inside:
        graph = StateGraph(Chat).add_node("inner", graph).add_edge(START, "inner").compile()
    client = Client(LangGraphAgent(graph))
    graph.checkpointer = InMemorySaver()  # as if it needed a running event loop
    first = await client.send("hi")
    first.check_snapshot()
    [question] = asked(first)
    assert (question.message, question.reason) == ("go on?", "input_required")
    value = {"question": "go on?"}
    assert question.metadata == {"langgraph": {"raw": value}, "value": value}
    done = await client.send(resume=[answer(question.id, 5)])
    assert ending(done) == "success"
    done.check_snapshot()
    assert [event.delta for event in done.of("TEXT_MESSAGE_CONTENT")] == ["got 5"]
    assert [message.content for message in done.messages] == ["hi", "before", "got 5"]


async def test_several_answers_in_any_order_and_as_they_are() -> None:
    client, asked_ = await paused(one="1?", two="2?", three="3?")
    answers = [("3?", {"type": "reject"}), ("1?", None), ("2?", [False])]
    done = await client.send(resume=[answer(asked_[name].id, value) for name, value in answers])
    assert ending(done) == "success"
    assert done.state == {"before": True, "one": None, "two": [False], "three": {"type": "reject"}}


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ("", "interrupt_unanswered"),
        ("1", "interrupt_unanswered"),
        ("12x", "interrupt_unknown"),
        ("x", "interrupt_unknown"),
        ("121", "interrupt_duplicate"),
        ("1-2", "interrupt_invalid"),
    ],
    ids=["none", "missing", "superfluous", "unknown", "twice", "one is cancelled"],
)
async def test_wrong_answers_run_nothing(ids: str, code: str) -> None:
    client, questions = await paused(one="1?", two="2?")
    names = {"1": questions["1?"].id, "2": questions["2?"].id, "x": "x"}
    entries = [answer(names[one]) for one in ids if one in names]
    if "-" in ids:
        entries[0] = cancelled(names["1"])[0]
    refused = await client.send(resume=entries)
    assert (refused.types, ending(refused)) == (["RUN_STARTED", "RUN_ERROR"], code)
    both = [*questions.values()]
    right = await client.send(resume=answering(both, ... if "-" in ids else "yes"))
    if "-" in ids:
        assert ending(right) == "cancelled"
        assert ending(await client.send(resume=answering(both, ...))) == "success"
    else:
        assert right.state == {"before": True, "one": "yes", "two": "yes"}


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
async def test_an_answer_that_nothing_asked_for(saver: Any) -> None:
    model = Scripted(["a"])
    client = Client(LangGraphAgent(chain_of(talker(model), checkpointer=saver)))
    assert ending(await client.send(resume=[answer("x")])) == "interrupt_unknown"
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


async def test_a_value_with_an_end_of_its_own() -> None:
    past = {"question": "1?", "expiresAt": "2020-01-01T00:00:00Z"}
    client, questions = await paused(one=past, two={"question": "2?"})
    both = [*questions.values()]
    assert ending(await client.send(resume=answering(both, "yes"))) == "interrupt_expired"
    assert ending(await client.send(resume=answering(both, ...))) == "cancelled"


async def test_ids_of_another_question_are_no_answer() -> None:
    """As `Command(resume=...)` has it: an object with ids as keys is none to return."""
    got: list[Any] = []

    def first(state: Any) -> dict[str, Any]:
        got.append(interrupt("Delete a?"))
        return {}

    def second(state: Any) -> dict[str, Any]:
        got.append(interrupt("Delete b?"))
        return {}

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
    [question] = await client.ask("go")
    recorded = await client.send(resume=[answer(question.id)])
    assert recorded.last.outcome.pending_tool_call_ids == ["c1"]


@pytest.mark.parametrize("where", [{"interrupt_before": ["two"]}, {"interrupt_after": ["one"]}])
async def test_a_breakpoint(where: Any) -> None:
    first, second = Scripted(["a"]), Scripted(["b"])
    nodes = talker(first, "one"), talker(second, "two")
    client = Client(LangGraphAgent(chain_of(*nodes, checkpointer=InMemorySaver(), **where)))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    [pause] = asked(recorded)
    assert (pause.reason, second.seen) == ("langgraph:breakpoint", [])
    again = await client.send(resume=[answer(pause.id, True)])
    again.check_snapshot()
    assert ending(again) == "success"
    assert [message.content for message in again.messages] == ["hi", "a", "b"]
    assert len(first.seen) == 1


def spends_twice(messages: list[Any]) -> list[Any]:
    turn = sum(isinstance(message, AIMessage) for message in messages)
    file = last_user_text(messages)
    return ["Done."] if turn > 1 else [call("spend", f"s{turn}", 0, file=file, amount=turn + 1)]


@pytest.fixture
def stopping(tmp_path: Path) -> Dialogue:
    """An agent that stops before each of its two tools."""
    dialogue = Dialogue(tmp_path / "happened")
    dialogue.model = Scripted(script=spends_twice)
    options = {"checkpointer": InMemorySaver(), "interrupt_before": ["tools"]}
    dialogue.agent = LangGraphAgent(create_agent(dialogue.model, [spend], **options))
    return dialogue


async def test_each_stop_takes_an_approval_of_its_own(stopping: Dialogue) -> None:
    [one] = asked(await stopping.send(user(str(stopping.file))))
    assert (one.reason, one.metadata) == ("langgraph:breakpoint", {"next": ["tools"]})
    given = run_input(*stopping.held, thread="t", resume=resolved((one.id, {"approved": True})))
    second, again = await record_run(stopping.agent, given), await record_run(stopping.agent, given)
    assert second.last.outcome == again.last.outcome
    [two] = asked(second)
    assert two.id != one.id
    assert stopping.happened == [1]
    stopping.held = second.messages
    command = {"command": {"resume": {one.id: True}}}
    assert ending(await stopping.send(forwarded_props=command)) == "interrupt_unknown"
    assert ending(await stopping.send(resume=resolved((two.id, True)))) == "success"
    assert stopping.happened == [1, 2]
    stopping.check_model()


@pytest.mark.parametrize("payload", [False, ...], ids=["rejected", "cancelled"])
async def test_a_stop_that_is_not_approved_is_given_up(payload: Any, stopping: Dialogue) -> None:
    questions = asked(await stopping.send(user(str(stopping.file))))
    recorded = await stopping.send(resume=answering(questions, payload))
    assert ending(recorded) == "cancelled"
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["s0"]
    assert ending(await stopping.send(user(str(stopping.file)))) == "interrupt"
    assert stopping.happened == []
    stopping.check_model()
