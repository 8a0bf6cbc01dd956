"""`connect`: a thread at rest as it stands, as its last run told it, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from ag_ui.core import (
    ImageInputContent,
    InputContentUrlSource,
    ResumeEntry,
    RunAgentInput,
    TextInputContent,
    UserMessage,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, dumped, run_input, user
from tests.kit.run.talking import Talk, by_role, echo, look, result, talk


async def connect(
    agent: LangGraphAgent, given: RunAgentInput | None = None, thread: str = "t"
) -> RecordedRun:
    given = given or run_input(thread=thread)
    return RecordedRun(await collect(agent.connect(given)), given)


SHORT = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]

REDACTED = {"type": "redacted_thinking", "data": "opaque", "index": 1}

SHAPES: dict[str, list[Any]] = {
    "thinking, text": [
        [
            thinking("Hm", 0),
            thinking(".", 0),
            thinking(index=0, signature="s"),
            text_chunk("Yes.", 1),
        ]
    ],
    "thinking, text, calls": [
        [
            *(thinking("Hm.", 0), thinking(index=0, signature="s"), text_chunk("Looking.", 1)),
            calling(
                part("look", '{"place": "a"}', "c1", 2), part("look", '{"place": "b"}', "c2", 3)
            ),
        ],
        [thinking("So.", 0), thinking(index=0, signature="s2"), text_chunk("Both.", 1)],
    ],
    "two thoughts, one sealed": [
        [
            thinking("Hm.", 0),
            thinking(index=0, signature="s"),
            calling(content=[REDACTED]),
            text_chunk("Yes.", 2),
        ]
    ],
    "thinking, call": [
        [
            thinking("Hm.", 0),
            thinking(index=0, signature="s"),
            calling(part("look", '{"place": "a"}', "c1", 1)),
        ],
        [text_chunk("Seen.", 0)],
    ],
    "text between thoughts": [
        [
            *(thinking("Hm.", 0), thinking(index=0, signature="s"), text_chunk("First.", 1)),
            *(thinking("Well.", 2), thinking(index=2, signature="s2"), text_chunk("Then.", 3)),
        ]
    ],
    "plain": [["Ye", "s."]],
    "nothing said": [[text_chunk("", 0)]],
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_messages_are_those_of_the_live_run(saver: Any, shape: str) -> None:
    thread = talk(saver, Scripted(*SHAPES[shape]))
    live = await thread.say(user("go", "u1"))
    live.check_snapshot()
    calls = thread.calls
    recorded = await connect(thread.agent)
    assert recorded.types == SHORT
    assert recorded.last.outcome.type == "success"
    assert dumped(recorded.messages) == dumped(live.snapshot)
    assert thread.calls == calls
    # Who holds them already is told the same.
    again = await connect(thread.agent, run_input(*live.messages, thread="t"))
    assert dumped(again.messages) == dumped(live.messages)


@pytest.mark.parametrize("shape", SHAPES)
async def test_also_after_a_restart(tmp_path: Path, shape: str) -> None:
    where = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(where) as saver:
        live = await talk(saver, Scripted(*SHAPES[shape])).say(user("go", "u1"))
    async with AsyncSqliteSaver.from_conn_string(where) as saver:
        thread = talk(saver)
        recorded = await connect(thread.agent)
        assert dumped(recorded.messages) == dumped(live.snapshot)
        assert thread.calls == 0
        # And the client goes on from there.
        more = await thread.say(*recorded.messages, "two")
        assert thread.asked[-1] == "two"
        assert dumped(more.messages)[: len(recorded.messages)] == dumped(recorded.messages)
        more.check_snapshot()


async def test_an_unknown_thread_is_empty(saver: Any) -> None:
    thread = talk(saver)
    recorded = await connect(thread.agent, thread="nobody's")
    assert recorded.types == SHORT
    assert recorded.messages == []
    assert recorded.state == {}
    assert await thread.texts({"configurable": {"thread_id": "nobody's"}}) == []
    held = await connect(thread.agent, run_input("mine", thread="nobody's", state={"draft": 1}))
    assert [message.content for message in held.messages] == ["mine"]
    assert held.state == {"draft": 1}


async def test_a_graph_without_a_checkpointer_knows_nothing() -> None:
    thread = talk(None)
    assert (await connect(thread.agent)).types == SHORT
    held = await connect(thread.agent, run_input("mine", thread="t"))
    assert [message.content for message in held.messages] == ["mine"]
    assert thread.calls == 0


class Mood(Chat):
    mood: str
    count: Annotated[int, lambda a, b: a + b]


async def test_the_state(saver: Any) -> None:
    async def note(state: Mood) -> Any:
        return {"mood": "fine", "count": 1}

    model = echo()
    thread = Talk(agent_of(note, talker(model), state=Mood, checkpointer=saver), model)
    live = await thread.say("one")
    assert (await connect(thread.agent)).state == live.state == {"mood": "fine", "count": 1}
    own = await connect(thread.agent, run_input(thread="t", state={"mood": "old", "draft": 1}))
    assert own.state == {"mood": "fine", "count": 1, "draft": 1}
    same = await connect(thread.agent, run_input(thread="t", state=live.state))
    assert same.types == SHORT  # nothing that the client has not


def asking(saver: Any, model: Scripted) -> LangGraphAgent:
    async def ask(state: Chat) -> Any:
        answer = interrupt({"question": "Which one?"})
        return {"messages": [("user", f"answer: {answer}")]}

    return agent_of(talker(model), ask, talker(model, "again"), checkpointer=saver)


async def test_open_interrupts(saver: Any) -> None:
    model = Scripted(["Well."], ["Thanks."])
    thread = Talk(asking(saver, model), model)
    live = await thread.say("go", outcome="interrupt")
    for _ in range(2):
        recorded = await connect(asking(saver, Scripted()))
        assert recorded.last.outcome == live.last.outcome
        assert dumped(recorded.messages) == dumped(live.messages)
    (open_,) = recorded.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=open_.id, status="resolved", payload="b")
    await thread.say(*recorded.messages, resume=[answer])
    assert thread.asked == ["go", "Well.", "answer: b"]
    assert (await connect(thread.agent)).last.outcome.type == "success"


async def test_open_client_calls(saver: Any) -> None:
    model = Scripted([call("paint", "p1")], ["Nice."])
    thread = Talk(agent_of(talker(model), checkpointer=saver), model)
    live = await thread.say("go")
    recorded = await connect(thread.agent)
    assert dumped(recorded.messages) == dumped(live.messages)
    assert [one.id for one in by_role(recorded.messages, "assistant")[-1].tool_calls] == ["p1"]
    await thread.say(*recorded.messages, result("p1"))
    assert thread.asked == ["go", "", "done"]


async def test_attachments(saver: Any) -> None:
    thread = talk(saver)
    image = ImageInputContent(
        type="image",
        source=InputContentUrlSource(
            type="url", value="https://example.org/a.png", mime_type="image/png"
        ),
    )
    given = UserMessage(
        id="u1", role="user", content=[TextInputContent(type="text", text="what"), image]
    )
    live = await thread.say(given)
    recorded = await connect(thread.agent)
    assert dumped(recorded.messages) == dumped(live.snapshot)
    calls = thread.calls
    await thread.say(*recorded.messages)  # nothing in it is taken for an edit
    assert thread.calls == calls
    await thread.say(*recorded.messages, "more")
    assert thread.asked == ["what", "1: re what", "more"]


async def test_a_failed_thread(saver: Any) -> None:
    model = Scripted([call("look", "c1")], [RuntimeError("down")], ["Better."])
    thread = Talk(LangGraphAgent(graph=create_agent(model, [look], checkpointer=saver)), model)
    model.turns[0] = [calling(part("look", '{"place": "a"}', "c1"))]
    live = await thread.say("go", outcome="model_error")
    recorded = await connect(thread.agent)
    assert dumped(recorded.messages) == dumped(live.streamed)
    await thread.say(*recorded.messages, "hello")
    assert thread.asked == ["go", "", "seen a", "hello"]


async def test_a_thread_that_cannot_be_read(saver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = talk(saver)

    async def fail(*_: Any, **__: Any) -> None:
        raise OSError("secret")

    monkeypatch.setattr(saver, "aget_tuple", fail)
    recorded = await connect(thread.agent)
    assert recorded.types == ["RUN_STARTED", "RUN_ERROR"]
    assert recorded.last.code == "state_error"
    assert "secret" not in recorded.last.message


async def test_results_for_calls_of_one_id(saver: Any) -> None:
    """Models may number their calls anew in each message: the results that are made for them have
    ids of their own."""
    agent = agent_of(talker(Scripted()), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    call = {"name": "gone", "args": {}, "id": "1"}
    calls = [AIMessage("", id=one, tool_calls=[call]) for one in ("a1", "a2")]
    messages = [
        HumanMessage("one", id="u1"),
        calls[0],
        HumanMessage("two", id="u2"),
        calls[1],
        HumanMessage("three"),
    ]
    await agent.graph.aupdate_state(config, {"messages": messages}, as_node="model")
    results = by_role((await connect(agent)).messages, "tool")
    assert [one.content for one in results] == ["This call has no result."] * 2
    assert len({one.id for one in results}) == 2


async def test_one_result_for_the_calls_of_one_id_in_a_message(saver: Any) -> None:
    agent = agent_of(talker(Scripted()), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    calls = [{"name": "gone", "args": {}, "id": "1"}] * 2
    messages = [
        HumanMessage("one", id="u1"),
        AIMessage("", id="a1", tool_calls=calls),
        HumanMessage("two", id="u2"),
    ]
    await agent.graph.aupdate_state(config, {"messages": messages}, as_node="model")
    (result,) = by_role((await connect(agent)).messages, "tool")
    assert result.content == "This call has no result."
