"""Agents whose tool calls share ids: the client tells the calls apart, and answers each by the
agent's own id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage
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
    recording,
    server,
)
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    call,
    caller,
    ended,
    event,
    in_run,
    message,
    result,
    snapshot,
    text,
)

ID = "functions.search:0"
PAIR = [("call", ID), ("result", ID)]
BOTH = [('{"q":1}', ["found 1"]), ('{"q":2}', ["found 2"])]


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


def calls_in(messages: Sequence[Any]) -> list[Wire]:
    return [made for one in dumped(messages) for made in one.get("toolCalls") or ()]


def said(messages: Sequence[Any]) -> list[Any]:
    """Texts, and the arguments of each call with the results behind its id."""
    held, shown = dumped(messages), list[Any]()
    for one in held:
        shown += [one["content"]] if one["role"] != "tool" and one.get("content") else []
        for made in one.get("toolCalls") or ():
            of_it = [each["content"] for each in held if each.get("toolCallId") == made["id"]]
            shown.append((made["function"]["arguments"], of_it))
    return shown


def sent_ids(agent: Server, number: int = -1) -> list[tuple[str, str]]:
    """The ids of calls and of the calls that results name, in order, as the agent got them."""
    sent: list[tuple[str, str]] = []
    for one in agent.sent(number):
        sent += [("call", made["id"]) for made in one.get("toolCalls") or ()]
        sent += [("result", one["toolCallId"])] if one["role"] == "tool" else []
    return sent


def chunk(delta: str, **opener: Any) -> Wire:
    return event("TOOL_CALL_CHUNK", delta=delta, **opener)


def chunks(number: int) -> list[Wire]:
    opener = {"toolCallName": "search", "parentMessageId": f"a{number}"}
    return [chunk('{"q":', toolCallId=ID, **opener), chunk(f"{number}}}"), found(number)]


def test_two_calls_of_one_run_in_chunks() -> None:
    with server(in_run(*chunks(1), *chunks(2), *text("m", "Done.")), in_run()) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
        assert said(session.messages) == ["hi", *BOTH, "Done."]
        roles = [one.role for one in session.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        first, second = calls_in(session.messages)
        assert (first["id"], second["id"] != ID) == (ID, True)
        assert session.pending_tool_calls == []
        session.send("and?").wait()
        assert sent_ids(agent) == PAIR * 2


def test_a_call_that_is_continued_stays_one() -> None:
    """Other events close the chunks of a call, and chunks with its id continue it."""
    parts = [chunk(one, toolCallId=ID, toolCallName="search") for one in ('{"q":', "1}")]
    with server(in_run(parts[0], event("CUSTOM", name="n", value=1), parts[1], found(1))) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    assert said(session.messages) == ["hi", BOTH[0]]
    assert [one["id"] for one in calls_in(session.messages)] == [ID]


def test_values_and_subagents_of_the_second_call() -> None:
    """Whatever names a call names the one that is going on."""

    def value(content: str) -> Wire:
        about = {"subtype": "tool-call", "entityId": ID}
        return event("REASONING_ENCRYPTED_VALUE", encryptedValue=content, **about)

    started = event("SUBAGENT_STARTED", subagentRunId="s", name="s", parentToolCallId=ID)
    second = [*searching(2), value("v2"), started, event("SUBAGENT_FINISHED", subagentRunId="s")]
    with server(in_run(*searching(1), value("v1"), found(1), *second, found(2))) as agent:
        session = AGUISession[Any](agent.url)
        events = list(session.send("hi"))
    calls = calls_in(session.messages)
    assert [made["encryptedValue"] for made in calls] == ["v1", "v2"]
    parents = [one["parentToolCallId"] for one in dumped(events) if one.get("parentToolCallId")]
    assert parents == [calls[1]["id"]]


def test_a_thread_that_the_agent_has_trimmed() -> None:
    runs = [in_run(*searched(n), *text(f"m{n}", "x")) for n in (1, 2, 3)]
    with server(*runs, in_run()) as agent:
        session = AGUISession[Any](agent.url)
        for words in (["hi"], ["hi"], ["hi"], []):
            session.send(*words).wait()
        thread = agent.sent()
    with server(in_run(snapshot(*thread[4:]))) as agent:
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        saved.connect().wait()
    assert dumped(saved.messages) == dumped(session.messages)[4:]


def test_a_snapshot_that_renames_messages() -> None:
    """The calls are the ones that were streamed: their messages have other ids, no more."""
    stored: list[Wire] = []
    for n in (1, 2):
        stored.append(caller(f"a-{n}", made_call(ID, f'{{"q":{n}}}')))
        stored.append(message("tool", f"o-{n}", f"found {n}", toolCallId=ID))
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
        raw = TypeAdapter(list[Message]).validate_python(agent.sent())
        session = AGUISession[Any](agent.url, messages=raw)
        session.send().wait()
        assert said(session.messages) == ["hi", *BOTH, ('{"q":3}', ["found 3"])]
        session.send().wait()
        assert [sent_ids(agent, n) for n in (1, 2, 3)] == [PAIR * 2, PAIR * 2, PAIR * 3]


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
        assert [sent_ids(agent, n) for n in (1, 2)] == [(PAIR * 2)[:3], PAIR * 3]


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
        assert sent_ids(agent) == PAIR * 2


@tool
def here(q: int) -> str:
    """Run at the client."""
    return f"here {q}"


# An answer is the number of its calls, its text, whether the calls name it, and the first of its
# results; a run is its answers, what happens to the calls of the last one, and whether the agent
# states all messages in the end.
answers = st.tuples(
    *(st.integers(0, 3), st.sampled_from(["", "hm"]), st.booleans(), st.integers(0, 5))
)
ends = st.sampled_from(["done", "done", "here", "asked"])
runs_of = st.tuples(st.lists(answers, min_size=1, max_size=3), ends, st.booleans())
threads = st.lists(runs_of, min_size=1, max_size=4)


def scripts_of(runs: Any, *, is_counting: bool = True) -> list[Script]:
    """Scripts that play a thread. Its calls count from 0 in each answer, or have ids of their own:
    then nothing needs to be told apart."""
    scripts, number, asked = list[Script](), 0, list[str]()
    for answers, ending, restates in runs:
        events = [result(one, f"late{number}-{one}", "late") for one in asked]
        made, asked, end = [*map(stated, events)], [], FINISHED
        events.insert(0, STARTED)
        for place, (count, words, has_parent, turn) in enumerate(answers):
            number += 1
            waits = count > 0 and place == len(answers) - 1 and ending != "done"
            name = "here" if waits and ending == "here" else "search"
            parent, prefix = f"a{number}", "f" if is_counting else f"f{number}"
            ids = [f"{prefix}:{n}" for n in range(count)]
            calls = [
                made_call(one, f'{{"q": {10 * number + n}}}', name) for n, one in enumerate(ids)
            ]
            opener = {"parentMessageId": parent} if has_parent else {}
            events += text(parent, words) if words else []
            for one in calls:
                args = one["function"]["arguments"]
                events += call(one["id"], args[:3], args[3:], name=name, **opener)
            made.append(
                message("assistant", parent, words, **({"toolCalls": calls} if ids else {}))
            )
            if waits and ending == "asked":
                about = {"reason": "x"}
                asks = [{"id": f"i{number}-{one}", "toolCallId": one, **about} for one in ids]
                asked, end = ids, asking(*asks)
            elif waits:
                end = ended("success", pendingToolCallIds=ids)
            else:
                turn %= max(1, count)
                order = ids[turn:] + ids[:turn]
                results = [result(one, f"o{number}-{one}", f"of {one[-1]}") for one in order]
                events += results
                made += map(stated, results)

        def script(
            peer: Peer,
            events: Any = events,
            made: Any = made,
            end: Any = end,
            whole: Any = restates,
        ) -> None:
            peer.head()
            told = [snapshot(*peer.asked.json["messages"], *made)] if whole else []
            peer.write(frames([*events, *told, end]))

        scripts.append(script)
    return [*scripts, recording(*in_run())]


def stated(told: Wire) -> Wire:
    return message("tool", told["messageId"], told["content"], toolCallId=told["toolCallId"])


YES = {"approved": True}


def by_session(agent: Server, count: int, **options: Any) -> AGUISession[Any]:
    session = AGUISession[Any](agent.url, tools=[here], **options)
    while len(agent.asked) < count:
        session = AGUISession[Any].from_json(session.to_json(), agent.url, tools=[here])
        asked = {one.id: YES for one in session.interrupts}
        (session.resume(asked) if asked else session.send("hi")).wait()
    ids = [one["id"] for one in calls_in(session.messages)]
    assert len(set(ids)) == len(ids)
    return session


def by_model(agent: Server, count: int) -> None:
    model = AGUIChatModel(url=agent.url).bind_tools([here])
    held, asked = list[BaseMessage]([HumanMessage("hi")]), dict[str, Any]()
    for _ in range(count):
        answer: Any = model.invoke(held, resume=asked)
        asked = {one.id: YES for one in open_interrupts(answer)}
        held += [answer, *(here.invoke(made) for made in answer.tool_calls)]
        held += [] if asked or answer.tool_calls else [HumanMessage("hi")]


def by_node(agent: Server, count: int) -> None:
    graph = around(RemoteAgent(agent.url, name="far", tools=[here]))
    given: Any = {"messages": "hi"}
    while len(agent.asked) < count:
        asked = graph.invoke(given, LATER).get("__interrupt__")
        resume = {one.id: YES for one in asked or ()}
        given = Command(resume=resume) if asked else {"messages": "hi"}


@pytest.mark.parametrize("read", [by_session, by_model, by_node])
@settings(max_examples=example_count(12, 75), deadline=None)
@given(runs=threads)
def test_calls_that_count_are_read_like_calls_with_ids_of_their_own(
    read: Callable[[Server, int], object], runs: Any
) -> None:
    sent = []
    for is_counting in (False, True):
        scripts = scripts_of(runs, is_counting=is_counting)
        with server(*scripts) as running:
            read(running, len(scripts))
            messages = [running.sent(number) for number in range(len(running.asked))]
            sent.append(json.dumps([[{**one, "id": ""} for one in each] for each in messages]))
    assert sent[1] == re.sub(r'"f\d+:(\d+)"', r'"f:\1"', sent[0])


@settings(max_examples=example_count(12, 75), deadline=None)
@given(runs=threads)
def test_a_reload_finds_the_ids_of_the_client_that_was_there(runs: Any) -> None:
    # A snapshot that gives messages other ids moves them to the end.
    scripts = scripts_of(
        (made, end, restates and all(has_parent for *_, has_parent, _ in made))
        for made, end, restates in runs
    )
    with server(*scripts) as running:
        session = by_session(running, len(scripts), thread_id="thread")
        thread = running.sent()
    with server(*[in_run(snapshot(*thread))] * 2) as running:
        fresh = AGUISession[Any](running.url, thread_id="thread")
        for client in (fresh, AGUISession[Any].from_json(session.to_json(), running.url)):
            client.connect().wait()
            assert dumped(client.messages) == dumped(session.messages)
