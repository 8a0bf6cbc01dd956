"""Calls of local tools that the remote agent asks about: they run here once, after the approval, or
never."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from langgraph_agui.client import AGUIChatModel, RemoteInterrupts, StreamInvalidError
from tests.kit.deep import each_value
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.processes.client_agents import WAYS, Ask, Remote, remote
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.agents import dumped, record_run, run_input
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, in_run, message, result, text
from tests.kit.run.wire_events import call as called

ran: list[str] = []

YES, NO = {"approved": True}, {"approved": False, "message": "Never."}
EDIT = {"approved": True, "editedArgs": {"path": "/y"}}


def wipe(path: str) -> str:
    """Wipe a disk of the user's."""
    ran.append(path)
    return f"wiped {path}"


def locate() -> str:
    """Where the user is."""
    ran.append("located")
    return "Rome"


@pytest.fixture
def far() -> Iterator[Remote]:
    """An agent that asks before a tool of its client may run, and calls another one in the same
    breath."""
    ran.clear()
    model = Scripted(
        [text_chunk("Hm. "), call("wipe", "w1", 1, path="/x"), call("locate", "l1", 2)],
        ["Done."],
        ["Bye."],
    )
    guard = HumanInTheLoopMiddleware({"wipe": True})
    graph = create_agent(
        model, [], middleware=[AGUIMiddleware(), guard], checkpointer=InMemorySaver()
    )
    with remote(graph, meets=True) as agent:  # a rejected call is answered over there
        yield agent


def near(far: Remote) -> Any:
    return create_agent(
        far.model(), [wipe, locate], middleware=[RemoteInterrupts()], checkpointer=InMemorySaver()
    )


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("answer", [YES, EDIT, NO], ids=["approved", "edited", "rejected"])
@each_value()
def test_a_local_tool_runs_after_its_approval_only(far: Remote, answer: Any, way: str) -> None:
    agent, config = near(far), {"configurable": {"thread_id": "t"}}

    def go(given: Any) -> Any:
        return (
            agent.invoke(given, config)
            if way == "sync"
            else asyncio.run(agent.ainvoke(given, config))
        )

    state = go({"messages": "Wipe it."})
    [question] = state["__interrupt__"]
    assert ran == []
    state = go(Command(resume={question.id: answer}))
    runs = [] if answer is NO else ["/x" if answer is YES else "/y"]
    assert ran == ["located", *runs]
    assert state["messages"][-1].text == "Done."
    # as `create_agent` would call a call that is held back
    assert "malformed" not in str(state["messages"])
    go({"messages": "Bye."})
    sent = far.inputs[-1].messages
    made = [
        one for message in sent if message.role == "assistant" for one in message.tool_calls or ()
    ]
    assert [(one.id, one.function.arguments) for one in made] == [
        ("w1", '{"path": "/x"}'),
        ("l1", "{}"),
    ]
    results = {one.tool_call_id: one.content for one in sent if one.role == "tool"}
    assert len(results) == sum(one.role == "tool" for one in sent) == 2
    assert results["l1"] == "Rome"
    assert results["w1"] == f"wiped {runs[0]}" if runs else "Never." in str(results["w1"])


def test_without_the_middleware_nothing_runs(far: Remote) -> None:
    agent = create_agent(far.model(), [wipe])
    answer = agent.invoke({"messages": "Wipe it."})["messages"][-1]
    assert (ran, answer.tool_calls, answer.response_metadata["finish_reason"]) == (
        [],
        [],
        "interrupt",
    )


@pytest.mark.parametrize("answer", [YES, NO], ids=["approved", "rejected"])
async def test_its_own_client_sees_each_call_once(far: Remote, answer: Any) -> None:
    agent = LangGraphAgent(near(far))
    recorded = await record_run(agent, run_input("Wipe it."))
    [question] = recorded.last.outcome.interrupts
    assert ran == []
    entry = ResumeEntry(interrupt_id=question.id, status="resolved", payload=answer)
    again = run_input(
        *recorded.messages, thread=recorded.input.thread_id, resume=[entry], state=recorded.state
    )
    recorded = await record_run(agent, again)
    recorded.check_snapshot()
    assert ran.count("/x") == (answer is YES)
    calls = [
        one.id
        for message in recorded.messages
        for one in getattr(message, "tool_calls", None) or ()
    ]
    results = [one.tool_call_id for one in recorded.messages if one.role == "tool"]
    assert len(calls) == len(set(calls)) == len(results)
    assert set(calls) == set(results)


ASKS: Wire = {"id": "i1", "reason": "tool_call", "toolCallId": "c"}
RAW = '{"path":"/"}'
"""Spelt in another way than LangChain would."""


def paused(*events: Wire, **question: Any) -> list[Wire]:
    return [
        STARTED,
        *events,
        {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{**ASKS, **question}]}},
    ]


FIRST = paused(*text("m", "Sure?"), *called("c", RAW, name="wipe", parentMessageId="m"))
HELD = {"id": "c", "type": "function", "function": {"name": "wipe", "arguments": RAW}}
SAID = [message("user", "u", "hi"), {**message("assistant", "m", "Sure?"), "toolCalls": [HELD]}]

SETTLED: dict[str, tuple[list[Wire], Any, bool]] = {
    "approved": (in_run(), YES, True),
    "approved by true": (in_run(), True, True),
    "approved, and more said": (in_run(*text("n", "so")), YES, True),
    "approved, and announced again": (
        in_run(*called("c", RAW, name="wipe", parentMessageId="m")),
        YES,
        True,
    ),
    "rejected": (in_run(), NO, False),
    "rejected, and more said": (in_run(*text("n", "so")), NO, False),
    "answered with what nobody knows": (in_run(), {"mood": "fine"}, False),
    "rejected, and announced again": (in_run(*called("c", RAW, name="wipe")), NO, False),
    "edited": (in_run(), EDIT, True),
    "edited, and announced as it was": (in_run(*called("c", RAW, name="wipe")), EDIT, False),
    "edited, and rejected": (in_run(), {**EDIT, **NO}, False),
    "cancelled": (in_run(), None, False),
    "approved, and answered by the agent": (in_run(result("c", "o", "no")), YES, False),
    "approved, announced again and answered by the agent": (
        in_run(*called("c", RAW, name="wipe"), result("c", "o", "no")),
        YES,
        False,
    ),
    "approved, and asked about again": (paused(id="i2"), YES, False),
    "approved, announced and asked about again": (
        paused(*called("c", RAW, name="wipe"), id="i2"),
        YES,
        False,
    ),
    "approved, and the run was stopped": (
        [STARTED, {**FINISHED, "outcome": {"type": "cancelled"}}],
        YES,
        False,
    ),
}


@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("name", SETTLED)
@each_value()
def test_what_may_run_is_a_call_of_the_answer_after_the_approval(name: str, ask: Ask) -> None:
    second, given, runs = SETTLED[name]
    resume = {"cancel": ["i1"]} if given is None else {"resume": {"i1": given}}
    with server(
        recording(*FIRST), recording(*second), recording(*in_run(*text("p", "end")))
    ) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([wipe])
        held: list[BaseMessage] = [HumanMessage("hi", id="u")]
        held.append(ask(model, held))
        assert held[-1].tool_calls == []
        held.append(ask(model, held, **resume))
        assert agent.asked[1].json["messages"] == SAID
        made = held[-1].tool_calls
        args = EDIT["editedArgs"] if given is EDIT else {"path": "/"}
        assert [(one["name"], one["args"]) for one in made] == ([("wipe", args)] if runs else [])
        assert (held[-1].response_metadata["finish_reason"] == "tool_calls") is runs
        # `create_agent` makes up results for calls that cannot be read.
        bad = [
            one for said in held if isinstance(said, AIMessage) for one in said.invalid_tool_calls
        ]
        held += [ToolMessage("malformed", tool_call_id=one["id"], id="x") for one in bad]
        held += [ToolMessage("wiped", tool_call_id=one["id"], id="o") for one in made]
        ask(model, held, **({"cancel": ["i2"]} if "asked about again" in name else {}))
        sent = agent.asked[2].json["messages"]
    recorded = [message("assistant", "n", "so")] if "more said" in name else []
    came = [message("tool", "o", "no", toolCallId="c")] if "by the agent" in name else []
    mine = [message("tool", "o", "wiped", toolCallId="c")] if runs else []
    assert sent == [*SAID, *came, *recorded, *mine]


def test_an_approval_counts_for_the_run_after_it() -> None:
    """The agent asks twice, the second time in another run: the call of the first answer is the one
    that runs."""
    runs = [FIRST, paused(id="i2"), in_run()]
    held: list[BaseMessage] = [HumanMessage("hi", id="u")]
    with server(*(recording(*run) for run in runs)) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([wipe])
        for resume in ({}, {"i1": YES}, {"i2": YES}):
            assert getattr(held[-1], "tool_calls", []) == []
            held.append(model.invoke(held, resume=resume))
    [made] = held[-1].tool_calls  # type: ignore[attr-defined]
    assert made["args"] == {"path": "/"}


def test_a_call_id_that_is_used_again_is_another_call() -> None:
    """What the agent has answered itself under that id is history, and no reason to keep a result
    from it."""
    first = in_run(*called("c", "{}", name="search"), result("c", "o1", "found"), *text("m", "x"))
    second = in_run(*called("c", "{}", name="locate", parentMessageId="n"))
    with server(recording(*first), recording(*second), recording(*in_run())) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([locate])
        held: list[BaseMessage] = [HumanMessage("hi", id="u")]
        held += [model.invoke(held), HumanMessage("and?", id="v")]
        held.append(model.invoke(held))
        [made] = held[-1].tool_calls  # type: ignore[attr-defined]
        held.append(ToolMessage("Rome", tool_call_id=made["id"], id="o2"))
        model.invoke(held)
        sent = agent.asked[-1].json["messages"]
    results = [one for one in sent if one["role"] == "tool"]
    assert [(one["id"], one["toolCallId"], one["content"]) for one in results] == [
        ("o1", "c", "found"),
        ("o2", "c", "Rome"),
    ]


def test_interrupts_that_share_an_id_are_refused() -> None:
    """An answer to one would be taken for the other's."""
    asked = [
        {"id": "i", "reason": "confirmation", "message": recorded}
        for recorded in ("Read?", "Delete?")
    ]
    end = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": asked}}
    with (
        server(recording(STARTED, *text("m", "so far"), end)) as agent,
        pytest.raises(StreamInvalidError, match="'i'") as caught,
    ):
        AGUIChatModel(url=agent.url).invoke("hi")
    assert caught.value.code == "duplicate-interrupt"
    assert caught.value.event is not None
    assert [one["content"] for one in dumped(caught.value.messages)] == ["hi", "so far"]


DEEP = {"array": "[" * 5000, "object": '{"a":' * 900, "whole": "[" * 5000 + "]" * 5000}


@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("kind", DEEP)
@each_value()
def test_arguments_that_are_nested_too_deeply_cannot_be_run(kind: str, ask: Ask) -> None:
    halves = DEEP[kind][:700], DEEP[kind][700:]
    run = in_run(*called("c", *halves, name="locate"), *called("d", *halves, name="theirs"))
    with server(recording(*run), recording(*in_run())) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([locate])
        answer = ask(model, "hi")
        assert answer.tool_calls == []
        assert [one["id"] for one in answer.invalid_tool_calls] == ["c"]
        ask(model, [HumanMessage("hi"), answer])
        back = agent.asked[1].json["messages"][1:]
    assert [one["toolCalls"][0]["function"]["arguments"] for one in back] == [DEEP[kind]] * 2


def test_brackets_within_strings_are_no_depth() -> None:
    text_of_it = '{"path":"\\"' + "[" * 300 + '\\\\", "x": [1]}'
    run = in_run(*called("c", *text_of_it, name="wipe"))  # one character after the other
    with server(recording(*run)) as agent:
        [made] = AGUIChatModel(url=agent.url).bind_tools([wipe]).invoke("hi").tool_calls
    assert made["args"] == {"path": '"' + "[" * 300 + "\\", "x": [1]}
