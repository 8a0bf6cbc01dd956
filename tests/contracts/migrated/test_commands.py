"""Answers by `forwardedProps.command.resume`, as pages for `ag-ui-langgraph` give them: checked as
`resume` is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, ClientOptions, LangGraphAgent
from langgraph_agui.compat.interrupts import on_interrupt_events
from tests.kit.deep import together
from tests.kit.graphs.pauses import KINDS, as_tool, happened, spender
from tests.kit.graphs.small import agent_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.approval_matrix import BAD, CASES, Paused, decide, pause, right

APPROVE = {"decisions": [{"type": "approve"}]}


def answered(messages, answer, event=None, **more):
    """An input with an answer, and with the event that asked."""
    told = {"resume": answer, **({"interruptEvent": event} if event is not None else {})}
    return run_input(*messages, thread="t", forwarded_props={"command": told}, **more)


async def begin(agent, *said, **more):
    return await record_run(agent, run_input(*(said or [user("go")]), thread="t", **more))


async def reply(agent, messages, answer, event=None, **more):
    return await record_run(agent, answered(messages, answer, event, **more))


def asked(recorded):
    customs = [event for event in recorded.of("CUSTOM") if event.name == "on_interrupt"]
    return [json.loads(event.value) for event in customs]


def graph_id(entry):
    return entry.interrupt_id.partition(":")[0]


@dataclass
class Commanded(Paused):
    """A thread that is answered by `command.resume`, in one of the ways of pages."""

    way: str = "bare"
    protocol: str | None = "1.0"

    async def resume(self, agent, entries, *new):
        order = {one.id: number for number, one in enumerate(self.asked)}
        ordered = sorted(entries, key=lambda one: (graph_id(one), order[one.interrupt_id]))
        answers = {id_: self._answer([*group]) for id_, group in groupby(ordered, graph_id)}
        answer = answers if len(answers) > 1 else next(iter(answers.values()))
        as_text = self.way == "as text" and isinstance(answer, dict) and len(answers) == 1
        return await self.send(agent, json.dumps(answer) if as_text else answer, *new)

    async def send(self, agent, answer, *new):
        events = on_interrupt_events(self.asked)
        tells = self.way == "with event" and len(events) == 1
        told = {"resume": answer, **({"interruptEvent": events[0].value} if tells else {})}
        props = {"forwarded_props": {"command": told}, "protocol_version": self.protocol}
        given = run_input(*self.messages, *new, thread=self.thread, **props)
        return await record_run(agent, given)

    def _answer(self, entries):
        if "batched" not in self.kind:
            return entries[0].payload
        return {"decisions": [decision(one.payload) for one in entries]}


def decision(payload):
    """The same, as LangChain says it."""
    match payload:
        case {"approved": True, "editedArgs": dict(args)}:
            return {"type": "edit", "edited_action": {"name": "spend", "args": args}}
        case {"approved": bool(approved), **rest} if not rest:
            return {"type": "approve" if approved else "reject"}
    return payload


MATRIX = [case for case in CASES if case[1] != "cancel"]
matrix = pytest.mark.parametrize(("kind", "answer"), MATRIX, ids=lambda value: value)


@together(matrix, pytest.mark.parametrize("way", ["bare", "with event", "as text"]))
async def test_what_is_guarded_runs_as_often_as_it_was_approved(kind, answer, way, tmp_path):
    """Give every wrong answer, the right one, and that again; see what happens."""
    agent = LangGraphAgent(KINDS[kind](InMemorySaver()))
    paused = Commanded(**vars(await pause(agent, kind, answer, tmp_path)), way=way)
    bad = BAD if answer == "approve" and way == "bare" else {"the text true": "true"}
    good, _ = right(paused, "approve")
    for payload in bad.values():
        wrong = ResumeEntry(interrupt_id=good[0].interrupt_id, status="resolved", payload=payload)
        recorded = await paused.resume(agent, [*good[1:], wrong])
        # A command without an answer is none.
        code = (
            "interrupt_unanswered"
            if kind == "breakpoint" and payload is None
            else "interrupt_invalid"
        )
        assert (recorded.types, recorded.last.code) == (["RUN_STARTED", "RUN_ERROR"], code), payload
        assert recorded.last.message
        assert happened(paused.file) == []
    _, entries = await decide(agent, paused, answer)
    expected = happened(paused.file)
    for _ in range(3):
        again = await paused.resume(agent, entries)
        assert again.last.type == "RUN_FINISHED", again.last
    await paused.resume(
        agent, [one.model_copy(update={"payload": {"approved": True}}) for one in entries]
    )
    assert happened(paused.file) == expected


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.endswith("per_call") or kind == "interrupt"]
)
async def test_one_answer_to_several_interrupts_is_refused(kind, tmp_path):
    agent = LangGraphAgent(KINDS[kind](InMemorySaver()))
    paused = Commanded(**vars(await pause(agent, kind, "approve", tmp_path)))
    one = paused.asked[0].id
    for answer in (
        {"approved": True},
        {one: {"approved": True}},
        {"decisions": [{"type": "approve"}] * 2},
    ):
        recorded = await paused.send(agent, answer)
        assert recorded.last.code == "interrupt_unanswered"
        assert "ids as keys" in recorded.last.message
    await decide(agent, paused, "approve")


@pytest.mark.parametrize("form", ["events", "both"])
async def test_a_message_while_paused_repeats_the_question_and_waits(form, tmp_path):
    file, old = tmp_path / "happened", {"protocol_version": None}
    options = {"approvals": ApprovalOptions(ask_by=form)}
    agent = LangGraphAgent(KINDS["batched"](InMemorySaver()), **options)
    first = await begin(agent, user(str(file)), **old)
    late = user(f"{file}.late", "late")
    for _ in range(2):
        again = await begin(agent, *first.messages, late, **old)
        assert (asked(again), happened(file)) == (asked(first), [])
    decisions = {"decisions": [{"type": "approve"}, {"type": "reject"}]}
    done = await reply(agent, [*first.messages, late], decisions, **old)
    assert happened(file) == [1]
    assert len(asked(done)) == 1  # what the late message brings about
    assert asked(done) != asked(first)
    assert happened(f"{file}.late") == []


TOO_MUCH = ("[" * 101 + "]" * 101, "[0" + ",0" * 50_000 + "]")  # to be read


@pytest.mark.parametrize(
    ("sent", "schema", "answer"),
    [
        ("KLM", None, "KLM"),
        ('{"steps": [1]}', None, {"steps": [1]}),
        ("false", None, False),
        ("null", None, "null"),
        *((much, None, much) for much in TOO_MUCH),
        (False, None, False),
        ("7", {"type": "string"}, "7"),
        ("7", {"type": "integer"}, 7),
        ("by id", None, False),
    ],
)
async def test_a_graph_gets_what_the_text_of_an_answer_says(sent, schema, answer):
    got = []

    async def ask(state: Any) -> dict[str, Any]:
        got.append(interrupt("Which?", **({"response_schema": schema} if schema else {})))
        return {}

    agent = agent_of(ask, checkpointer=InMemorySaver())
    first = await begin(agent)
    [question] = first.last.outcome.interrupts
    sent = json.dumps({question.id: False}) if sent == "by id" else sent
    done = await reply(agent, first.messages, sent)
    assert done.last.type == "RUN_FINISHED", done.last
    assert (got, type(got[0])) == ([answer], type(answer))


@pytest.mark.parametrize(
    ("form", "protocol", "events", "outcome"),
    [
        ("auto", "1.0", False, True),
        ("auto", None, True, False),
        ("outcome", None, False, True),
        ("events", None, True, False),
        ("both", "1.0", True, True),
    ],
)
async def test_how_clients_are_asked(form, protocol, events, outcome, tmp_path):
    options = {"approvals": ApprovalOptions(ask_by=form)}
    agent = LangGraphAgent(KINDS["batched"](InMemorySaver()), **options)
    given = run_input(user(str(tmp_path / "happened")), thread="t", protocol_version=protocol)
    recorded = await record_run(agent, given)
    assert bool(asked(recorded)) == events
    assert (recorded.last.outcome is not None) == outcome
    shown = RecordedRun([event async for event in agent.connect(given)], given)
    assert asked(shown) == asked(recorded)
    assert shown.last.outcome == recorded.last.outcome


async def test_a_question_is_answered_once_by_event_and_by_history(tmp_path):
    """The same answer sent again never answers the next question, though it asks the same."""
    agent, file = LangGraphAgent(KINDS["batched"](InMemorySaver())), tmp_path / "happened"
    first = await begin(agent, user(str(file)))
    answer = {"decisions": [{"type": "approve"}, {"type": "reject"}]}
    event = on_interrupt_events(first.last.outcome.interrupts)[0].value
    done = await reply(agent, first.messages, answer, run="r1")
    assert happened(file) == [1]
    second = await begin(agent, *done.messages, user(str(file), "u2"))
    questions = second.last.outcome.interrupts
    assert on_interrupt_events(questions)[0].value == event  # the same question
    for messages, told in ((first.messages, None), (first.messages, event), (done.messages, None)):
        late = await reply(agent, messages, answer, told, run="r2")
        assert late.last.outcome.interrupts == questions  # asked again
    other = await reply(agent, second.messages, answer, {"action_requests": []}, run="r3")
    assert (other.last.code, "interruptEvent" in other.last.message) == ("interrupt_unknown", True)
    assert happened(file) == [1]
    for _ in range(2):  # the second time as a client whose connection broke
        await reply(agent, second.messages, answer, json.loads(event), run="r4")
        assert happened(file) == [1, 1]
    whole = {"type": "CUSTOM", "name": "on_interrupt", "value": event}
    last = await reply(agent, second.messages, answer, whole, run="r5")
    assert (last.last.type, happened(file)) == ("RUN_FINISHED", [1, 1])


async def test_without_a_checkpointer_nothing_waits():
    recorded = await reply(LangGraphAgent(KINDS["batched"](None)), [user("x")], "yes")
    assert recorded.last.code == "interrupt_unknown"


@pytest.mark.parametrize("subagents", ["attributed", "inline", "hidden"])
async def test_two_approvals_inside_one_subagent(subagents, tmp_path):
    """The main agent says nothing between them: only the calls tell that the second is another
    question."""

    def twice(messages):
        made = sum(message.type == "ai" for message in messages)
        spends = call("spend", f"s{made}", 0, file=messages[0].text, amount=made + 1)
        return ["Done."] if made == 2 else [spends]

    file = tmp_path / "happened"
    graph = as_tool(spender("batched", model=Scripted(script=twice)), 1, InMemorySaver())
    agent = LangGraphAgent(graph, clients=ClientOptions(subagents=subagents))
    first = await begin(agent, user(str(file)))
    given = answered(first.messages, APPROVE)
    second = await record_run(agent, given)
    assert (second.last.outcome.type, happened(file)) == ("interrupt", [1])
    # Where they are hidden, nothing that its client has tells the questions apart: another run
    # answers the second one.
    others = [] if subagents == "hidden" else [answered(first.messages, APPROVE, run="other")]
    for late in (given, *others):
        again = await record_run(agent, late)
        assert again.last.outcome.interrupts == second.last.outcome.interrupts  # asked again
        assert happened(file) == [1]
    done = await reply(agent, second.messages, APPROVE)
    assert (done.last.outcome.type, happened(file)) == ("success", [1, 2])


def remover(*turns, silence=None):
    """An agent with a guarded tool, and what the tool has removed."""
    removed = []

    @tool
    def remove(what: str) -> str:
        """Remove something."""
        removed.append(what)
        return f"removed {what}"

    guarded, model = HumanInTheLoopMiddleware({"remove": True}), Scripted(*turns, metadata=silence)
    graph = create_agent(model, [remove], middleware=[guarded], checkpointer=InMemorySaver())
    return LangGraphAgent(graph), removed


@pytest.mark.parametrize("history", ["none", "of the user", "whole"])
async def test_the_same_request_sent_again_answers_nothing_new(history):
    """As after a broken connection, by a client that may send no history: a call is made again that
    looks the same."""
    calls = [[call("remove", id_, what="it")] for id_ in ("c1", "c2")]
    agent, removed = remover(*calls, ["Done."])
    first = await begin(agent)
    messages = {"none": [], "of the user": first.messages[:1], "whole": first.messages}[history]
    given = answered(messages, APPROVE)
    for _ in range(3):
        again = await record_run(agent, given)
        assert removed == ["it"]
        assert [one.tool_call_id for one in again.last.outcome.interrupts] == ["c2"]
    assert (await reply(agent, again.messages, APPROVE)).last.outcome.type == "success"
    assert removed == ["it", "it"]


async def test_questions_of_nodes_with_no_message_between():
    done = []

    def ask(name):
        def node(state: Any) -> dict[str, Any]:
            if interrupt(f"Delete {name}?") == "yes":
                done.append(name)
            return {}

        node.__name__ = name
        return node

    agent = agent_of(ask("a"), ask("b"), checkpointer=InMemorySaver())
    first = await begin(agent)
    given = answered(first.messages, "yes")
    for _ in range(3):
        again = await record_run(agent, given)
        assert done == ["a"]
        assert [one.message for one in again.last.outcome.interrupts] == ["Delete b?"]
    await reply(agent, first.messages, "yes")
    assert done == ["a", "b"]


SILENT = {"emit-messages": False, "emit-tool-calls": False}


@pytest.mark.parametrize("silence", [{"emit-tool-calls": False}, SILENT])
async def test_calls_that_the_client_does_not_see_are_approved(silence):
    """Nobody can show that he has seen them."""
    turns = [["Hello."], ["Soon. ", call("remove", "c1", 1, what="it")], ["Done."]]
    agent, removed = remover(*turns, silence=silence)
    hello = await begin(agent)
    first = await begin(agent, *hello.messages, user("go on"))
    assert first.last.outcome.type == "interrupt"
    done = await reply(agent, first.messages, APPROVE)
    assert (done.last.outcome.type, removed) == ("success", ["it"])


async def test_after_a_call_whose_result_the_client_does_not_see():
    """The thread's last message is that result."""
    done = []

    async def say(state: Any) -> dict[str, Any]:
        """Return what was emitted by hand, under another id."""
        emitted = {"message_id": "m1", "message": "Look here"}
        await adispatch_custom_event("manually_emit_message", emitted)
        return {"messages": [AIMessage("Look here", id="own")]}

    async def look(state: Any) -> dict[str, Any]:
        model = Scripted([call("look", "c1")], metadata=SILENT)
        made = await model.ainvoke(state["messages"])
        return {"messages": [made, ToolMessage("seen", tool_call_id="c1")]}

    def ask(state: Any) -> dict[str, Any]:
        done.append(interrupt("Pay?"))
        return {"messages": [AIMessage("Look here", id="own")]}

    agent = agent_of(say, look, ask, checkpointer=InMemorySaver())
    first = await begin(agent)
    assert [one.content for one in first.messages] == ["go", "Look here"]
    await reply(agent, first.messages, "yes")
    assert done == ["yes"]
