"""The rules of `AGUISession`: what it refuses to send, what it keeps when a run goes wrong, how
turns end and how it goes on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import Context, Interrupt, TextPart, ToolMessage, UserMessage
from langchain_core.messages import HumanMessage

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
    CANCELLED,
    Blocking,
    Endless,
    answering,
    asking,
    both,
    made_call,
    server,
)
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    caller,
    event,
    in_run,
    message,
    result,
    snapshot,
    text,
)
from tests.kit.waiting import PATIENCE


def asked(name: str, **fields: Any) -> Wire:
    return {"id": name, "reason": "x", **fields}


TWO = [STARTED, asking(asked("i"), asked("j"))]
LOCATE = call("c", "{}", name="locate")


def contents(session: AGUISession[Any]) -> list[Any]:
    return [message.content for message in session.messages]


def pending(session: AGUISession[Any]) -> list[str]:
    return [one.id for one in session.pending_tool_calls]


@both
def test_a_turn(reader: Blocking) -> None:
    usage = [{"model": "m", "inputTokens": 3, "outputTokens": 1}]
    said = [*text("m", "a", "b"), *text("s", "sub", subagentRunId="subagent")]
    said += [*call("c"), result("c"), *text("n", "Done."), *text("v", "echo", role="user")]
    with server([STARTED, *said, {**FINISHED, "usage": usage, "result": {"x": 1}}]) as agent:
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
        reader.read(turn, lambda one: seen.append(contents(session)))
    assert [one[-1] for one in seen[1:4]] == ["", "a", "ab"]  # as far as it has come
    assert (turn.outcome, turn.interrupts, turn.result) == ("success", [], {"x": 1})
    assert turn.text == "ab\n\nDone."
    assert (turn.usage[0].input_tokens, turn.usage[0].output_tokens) == (3, 1)
    given = ["before", "one", [TextPart(text="two")], "three"]
    assert contents(session) == [*given, "ab", "sub", None, "done", "Done.", "echo"]
    assert session.pending_tool_calls == []
    sent = agent.asked[0].json
    assert [one["id"] for one in sent["messages"]] == [one.id for one in session.messages[:4]]
    assert (sent["threadId"], sent["forwardedProps"]) == ("t", {"p": None})
    assert sent["context"] == [{"description": "d", "value": "v"}]
    with pytest.raises(RuntimeError, match="once"):
        reader.read(turn)


def test_answers_are_checked_before_anything_is_sent() -> None:
    late = asked("j", expiresAt="2020-01-01T00:00:00Z")
    with server(TWO, [STARTED, asking(asked("i"), late)], in_run()) as agent:
        session = AGUISession[Any](agent.url)

        def refused(answers: Any, cancel: Any = ()) -> tuple[str, tuple[str, ...]]:
            with pytest.raises(ResumeError) as caught:
                session.resume(answers, cancel=cancel)
            return caught.value.code.removeprefix("interrupt_"), caught.value.interrupt_ids

        first, second = session.send("a"), session.send("b")
        first.wait()
        assert refused({}) == ("unanswered", ("i", "j"))
        assert refused({"i": 1}) == ("unanswered", ("j",))
        assert refused({"i": 1, "j": 2, "k": 3}) == ("unknown", ("k",))
        assert refused({"i": 1, "j": 2}, ["j"]) == ("duplicate", ("j",))
        for turn in (lambda: session.send("something else"), second.wait):
            with pytest.raises(ResumeError) as caught:
                turn()
            assert caught.value.code == "interrupt_unanswered"
        assert (len(agent.asked), contents(session)) == (1, ["a"])
        session.resume({"i": None, "j": {"approved": False}}).wait()
        one, other = ({"interruptId": name, "status": "resolved"} for name in "ij")
        assert agent.asked[1].json["resume"] == [one, {**other, "payload": {"approved": False}}]
        assert refused({"i": 1, "j": 2}) == ("expired", ("j",))
        session.resume({"i": 1}, cancel=["j"]).wait()
        assert agent.asked[2].json["resume"][1] == {"interruptId": "j", "status": "cancelled"}
        assert "resume" not in agent.asked[0].json
        assert not session.interrupts
        assert [refused(nothing)[0] for nothing in ({}, {"i": 1})] == ["unknown"] * 2


def test_how_long_interrupts_stay_open() -> None:
    """A failed run answers nothing; any other end that is no pause does."""
    ends = [STARTED, ERROR], [STARTED], answering(500), [STARTED, CANCELLED], in_run()
    with server(TWO, *ends) as agent:
        session = AGUISession[Any](agent.url)
        session.send("x").wait()
        for kind in (RunFailedError, StreamTruncatedError, AgentStatusError):
            with pytest.raises(kind):
                session.resume({"i": 1, "j": 2}).wait()
            assert [one.id for one in session.interrupts] == ["i", "j"]
        session.resume({"i": 1, "j": 2}).wait()
        assert session.interrupts == []
        session.send("y").wait()


def test_what_is_kept_of_runs_that_go_wrong() -> None:
    half = [STARTED, *text("n", "half")[:2]]
    with server(in_run(*text("m", "a")), answering(500), [], half) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0))
        session.send("x").wait()
        for kind in (AgentStatusError, StreamTruncatedError):
            with pytest.raises(kind) as caught:
                session.send("y").wait()
            assert [one.content for one in caught.value.messages] == ["x", "a", "y"]
            assert contents(session) == ["x", "a"]  # as if nothing had been said
        with pytest.raises(StreamTruncatedError):
            session.send("z").wait()
    with pytest.raises(AgentUnreachableError):
        session.send("y").wait()
    assert contents(session) == ["x", "a", "z", "half"]


@both
def test_one_run_at_a_time(reader: Blocking) -> None:
    with server(in_run(*LOCATE), in_run()) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
        attempts = [lambda: session.send("b"), session.clear, lambda: session.answer("c", "x")]
        waiting, other = session.send("later"), session.send("meanwhile")

        def meanwhile(one: Any) -> None:
            if one.type == "TOOL_CALL_START":
                attempts.append(other.wait)
            for attempt in attempts:
                with pytest.raises(RuntimeError, match=r"still running|once"):
                    attempt()

        reader.read(session.send("a"), meanwhile)
        assert len(agent.asked) == 1
        session.answer("c", "here")
        reader.read(waiting)
        assert contents(session) == ["a", None, "here", "later"]


@both
def test_leaving_keeps_what_was_delivered(reader: Blocking) -> None:
    endless = Endless()
    with server(endless, in_run(*text("n", "b"))) as agent:
        session = AGUISession[Any](agent.url)
        turn = session.send("x")
        reader.leave(turn, 3)
        assert endless.left.wait(PATIENCE)
        assert (turn.outcome, contents(session)) == (None, ["x", "a"])
        reader.read(session.send("y"))
        assert contents(session) == ["x", "a", "y", "b"]


async def until_text(events: Any) -> None:
    async for one in events:
        if one.type == "TEXT_MESSAGE_CONTENT":
            break


async def test_cancelling_a_turn() -> None:
    begun, endless = asyncio.Event(), Endless()

    async def read() -> None:
        async for one in session.send("x"):
            if one.type == "TEXT_MESSAGE_CONTENT":
                begun.set()

    with server(endless) as agent:
        session = AGUISession[Any](agent.url)
        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await endless.cleaned_up()
        assert contents(session) == ["x", "a"]
        session.send("not refused")


async def test_a_bare_break_leaves_the_session_at_once() -> None:
    """What Python cleans up of the old turn while the new one goes on does not end that, and brings
    nothing back."""
    endless, second = Endless(), Endless()
    with server(endless, in_run(*text("n", "b")), second) as agent:
        session = AGUISession[Any](agent.url)
        await until_text(session.send("x"))
        turn = session.send("y")
        assert contents(session) == ["x", "a"]
        async for _ in turn:
            await endless.cleaned_up()
            with pytest.raises(RuntimeError, match="still running"):
                session.send("z")
        assert contents(session) == ["x", "a", "y", "b"]
        await until_text(session.send("z"))
        session.clear()
        await second.cleaned_up()
        assert session.messages == []


async def test_a_turn_that_somebody_holds_goes_on() -> None:
    endless = Endless()
    with server(endless) as agent:
        session = AGUISession[Any](agent.url)
        events = aiter(session.send("x"))
        async for _ in events:
            break
        with pytest.raises(RuntimeError, match="still running"):
            session.send("y")
        await until_text(events)
        del events
        session.send("y")
        await endless.cleaned_up()


def test_calls_that_the_application_answers() -> None:
    """The turn ends with the results of those that run here: the agent waits for all."""
    calls = [*call("c", '{"x":1}', name="locate"), *call("o", "{}", name="server_tool")]
    with server(in_run(*calls, *call("m", "{}", name="mail")), in_run()) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate"), mail])
        session.send("where?").wait()
        [waiting] = session.pending_tool_calls
        assert waiting.model_dump(exclude_none=True) == made_call("c", '{"x":1}', "locate")
        assert len(agent.asked) == 1
        for unknown in ("o", "nobody's", "m"):
            with pytest.raises(ValueError, match="waits"):
                session.answer(unknown, "x")
        session.answer("c", "nowhere", error="lost")
        assert session.pending_tool_calls == []
        session.send().wait()
        done, sent = agent.sent()[-2:]
    assert (done["toolCallId"], done["content"]) == ("m", "sent")
    assert sent == message("tool", sent["id"], "nowhere", toolCallId="c", error="lost")
    assert [one["name"] for one in agent.asked[0].json["tools"]] == ["locate", "mail"]


@pytest.mark.parametrize("end", [[CANCELLED], [ERROR], []], ids=["cancelled", "failed", "broken"])
def test_calls_of_runs_that_did_not_finish_are_not_pending(end: list[Wire]) -> None:
    with server([STARTED, *LOCATE, *end]) as agent:
        session = AGUISession[Any](agent.url, tools=[client_tool("locate")])
        with suppress(RunFailedError, StreamTruncatedError):
            session.send("x").wait()
    assert session.pending_tool_calls == []


def test_connect_reads_the_thread() -> None:
    held = message("user", "u"), caller("m", made_call(name="locate"))

    def locate() -> None:
        """Locate."""
        raise AssertionError("to read is not to go on")

    with server(in_run(snapshot(*held), event("STATE_SNAPSHOT", snapshot={"a": 1})), TWO) as agent:
        session = AGUISession[Any](agent.url, thread_id="t", tools=[locate])
        session.connect().wait()
        assert [one.id for one in session.messages] == ["u", "m"]
        assert (session.state, pending(session)) == ({"a": 1}, ["c"])
        session.connect().wait()
        assert [one.id for one in session.interrupts] == ["i", "j"]
    assert [one.path for one in agent.asked] == ["/agent/connect"] * 2
    session.clear()
    assert (session.messages, session.state, session.interrupts) == ([], {}, [])
    assert (session.thread_id != "t", pending(session)) == (True, [])
    assert session.tools.offered


def test_the_ends_of_the_calendar() -> None:
    """What some servers write for "never"; in the next zone it may be a year that no calendar
    has."""
    for offset in ("", "Z", "-05:00", "+05:00"):
        ends = [f"{moment}{offset}" for moment in ("0001-01-01T00:00:00", "9999-12-31T23:59:59")]
        asked = [Interrupt(id="i", reason="x", expires_at=end) for end in ends]
        assert [has_expired(one) for one in asked] == [True, False]


def mail() -> str:
    """Send a mail."""
    return "sent"


def stop() -> str:
    """Stop."""
    raise KeyboardInterrupt


def stopped(url: str) -> AGUISession[Any]:
    """A session whose tool was stopped, behind one that had run and beside a call that the
    application answers."""
    tools = [mail, stop, client_tool("locate")]
    session = AGUISession[Any](AGUIClient(url, retries=0), tools=tools)
    with pytest.raises(KeyboardInterrupt):
        session.send("x").wait()
    assert (contents(session), pending(session)) == (["x", None, "sent"], ["s", "l"])
    return session


NAMES = {"m": "mail", "s": "stop", "l": "locate"}
CALLS = [call(key, "{}", name=name, parentMessageId="a") for key, name in NAMES.items()]
STOPPED = in_run(*(one for events in CALLS for one in events))


def test_a_tool_that_was_stopped_is_answered_before_new_words() -> None:
    with server(STOPPED, answering(500), in_run()) as agent:
        session = stopped(agent.url)
        with pytest.raises(AgentStatusError):
            session.send("y").wait()
        assert pending(session) == ["s", "l"]  # as if nothing had been said
        session.send("y").wait()
        assert pending(session) == []
        sent = agent.sent()
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "tool", "user"]
    told = "The tool was interrupted."
    assert sent[3] == message("tool", sent[3]["id"], told, toolCallId="s", error=told)
    assert [one.id for one in session.messages] == [one["id"] for one in sent]


@pytest.mark.parametrize(
    "said", [[], [ToolMessage(id="o", tool_call_id="s", content="mine")]], ids=["nothing", "it"]
)
def test_a_tool_that_was_stopped_and_no_new_words(said: list[Any]) -> None:
    with server(STOPPED, in_run(*text("n", "b"))) as agent:
        stopped(agent.url).send(*said).wait()
        results = [one["content"] for one in agent.sent() if one["role"] == "tool"]
    assert results == ["sent", *(one.content for one in said)]


def test_what_is_no_message() -> None:
    session: Any = AGUISession[Any]("http://127.0.0.1:1/agent")
    human = HumanMessage("x")
    for said in ({"role": "user", "content": "x"}, human, [human], None, b"x"):
        with pytest.raises(TypeError, match="takes texts"):
            session.send(said)
    session.send([{"type": "text", "text": "x"}])
