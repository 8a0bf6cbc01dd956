"""Pauses of nodes, and their answers: `interrupt()`, and static breakpoints."""

from __future__ import annotations

from typing import Any

import pytest
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
from tests.kit.run.dialogues import Dialogue, answering, resolved
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
