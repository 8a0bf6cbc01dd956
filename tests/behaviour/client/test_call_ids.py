"""Agents whose tool calls share ids: the client tells the calls apart, and answers each by the
agent's own id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from ag_ui.core import Message, Tool
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from pydantic import TypeAdapter

from langgraph_agui.client import AGUIChatModel, AGUISession, RemoteAgent, open_interrupts
from tests.behaviour.client.remote.local_graph import LATER, around
from tests.kit.deep import example_count
from tests.kit.processes.scripted_servers import (
    Peer,
    Script,
    Server,
    asking,
    frames,
    made_call,
    server,
)
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import (
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

ID = "functions.search:0"
AGENT_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


@tool
def search(q: int) -> str:
    """Search."""
    return f"found {q}"


def searching(number: int, *, parent: bool = True, name: str = "search") -> list[Wire]:
    """The events of one answer that searches for a number."""
    opener = {"parentMessageId": f"a{number}"} if parent else {}
    return call(ID, '{"q":', f"{number}}}", name=name, **opener)


def found(number: int) -> Wire:
    return result(ID, f"o{number}", f"found {number}")


def searched(*numbers: int, parent: bool = True) -> list[Wire]:
    return [one for n in numbers for one in (*searching(n, parent=parent), found(n))]


def pausing(*call_ids: str) -> Wire:
    """The end of a run that waits for calls, which run at the client."""
    return {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": [*call_ids]}}


def calls_in(messages: Sequence[Any]) -> list[Wire]:
    return [made for one in dumped(messages) for made in one.get("toolCalls") or ()]


def said(messages: Sequence[Any]) -> list[Any]:
    """Texts, and the arguments of each call with the results behind its id."""
    shown: list[Any] = []
    results = [one for one in dumped(messages) if one["role"] == "tool"]
    for one in dumped(messages):
        shown += [one["content"]] if one["role"] != "tool" and one.get("content") else []
        for made in one.get("toolCalls") or ():
            of_it = [each["content"] for each in results if each["toolCallId"] == made["id"]]
            shown.append((made["function"]["arguments"], of_it))
    return shown


def sent_ids(agent: Server) -> list[list[tuple[str, str]]]:
    """The ids of calls and of the calls that results name, in order, as the agent got them."""
    sent: list[list[tuple[str, str]]] = []
    for number in range(len(agent.asked)):
        sent.append([])
        for one in agent.sent(number):
            sent[-1] += [("call", made["id"]) for made in one.get("toolCalls") or ()]
            sent[-1] += [("result", one["toolCallId"])] if one["role"] == "tool" else []
    return sent


BOTH = [('{"q":1}', ["found 1"]), ('{"q":2}', ["found 2"])]
PAIR = [("call", ID), ("result", ID)]


def chunks(number: int) -> list[Wire]:
    opener = {"toolCallName": "search", "parentMessageId": f"a{number}"}
    first = event("TOOL_CALL_CHUNK", toolCallId=ID, delta='{"q":', **opener)
    return [first, event("TOOL_CALL_CHUNK", delta=f"{number}}}"), found(number)]


@pytest.mark.parametrize(
    "events",
    [searched(1, 2), searched(1, 2, parent=False), [*chunks(1), *chunks(2)]],
    ids=["of messages", "of no message", "in chunks"],
)
def test_two_calls_of_one_run(events: list[Wire]) -> None:
    with server(in_run(*events, *text("m", "Done.")), in_run()) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
        assert said(session.messages) == ["hi", *BOTH, "Done."]
        roles = [one.role for one in session.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        first, second = calls_in(session.messages)
        assert (first["id"], second["id"] != ID) == (ID, True)
        assert session.pending_tool_calls == []
        session.send("and?").wait()
        assert sent_ids(agent)[-1] == PAIR * 2


def test_a_call_that_is_continued_stays_one() -> None:
    """Other events close the chunks of a call, and chunks with its id continue it."""
    one, other = [
        event("TOOL_CALL_CHUNK", toolCallId=ID, toolCallName="search", delta=delta)
        for delta in ('{"q":', "1}")
    ]
    with server(in_run(one, event("CUSTOM", name="n", value=1), other, found(1))) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    assert said(session.messages) == ["hi", BOTH[0]]
    assert [one["id"] for one in calls_in(session.messages)] == [ID]


def test_values_and_subagents_of_the_second_call() -> None:
    """Whatever names a call names the one that is going on."""
    value = {"subtype": "tool-call", "entityId": ID}
    run = in_run(
        *searching(1),
        event("REASONING_ENCRYPTED_VALUE", encryptedValue="v1", **value),
        found(1),
        *searching(2),
        event("REASONING_ENCRYPTED_VALUE", encryptedValue="v2", **value),
        event("SUBAGENT_STARTED", subagentRunId="s", name="s", parentToolCallId=ID),
        event("SUBAGENT_FINISHED", subagentRunId="s"),
        found(2),
    )
    with server(run) as agent:
        session = AGUISession[Any](agent.url)
        events = list(session.send("hi"))
    calls = calls_in(session.messages)
    assert [made["encryptedValue"] for made in calls] == ["v1", "v2"]
    [started] = [one for one in dumped(events) if one["type"] == "SUBAGENT_STARTED"]
    assert started["parentToolCallId"] == calls[1]["id"]


def test_a_thread_that_the_agent_has_trimmed() -> None:
    with server(*(in_run(*searched(n), *text(f"m{n}", "x")) for n in (1, 2, 3)), in_run()) as agent:
        session = AGUISession[Any](agent.url, thread_id="thread")
        for words in (["hi"], ["hi"], ["hi"], []):
            session.send(*words).wait()
        thread = agent.sent()
    with server(in_run(snapshot(*thread[4:]))) as agent:
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        saved.connect().wait()
    assert dumped(saved.messages) == dumped(session.messages)[4:]


def test_a_snapshot_that_renames_messages() -> None:
    """The calls are the ones that were streamed: their messages have other ids, no more."""
    stored = [
        one
        for n in (1, 2)
        for one in (
            {"id": f"a-{n}", "role": "assistant", "toolCalls": [made_call(ID, f'{{"q":{n}}}')]},
            message("tool", f"o-{n}", f"found {n}", toolCallId=ID),
        )
    ]
    run = in_run(*searched(1, 2), snapshot(*stored))
    with server(run, in_run(*searched(1, 2)), run) as agent:
        session, streamed = (AGUISession[Any](agent.url, thread_id="thread") for _ in range(2))
        session.send("hi").wait()
        streamed.send("hi").wait()
        answer = AGUIChatModel(url=agent.url).invoke("hi")
    assert said(session.messages) == BOTH
    ids = [[one["id"] for one in calls_in(each.messages)] for each in (session, streamed)]
    assert ids[0] == ids[1]
    kinds = [block["type"] for block in answer.content_blocks]
    assert kinds == ["server_tool_call", "server_tool_result"] * 2


def test_messages_that_repeat_an_id_when_they_come() -> None:
    """An application may have them from another client, which keeps the agent's ids."""
    with server(in_run(*searched(1, 2)), in_run(), in_run(*searched(3)), in_run()) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
        session.send().wait()
        raw = AGENT_MESSAGES.validate_python(agent.sent())
        session = AGUISession[Any](agent.url, messages=raw)
        session.send().wait()
        assert said(session.messages) == ["hi", *BOTH, ('{"q":3}', ["found 3"])]
        session.send().wait()
        assert sent_ids(agent)[1:] == [PAIR * 2, PAIR * 2, PAIR * 3]


def test_tools_of_the_client() -> None:
    """Each call runs once with its own arguments, and the agent finds its id at the result."""
    runs = [[STARTED, *searching(n), pausing(ID)] for n in (1, 2)]
    with server(*[*runs, in_run(*text("m", "x"))] * 2) as agent:
        session = AGUISession[Any](agent.url, tools=[search])
        session.send("hi").wait()
        assert said(session.messages) == ["hi", *BOTH, "x"]
        model = AGUIChatModel(url=agent.url).bind_tools([search])
        held: list[Any] = [HumanMessage("hi")]
        for _ in range(2):
            answer = model.invoke(held)
            held += [answer, search.invoke(answer.tool_calls[0])]
        model.invoke(held)
        assert [held[2].content, held[4].content] == ["found 1", "found 2"]
        assert held[1].tool_calls != held[3].tool_calls
        assert sent_ids(agent) == [[], PAIR, PAIR * 2] * 2


def test_a_call_that_waits_when_the_session_is_saved() -> None:
    tools: Any = [Tool(name="ask", description="Ask.")]
    run = [STARTED, *searched(1), *searching(2, name="ask"), pausing(ID)]
    with server(run, in_run()) as agent:
        session = AGUISession[Any](agent.url, tools=tools)
        session.send("hi").wait()
        session = AGUISession[Any].from_json(session.to_json(), agent.url, tools=tools)
        [waiting] = session.pending_tool_calls
        assert (waiting.id != ID, waiting.function.arguments) == (True, '{"q":2}')
        session.answer(waiting.id, "found 2")
        session.send().wait()
        assert sent_ids(agent)[-1] == PAIR * 2


APPROVE: Wire = {"id": "i", "reason": "tool_call", "toolCallId": ID}
AGAIN = call(ID, name="search", parentMessageId="b")


@pytest.mark.parametrize("again", [[], AGAIN], ids=["with its result", "announced again"])
def test_an_interrupt_names_the_call_that_waits(again: list[Wire]) -> None:
    paused = [STARTED, *searched(1), *searching(2), asking(APPROVE)]
    resumed = in_run(*again, found(2), *text("m", "x"), *searched(3))
    with server(paused, resumed, in_run()) as agent:
        session = AGUISession[Any](agent.url, tools=[search])
        session.send("hi").wait()
        [interrupt] = session.interrupts
        assert interrupt.tool_call_id == calls_in(session.messages)[1]["id"] != ID
        assert session.pending_tool_calls == []
        session.resume({"i": {"approved": True}}).wait()
        assert said(session.messages) == ["hi", *BOTH, "x", ('{"q":3}', ["found 3"])]
        session.send("and?").wait()
        assert sent_ids(agent) == [[], (PAIR * 2)[:3], PAIR * 3]


def test_two_interrupts_name_two_calls() -> None:
    asks = asking(APPROVE, {**APPROVE, "id": "j"}, {"id": "k", "reason": "x"})
    with server([STARTED, *searching(1), *searching(2), asks]) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    first, second = (one["id"] for one in calls_in(session.messages))
    assert [one.tool_call_id for one in session.interrupts] == [first, second, None]


def test_a_model_may_run_the_call_that_was_approved() -> None:
    """It becomes a call of the answer, by its own id, and its result goes out with the agent's."""
    first = in_run(*searched(1), *text("m", "x"))
    with server(first, [STARTED, *searching(2), asking(APPROVE)], in_run(), in_run()) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([search])
        held: list[Any] = [HumanMessage("hi")]
        held += [model.invoke(held), HumanMessage("and?")]
        held.append(model.invoke(held))
        assert held[-1].tool_calls == []
        held.append(model.invoke(held, resume={"i": {"approved": True}}))
        [made] = held[-1].tool_calls
        assert made["args"] == {"q": 2}
        model.invoke([*held, search.invoke(made)])
        assert sent_ids(agent)[-1] == PAIR * 2


def test_a_node_keeps_its_calls_apart() -> None:
    runs = [
        in_run(*searched(1, 2), *text("m1", "x")),
        [STARTED, *searched(3), *searching(4), asking(APPROVE)],
        in_run(found(4), *text("m2", "y")),
        in_run(),
    ]
    given = [{"messages": [HumanMessage("hi")]}] * 2
    with server(*runs) as agent:
        graph = around(RemoteAgent(agent.url, name="far"))
        for one in (*given, Command(resume={"approved": True}), given[0]):
            messages = graph.invoke(one, LATER)["messages"]
        made = [call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
        results = {one.tool_call_id: one.text for one in messages if isinstance(one, ToolMessage)}
        answered = [(call["args"], results[call["id"]]) for call in made]
        assert answered == [({"q": n}, f"found {n}") for n in (1, 2, 3, 4)]
        assert sent_ids(agent) == [[], PAIR * 2, [*PAIR * 3, PAIR[0]], PAIR * 4]


@tool
def here(q: int) -> str:
    """Run at the client."""
    return f"here {q}"


@dataclass(frozen=True)
class Answer:
    """One answer of the agent's model, and the results of its calls in some order."""

    calls: int
    text: str
    has_parent: bool
    order: int


@dataclass(frozen=True)
class Run:
    """The answers of one run; the calls of the last one may wait for the client."""

    answers: tuple[Answer, ...]
    end: str
    restates: bool


answers = st.builds(
    Answer, st.integers(0, 3), st.sampled_from(["", "hm"]), st.booleans(), st.integers(0, 5)
)
ends = st.sampled_from(["done", "done", "here", "asked"])
several = st.lists(answers, min_size=1, max_size=3).map(tuple)
threads = st.lists(st.builds(Run, several, ends, st.booleans()), min_size=1, max_size=4)


class Agent:
    """Plays the runs of a thread. Its calls count from 0 in each answer, or have ids of their own:
    then nothing needs to be told apart."""

    def __init__(self, runs: Sequence[Run], is_counting: bool) -> None:
        self._is_counting, self._answers = is_counting, 0
        self._asked: list[str] = []
        self.scripts = [*(self._script(run) for run in runs), in_run()]

    def _script(self, run: Run) -> Script:
        late = [result(one, f"late{self._answers}-{one}", "late") for one in self._asked]
        events, made, end = [STARTED, *late], [*map(self._result, late)], FINISHED
        self._asked = []
        for place, answer in enumerate(run.answers):
            waits = place == len(run.answers) - 1 and run.end != "done" and answer.calls > 0
            ids, told, stated = self._answer(answer, "here" if waits and run.end == "here" else "")
            events += told
            made.append(stated)
            if waits and run.end == "asked":
                asks = [
                    {"id": f"i{self._answers}-{one}", "reason": "x", "toolCallId": one}
                    for one in ids
                ]
                self._asked, end = ids, asking(*asks)
            elif waits:
                end = pausing(*ids)
            else:
                turn = answer.order % max(1, len(ids))
                results = [
                    result(one, f"o{self._answers}-{one}", f"of {one[-1]}")
                    for one in ids[turn:] + ids[:turn]
                ]
                events += results
                made += map(self._result, results)

        def script(peer: Peer) -> None:
            peer.head()
            restated = [snapshot(*peer.asked.json["messages"], *made)] if run.restates else []
            peer.write(frames([*events, *restated, end]))

        return script

    def _answer(self, answer: Answer, name: str) -> tuple[list[str], list[Wire], Wire]:
        """The ids of its calls, its events, and its message."""
        self._answers += 1
        parent, name = f"a{self._answers}", name or "search"
        events = text(parent, answer.text) if answer.text else []
        opener = {"parentMessageId": parent} if answer.has_parent else {}
        prefix = "f" if self._is_counting else f"f{self._answers}"
        ids = [f"{prefix}:{number}" for number in range(answer.calls)]
        given = [json.dumps({"q": 10 * self._answers + number}) for number in range(answer.calls)]
        for call_id, args in zip(ids, given, strict=True):
            events += call(call_id, args[:3], args[3:], name=name, **opener)
        made = [made_call(*one, name) for one in zip(ids, given, strict=True)]
        stated = message("assistant", parent, answer.text)
        return ids, events, {**stated, "toolCalls": made} if made else stated

    def _result(self, told: Wire) -> Wire:
        return message("tool", told["messageId"], told["content"], toolCallId=told["toolCallId"])


def by_session(agent: Server, count: int, **options: Any) -> AGUISession[Any]:
    session = AGUISession[Any](agent.url, tools=[here], **options)
    while len(agent.asked) < count:
        asked = {one.id: {"approved": True} for one in session.interrupts}
        (session.resume(asked) if asked else session.send("hi")).wait()
    ids = [one["id"] for one in calls_in(session.messages)]
    assert len(set(ids)) == len(ids)
    return session


def by_model(agent: Server, count: int) -> None:
    model = AGUIChatModel(url=agent.url).bind_tools([here])
    held: list[BaseMessage] = [HumanMessage("hi")]
    for _ in range(count):
        options: Any = {}
        last = held[-1]
        if isinstance(last, AIMessage):
            asked = open_interrupts(last)
            options = {"resume": {one.id: {"approved": True} for one in asked}} if asked else {}
            held += [here.invoke(made) for made in last.tool_calls]
            held += [] if asked or last.tool_calls else [HumanMessage("hi")]
        held.append(model.invoke(held, **options))


def by_node(agent: Server, count: int) -> None:
    far = RemoteAgent(agent.url, name="far", tools=[here])
    graph = around(far)
    given: Any = {"messages": [HumanMessage("hi")]}
    while len(agent.asked) < count:
        asked = graph.invoke(given, LATER).get("__interrupt__")
        given = {"messages": [HumanMessage("hi")]}
        if asked:
            given = Command(resume={one.id: {"approved": True} for one in asked})


@pytest.mark.parametrize("read", [by_session, by_model, by_node])
@settings(max_examples=example_count(20, 75), deadline=None)
@given(runs=threads)
def test_calls_that_count_are_read_like_calls_with_ids_of_their_own(
    read: Callable[[Server, int], object], runs: list[Run]
) -> None:
    sent = []
    for is_counting in (False, True):
        agent = Agent(runs, is_counting)
        with server(*agent.scripts) as running:
            read(running, len(agent.scripts))
            messages = [running.sent(number) for number in range(len(running.asked))]
            sent.append(json.dumps([[{**one, "id": ""} for one in each] for each in messages]))
    assert sent[1] == re.sub(r'"f\d+:(\d+)"', r'"f:\1"', sent[0])


@settings(max_examples=example_count(20, 75), deadline=None)
@given(runs=threads)
def test_a_reload_finds_the_ids_of_the_client_that_was_there(runs: list[Run]) -> None:
    # A snapshot that gives messages other ids moves them to the end.
    moves = [not all(one.has_parent for one in run.answers) for run in runs]
    runs = [
        replace(run, restates=run.restates and not moved)
        for run, moved in zip(runs, moves, strict=True)
    ]
    agent = Agent(runs, is_counting=True)
    with server(*agent.scripts) as running:
        session = by_session(running, len(agent.scripts), thread_id="thread")
        thread = running.sent()
    with server(*[in_run(snapshot(*thread))] * 2) as running:
        fresh = AGUISession[Any](running.url, thread_id="thread")
        for client in (fresh, AGUISession[Any].from_json(session.to_json(), running.url)):
            client.connect().wait()
            assert dumped(client.messages) == dumped(session.messages)
