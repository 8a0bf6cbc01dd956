"""What is an edit: a changed user message that the client's list ends with. Any other change is
ignored."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    ImageInputContent,
    InputContentDataSource,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextInputContent,
    UserMessage,
)
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import fold
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import run_input, user
from tests.kit.run.talking import Talk, result, talk

TWO = ["one", "1: re one", "two", "2: re two"]


async def spoken(**options: Any) -> tuple[Talk, list[Message]]:
    """A thread of two turns, and what its client holds."""
    thread, held = talk(InMemorySaver(), **options), list[Message]()
    for name, text in {"u1": "one", "u2": "two"}.items():
        held = (await thread.say(*held, user(text, name))).messages
    return thread, held


@pytest.mark.parametrize("changed", ["u1", "u2"])
async def test_a_short_list_whose_old_message_was_changed_is_no_edit(changed: str) -> None:
    thread, _ = await spoken()
    await thread.say(user("changed", changed), user("new", "u9"))
    assert thread.asked == [*TWO, "new"]
    assert await thread.texts() == [*TWO, "new", "3: re new"]


async def test_several_changed_messages_before_a_new_one() -> None:
    thread, _ = await spoken()
    await thread.say(user("a", "u1"), user("b", "u2"), user("new", "u8"), user("newer", "u9"))
    assert await thread.texts() == [*TWO, "new", "newer", "3: re newer"]


@pytest.mark.parametrize("behind", ["assistant", "tool", "system"])
async def test_what_is_spoken_behind_a_changed_message(behind: str) -> None:
    """Be it known to the thread or not: the changed message is not the last. Nothing is new, so
    nothing is run."""
    thread, held = await spoken()
    messages: dict[str, Any] = {
        "assistant": held[-1].model_copy(update={"id": "unknown"}),
        "tool": result("c9"),
        "system": SystemMessage(id="s", role="system", content="Be brief."),
    }
    await thread.say(*held[:2], user("changed", "u2"), messages[behind])
    assert thread.calls == 2
    assert await thread.texts() == TWO


@pytest.mark.parametrize("behind", [False, True])
async def test_the_last_message_changed_is_an_edit(behind: bool) -> None:
    """What is not spoken may stand behind it: the reasoning and the activities of the answer that
    it had."""
    thread, held = await spoken()
    thought = ReasoningMessage(id="r", role="reasoning", content="Hm.")
    activity = ActivityMessage(id="a", role="activity", activity_type="PLAN", content={})
    quiet: list[Message] = [thought, activity] if behind else []
    await thread.say(*held[:2], user("changed", "u2"), *quiet)
    assert thread.asked == [*TWO[:2], "changed"]
    assert await thread.texts() == [*TWO[:2], "changed", "3: re changed"]


@pytest.mark.parametrize("edited", ["u1", "u2"])
async def test_an_edited_message_alone(edited: str) -> None:
    thread, _ = await spoken()
    await thread.say(user("changed", edited))
    before = [] if edited == "u1" else TWO[:2]
    assert await thread.texts() == [*before, "changed", "3: re changed"]


# -- changes of the graph's, and of clients that save space --------------------------------------


def redacting(*turns: Any) -> Talk:
    model = Scripted(*turns)
    graph = create_agent(
        model, [], middleware=[PIIMiddleware("email")], checkpointer=InMemorySaver()
    )
    return Talk(LangGraphAgent(graph), model)


@pytest.mark.parametrize("keeps", [True, False], ids=["with_the_torn_answer", "without"])
async def test_a_redacted_message_before_a_new_one_after_a_stopped_run(keeps: bool) -> None:
    """The client holds what its user wrote; the thread, and the model, only what the middleware has
    made of it."""
    thread = redacting(["Let me ", "see ", 30.0], ["Fine."])
    given, events = run_input(user("mail ada@example.org", "u1"), thread="t"), []
    run = thread.agent.run(given)
    async for event in run:
        events.append(event)
        if event.type.value == "TEXT_MESSAGE_CONTENT":
            break
    await run.aclose()
    held = fold(events, given.messages, given.state).messages
    assert [message.role for message in held] == ["user", "assistant"]
    await thread.say(*(held if keeps else held[:1]), user("second", "u2"))
    assert thread.asked == ["mail [REDACTED_EMAIL]", "second"]
    assert await thread.texts() == ["mail [REDACTED_EMAIL]", "second", "Fine."]


async def test_a_redacted_message_before_a_new_one() -> None:
    thread = redacting(["One."], ["Two."])
    original = user("mail ada@example.org", "u1")
    await thread.say(original)
    await thread.say(original, user("second", "u2"))
    assert await thread.texts() == ["mail [REDACTED_EMAIL]", "One.", "second", "Two."]


def picture(message_id: str, *, data: str | None) -> UserMessage:
    parts: list[Any] = [TextInputContent(type="text", text="look")]
    if data is not None:
        source = InputContentDataSource(type="data", value=data, mime_type="image/png")
        parts.append(ImageInputContent(type="image", source=source))
    return UserMessage(id=message_id, role="user", content=parts)


@pytest.mark.parametrize("whole", [True, False], ids=["whole_list", "short_list"])
@pytest.mark.parametrize("data", [None, ""], ids=["no_part", "empty_part"])
async def test_media_that_the_client_has_dropped(whole: bool, data: str | None) -> None:
    thread = talk(InMemorySaver())
    first = await thread.say(picture("m1", data=encoded(PNG)))
    stored = await thread.stored()
    await thread.say(
        picture("m1", data=data), *(first.messages[1:] if whole else []), user("new", "u2")
    )
    assert (await thread.stored())[: len(stored)] == stored
    assert thread.asked[-1] == "new"
    assert len(thread.asked) == len(stored) + 1
