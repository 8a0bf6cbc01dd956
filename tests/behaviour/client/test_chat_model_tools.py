"""Tools on both sides of an `AGUIChatModel`, its questions, and a whole agent in its place."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui.client import AGUIChatModel, ResumeError, open_interrupts
from tests.kit.graphs.frontend_tools import Offered
from tests.kit.models.scripted import call, text_chunk, thinking
from tests.kit.processes.client_agents import WAYS, Ask, remote, tooled
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import made_call, server
from tests.kit.run.wire_events import STARTED, Wire, event, in_run, message, result, snapshot, text
from tests.kit.run.wire_events import call as called

each_way = pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)


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


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
def test_local_tools_run_here_and_the_agents_own_there(saver: Any) -> None:
    here, there = Counted(), Counted()
    both = [call("get_location", "l", 1), call("transfer", "t", 2, amount=1)]
    asks = [call("restaurants", "r", 0, city="Rome")]
    model = Offered([thinking("hm"), thinking(signature="sig"), *both], asks, ["Try ", "Da Enzo."])
    own, keeps = [there.restaurants, there.transfer], saver() if saver else None
    with remote(tooled(model, *own, checkpointer=keeps)) as agent:
        local = create_agent(agent.model(), [here.location])
        messages = local.invoke({"messages": [HumanMessage("Where do I eat?")]})["messages"]
        assert len({one.thread_id for one in agent.inputs}) == 1
        offered = [[one.name for one in asked.tools] for asked in agent.inputs]
        assert offered == [["get_location"]] * 2
        assert agent.inputs[0].tools[0].description == "Where the user is."
    assert here.runs == ["location"]
    assert there.runs == ["transfer of 1", "restaurants in Rome"]
    assert [type(one) for one in messages] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    assert [one["id"] for one in messages[1].tool_calls] == ["l"]
    kinds = [one["type"] for one in messages[1].content_blocks if "tool" in one["type"]]
    assert kinds == ["tool_call", "server_tool_call", "server_tool_result"]
    ends = [one.response_metadata["finish_reason"] for one in (messages[1], messages[3])]
    assert (ends, messages[3].text) == (["tool_calls", "stop"], "Try Da Enzo.")
    model.check()
    assert model.seen[-1][1].content[0]["signature"] == "sig"


@each_way
def test_a_call_that_the_agent_has_answered_is_not_run_here_too(ask: Ask) -> None:
    """The agent has a tool of that name, which is the one that runs."""
    here, there = Counted(), Counted()
    model = Offered([call("restaurants", "r", 0, city="Rome")], ["Da Enzo."], ["Good."])
    with remote(tooled(model, there.restaurants), meets=True) as agent:
        answer = ask(agent.model().bind_tools([here.restaurants]), "hi")
        assert (answer.tool_calls, answer.text) == ([], "Da Enzo.")
        assert [one["id"] for one in answer.invalid_tool_calls] == ["r"]
        assert answer.response_metadata["finish_reason"] == "stop"
        local = create_agent(agent.model(), [here.restaurants])
        local.invoke({"messages": ["hi", answer, "Is it good?"]})
        back: Any = agent.inputs[-1].messages
    assert [one.role for one in back] == ["user", "assistant", "tool", "assistant", "user"]
    assert back[1].tool_calls[0].function.arguments == '{"city": "Rome"}'
    assert (here.runs, there.runs) == ([], ["restaurants in Rome"])
    model.check()


@each_way
@pytest.mark.parametrize("approved", [True, False])
def test_what_the_agent_waits_for_is_answered_in_the_next_call(ask: Ask, approved: bool) -> None:
    there = Counted()
    asks = [thinking("hm"), text_chunk("Sure."), call("transfer", "t", 2, amount=5)]
    model, guard = Offered(asks, ["Done."], ["Bye."]), HumanInTheLoopMiddleware({"transfer": True})
    graph = tooled(model, there.transfer, middleware=[guard], checkpointer=InMemorySaver())
    with remote(graph) as agent:
        held: list[Any] = [HumanMessage("Pay")]
        held.append(ask(agent.model(), held))
        assert held[-1].response_metadata["finish_reason"] == "interrupt"
        (question,) = open_interrupts(held[-1])
        assert (question.tool_call_id, question.reason) == ("t", "tool_call")
        for wrong, code in (({}, "unanswered"), ({"resume": {question.id: 1, "x": 1}}, "unknown")):
            with pytest.raises(ResumeError) as caught:
                ask(agent.model(), [*held, HumanMessage("and?")], **wrong)
            assert caught.value.code == f"interrupt_{code}"
        assert len(agent.inputs) == 1
        yes, no = {"resume": {question.id: {"approved": True}}}, {"cancel": [question.id]}
        held.append(ask(agent.model(), held, **(yes if approved else no)))
        assert there.runs == (["transfer of 5"] if approved else [])
        came = held[-1].content_blocks[0]
        assert (came["type"], came["tool_call_id"]) == ("server_tool_result", "t")
        assert (came["status"] == "success") is approved
        assert (held[-1].text, open_interrupts(held[-1])) == ("Done.", [])
        held.append(HumanMessage("Bye"))
        assert ask(agent.model(), held).text == "Bye."
        roles = [one.role for one in agent.inputs[-1].messages]
        assert roles == ["user", "reasoning", "assistant", "tool", "assistant", "user"]
    model.check()


def sent_next(*runs: list[Wire], tools: tuple[Any, ...] = ()) -> tuple[list[AIMessage], list[Any]]:
    """The answers of an agent, and what it is sent of the conversation after them."""
    held: list[BaseMessage] = [HumanMessage("hi", id="u")]
    with server(*runs, in_run(*text("end", "end"))) as agent:
        for _ in [*runs, None]:
            held.append(AGUIChatModel(url=agent.url).bind_tools(tools).invoke(held))
        answers = [one for one in held if isinstance(one, AIMessage)]
        return answers[:-1], agent.sent()


STATED = [
    message("user", "u", "hi"),
    {"id": "m", "role": "assistant", "toolCalls": [made_call()]},
    message("tool", "o2", "no", toolCallId="c", error="no", encryptedValue="v", metadata={"k": 1}),
]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "only stated"])
def test_a_result_in_a_snapshot(streamed: bool) -> None:
    """It is told once, under the id that it has in the end, with what no event has a field for."""
    came = [result("c", "o", "no", metadata={"k": 1})] if streamed else []
    run = in_run(*called("c", "{}", parentMessageId="m"), *came, snapshot(*STATED))
    (answer,), sent = sent_next(run)
    kinds = [one["type"] for one in answer.content_blocks]
    assert kinds == ["server_tool_call", "server_tool_result"]
    assert sent == STATED


def test_a_result_that_comes_in_a_later_run() -> None:
    """Its encrypted value with it; and no snapshot or echo tells it again."""
    first = in_run(*called("c", "{}", parentMessageId="m"))
    value = event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="o2", encryptedValue="v")
    came = {**STATED[2], "content": "yes"}
    del came["error"]
    second = in_run(result("c", "o2", "yes", metadata={"k": 1}), value, *text("n", "so"))
    held = [*STATED[:2], came, message("assistant", "n", "so")]
    echo = {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": held}}
    whole = [*held, message("assistant", "p", "bye")]
    third = in_run(result("c", "o3", "again"), *text("p", "bye"), snapshot(*whole))
    answers, sent = sent_next(first, second, [echo, *third[1:]])
    blocks = [[one["type"] for one in answer.content_blocks] for answer in answers]
    assert blocks == [["server_tool_call"], ["server_tool_result", "text"], ["text"]]
    assert answers[1].content_blocks[0]["output"] == "yes"  # type: ignore[typeddict-item]
    assert sent == whole


@pytest.mark.parametrize("tools", [(), ("look",)], ids=["there", "here"])
def test_messages_that_only_a_snapshot_tells(tools: tuple[str, ...]) -> None:
    """An agent that streams nothing of its messages has said them all the same."""
    recorded = [
        message("user", "u", "hi"),
        message("reasoning", "q", "hm", encryptedValue="sealed"),
        message("assistant", "m", "Wait.", toolCalls=[made_call("c", '{"x": 1}', "look")]),
    ]
    about: dict[str, Any] = {"description": "", "type": "object", "properties": {}}
    offered = tuple({"title": name, **about} for name in tools)
    (answer,), sent = sent_next(in_run(snapshot(*recorded)), tools=offered)
    assert answer.text == "Wait."
    assert [block["type"] for block in answer.content_blocks][:2] == ["reasoning", "text"]
    assert [one["args"] for one in answer.tool_calls] == [{"x": 1}] * len(tools)
    assert sent == recorded


async def test_an_agent_of_an_agent(node_client: NodeClient) -> None:
    """A local agent whose model is a remote one, before the reference client: all shows, nothing
    runs twice."""
    here, there = Counted(), Counted()
    asks = [text_chunk("Wait. "), call("get_location", "l", 2)]
    searches = [thinking("now"), call("restaurants", "r", 2, city="Rome")]
    begins = [thinking("hm"), thinking(signature="sig"), *asks]
    model = Offered(begins, searches, ["Try ", "Da Enzo."], ["Bye."])
    with ExitStack() as stack:
        far = stack.enter_context(remote(tooled(model, there.restaurants)))
        near = stack.enter_context(remote(create_agent(far.model(), [here.location])))
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
    assert (here.runs, there.runs) == (["location"], ["restaurants in Rome"])
    assert len({one.thread_id for one in far.inputs}) == 1
    model.check()
    assert model.seen[-1][1].content[0]["signature"] == "sig"  # through both, who keep nothing
