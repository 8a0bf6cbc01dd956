"""What a remote agent asks: interrupts of the local graph, answered through it. Each guarded tool,
there or here, runs once at most, and none that was refused."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui import ApprovalOptions
from langgraph_agui.client import RemoteAgent
from langgraph_agui.middleware import AGUIMiddleware
from langgraph_agui.nodes import CANCELLED
from tests.behaviour.client.remote.local_graph import LATER, Client, Host, around, client_of, words
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.processes.scripted_servers import asking, server
from tests.kit.run.wire_events import STARTED, Wire, event, in_run, text
from tests.kit.run.wire_events import call as calls

YES: Any = {"approved": True}


class Bank:
    """A remote agent whose tool needs an approval; `sent` is what has really been done."""

    def __init__(self, host: Host, *turns: Any, inside: bool = False, **options: Any) -> None:
        self.sent: list[int] = []

        @tool
        def transfer(amount: int) -> str:
            """Send money."""
            self.sent.append(amount)
            return f"sent {amount}"

        turns = turns or ([call("transfer", "t1", amount=5)], ["Done."], ["Anything else?"])
        self.model, guard = Scripted(*turns), HumanInTheLoopMiddleware({"transfer": True})
        saver = None if inside else InMemorySaver()
        graph: Any = create_agent(self.model, [transfer], middleware=[guard], checkpointer=saver)
        if inside:
            graph.name = "teller"
            graph = around(graph)
        self.url = host(graph, **options)

    def client(self, **options: Any) -> Client:
        return Client(around(RemoteAgent(self.url, name="bank")), **options)


TWO = calling(
    part("transfer", '{"amount": 1}', "t1", 0), part("transfer", '{"amount": 2}', "t2", 1)
)
TWICE = (["Both. ", TWO], ["Done."], ["Anything else?"])


def results(messages: Any) -> list[tuple[str, str]]:
    return [(one.tool_call_id, one.text) for one in messages if one.type == "tool"]


@pytest.mark.parametrize(
    ("payload", "sent", "said", "inside"),
    [
        pytest.param(YES, [5], "sent 5", False, id="approve"),
        pytest.param({"approved": False, "message": "no way"}, [], "no way", False, id="reject"),
        pytest.param({**YES, "editedArgs": {"amount": 7}}, [7], "sent 7", True, id="edit, inside"),
        pytest.param(None, [], "rejected", False, id="cancel"),
    ],
)
async def test_one_question(
    host: Host, payload: Any, sent: list[int], said: str, inside: bool
) -> None:
    bank = Bank(host, inside=inside)
    client = bank.client()
    recorded = await client.say("pay")
    (ended,), (one,) = recorded.of("SUBAGENT_FINISHED"), client.open
    assert (one.reason, one.tool_call_id, one.metadata["args"]) == (
        "tool_call",
        "t1",
        {"amount": 5},
    )
    assert ended.outcome.interrupt_ids == [one.id]
    assert one.subagent_run_id == ended.subagent_run_id
    assert bank.sent == []
    again = await client.connect(*client.held)
    assert again.last.outcome.interrupts == client.open
    assert [each.id for each in again.messages] == [each.id for each in recorded.messages]

    # Another graph over the same thread, as in another process.
    fresh = bank.client()
    fresh.graph.checkpointer = client.graph.checkpointer
    fresh.held, fresh.state, fresh.open = client.held, client.state, client.open
    assert (await fresh.answer(payload)).last.outcome.type == "success"
    assert bank.sent == sent
    ((call_id, result),) = results(await fresh.stored())
    assert (call_id, said in result) == ("t1", True)
    assert words(await fresh.stored())[-1] == ("ai", "Done.")

    # The remote thread goes on: it has heard everything once.
    await fresh.say("thanks")
    assert words(bank.model.seen[-1])[-2:] == [("ai", "Done."), ("human", "thanks")]
    assert (len(bank.model.seen[-1]), bank.sent) == (5, sent)


async def test_two_questions_answered_together(host: Host) -> None:
    """One answer is refused by the agent alone, as the schema allows it: both are asked again."""
    bank = Bank(host, *TWICE)
    client = bank.client()
    await client.say("pay")
    for payload in (ONLY_REFUSED, {"approved": False}):
        assert {one.tool_call_id for one in client.open} == {"t1", "t2"}
        assert bank.sent == []
        await client.answer(*(YES if one.tool_call_id == "t2" else payload for one in client.open))
        asked_again = ["aproved" in one.metadata["value"]["error"] for one in client.open]
        assert asked_again == ([True, True] if payload is ONLY_REFUSED else [])
    assert bank.sent == [2]
    assert sorted(call_id for call_id, _ in results(await client.stored())) == ["t1", "t2"]


async def test_two_questions_answered_one_after_the_other(host: Host) -> None:
    bank = Bank(host, *TWICE)
    graph = bank.client().graph
    await graph.ainvoke({"messages": "pay"}, LATER)
    first, second = (await graph.aget_state(LATER)).interrupts
    made = await graph.ainvoke(Command(resume={second.id: YES}), LATER)
    assert ([one.id for one in made["__interrupt__"]], bank.sent) == ([first.id], [])
    await graph.ainvoke(Command(resume={first.id: {CANCELLED: True}}), LATER)
    assert bank.sent == [2 if second.value["toolCallId"] == "t2" else 1]


async def test_it_asks_again(host: Host) -> None:
    asks = [[call("transfer", f"t{number}", amount=number)] for number in (1, 2)]
    bank = Bank(host, *asks, ["Done."])
    client = bank.client()
    await client.say("pay")
    recorded = await client.answer(YES)
    assert (bank.sent, [one.tool_call_id for one in client.open]) == ([1], ["t2"])
    assert recorded.of("TOOL_CALL_RESULT")[0].tool_call_id == "t1"
    await client.answer(YES)
    assert bank.sent == [1, 2]
    assert [one.type for one in await client.stored()] == ["human", *["ai", "tool"] * 2, "ai"]


TYPO: dict[str, Any] = {"aproved": True}
ONLY_REFUSED: dict[str, Any] = {**YES, **TYPO}


@pytest.mark.parametrize(
    "payload", [TYPO, ONLY_REFUSED, "yes", None], ids=["typo", "refused", "text", "no jsonschema"]
)
def test_an_answer_that_does_not_fit_is_asked_for_again(
    host: Host, payload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank(host)
    graph = bank.client().graph
    (one,) = graph.invoke({"messages": "pay"}, LATER)["__interrupt__"]
    if payload is None:
        monkeypatch.setitem(sys.modules, "jsonschema", None)  # so the agent judges alone
    (again,) = graph.invoke(Command(resume={one.id: payload or TYPO}), LATER)["__interrupt__"]
    assert ("transfer" if payload else "aproved") in again.value["error"]
    assert {key: value for key, value in again.value.items() if key != "error"} == one.value
    assert bank.sent == []
    (still,) = graph.invoke(None, LATER)["__interrupt__"]
    assert still.id == again.id
    made = graph.invoke(Command(resume=True), LATER)  # short for {"approved": True}
    assert bank.sent == [5]
    assert words(made["messages"])[-2:] == [("tool", "sent 5"), ("ai", "Done.")]


def asked(schema: Any) -> Any:
    return asking({"id": "i", "reason": "input_required", "responseSchema": schema})


@pytest.mark.parametrize("code", ["interrupt_invalid", "interrupt_expired"])
def test_refused_answers_are_not_kept(code: str) -> None:
    refused, looked = event("RUN_ERROR", message="Not so.", code=code), list[str]()

    def look() -> str:
        """Look."""
        looked.append("here")
        return "seen"

    asks = [STARTED, *calls("l1", "{}", name="look"), asked({"type": "integer"})]
    with server(asks, [STARTED, refused], in_run(*text("m", "Well."))) as running:
        graph = client_of(running.url, tools=[look]).graph
        graph.invoke({"messages": "go"}, LATER)
        (unfit,) = graph.invoke(Command(resume="one"), LATER)["__interrupt__"]
        # by the schema: the agent has not heard it
        assert "'type: integer'" in unfit.value["error"]
        (again,) = graph.invoke(Command(resume=1), LATER)["__interrupt__"]
        assert "Not so." in again.value["error"]
        made = graph.invoke(Command(resume=2), LATER)
    assert [entry["payload"] for one in running.asked[1:] for entry in one.json["resume"]] == [1, 2]
    assert looked == ["here"]
    assert words(made["messages"])[-1] == ("ai", "Well.")


@pytest.mark.parametrize(
    "schema", [{"type": "nothing"}, {"$ref": "#/missing"}, {"pattern": "("}], ids=str
)
def test_a_schema_that_cannot_be_read_is_left_to_the_agent(schema: Any) -> None:
    with server([STARTED, asked(schema)], in_run(*text("m", "Well."))) as running:
        graph = client_of(running.url).graph
        graph.invoke({"messages": "go"}, LATER)
        made = graph.invoke(Command(resume="any"), LATER)
    assert words(made["messages"]) == [("human", "go"), ("ai", "Well.")]


def test_a_question_that_has_expired_is_cancelled(host: Host) -> None:
    bank = Bank(host, approvals=ApprovalOptions(timeout=timedelta(seconds=0)))
    graph = bank.client().graph
    graph.invoke({"messages": "pay"}, LATER)
    made = graph.invoke(Command(resume=YES), LATER)
    assert (bank.sent, words(made["messages"])[-1]) == ([], ("ai", "Done."))


async def test_a_new_turn_instead_of_an_answer(host: Host) -> None:
    bank = Bank(host, ["Hello."], [call("transfer", "t1", amount=5)], ["Done."], ["Anything else?"])
    client = bank.client(approvals=ApprovalOptions(when_paused="cancel"))
    await client.say("hi")
    await client.say("pay")
    assert len(client.open) == 1
    assert (await client.say("never mind")).last.outcome.type == "success"
    said = words(bank.model.seen[-1])
    assert [*said[:2], said[-1]] == [("human", "hi"), ("ai", "Hello."), ("human", "never mind")]
    # The agent hears first that the call was cancelled.
    assert words(await client.stored()) == [
        *[("human", "hi"), ("ai", "Hello."), ("human", "pay"), ("human", "never mind")],
        *[("ai", "Done."), ("ai", "Anything else?")],
    ]
    await client.say("and now?")
    assert (bank.sent, len(bank.model.seen[-1])) == ([], 9)


async def test_a_question_from_within_a_local_tool(host: Host) -> None:
    bank = Bank(host)
    teller, boss = RemoteAgent(bank.url, name="bank"), Scripted([call("ask", "a1")], ["Paid."])

    @tool
    async def ask() -> str:
        """Ask the bank."""
        return (await teller.ainvoke({"messages": "pay"}))["messages"][-1].text

    client = Client(create_agent(boss, [ask], checkpointer=InMemorySaver()))
    recorded = await client.say("go")
    assert [event.name for event in recorded.of("SUBAGENT_STARTED")] == ["bank"]
    assert [one.tool_call_id for one in client.open] == ["t1"]
    await client.answer(YES)
    assert bank.sent == [5]
    kept = [("human", "go"), ("ai", ["ask"]), ("tool", "Done."), ("ai", "Paid.")]
    assert words(await client.stored()) == kept


def test_without_a_graph(host: Host) -> None:
    bank = Bank(host)
    agent = RemoteAgent(bank.url, name="bank", checkpointer=InMemorySaver())
    made = agent.invoke({"messages": "pay"}, LATER)
    (one,) = made["__interrupt__"]
    assert one.value["toolCallId"] == "t1"
    assert words(made["messages"]) == [("ai", ["transfer"])]
    made = agent.invoke(Command(resume=YES), LATER)
    assert words(made["messages"]) == [("ai", ["transfer"]), ("tool", "sent 5"), ("ai", "Done.")]
    again = agent.invoke({"messages": "and?"}, LATER)
    assert words(again["messages"]) == [("ai", "Anything else?")]
    assert words(bank.model.seen[-1]) == [("human", "and?")]


wiped: list[str] = []


def wipe(path: str) -> str:
    """Wipe."""
    wiped.append(path)
    return "wiped"


def near(url: str) -> Client:
    wiped.clear()
    return client_of(url, tools=[wipe])


@pytest.mark.parametrize(
    ("payload", "paths", "said"),
    [
        pytest.param(YES, ["/"], "wiped", id="approve"),
        pytest.param({"approved": False, "message": "never"}, [], "never", id="reject"),
        pytest.param({**YES, "editedArgs": {"path": "/tmp"}}, [], "Not executed", id="edit"),
        pytest.param(None, [], "not executed", id="cancel"),
    ],
)
async def test_a_call_that_runs_here_waits_for_its_approval(
    host: Host, payload: Any, paths: list[str], said: str
) -> None:
    stack = [HumanInTheLoopMiddleware({"wipe": True}), AGUIMiddleware()]
    model = Scripted([call("wipe", "w1", path="/")], ["Well."], ["Bye."])
    client = near(host(create_agent(model, [], middleware=stack, checkpointer=InMemorySaver())))
    await client.say("clean up")
    assert ([one.tool_call_id for one in client.open], wiped) == (["w1"], [])
    await client.answer(payload)
    assert wiped == paths
    held = words(await client.stored())
    (result,) = [text for kind, text in held if kind == "tool"]
    assert (said in result, held[-1]) == (True, ("ai", "Well."))
    await client.say("bye")
    assert (len(model.seen[-1]), wiped) == (5, paths)


ABOUT_CALL: Wire = {"reason": "tool_call", "toolCallId": "w1"}
UNNAMED: Wire = {"reason": "tool_call"}
IN_METADATA: Wire = {"reason": "acme:review", "metadata": {"calls": [{"toolCallId": "w1"}]}}
TOOL: Wire = {"reason": "input_required", "metadata": {"value": '[{"name": "wipe"}]'}}
WIPE, AGAIN = (
    calls(name, f'{{"path": "{path}"}}', name="wipe")
    for name, path in (("w1", "/"), ("l1", "/var"))
)
EDITED = {"approved": True, "editedArgs": {"path": "/home"}}
UNCHANGED = {"approved": True, "editedArgs": {"path": "/"}}


@pytest.mark.parametrize(
    ("about", "payload", "approves"),
    [
        pytest.param(ABOUT_CALL, {"approved": False}, False, id="about a call"),
        pytest.param(IN_METADATA, {"approved": False}, False, id="about a call in the metadata"),
        pytest.param(TOOL, {"approved": False}, False, id="about a tool in the metadata"),
        pytest.param(UNNAMED, {"approved": False}, False, id="about nothing that it names"),
        (ABOUT_CALL, None, False),
        (ABOUT_CALL, False, False),
        (ABOUT_CALL, "no", False),
        (ABOUT_CALL, {"approved": "false"}, False),
        (ABOUT_CALL, {"approved": False, "type": "approve"}, False),
        pytest.param(ABOUT_CALL, EDITED, False, id="edited"),
        pytest.param(
            ABOUT_CALL, {"decisions": [{"type": "reject"}]}, False, id="a rejection in a batch"
        ),
        pytest.param(ABOUT_CALL, {"decisions": []}, False, id="no decision"),
        (ABOUT_CALL, True, True),
        pytest.param(ABOUT_CALL, UNCHANGED, True, id="edited to what it is"),
        (ABOUT_CALL, {"accepted": True, "steps": []}, True),
        (ABOUT_CALL, {"type": "approve"}, True),
        pytest.param(ABOUT_CALL, {"decisions": [{"type": "approve"}]}, True, id="a batch"),
    ],
)
async def test_what_is_an_approval(about: Wire, payload: Any, approves: bool) -> None:
    """The agent leaves the call open, whatever the answer; a later run of the same turn must not
    run it either."""
    paused = [STARTED, *WIPE, asking({"id": "i", **about})]
    with server(paused, in_run(*AGAIN), in_run(*text("m", "Well."))) as running:
        client = near(running.url)
        await client.say("clean up")
        assert wiped == []
        await client.answer(payload)
    assert sorted(wiped) == (["/", "/var"] if approves else ["/var"])
    held = words(await client.stored())
    refusal = "wiped" if approves else "Cancelled by the user: this was not executed."
    assert [said for kind, said in held if kind == "tool"] == [refusal, "wiped"]
    assert held[-1] == ("ai", "Well.")


async def test_a_refused_call_is_not_approved_with_the_next() -> None:
    asks = [[STARTED, *events, asking({"id": "i", **UNNAMED})] for events in (WIPE, AGAIN)]
    with server(*asks, in_run(), in_run(*text("m", "Well."))) as running:
        client = near(running.url)
        await client.say("clean up")
        await client.answer({"approved": False})
        await client.answer({"approved": True})
    assert wiped == ["/var"]


async def test_another_call_does_not_wait() -> None:
    other = {"id": "i", "reason": "tool_call", "toolCallId": "theirs", "metadata": {"name": "pay"}}
    with server([STARTED, *WIPE, *calls("theirs", "{}", name="pay"), asking(other)]) as running:
        await near(running.url).say("clean up")
    assert wiped == ["/"]
