"""Calls of local tools that the remote agent asks about: they run here once, after the approval, or
never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from langgraph_agui.client import AGUIChatModel, RemoteInterrupts, StreamInvalidError
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.processes.client_agents import WAYS, Ask, Remote, remote
from tests.kit.processes.scripted_servers import CANCELLED, asking, made_call, server
from tests.kit.run.agents import dumped, record_run, run_input
from tests.kit.run.wire_events import STARTED, Wire, in_run, message, result, text
from tests.kit.run.wire_events import call as called

each_way = pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
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
    asks = [text_chunk("Hm. "), call("wipe", "w1", 1, path="/x"), call("locate", "l1", 2)]
    middleware = [AGUIMiddleware(), HumanInTheLoopMiddleware({"wipe": True})]
    model = Scripted(asks, ["Done."], ["Bye."])
    graph = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
    with remote(graph, meets=True) as agent:  # a rejected call is answered over there
        yield agent


def near(far: Remote) -> Any:
    middleware = [RemoteInterrupts()]
    tools = [wipe, locate]
    return create_agent(far.model(), tools, middleware=middleware, checkpointer=InMemorySaver())


@pytest.mark.parametrize("answer", [YES, EDIT, NO], ids=["approved", "edited", "rejected"])
def test_a_local_tool_runs_after_its_approval_only(far: Remote, answer: Any) -> None:
    agent, config = near(far), {"configurable": {"thread_id": "t"}}
    [question] = agent.invoke({"messages": "Wipe it."}, config)["__interrupt__"]
    assert ran == []
    state = agent.invoke(Command(resume={question.id: answer}), config)
    runs = [] if answer is NO else ["/x" if answer is YES else "/y"]
    assert ran == ["located", *runs]
    assert state["messages"][-1].text == "Done."
    # as `create_agent` would call a call that is held back
    assert "malformed" not in str(state["messages"])
    agent.invoke({"messages": "Bye."}, config)
    sent: Any = far.inputs[-1].messages
    made = [one for each in sent if each.role == "assistant" for one in each.tool_calls or ()]
    calls = [(one.id, one.function.arguments) for one in made]
    assert calls == [("w1", '{"path": "/x"}'), ("l1", "{}")]
    results = {one.tool_call_id: one.content for one in sent if one.role == "tool"}
    assert len(results) == sum(one.role == "tool" for one in sent) == 2
    assert results["l1"] == "Rome"
    assert results["w1"] == f"wiped {runs[0]}" if runs else "Never." in str(results["w1"])


def test_without_the_middleware_nothing_runs(far: Remote) -> None:
    answer = create_agent(far.model(), [wipe]).invoke({"messages": "Wipe it."})["messages"][-1]
    assert (ran, answer.tool_calls) == ([], [])
    assert answer.response_metadata["finish_reason"] == "interrupt"


@pytest.mark.parametrize("answer", [YES, NO], ids=["approved", "rejected"])
async def test_its_own_client_sees_each_call_once(far: Remote, answer: Any) -> None:
    agent = LangGraphAgent(near(far))
    run = await record_run(agent, run_input("Wipe it.", thread="t"))
    [question] = run.last.outcome.interrupts
    assert ran == []
    entry = ResumeEntry(interrupt_id=question.id, status="resolved", payload=answer)
    again = run_input(*run.messages, thread="t", resume=[entry], state=run.state)
    run = await record_run(agent, again)
    run.check_snapshot()
    assert ran.count("/x") == (answer is YES)
    calls = [one.id for each in run.messages for one in getattr(each, "tool_calls", None) or ()]
    results = [one.tool_call_id for one in run.messages if one.role == "tool"]
    assert len(calls) == len(set(calls)) == len(results)
    assert set(calls) == set(results)


RAW = '{"path":"/"}'
"""Spelt in another way than LangChain would."""


def paused(*events: Wire, name: str = "i1") -> list[Wire]:
    return [STARTED, *events, asking({"id": name, "reason": "tool_call", "toolCallId": "c"})]


AGAIN = called("c", RAW, name="wipe")
FIRST = paused(*text("m", "Sure?"), *called("c", RAW, name="wipe", parentMessageId="m"))
HELD = made_call("c", RAW, "wipe")
SAID = [message("user", "u", "hi"), {**message("assistant", "m", "Sure?"), "toolCalls": [HELD]}]
REFUSED = result("c", "o", "no")

SETTLED: dict[str, tuple[list[Wire], Any, bool]] = {
    "approved": (in_run(), YES, True),
    "approved by true": (in_run(), True, True),
    "approved, and more said": (in_run(*text("n", "so")), YES, True),
    "approved, and announced again": (in_run(*AGAIN), YES, True),
    "rejected": (in_run(), NO, False),
    "rejected, and more said": (in_run(*text("n", "so")), NO, False),
    "answered with what nobody knows": (in_run(), {"mood": "fine"}, False),
    "rejected, and announced again": (in_run(*AGAIN), NO, False),
    "edited": (in_run(), EDIT, True),
    "edited, and announced as it was": (in_run(*AGAIN), EDIT, False),
    "edited, and rejected": (in_run(), {**EDIT, **NO}, False),
    "cancelled": (in_run(), None, False),
    "approved, and answered by the agent": (in_run(REFUSED), YES, False),
    "announced again and answered by the agent": (in_run(*AGAIN, REFUSED), YES, False),
    "approved, and asked about again": (paused(name="i2"), YES, False),
    "announced and asked about again": (paused(*AGAIN, name="i2"), YES, False),
    "approved, and the run was stopped": ([STARTED, CANCELLED], YES, False),
}


@pytest.mark.parametrize("name", SETTLED)
def test_what_may_run_is_a_call_of_the_answer_after_the_approval(name: str) -> None:
    second, given, runs = SETTLED[name]
    resume: Any = {"cancel": ["i1"]} if given is None else {"resume": {"i1": given}}
    ask = WAYS[list(SETTLED).index(name) % len(WAYS)]
    with server(FIRST, second, in_run(*text("p", "end"))) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([wipe])
        held: list[Any] = [HumanMessage("hi", id="u")]
        held.append(ask(model, held))
        assert held[-1].tool_calls == []
        held.append(ask(model, held, **resume))
        assert agent.sent() == SAID
        made = held[-1].tool_calls
        args = EDIT["editedArgs"] if given is EDIT else {"path": "/"}
        assert [(one["name"], one["args"]) for one in made] == ([("wipe", args)] if runs else [])
        assert (held[-1].response_metadata["finish_reason"] == "tool_calls") is runs
        # `create_agent` makes up results for calls that cannot be read.
        bad = [one for each in held[1:] for one in each.invalid_tool_calls]
        held += [ToolMessage("malformed", tool_call_id=one["id"], id="x") for one in bad]
        held += [ToolMessage("wiped", tool_call_id=one["id"], id="o") for one in made]
        ask(model, held, **({"cancel": ["i2"]} if "asked about again" in name else {}))
        more = [message("assistant", "n", "so")] if "more said" in name else []
        came = [message("tool", "o", "no", toolCallId="c")] if "by the agent" in name else []
        mine = [message("tool", "o", "wiped", toolCallId="c")] if runs else []
        assert agent.sent() == [*SAID, *came, *more, *mine]


def test_an_approval_counts_for_the_run_after_it() -> None:
    """The agent asks twice, the second time in another run: the call of the first answer is the one
    that runs."""
    held: list[Any] = [HumanMessage("hi", id="u")]
    with server(FIRST, paused(name="i2"), in_run()) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([wipe])
        for resume in ({}, {"i1": YES}, {"i2": YES}):
            assert getattr(held[-1], "tool_calls", []) == []
            held.append(model.invoke(held, resume=resume))
    assert [one["args"] for one in held[-1].tool_calls] == [{"path": "/"}]


def test_a_call_id_that_is_used_again_is_another_call() -> None:
    """What the agent has answered itself under that id is history, and no reason to keep a result
    from it."""
    first = in_run(*called("c", "{}", name="search"), result("c", "o1", "found"), *text("m", "x"))
    second = in_run(*called("c", "{}", name="locate", parentMessageId="n"))
    with server(first, second, in_run()) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([locate])
        held: list[Any] = [HumanMessage("hi", id="u")]
        held += [model.invoke(held), HumanMessage("and?", id="v")]
        held.append(model.invoke(held))
        [made] = held[-1].tool_calls
        model.invoke([*held, ToolMessage("Rome", tool_call_id=made["id"], id="o2")])
        results = [one for one in agent.sent() if one["role"] == "tool"]
    found = message("tool", "o1", "found", toolCallId="c")
    assert results == [found, message("tool", "o2", "Rome", toolCallId="c")]


def test_interrupts_that_share_an_id_are_refused() -> None:
    """An answer to one would be taken for the other's."""
    asked = [{"id": "i", "reason": "confirmation", "message": one} for one in ("Read?", "Delete?")]
    run = [STARTED, *text("m", "so far"), asking(*asked)]
    with server(run) as agent, pytest.raises(StreamInvalidError, match="'i'") as caught:
        AGUIChatModel(url=agent.url).invoke("hi")
    assert caught.value.code == "duplicate-interrupt"
    assert caught.value.event is not None
    assert [one["content"] for one in dumped(caught.value.messages)] == ["hi", "so far"]


DEEP = {"array": "[" * 5000, "object": '{"a":' * 900, "whole": "[" * 5000 + "]" * 5000}


@each_way
def test_arguments_that_are_nested_too_deeply_cannot_be_run(ask: Ask) -> None:
    for deep in DEEP.values():
        halves = deep[:700], deep[700:]
        run = in_run(*called("c", *halves, name="locate"), *called("d", *halves, name="theirs"))
        with server(run, in_run()) as agent:
            model = AGUIChatModel(url=agent.url).bind_tools([locate])
            answer = ask(model, "hi")
            assert answer.tool_calls == []
            assert [one["id"] for one in answer.invalid_tool_calls] == ["c"]
            ask(model, [HumanMessage("hi"), answer])
            sent = [one["toolCalls"][0]["function"]["arguments"] for one in agent.sent()[1:]]
            assert sent == [deep] * 2


def test_brackets_within_strings_are_no_depth() -> None:
    args = '{"path":"\\"' + "[" * 300 + '\\\\", "x": [1]}'
    with server(in_run(*called("c", *args, name="wipe"))) as agent:  # character by character
        answer = AGUIChatModel(url=agent.url).bind_tools([wipe]).invoke("hi")
    assert isinstance(answer, AIMessage)
    [made] = answer.tool_calls
    assert made["args"] == {"path": '"' + "[" * 300 + "\\", "x": [1]}
