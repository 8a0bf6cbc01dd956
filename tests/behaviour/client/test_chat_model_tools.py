"""Tools on both sides of an `AGUIChatModel`: each guarded one runs once, after its approval, or
never; and a whole agent in the model's place."""

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
from langgraph_agui.client import (
    AGUIChatModel,
    RemoteInterrupts,
    ResumeError,
    RunFailedError,
    open_interrupts,
)
from tests.kit.graphs.frontend_tools import Offered
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.client_agents import WAYS, Ask, Remote, remote, tooled
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import CANCELLED, asking, made_call, server
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.wire_events import (
    STARTED,
    Wire,
    caller,
    encrypted,
    in_run,
    message,
    result,
    snapshot,
    text,
)
from tests.kit.run.wire_events import call as called

two_ways = pytest.mark.parametrize("ask", WAYS[1:3], ids=["ainvoke", "stream"])
ran: list[str] = []


def get_location() -> str:
    """Where the user is."""
    ran.append("location")
    return "Rome"


def restaurants(city: str) -> str:
    """Restaurants of a city."""
    ran.append(city)
    return "Da Enzo"


def forbidden(city: str) -> str:
    """Restaurants of a city, but not those of the agent."""
    raise AssertionError("it runs here")


forbidden.__name__ = "restaurants"


@two_ways
def test_a_call_that_the_agent_has_answered_is_not_run_here_too(ask: Ask) -> None:
    """The agent has a tool of that name, which is the one that runs."""
    ran.clear()
    model = Offered([call("restaurants", "r", 0, city="Rome")], ["Da Enzo."], ["Good."])
    with remote(tooled(model, restaurants), meets=True) as agent:
        answer = ask(agent.model().bind_tools([forbidden]), "hi")
        assert (answer.tool_calls, answer.text) == ([], "Da Enzo.")
        assert [one["id"] for one in answer.invalid_tool_calls] == ["r"]
        assert answer.response_metadata["finish_reason"] == "stop"
        local = create_agent(agent.model(), [forbidden])
        local.invoke({"messages": ["hi", answer, "Is it good?"]})
        back: Any = agent.inputs[-1].messages
    assert [one.role for one in back] == ["user", "assistant", "tool", "assistant", "user"]
    assert back[1].tool_calls[0].function.arguments == '{"city": "Rome"}'
    assert ran == ["Rome"]
    model.check()


def sent_next(*runs: list[Wire], tools: tuple[Any, ...] = ()) -> tuple[list[AIMessage], list[Any]]:
    """The answers of an agent, and what it is sent of the conversation after them."""
    held: list[Any] = [HumanMessage("hi", id="u")]
    with server(*runs, in_run(*text("end", "end"))) as agent:
        for _ in [*runs, None]:
            held.append(AGUIChatModel(url=agent.url).bind_tools(tools).invoke(held))
        return held[1:-1], agent.sent()


USER, CALL = message("user", "u", "hi"), called("c", "{}", parentMessageId="m")


def test_a_result_that_comes_in_a_later_run() -> None:
    """Its encrypted value with it; and no snapshot or echo tells it again."""
    about: Any = {"encryptedValue": "E", "metadata": {"k": 1}}
    came = message("tool", "o2", "yes", toolCallId="c", **about)
    value = encrypted("o2")
    second = in_run(result("c", "o2", "yes", metadata={"k": 1}), value, *text("n", "so"))
    held = [USER, caller("m", "c"), came, message("assistant", "n", "so")]
    echo = {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": held}}
    whole = [*held, message("assistant", "p", "bye")]
    third = in_run(result("c", "o3", "again"), *text("p", "bye"), snapshot(*whole))
    answers, sent = sent_next(in_run(*CALL), second, [echo, *third[1:]])
    blocks = [[one["type"] for one in answer.content_blocks] for answer in answers]
    assert blocks == [["server_tool_call"], ["server_tool_result", "text"], ["text"]]
    assert answers[1].content_blocks[0]["output"] == "yes"  # type: ignore[typeddict-item]
    assert sent == whole


@pytest.mark.parametrize("tools", [(), ("look",)], ids=["there", "here"])
def test_messages_that_only_a_snapshot_tells(tools: tuple[str, ...]) -> None:
    """An agent that streams nothing of its messages has said them all the same."""
    stated = [
        message("user", "u", "hi"),
        message("reasoning", "q", "hm", encryptedValue="sealed"),
        caller("m", made_call("c", '{"x": 1}', "look"), content="Wait."),
    ]
    about: dict[str, Any] = {"description": "", "type": "object", "properties": {}}
    offered = tuple({"title": name, **about} for name in tools)
    (answer,), sent = sent_next(in_run(snapshot(*stated)), tools=offered)
    assert answer.text == "Wait."
    assert [block["type"] for block in answer.content_blocks][:2] == ["reasoning", "text"]
    assert [one["args"] for one in answer.tool_calls] == [{"x": 1}] * len(tools)
    assert sent == stated


DEEP = {"array": "[" * 5000, "object": '{"a":' * 900, "whole": "[" * 5000 + "]" * 5000}


@pytest.mark.parametrize(("deep", "ask"), zip(DEEP, WAYS[1:], strict=True), ids=DEEP)
def test_arguments_that_are_nested_too_deeply_cannot_be_run(deep: str, ask: Ask) -> None:
    halves = DEEP[deep][:700], DEEP[deep][700:]
    run = in_run(*called("c", *halves, name="get_location"), *called("d", *halves, name="theirs"))
    with server(run, in_run()) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([get_location])
        answer = ask(model, "hi")
        assert answer.tool_calls == []
        assert [one["id"] for one in answer.invalid_tool_calls] == ["c"]
        ask(model, [HumanMessage("hi"), answer])
        sent = [one["toolCalls"][0]["function"]["arguments"] for one in agent.sent()[1:]]
    assert sent == [DEEP[deep]] * 2


def test_brackets_within_strings_are_no_depth() -> None:
    args = '{"city":"\\"' + "[" * 300 + '\\\\", "x": [1]}'
    with server(in_run(*called("c", *args, name="restaurants"))) as agent:  # character by character
        answer: Any = AGUIChatModel(url=agent.url).bind_tools([restaurants]).invoke("hi")
    [made] = answer.tool_calls
    assert made["args"] == {"city": '"' + "[" * 300 + "\\", "x": [1]}


async def test_an_agent_of_an_agent(node_client: NodeClient) -> None:
    """A local agent whose model is a remote one, before the reference client: all shows, nothing
    runs twice."""
    ran.clear()
    asks = [text_chunk("Wait. "), call("get_location", "l", 2)]
    searches = [thinking("now"), call("restaurants", "r", 2, city="Rome")]
    begins = [thinking("hm"), thinking(signature="sig"), *asks]
    model = Offered(begins, searches, ["Try ", "Da Enzo."], ["Bye."])
    with (
        remote(tooled(model, restaurants)) as far,
        remote(create_agent(far.model(), [get_location])) as near,
    ):
        asked = message("user", "u", "Where?")
        first = await node_client.arun(url=near.url, messages=[asked])
        near.recorded().check_snapshot()
        more = [*first.messages, message("user", "v", "Thanks")]
        second = await node_client.arun(url=near.url, messages=more)
        near.recorded().check_snapshot()
    for run in (first, second):
        assert (run.error, run.runError, run.warnings) == (None, None, [])
    thoughts = [one["content"] for one in first.messages if one["role"] == "reasoning"]
    assert thoughts == ["hm", "now"]
    answer = [one for one in first.messages if one["role"] == "assistant"][-1]
    assert answer["content"] == "Try Da Enzo."
    # The far agent's tool shows as one that the provider of the model has run.
    assert [one["metadata"] for one in answer["toolCalls"]] == [{"runBy": "provider"}]
    assert [one.messages[-1]["content"] for one in (first, second)] == ["Da Enzo", "Bye."]
    assert ran == ["location", "Rome"]
    assert len({one.thread_id for one in far.inputs}) == 1
    offered = [[(one.name, one.description) for one in given.tools or ()] for given in far.inputs]
    assert offered == [[("get_location", "Where the user is.")]] * 3
    model.check()
    assert model.seen[-1][1].content[0]["signature"] == "sig"  # through both, who keep nothing


CONFIG: Any = {"configurable": {"thread_id": "t"}}
YES, NO = {"approved": True}, {"approved": False, "message": "Never."}
EDIT = {**YES, "editedArgs": {"path": "/y"}}


def transfer(to: str) -> str:
    """Transfer money, which the agent itself does."""
    ran.append(to)
    return f"sent to {to}"


def wipe(path: str) -> str:
    """Wipe a disk of the user's."""
    ran.append(path)
    return f"wiped {path}"


def locate() -> str:
    """Where the user is."""
    ran.append("located")
    return "Rome"


@pytest.fixture
def model() -> Scripted:
    ran.clear()
    return Scripted([], ["Done."], ["Bye."])


@pytest.fixture
def far(model: Scripted) -> Iterator[Remote]:
    """An agent that asks before it transfers money, and before a tool of its client may run."""
    stack = [AGUIMiddleware(), HumanInTheLoopMiddleware({"transfer": True, "wipe": True})]
    graph = create_agent(model, [transfer], middleware=stack, checkpointer=InMemorySaver())
    with remote(graph, meets=True) as agent:  # a rejected call is answered over there
        yield agent


@pytest.fixture
def near(far: Remote) -> Any:
    """The local agent."""
    options: Any = {"middleware": [RemoteInterrupts()], "checkpointer": InMemorySaver()}
    return create_agent(far.model(), [wipe, locate], **options)


LOCAL = [text_chunk("Hm. "), call("wipe", "w1", 1, path="/x"), call("locate", "l1", 2)]
PAY = [text_chunk("One moment."), call("transfer", "t1", 1, to="Ada")]
PAY.append(call("transfer", "t2", 2, to="Ben"))


def resumed(agent: Any, question: Any, answer: Any) -> Any:
    return agent.invoke(Command(resume={question.id: answer}), CONFIG)


@pytest.mark.parametrize(
    ("answer", "wiped"),
    [(YES, "/x"), (EDIT, "/y"), (NO, None)],
    ids=["approved", "edited", "rejected"],
)
def test_a_local_tool_runs_after_its_approval_only(
    near: Any, far: Remote, model: Scripted, answer: Any, wiped: str | None
) -> None:
    model.turns[0] = LOCAL
    [question] = near.invoke({"messages": "Wipe it."}, CONFIG)["__interrupt__"]
    assert ran == []
    state = resumed(near, question, answer)
    assert ran == ["located", *([wiped] if wiped else [])]
    assert state["messages"][-1].text == "Done."
    # as `create_agent` would call a call that is held back
    assert "malformed" not in str(state["messages"])
    near.invoke({"messages": "Bye."}, CONFIG)
    sent: Any = far.inputs[-1].messages
    made = [one for each in sent if each.role == "assistant" for one in each.tool_calls or ()]
    calls = [(one.id, one.function.arguments) for one in made]
    assert calls == [("w1", '{"path": "/x"}'), ("l1", "{}")]
    results = {one.tool_call_id: one.content for one in sent if one.role == "tool"}
    assert len(results) == sum(one.role == "tool" for one in sent) == 2
    assert results["l1"] == "Rome"
    assert results["w1"] == f"wiped {wiped}" if wiped else "Never." in str(results["w1"])


@pytest.mark.parametrize(
    ("asks", "answer", "done"),
    [
        pytest.param(LOCAL, YES, ["/x", "located"], id="approved here"),
        pytest.param(LOCAL, NO, ["located"], id="rejected here"),
        pytest.param(PAY, YES, ["Ada", "Ben"], id="approved there"),
        pytest.param(PAY, None, [], id="cancelled there"),
    ],
)
async def test_its_own_client_answers_and_sees_each_call_once(
    near: Any, model: Scripted, asks: Any, answer: Any, done: list[str]
) -> None:
    """The questions pass through the local adapter, as approvals that its client can show."""
    model.turns[0] = asks
    agent = LangGraphAgent(near)
    run = await record_run(agent, run_input("Go.", thread="t"))

    async def go_on(*said: str, **fields: Any) -> RecordedRun:
        given = run_input(*run.messages, *said, thread="t", state=run.state, **fields)
        return await record_run(agent, given)

    for args in [{"path": "/x"}] if asks is LOCAL else [{"to": "Ada"}, {"to": "Ben"}]:
        [one] = run.last.outcome.interrupts
        assert (one.reason, one.metadata["args"], ran) == ("tool_call", args, [])
        status: Any = "cancelled" if answer is None else "resolved"
        entry = ResumeEntry(interrupt_id=one.id, status=status, payload=answer)
        run = await go_on(resume=[entry])
    run.check_snapshot()
    assert sorted(ran) == done  # tools of one turn run at the same time
    calls = [one.id for each in run.messages for one in getattr(each, "tool_calls", None) or ()]
    results = [one.tool_call_id for one in run.messages if one.role == "tool"]
    assert sorted(calls) == sorted(results)
    assert len(calls) == len(set(calls))
    assert (await go_on("Again.")).last.type == "RUN_FINISHED"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_questions_of_the_agent_itself(near: Any, model: Scripted, way: str) -> None:
    model.turns[0] = PAY

    async def go(given: Any) -> Any:
        return near.invoke(given, CONFIG) if way == "sync" else await near.ainvoke(given, CONFIG)

    [first] = (await go({"messages": "Pay them."}))["__interrupt__"]
    assert first.value["metadata"]["args"] == {"to": "Ada"}
    [unfit] = (await go(Command(resume={first.id: {"aproved": True}})))["__interrupt__"]
    assert unfit.value["id"] == first.value["id"]
    assert "breaks the rule" in unfit.value["error"]
    [second] = (await go(Command(resume={unfit.id: YES})))["__interrupt__"]
    assert (second.value["metadata"]["args"], ran) == ({"to": "Ben"}, [])
    state = await go(Command(resume={second.id: NO}))
    assert (ran, state["messages"][-1].text) == (["Ada"], "Done.")
    assert "Never." in str(model.seen[-1])
    state = await go({"messages": "Thank you."})
    assert [one.type for one in state["messages"]].count("human") == 2


@pytest.mark.parametrize("way", ["new turn", "cancelled", "refused"])
def test_the_conversation_goes_on_without_an_answer(near: Any, model: Scripted, way: str) -> None:
    """It is cancelled there; or the agent has refused it by rules that no schema tells."""
    model.turns[0] = PAY
    state = near.invoke({"messages": "Pay them."}, CONFIG)
    if way == "cancelled":
        for _ in range(2):
            state = resumed(near, state["__interrupt__"][0], {"agui_cancelled": True})
    if way == "refused":
        forbidden = {"type": "edit", "edited_action": {"name": "wipe", "args": {"to": "Ann"}}}
        state = resumed(near, state["__interrupt__"][0], forbidden)
        with pytest.raises(RunFailedError, match="interrupt_invalid"):
            resumed(near, state["__interrupt__"][0], YES)
    if way != "cancelled":
        state = near.invoke({"messages": "Never mind."}, CONFIG)
    assert "__interrupt__" not in state
    assert "Done." in state["messages"][-1].text
    state = near.invoke({"messages": "Again."}, CONFIG)
    assert (state["messages"][-1].text, ran) == ("Bye.", [])


RAW = '{"path":"/"}'
"""Spelt in another way than LangChain would."""


def paused(*events: Wire, name: str = "i1") -> list[Wire]:
    return [STARTED, *events, asking({"id": name, "reason": "tool_call", "toolCallId": "c"})]


AGAIN = called("c", RAW, name="wipe")
FIRST = paused(*text("m", "Sure?"), *called("c", RAW, name="wipe", parentMessageId="m"))
SAID = [message("user", "u", "hi"), caller("m", made_call("c", RAW, "wipe"), content="Sure?")]
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


def test_answers_are_checked_before_anything_is_sent() -> None:
    """Another agent has not asked, and needs none."""
    with server(FIRST) as agent, server(in_run()) as other:
        model, held = AGUIChatModel(url=agent.url).bind_tools([wipe]), [HumanMessage("hi")]
        answer: Any = model.invoke(held)
        assert (answer.tool_calls, answer.response_metadata["finish_reason"]) == ([], "interrupt")
        (question,) = open_interrupts(answer)
        assert (question.id, question.tool_call_id, question.reason) == ("i1", "c", "tool_call")
        for wrong, code in (({}, "unanswered"), ({"resume": {"i1": 1, "x": 1}}, "unknown")):
            with pytest.raises(ResumeError) as caught:
                model.invoke([*held, answer, HumanMessage("and?")], **wrong)
            assert caught.value.code == f"interrupt_{code}"
        assert len(agent.asked) == 1
        AGUIChatModel(url=other.url).invoke([*held, answer, HumanMessage("and?")])


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
