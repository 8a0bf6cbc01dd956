"""Tools on both sides of an `AGUIChatModel`, and a whole agent in its place."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_agui.client import AGUIChatModel
from tests.kit.graphs.frontend_tools import Offered
from tests.kit.models.scripted import call, text_chunk, thinking
from tests.kit.processes.client_agents import WAYS, Ask, remote, tooled
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import made_call, server
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


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "only stated"])
def test_a_result_in_a_snapshot(streamed: bool) -> None:
    """It is told once, under the id that it has in the end, with what no event has a field for."""
    about: Any = {"error": "no", "encryptedValue": "v", "metadata": {"k": 1}}
    stated = [USER, caller("m", "c"), message("tool", "o2", "no", toolCallId="c", **about)]
    came = [result("c", "o", "no", metadata={"k": 1})] if streamed else []
    (answer,), sent = sent_next(in_run(*CALL, *came, snapshot(*stated)))
    kinds = [one["type"] for one in answer.content_blocks]
    assert (kinds, sent) == (["server_tool_call", "server_tool_result"], stated)


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
