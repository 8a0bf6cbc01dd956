"""Answers by `forwardedProps.command.resume`, as pages for `ag-ui-langgraph` give them: checked as
`resume` is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message, ResumeEntry
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
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.approval_matrix import BAD, CASES, Paused, decide, pause, right

APPROVE = {"decisions": [{"type": "approve"}]}


def command(answer: Any, **more: Any) -> dict[str, Any]:
    return {"command": {"resume": answer, **more}}


async def reply(
    agent: LangGraphAgent, messages: Sequence[Message], answer: Any, **more: Any
) -> RecordedRun:
    given = run_input(*messages, thread="t", forwarded_props=command(answer), **more)
    return await record_run(agent, given)


def asked(recorded: RecordedRun) -> list[Any]:
    return [
        json.loads(event.value) for event in recorded.of("CUSTOM") if event.name == "on_interrupt"
    ]


@dataclass
class Commanded(Paused):
    """A thread that is answered by `command.resume`, in one of the ways of pages."""

    way: str = "bare"
    protocol: str | None = "1.0"

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        order = {one.id: number for number, one in enumerate(self.asked)}
        by_number = sorted(
            entries, key=lambda one: (one.interrupt_id.partition(":")[0], order[one.interrupt_id])
        )
        answers = {
            graph_id: self._answer([one.payload for one in group])
            for graph_id, group in groupby(
                by_number, lambda one: one.interrupt_id.partition(":")[0]
            )
        }
        answer: Any = answers if len(answers) > 1 else next(iter(answers.values()))
        return await self.send(agent, answer, *new)

    async def send(self, agent: LangGraphAgent, answer: Any, *new: Message) -> RecordedRun:
        more = (
            {"interruptEvent": self.event}
            if self.way == "with event" and not isinstance(self.event, list)
            else {}
        )
        as_text = (
            self.way == "as text"
            and isinstance(answer, dict)
            and not answer.keys() & {*self.graph_ids}
        )
        props = command(json.dumps(answer) if as_text else answer, **more)
        fields = {"protocol_version": self.protocol, "forwarded_props": props}
        return await record_run(
            agent, run_input(*self.messages, *new, thread=self.thread, **fields)
        )

    @property
    def graph_ids(self) -> set[str]:
        return {one.id.partition(":")[0] for one in self.asked}

    @property
    def event(self) -> Any:
        events = on_interrupt_events(self.asked)
        return events[0].value if len(events) == 1 else events

    def _answer(self, payloads: list[Any]) -> Any:
        if "batched" not in self.kind:
            return payloads[0]
        return {"decisions": [decision(one) for one in payloads]}


def decision(payload: Any) -> Any:
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
async def test_what_is_guarded_runs_as_often_as_it_was_approved(
    kind: str, answer: str, way: str, tmp_path: Path
) -> None:
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
async def test_one_answer_to_several_interrupts_is_refused(kind: str, tmp_path: Path) -> None:
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
async def test_a_message_while_paused_repeats_the_question_and_waits(
    form: Any, tmp_path: Path
) -> None:
    file = tmp_path / "happened"
    agent = LangGraphAgent(
        KINDS["batched"](InMemorySaver()), approvals=ApprovalOptions(ask_by=form)
    )
    first = await record_run(agent, run_input(user(str(file)), thread="t", protocol_version=None))
    late = user(f"{file}.late", "late")
    for _ in range(2):
        again = await record_run(
            agent, run_input(*first.messages, late, thread="t", protocol_version=None)
        )
        assert asked(again) == asked(first)
        assert happened(file) == []
    decisions = {"decisions": [{"type": "approve"}, {"type": "reject"}]}
    done = await reply(agent, [*first.messages, late], decisions, protocol_version=None)
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
    ],
)
async def test_a_graph_gets_what_the_text_of_an_answer_says(
    sent: Any, schema: Any, answer: Any
) -> None:
    got: list[Any] = []

    async def ask(state: Any) -> dict[str, Any]:
        got.append(interrupt("Which?", response_schema=schema) if schema else interrupt("Which?"))
        return {}

    agent = LangGraphAgent(
        chain_of(ask, checkpointer=InMemorySaver()), approvals=ApprovalOptions(ask_by="events")
    )
    first = await record_run(agent, run_input("hi", thread="t", protocol_version=None))
    done = await reply(agent, first.messages, sent, protocol_version=None)
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
async def test_how_clients_are_asked(
    form: Any, protocol: str | None, events: bool, outcome: bool, tmp_path: Path
) -> None:
    agent = LangGraphAgent(
        KINDS["batched"](InMemorySaver()), approvals=ApprovalOptions(ask_by=form)
    )
    given = run_input(user(str(tmp_path / "happened")), thread="t", protocol_version=protocol)
    recorded = await record_run(agent, given)
    assert bool(asked(recorded)) == events
    assert (recorded.last.outcome is not None) == outcome
    shown = RecordedRun([event async for event in agent.connect(given)], given)
    assert asked(shown) == asked(recorded)
    assert shown.last.outcome == recorded.last.outcome


async def test_a_question_is_answered_once_by_event_and_by_history(tmp_path: Path) -> None:
    """The same answer sent again never answers the next question, though it asks the same."""
    agent = LangGraphAgent(KINDS["batched"](InMemorySaver()))
    first = await pause(agent, "batched", "approve", tmp_path)
    answer = {"decisions": [{"type": "approve"}, {"type": "reject"}]}
    event = on_interrupt_events(first.asked)[0].value

    def answered(messages: Sequence[Message], run: str, **more: Any) -> Any:
        return run_input(
            *messages, thread=first.thread, run=run, forwarded_props=command(answer, **more)
        )

    done = await record_run(agent, answered(first.messages, "r1"))
    assert happened(first.file) == [1]
    second = await record_run(
        agent, run_input(*done.messages, user(str(first.file), "u2"), thread=first.thread)
    )
    again = on_interrupt_events(second.last.outcome.interrupts)
    assert again[0].value == event  # the same question
    for messages, more in (
        (first.messages, {}),
        (first.messages, {"interruptEvent": event}),
        (done.messages, {}),
    ):
        late = await record_run(agent, answered(messages, "r2", **more))
        assert late.last.outcome.interrupts == second.last.outcome.interrupts  # asked again
    other = await record_run(
        agent, answered(second.messages, "r3", interruptEvent={"action_requests": []})
    )
    assert (other.last.code, "interruptEvent" in other.last.message) == ("interrupt_unknown", True)
    assert happened(first.file) == [1]
    given = answered(second.messages, "r4", interruptEvent=json.loads(event))
    for _ in range(2):  # the second time as a client whose connection broke
        await record_run(agent, given)
        assert happened(first.file) == [1, 1]
    whole = answered(
        second.messages,
        "r5",
        interruptEvent={"type": "CUSTOM", "name": "on_interrupt", "value": event},
    )
    assert (await record_run(agent, whole)).last.type == "RUN_FINISHED"
    assert happened(first.file) == [1, 1]


async def test_without_a_checkpointer_nothing_waits() -> None:
    agent = LangGraphAgent(KINDS["batched"](None))
    recorded = await record_run(agent, run_input(user("x"), forwarded_props=command("yes")))
    assert recorded.last.code == "interrupt_unknown"


@pytest.mark.parametrize("subagents", ["attributed", "inline", "hidden"])
async def test_two_approvals_inside_one_subagent(subagents: Any, tmp_path: Path) -> None:
    """The main agent says nothing between them: only the calls tell that the second is another
    question."""

    def twice(messages: list[Any]) -> list[Any]:
        made = sum(message.type == "ai" for message in messages)
        file = messages[0].text
        return (
            ["Done."] if made == 2 else [call("spend", f"s{made}", 0, file=file, amount=made + 1)]
        )

    file = tmp_path / "happened"
    graph = as_tool(spender("batched", model=Scripted(script=twice)), 1, InMemorySaver())
    agent = LangGraphAgent(graph, clients=ClientOptions(subagents=subagents))
    first = await record_run(agent, run_input(user(str(file)), thread="t"))
    props = command(APPROVE)
    given = run_input(*first.messages, thread="t", forwarded_props=props)
    second = await record_run(agent, given)
    assert second.last.outcome.type == "interrupt"
    assert happened(file) == [1]
    other = run_input(*first.messages, thread="t", run="other", forwarded_props=props)
    # Where they are hidden, nothing that its client has tells the questions apart: another run
    # answers the second one.
    for late in (given,) if subagents == "hidden" else (given, other):
        again = await record_run(agent, late)
        assert again.last.outcome.interrupts == second.last.outcome.interrupts  # asked again
        assert happened(file) == [1]
    done = await reply(agent, second.messages, APPROVE)
    assert (done.last.outcome.type, happened(file)) == ("success", [1, 2])


def remover(*turns: Any, silence: Any = None) -> tuple[Any, list[str]]:
    """An agent with a guarded tool, and what the tool has removed."""
    removed: list[str] = []

    @tool
    def remove(what: str) -> str:
        """Remove something."""
        removed.append(what)
        return f"removed {what}"

    guarded = HumanInTheLoopMiddleware({"remove": True})
    model = Scripted(*turns, metadata=silence)
    return create_agent(
        model, [remove], middleware=[guarded], checkpointer=InMemorySaver()
    ), removed


@pytest.mark.parametrize("history", ["none", "of the user", "whole"])
async def test_the_same_request_sent_again_answers_nothing_new(history: str) -> None:
    """As after a broken connection, by a client that may send no history: a call is made again that
    looks the same."""
    graph, removed = remover(
        [call("remove", "c1", what="it")], [call("remove", "c2", what="it")], ["Done."]
    )
    agent = LangGraphAgent(graph)
    first = await record_run(agent, run_input(user("go"), thread="t"))
    messages = {"none": [], "of the user": first.messages[:1], "whole": first.messages}[history]
    given = run_input(*messages, thread="t", forwarded_props=command(APPROVE))
    for _ in range(3):
        again = await record_run(agent, given)
        assert removed == ["it"]
        assert [one.tool_call_id for one in again.last.outcome.interrupts] == ["c2"]
    assert (await reply(agent, again.messages, APPROVE)).last.outcome.type == "success"
    assert removed == ["it", "it"]


async def test_questions_of_nodes_with_no_message_between() -> None:
    asked: list[str] = []

    def ask(name: str) -> Any:
        def node(state: Any) -> dict[str, Any]:
            if interrupt(f"Delete {name}?") == "yes":
                asked.append(name)
            return {}

        node.__name__ = name
        return node

    agent = LangGraphAgent(chain_of(ask("a"), ask("b"), checkpointer=InMemorySaver()))
    first = await record_run(agent, run_input(user("go"), thread="t"))
    given = run_input(*first.messages, thread="t", forwarded_props=command("yes"))
    for _ in range(3):
        again = await record_run(agent, given)
        assert asked == ["a"]
        assert [one.message for one in again.last.outcome.interrupts] == ["Delete b?"]
    await reply(agent, first.messages, "yes")
    assert asked == ["a", "b"]


async def test_an_object_with_the_one_id_as_key() -> None:
    got: list[Any] = []

    def ask(state: Any) -> dict[str, Any]:
        got.append(interrupt("Delete?"))
        return {}

    agent = LangGraphAgent(chain_of(ask, checkpointer=InMemorySaver()))
    first = await record_run(agent, run_input(user("go"), thread="t"))
    [question] = first.last.outcome.interrupts
    await reply(agent, first.messages, json.dumps({question.id: False}))
    assert got == [False]


@pytest.mark.parametrize(
    "silence", [{"emit-tool-calls": False}, {"emit-messages": False, "emit-tool-calls": False}]
)
async def test_calls_that_the_client_does_not_see_are_approved(silence: Any) -> None:
    """Nobody can show that he has seen them."""
    turns = [["Hello."], ["Soon. ", call("remove", "c1", 1, what="it")], ["Done."]]
    graph, removed = remover(*turns, silence=silence)
    agent = LangGraphAgent(graph)
    hello = await record_run(agent, run_input(user("hi"), thread="t"))
    first = await record_run(agent, run_input(*hello.messages, user("go"), thread="t"))
    assert first.last.outcome.type == "interrupt"
    done = await reply(agent, first.messages, APPROVE)
    assert done.last.outcome.type == "success"
    assert removed == ["it"]


async def test_after_a_call_whose_result_the_client_does_not_see() -> None:
    """The thread's last message is that result."""
    done: list[str] = []

    async def look(state: Any) -> dict[str, Any]:
        model = Scripted(
            [call("look", "c1")], metadata={"emit-messages": False, "emit-tool-calls": False}
        )
        return {
            "messages": [
                await model.ainvoke(state["messages"]),
                ToolMessage("seen", tool_call_id="c1"),
            ]
        }

    def ask(state: Any) -> dict[str, Any]:
        done.append(interrupt("Pay?"))
        return {"messages": [AIMessage("Look here", id="own")]}

    async def say(state: Any) -> dict[str, Any]:
        """Return what was emitted by hand, under another id."""
        await adispatch_custom_event(
            "manually_emit_message", {"message_id": "m1", "message": "Look here"}
        )
        return {"messages": [AIMessage("Look here", id="own")]}

    agent = LangGraphAgent(chain_of(say, look, ask, checkpointer=InMemorySaver()))
    first = await record_run(agent, run_input(user("go"), thread="t"))
    assert [one.content for one in first.messages] == ["go", "Look here"]
    await reply(agent, first.messages, "yes")
    assert done == ["yes"]
