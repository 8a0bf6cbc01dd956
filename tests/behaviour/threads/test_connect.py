"""`connect`: a thread at rest as it stands, as its last run told it, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted, calling, text_chunk
from tests.kit.run.agents import dumped, user
from tests.kit.run.dialogues import resolved
from tests.kit.run.talking import Talk, chat, connect, echo, looking, talk, thought

SHORT = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
REDACTED = {"type": "redacted_thinking", "data": "opaque", "index": 1}
BOTH = calling(looking("c1", "a", 2), looking("c2", "b", 3))
TWICE = [*thought("Hm."), text_chunk("First."), *thought("Well.", 2), text_chunk("Then.", 3)]
SHAPES: dict[str, list[Any]] = {
    "thinking, text, calls": [
        [*thought("Hm."), text_chunk("Looking."), BOTH],
        [*thought("So.", signature="s2"), text_chunk("Both.")],
    ],
    "two thoughts, one sealed": [
        [*thought("Hm."), calling(content=[REDACTED]), text_chunk("Yes.", 2)]
    ],
    "thinking, call": [[*thought("Hm."), calling(looking(index=1))], [text_chunk("Seen.", 0)]],
    "text between thoughts": [TWICE],
    "nothing said": [[text_chunk("", 0)]],
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_messages_are_those_of_the_live_run(tmp_path: Path, shape: str) -> None:
    """Also for who holds them already, and after a restart."""
    where = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(where) as saver:
        thread = talk(saver, Scripted(*SHAPES[shape]))
        live = await thread.say(user("go", "u1"))
        live.check_snapshot()
        calls = thread.calls
        again = await thread.connect(*live.messages)
        assert (dumped(again.messages), thread.calls) == (dumped(live.messages), calls)
    async with AsyncSqliteSaver.from_conn_string(where) as saver:
        thread = talk(saver)
        recorded = await thread.connect()
        assert (recorded.types, recorded.last.outcome.type) == (SHORT, "success")
        assert dumped(recorded.messages) == dumped(live.snapshot)
        more = await thread.say(*recorded.messages, "two")
        assert (thread.calls, thread.asked[-1]) == (1, "two")
        assert dumped(more.messages)[: len(recorded.messages)] == dumped(recorded.messages)


@pytest.mark.parametrize("own", [None, InMemorySaver()], ids=["no checkpointer", "unknown"])
async def test_who_knows_no_thread_tells_the_client_what_it_has(own: Any) -> None:
    thread = talk(own)
    recorded = await thread.connect()
    assert (recorded.types, recorded.messages, recorded.state) == (SHORT, [], {})
    held = await thread.connect(user("mine"), state={"draft": 1})
    assert ([one.content for one in held.messages], held.state) == (["mine"], {"draft": 1})
    assert thread.calls == 0
    assert own is None or await thread.texts() == []


class Mood(Chat):
    mood: str
    count: Annotated[int, lambda a, b: a + b]


async def test_the_state(saver: Any) -> None:
    async def note(state: Mood) -> Any:
        return {"mood": "fine", "count": 1}

    model = echo()
    thread = chat(note, talker(model), model=model, state=Mood, checkpointer=saver)
    live = await thread.say("one")
    assert (await thread.connect()).state == live.state == {"mood": "fine", "count": 1}
    own = await thread.connect(state={"mood": "old", "draft": 1})
    assert own.state == {"mood": "fine", "count": 1, "draft": 1}
    assert (await thread.connect(state=live.state)).types == SHORT  # nothing that it has not


async def test_open_interrupts(saver: Any) -> None:
    async def ask(state: Chat) -> Any:
        return {"messages": [("user", f"answer: {interrupt({'question': 'Which one?'})}")]}

    def thread() -> Talk:
        model = Scripted(["Well."], ["Thanks."])
        nodes = talker(model), ask, talker(model, "again")
        return chat(*nodes, model=model, checkpointer=saver)

    one, other = thread(), thread()
    live = await one.say("go", outcome="interrupt")
    for _ in range(2):
        recorded = await connect(other.agent)
        assert recorded.last.outcome == live.last.outcome
        assert dumped(recorded.messages) == dumped(live.messages)
    (open_,) = recorded.last.outcome.interrupts
    await one.say(*recorded.messages, resume=resolved((open_.id, "b")))
    assert one.asked == ["go", "Well.", "answer: b"]
    assert (await other.connect()).last.outcome.type == "success"


async def test_a_thread_that_cannot_be_read(saver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise OSError("secret")

    monkeypatch.setattr(saver, "aget_tuple", fail)
    recorded = await talk(saver).connect()
    assert recorded.types == ["RUN_STARTED", "RUN_ERROR"]
    assert recorded.last.code == "state_error"
    assert "secret" not in recorded.last.message
