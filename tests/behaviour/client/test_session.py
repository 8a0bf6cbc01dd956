"""The rules of `AGUISession`: what it refuses to send, what it keeps when a run goes wrong, and how
turns end."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from ag_ui.core import Context, FunctionCall, Interrupt, TextPart, ToolCall, UserMessage

from langgraph_agui.client import (
    AgentStatusError,
    AgentUnreachableError,
    AGUIClient,
    AGUISession,
    ResumeError,
    RunFailedError,
    StreamTruncatedError,
)
from langgraph_agui.protocol.wire import has_expired
from tests.kit.graphs.frontend_tools import client_tool
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Peer,
    answering,
    frames,
    recording,
    server,
)
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    message,
    result,
    snapshot,
    text,
)
from tests.kit.waiting import PATIENCE

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


def pausing(*interrupts: Wire) -> list[Wire]:
    return [STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [*interrupts]}}]


def asked(name: str, **fields: Any) -> Wire:
    return {"id": name, "reason": "x", **fields}


TWO = pausing(asked("i"), asked("j"))


def contents(session: AGUISession[Any]) -> list[Any]:
    return [message.content for message in session.messages]


@both
def test_a_turn(reader: Blocking) -> None:
    usage = [{"model": "m", "inputTokens": 3, "outputTokens": 1}]
    recorded = in_run(
        *text("m", "a", "b"),
        *text("s", "sub", subagentRunId="subagent"),
        *text("v", "echo", role="user"),
    )
    recorded[-1] = {**FINISHED, "usage": usage, "result": {"x": 1}}
    with server(recording(*recorded)) as agent:
        session = AGUISession[Any](
            AGUIClient(agent.url, retries=0),
            thread_id="t",
            messages=[UserMessage(id="u", content="before")],
            context=[Context(description="d", value="v")],
            forwarded_props={"p": None},
        )
        turn = session.send("one", [TextPart(text="two")], UserMessage(id="x", content="three"))
        assert (turn.outcome, turn.text, turn.usage, agent.asked) == (None, "", [], [])
        seen: list[list[Any]] = []
        events = reader.read(turn, lambda one: seen.append(contents(session)))
    assert len(events) == len(recorded)
    assert [one[-1] for one in seen[1:4]] == ["", "a", "ab"]  # as far as it has come
    assert (turn.outcome, turn.text, turn.interrupts, turn.result) == (
        "success",
        "ab",
        [],
        {"x": 1},
    )
    assert (turn.usage[0].input_tokens, turn.usage[0].output_tokens) == (3, 1)
    assert contents(session) == [
        "before",
        "one",
        [TextPart(text="two")],
        "three",
        "ab",
        "sub",
        "echo",
    ]
    sent = agent.asked[0].json
    assert [one["id"] for one in sent["messages"]] == [one.id for one in session.messages[:4]]
    assert (sent["threadId"], sent["forwardedProps"]) == ("t", {"p": None})
    assert sent["context"] == [{"description": "d", "value": "v"}]
    with pytest.raises(RuntimeError, match="once"):
        reader.read(turn)


@both
def test_answers_are_checked_before_anything_is_sent(reader: Blocking) -> None:
    late = asked("j", expiresAt="2020-01-01T00:00:00Z")
    with server(
        recording(*TWO), recording(*pausing(asked("i"), late)), recording(*in_run())
    ) as agent:
        session = AGUISession[Any](agent.url)
        reader.read(session.send("x"))
        faults: list[tuple[Any, Any, str, tuple[str, ...]]] = [
            ({}, (), "interrupt_unanswered", ("i", "j")),
            ({"i": 1}, (), "interrupt_unanswered", ("j",)),
            ({"i": 1, "j": 2, "k": 3}, (), "interrupt_unknown", ("k",)),
            ({"i": 1, "j": 2}, ["j"], "interrupt_duplicate", ("j",)),
        ]
        for answers, cancel, code, ids in faults:
            with pytest.raises(ResumeError) as caught:
                session.resume(answers, cancel=cancel)
            assert (caught.value.code, caught.value.interrupt_ids) == (code, ids)
        with pytest.raises(ResumeError) as caught:
            session.send("something else")
        assert caught.value.code == "interrupt_unanswered"
        assert len(agent.asked) == 1
        reader.read(session.resume({"i": None, "j": {"approved": False}}))
        assert agent.asked[1].json["resume"] == [
            {"interruptId": "i", "status": "resolved"},
            {"interruptId": "j", "status": "resolved", "payload": {"approved": False}},
        ]
        with pytest.raises(ResumeError) as caught:
            session.resume({"i": 1, "j": 2})
        assert (caught.value.code, caught.value.interrupt_ids) == ("interrupt_expired", ("j",))
        reader.read(session.resume({"i": 1}, cancel=["j"]))
        assert agent.asked[2].json["resume"][1] == {"interruptId": "j", "status": "cancelled"}
        assert "resume" not in agent.asked[0].json
    assert not session.interrupts


@both
def test_a_turn_that_waited_is_checked_again(reader: Blocking) -> None:
    with server(recording(*TWO)) as agent:
        session = AGUISession[Any](agent.url)
        first, second = session.send("a"), session.send("b")
        reader.read(first)
        with pytest.raises(ResumeError):
            reader.read(second)
        assert len(agent.asked) == 1
        assert contents(session) == ["a"]


@both
def test_how_long_interrupts_stay_open(reader: Blocking) -> None:
    """A failed run answers nothing; any other end that is no pause does."""
    answers = {"answers": {"i": 1, "j": 2}}
    cancelled = [STARTED, {**FINISHED, "outcome": {"type": "cancelled"}}]
    with server(
        recording(*TWO),
        recording(STARTED, ERROR),
        recording(STARTED),
        answering(500),
        recording(*cancelled),
        recording(*in_run()),
    ) as agent:
        session = AGUISession[Any](agent.url)
        reader.read(session.send("x"))
        for kind in (RunFailedError, StreamTruncatedError, AgentStatusError):
            with pytest.raises(kind):
                reader.read(session.resume(**answers))
            assert [one.id for one in session.interrupts] == ["i", "j"]
        reader.read(session.resume(**answers))
        assert session.interrupts == []
        reader.read(session.send("y"))


@both
def test_what_is_kept_of_runs_that_go_wrong(reader: Blocking) -> None:
    with server(
        recording(*in_run(*text("m", "a"))),
        answering(500),
        recording(),
        recording(STARTED, *text("n", "half")[:2]),
    ) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0))
        reader.read(session.send("x"))
        for kind in (AgentStatusError, StreamTruncatedError):
            with pytest.raises(kind) as caught:
                reader.read(session.send("y"))
            assert [one.content for one in caught.value.messages] == ["x", "a", "y"]
            assert contents(session) == ["x", "a"]  # as if nothing had been said
        with pytest.raises(StreamTruncatedError):
            reader.read(session.send("z"))
        assert contents(session) == ["x", "a", "z", "half"]
    with pytest.raises(AgentUnreachableError):
        reader.read(session.send("y"))
    assert contents(session) == ["x", "a", "z", "half"]


@both
def test_one_run_at_a_time(reader: Blocking) -> None:
    with server(recording(*in_run(*call("c", "{}", name="locate"))), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
        refused = 0

        def meanwhile(one: Any) -> None:
            nonlocal refused
            for attempt in (
                lambda: session.send("b"),
                session.clear,
                lambda: session.answer("c", "x"),
            ):
                with pytest.raises(RuntimeError, match="still running"):
                    attempt()
                refused += 1

        waiting = session.send("later")
        reader.read(session.send("a"), meanwhile)
        assert refused == 3 * 5
        session.answer("c", "here")
        reader.read(waiting)
        assert contents(session) == ["a", None, "here", "later"]


def test_two_turns_read_at_once() -> None:
    with server(recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url)
        first, second = session.send("a"), session.send("b")
        events = iter(first)
        next(events)
        with pytest.raises(RuntimeError, match="still running"):
            list(second)
        assert list(events)
        assert len(agent.asked) == 1


@both
def test_leaving_keeps_what_was_delivered(reader: Blocking) -> None:
    left = threading.Event()

    def endless(peer: Peer) -> None:
        peer.head()
        peer.write(frames([STARTED, *text("m", "a")[:2]]))
        if peer.left():
            left.set()

    with server(endless, recording(*in_run(*text("n", "b")))) as agent:
        session = AGUISession[Any](agent.url)
        turn = session.send("x")
        reader.leave(turn, 3)
        assert left.wait(PATIENCE)
        assert turn.outcome is None
        assert contents(session) == ["x", "a"]
        reader.read(session.send("y"))
        assert contents(session) == ["x", "a", "y", "b"]


async def test_cancelling_a_turn() -> None:
    begun, left = asyncio.Event(), threading.Event()

    def endless(peer: Peer) -> None:
        peer.head()
        peer.write(frames([STARTED, *text("m", "a")[:2]]))
        if peer.left():
            left.set()

    with server(endless) as agent:
        session = AGUISession[Any](agent.url)

        async def read() -> None:
            async for one in session.send("x"):
                if one.type.value == "TEXT_MESSAGE_CONTENT":
                    begun.set()

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(left.wait, PATIENCE)
        assert contents(session) == ["x", "a"]
        session.send("not refused")


@both
def test_calls_that_the_application_answers(reader: Blocking) -> None:
    other = call("o", "{}", name="server_tool")
    with server(
        recording(*in_run(*call("c", '{"x":1}', name="locate"), *other)), recording(*in_run())
    ) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
        reader.read(session.send("where?"))
        assert session.pending_tool_calls == [
            ToolCall(id="c", function=FunctionCall(name="locate", arguments='{"x":1}'))
        ]
        for unknown in ("o", "nobody's"):
            with pytest.raises(ValueError, match="waits"):
                session.answer(unknown, "x")
        session.answer("c", "nowhere", error="lost")
        assert session.pending_tool_calls == []
        with pytest.raises(ValueError, match="waits"):
            session.answer("c", "again")
        reader.read(session.send())
    sent = agent.asked[1].json["messages"][-1]
    assert (sent["role"], sent["toolCallId"], sent["content"], sent["error"]) == (
        "tool",
        "c",
        "nowhere",
        "lost",
    )
    assert [one["name"] for one in agent.asked[0].json["tools"]] == ["locate"]


@both
def test_calls_of_runs_that_did_not_finish_are_not_pending(reader: Blocking) -> None:
    begun = call("c", '{"x', name="locate")
    cancelled = {**FINISHED, "outcome": {"type": "cancelled"}}
    with server(
        recording(STARTED, *begun, cancelled),
        recording(STARTED, *begun, ERROR),
        recording(STARTED, *begun),
    ) as agent:
        for _ in range(3):
            session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
            with suppress(RunFailedError, StreamTruncatedError):
                reader.read(session.send("x"))
            assert session.messages[-1].role == "user"
            assert session.pending_tool_calls == []


@both
def test_connect_reads_the_thread(reader: Blocking) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "locate", "arguments": "{}"}}]
    held = snapshot(message("user", "u"), {"id": "m", "role": "assistant", "toolCalls": calls})
    recorded = in_run(held, event("STATE_SNAPSHOT", snapshot={"a": 1}))
    ran: list[str] = []

    def locate() -> None:
        """Locate."""
        ran.append("locate")

    with server(recording(*recorded), recording(*pausing(asked("i")))) as agent:
        session = AGUISession[Any](agent.url, thread_id="t", tools=[locate])
        reader.read(session.connect())
        assert [one.id for one in session.messages] == ["u", "m"]
        assert session.state == {"a": 1}
        assert [one.id for one in session.pending_tool_calls] == ["c"]
        reader.read(session.connect())
        assert [one.id for one in session.interrupts] == ["i"]
    assert [one.path for one in agent.asked] == ["/agent/connect"] * 2
    assert not ran  # to read is not to go on


def test_clear() -> None:
    with server(
        recording(*in_run(event("STATE_SNAPSHOT", snapshot={"a": 1}))[:2], *TWO[1:])
    ) as agent:
        session = AGUISession[Any](agent.url, thread_id="t", tools=[client_tool("locate")])
        list(session.send("x"))
        assert (session.state, len(session.interrupts)) == ({"a": 1}, 2)
        session.clear()
    assert (session.messages, session.state, session.interrupts, session.pending_tool_calls) == (
        [],
        {},
        [],
        [],
    )
    assert session.thread_id != "t"
    assert session.tools.offered


ENDS = ("9999-12-31T23:59:59", "0001-01-01T00:00:00")


@pytest.mark.parametrize(
    ("end", "passed"),
    [
        (None, False),
        ("soon", False),
        ("2020-01-01", True),
        ("2020-01-01T00:00:00Z", True),
        ("2999-01-01T00:00:00+02:00", False),
        (
            (datetime.now(UTC) - timedelta(minutes=5))
            .astimezone(timezone(timedelta(hours=9)))
            .isoformat(),
            True,
        ),
        (
            (datetime.now(UTC) + timedelta(hours=1))
            .astimezone(timezone(timedelta(hours=-9)))
            .isoformat(),
            False,
        ),
        ((datetime.now(UTC) - timedelta(minutes=5)).replace(tzinfo=None).isoformat(), True),
        ((datetime.now(UTC) + timedelta(minutes=50)).replace(tzinfo=None).isoformat(), False),
    ],
    ids=[
        "none",
        "no time",
        "a day",
        "a moment",
        "far",
        "just passed",
        "soon",
        "just passed, no zone",
        "soon, no zone",
    ],
)
def test_expiry(end: str | None, passed: bool) -> None:
    assert has_expired(Interrupt(id="i", reason="x", expires_at=end)) is passed


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_the_ends_of_the_calendar(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What some servers write for "never"; in the next zone it may be a year that no calendar
    has."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for offset in ("", "Z", "-05:00", "+05:00"):
            last, first = (Interrupt(id="i", reason="x", expires_at=end + offset) for end in ENDS)
            assert not has_expired(last)
            assert has_expired(first)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_results_in_the_stream_leave_nothing_pending() -> None:
    with server(recording(*in_run(*call("c", "{}", name="locate"), result("c")))) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
        list(session.send("x"))
    assert session.pending_tool_calls == []


def test_the_text_of_several_messages() -> None:
    recorded = [
        *text("m", "One ", "moment."),
        *call("c"),
        result("c", "o", "x"),
        *text("n", "Done."),
    ]
    with server(recording(*in_run(*recorded))) as agent:
        assert AGUISession(agent.url).send("x").wait().text == "One moment.\n\nDone."
