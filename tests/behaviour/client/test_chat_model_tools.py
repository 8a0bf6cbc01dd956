"""Tools on both sides of an `AGUIChatModel`, its questions, and a whole agent in its place."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui.client import AGUIChatModel, ResumeError, open_interrupts
from tests.kit.deep import each_value
from tests.kit.graphs.frontend_tools import Offered
from tests.kit.models.scripted import call, text_chunk, thinking
from tests.kit.processes.client_agents import WAYS, Ask, ainvoked, invoked, remote, tooled
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    event,
    in_run,
    message,
    result,
    snapshot,
    text,
)
from tests.kit.run.wire_events import call as called


class Counted:
    """Tools of both sides, and how often each has run."""

    def __init__(self) -> None:
        self.runs: list[str] = []

        @tool
        def get_location() -> str:
            """Where the user is."""
            self.runs.append("location")
            return "Rome"

        @tool
        def restaurants(city: str) -> str:
            """Restaurants of a city."""
            self.runs.append(f"restaurants in {city}")
            return "Da Enzo"

        @tool
        def transfer(amount: int) -> str:
            """Send money."""
            self.runs.append(f"transfer of {amount}")
            return f"sent {amount}"

        self.location, self.restaurants, self.transfer = get_location, restaurants, transfer


@pytest.mark.parametrize("ask", [invoked, ainvoked], ids=["sync", "async"])
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
@each_value()
def test_local_tools_run_here_and_the_agents_own_there(ask: Ask, saver: Any) -> None:
    here, there = Counted(), Counted()
    model = Offered(
        [
            thinking("hm"),
            thinking(signature="sig"),
            call("get_location", "l", 1),
            call("transfer", "t", 2, amount=1),
        ],
        [call("restaurants", "r", 0, city="Rome")],
        ["Try ", "Da Enzo."],
    )
    graph = tooled(
        model, there.restaurants, there.transfer, checkpointer=saver() if saver else None
    )
    with remote(graph) as agent:
        local = create_agent(agent.model(), [here.location])
        messages = ask(local, {"messages": [HumanMessage("Where do I eat?")]})["messages"]
        assert len({one.thread_id for one in agent.inputs}) == 1
        assert [[one.name for one in asked.tools] for asked in agent.inputs] == [
            ["get_location"]
        ] * 2
        assert agent.inputs[0].tools[0].description == "Where the user is."
    assert here.runs == ["location"]
    assert there.runs == ["transfer of 1", "restaurants in Rome"]
    assert [type(one) for one in messages] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    assert [one["id"] for one in messages[1].tool_calls] == ["l"]
    assert [one["type"] for one in messages[1].content_blocks if "tool" in one["type"]] == [
        *("tool_call", "server_tool_call", "server_tool_result"),
    ]
    assert [one.response_metadata["finish_reason"] for one in (messages[1], messages[3])] == [
        "tool_calls",
        "stop",
    ]
    assert messages[3].text == "Try Da Enzo."
    model.check()
    assert model.seen[-1][1].content[0]["signature"] == "sig"


@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
def test_a_call_that_the_agent_has_answered_is_not_run_here_too(ask: Ask) -> None:
    """The agent has a tool of that name, which is the one that runs."""
    here, there = Counted(), Counted()
    model = Offered([call("restaurants", "r", 0, city="Rome")], ["Da Enzo."], ["Good."])
    with remote(tooled(model, there.restaurants), meets=True) as agent:
        offering = agent.model().bind_tools([here.restaurants])
        answer = ask(offering, "hi")
        assert (answer.tool_calls, answer.text) == ([], "Da Enzo.")
        assert [one["id"] for one in answer.invalid_tool_calls] == ["r"]
        assert answer.response_metadata["finish_reason"] == "stop"
        local = create_agent(agent.model(), [here.restaurants])
        local.invoke({"messages": ["hi", answer, "Is it good?"]})
        back = agent.inputs[-1].messages
    assert [one.role for one in back] == ["user", "assistant", "tool", "assistant", "user"]
    assert back[1].tool_calls[0].function.arguments == '{"city": "Rome"}'
    assert (here.runs, there.runs) == ([], ["restaurants in Rome"])
    model.check()


def pausing(there: Counted) -> tuple[Offered, Any]:
    """An agent that asks before it sends money, and answers when that is settled."""
    model = Offered(
        [thinking("hm"), text_chunk("Sure."), call("transfer", "t", 2, amount=5)],
        ["Done."],
        ["Bye."],
    )
    asks = HumanInTheLoopMiddleware({"transfer": True})
    return model, tooled(model, there.transfer, middleware=[asks], checkpointer=InMemorySaver())


@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("approved", [True, False])
@each_value()
def test_what_the_agent_waits_for_is_answered_in_the_next_call(ask: Ask, approved: bool) -> None:
    there = Counted()
    model, graph = pausing(there)
    with remote(graph) as agent:
        held: list[BaseMessage] = [HumanMessage("Pay")]
        held.append(ask(agent.model(), held))
        assert held[-1].response_metadata["finish_reason"] == "interrupt"
        (question,) = open_interrupts(held[-1])
        assert (question.tool_call_id, question.reason) == ("t", "tool_call")
        for wrong, code in (({}, "unanswered"), ({"resume": {question.id: 1, "x": 1}}, "unknown")):
            with pytest.raises(ResumeError) as caught:
                ask(agent.model(), [*held, HumanMessage("and?")], **wrong)
            assert caught.value.code == f"interrupt_{code}"
        assert len(agent.inputs) == 1
        answer = (
            {"resume": {question.id: {"approved": True}}} if approved else {"cancel": [question.id]}
        )
        held.append(ask(agent.model(), held, **answer))
        assert there.runs == (["transfer of 5"] if approved else [])
        came = held[-1].content_blocks[0]
        assert (came["type"], came["tool_call_id"]) == ("server_tool_result", "t")
        assert (came["status"] == "success") is approved
        assert held[-1].text == "Done."
        assert open_interrupts(held[-1]) == []
        held.append(HumanMessage("Bye"))
        assert ask(agent.model(), held).text == "Bye."
        roles = [one.role for one in agent.inputs[-1].messages]
        assert roles == ["user", "reasoning", "assistant", "tool", "assistant", "user"]
    model.check()


def sent_next(*runs: list[Wire]) -> tuple[list[AIMessage], list[Any]]:
    """The answers of an agent, and what it is sent of the conversation after them."""
    held: list[BaseMessage] = [HumanMessage("hi", id="u")]
    with server(*(recording(*run) for run in [*runs, in_run(*text("end", "end"))])) as agent:
        for _ in [*runs, None]:
            held.append(AGUIChatModel(url=agent.url).invoke(held))
        answers = [one for one in held if isinstance(one, AIMessage)]
        return answers[:-1], agent.asked[-1].json["messages"]


MADE = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
STATED = [
    message("user", "u", "hi"),
    {"id": "m", "role": "assistant", "toolCalls": [MADE]},
    message("tool", "o2", "no", toolCallId="c", error="no", encryptedValue="v", metadata={"k": 1}),
]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "only stated"])
def test_a_result_in_a_snapshot(streamed: bool) -> None:
    """It is told once, under the id that it has in the end, with what no event has a field for."""
    came = [result("c", "o", "no", metadata={"k": 1})] if streamed else []
    run = in_run(*called("c", "{}", parentMessageId="m"), *came, snapshot(*STATED))
    (answer,), sent = sent_next(run)
    assert [one["type"] for one in answer.content_blocks] == [
        "server_tool_call",
        "server_tool_result",
    ]
    assert sent == STATED


def test_a_result_that_comes_in_a_later_run() -> None:
    """Its encrypted value with it; and no snapshot or echo tells it again."""
    first = in_run(*called("c", "{}", parentMessageId="m"))
    value = event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="o2", encryptedValue="v")
    came = {**STATED[2], "content": "yes", "encryptedValue": "v"}
    del came["error"]
    second = in_run(result("c", "o2", "yes", metadata={"k": 1}), value, *text("n", "so"))
    held = [*STATED[:2], came, message("assistant", "n", "so")]
    echo = {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": held}}
    third = [
        echo,
        result("c", "o3", "again"),
        *text("p", "bye"),
        snapshot(*held, message("assistant", "p", "bye")),
        FINISHED,
    ]
    answers, sent = sent_next(first, second, third)
    blocks = [[one["type"] for one in answer.content_blocks] for answer in answers]
    assert blocks == [["server_tool_call"], ["server_tool_result", "text"], ["text"]]
    assert answers[1].content_blocks[0]["output"] == "yes"
    assert sent == [*held, message("assistant", "p", "bye")]


async def test_an_agent_of_an_agent(node_client: NodeClient) -> None:
    """A local agent whose model is a remote one, before the reference client: all shows, nothing
    runs twice."""
    here, there = Counted(), Counted()
    model = Offered(
        [
            thinking("hm"),
            thinking(signature="sig"),
            text_chunk("Wait. "),
            call("get_location", "l", 2),
        ],
        [thinking("now"), call("restaurants", "r", 2, city="Rome")],
        ["Try ", "Da Enzo."],
        ["Bye."],
    )
    with (
        remote(tooled(model, there.restaurants)) as far,
        remote(create_agent(far.model(), [here.location])) as near,
    ):
        first = await node_client.arun(url=near.url, messages=[message("user", "u", "Where?")])
        near.recorded().check_snapshot()
        second = await node_client.arun(
            url=near.url, messages=[*first.messages, message("user", "v", "Thanks")]
        )
        near.recorded().check_snapshot()
    for run in (first, second):
        assert (run.error, run.runError, run.warnings) == (None, None, [])
    thoughts = [one["content"] for one in first.messages if one["role"] == "reasoning"]
    assert thoughts == ["hm", "now"]
    answers = [one for one in first.messages if one["role"] == "assistant"]
    assert answers[-1]["content"] == "Try Da Enzo."
    # The far agent's tool shows as one that the provider of the model has run.
    assert [one["metadata"] for one in answers[-1]["toolCalls"]] == [{"runBy": "provider"}]
    assert first.messages[-1]["content"] == "Da Enzo"
    assert second.messages[-1]["content"] == "Bye."
    assert (here.runs, there.runs) == (["location"], ["restaurants in Rome"])
    assert len({one.thread_id for one in far.inputs}) == 1
    model.check()
    assert model.seen[-1][1].content[0]["signature"] == "sig"  # through both, who keep nothing
