"""What `AGUIChatModel` sends of a conversation: to the agent what it said itself, byte for byte; of
others the rest."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ImagePart
from langchain_core.load import dumps, loads
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, TrustOptions, agui_messages_to_langchain
from langgraph_agui.client import AGUIChatModel
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.models.tools import get_weather
from tests.kit.processes.client_agents import remote, tooled
from tests.kit.processes.scripted_servers import made_call, server
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import caller, in_run, message, text

SEARCH = [thinking("hm"), thinking(signature="sig"), text_chunk("one")]
SEARCH.append(call("get_weather", "c", 2, city="Rome"))
GIVEN = ["Be kind.", "a", "one", "Sunny in Rome", "sunny", "b", "two", "b"]


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
def test_a_conversation_is_one_thread(saver: Any) -> None:
    """The messages tell which, so it goes on wherever they are; and an agent that keeps them finds
    each once."""
    scripted = Scripted(SEARCH, ["sunny"], ["two"], ["three"])
    graph = tooled(scripted, get_weather, checkpointer=saver and saver())
    with remote(LangGraphAgent(graph=graph, trust=TrustOptions(instructions="accept"))) as agent:
        held: list[BaseMessage] = [SystemMessage("Be kind.")]
        for question in ("a", "b", "b"):
            held = loads(dumps([*held, HumanMessage(question)]), allowed_objects="messages")
            held.append(agent.model().invoke(held))
        [thread] = {one.thread_id for one in agent.inputs}
        holds = agent.recorded(1).messages
        assert dumped(agent.inputs[2].messages)[: len(holds)] == dumped(holds)
        if saver:
            state = graph.get_state({"configurable": {"thread_id": thread}})
            assert [one.text for one in state.values["messages"]] == [*GIVEN, "three"]
    assert [one.text for one in scripted.seen[-1]] == GIVEN
    assert scripted.seen[-1][2].content[0]["signature"] == "sig"


def test_what_one_agent_said_is_text_for_another() -> None:
    """No thoughts, no values, none of the calls that it ran itself: they would be calls without
    results there."""
    first, second = Scripted(SEARCH, ["sunny"], ["three"]), Scripted(["two"])
    with remote(tooled(first, get_weather)) as a, remote(tooled(second)) as b:
        held: list[BaseMessage] = []
        for question, agent in (("x", a), ("y", b), ("z", a)):
            held.append(HumanMessage(question))
            held.append(agent.model().invoke(held))
        user, answer, more = dumped(b.inputs[0].messages)
        assert answer == message("assistant", answer["id"], "onesunny")
        assert (user["role"], more["role"]) == ("user", "user")
        assert "sig" not in str(b.exchanges[0][0])
        [thread] = {one.thread_id for one in a.inputs}
        assert b.inputs[0].thread_id != thread
        back = dumped(a.inputs[1].messages)
    roles = ["user", "reasoning", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert [one["role"] for one in back] == roles
    assert back[6] == message("assistant", back[6]["id"], "two")
    assert first.seen[-1][1].content[0]["signature"] == "sig"


def sent(*messages: BaseMessage) -> list[dict[str, Any]]:
    """What an agent is sent, twice alike."""
    with server(*[in_run(*text("m", "hi"))] * 2) as agent:
        for _ in range(2):
            AGUIChatModel(url=agent.url).invoke([*messages])
        assert agent.sent(0) == agent.sent(1)
        return agent.sent()


def test_of_a_models_message_text_and_calls_are_sent() -> None:
    made: Any = {"type": "tool_call", "id": "c", "name": "f", "args": {"x": 1}}
    web = {"type": "server_tool_result", "tool_call_id": "s", "status": "success"}
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "hm", "signature": "canary"},
        {"type": "text", "text": "look"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
        {"type": "server_tool_call", "id": "s", "name": "web", "args": {}},
        {**web, "output": "canary"},
    ]
    about: Any = {"additional_kwargs": {"reasoning_content": "canary"}}
    about |= {"response_metadata": {"model_provider": "anthropic"}}
    foreign = AIMessage(blocks, id="a", name="Ann", tool_calls=[made], **about)
    assert sent(foreign, ToolMessage("sunny", tool_call_id="c", id="o")) == [
        caller("a", made_call("c", '{"x": 1}'), content="look"),
        message("tool", "o", "sunny", toolCallId="c"),
    ]


def test_every_role_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    png = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    found = sent(
        *convert_to_messages([("system", "s"), {"role": "developer", "content": "d"}]),
        SystemMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], name="rules"),
        *[ChatMessage(role[0], role=role) for role in ("developer", "user", "critic")],
        FunctionMessage("y", name="f"),
        HumanMessage([{"type": "text", "text": "look"}, png], name="Ann"),
        AIMessage("", tool_calls=[{"id": "c", "name": "f", "args": {}}]),
        ToolMessage([png], tool_call_id="c"),
        AIMessage("", tool_calls=[{"id": "d", "name": "f", "args": {}}]),
        ToolMessage("no", tool_call_id="d", status="error"),
        AIMessage(""),
    )
    assert [one["role"] for one in found] == [
        *("system", "developer", "system", "developer", "user", "user"),
        *("assistant", "tool", "assistant", "tool", "assistant"),
    ]
    assert [one["content"] for one in found[:5]] == ["s", "d", "ab", "d", "u"]
    assert (found[2]["name"], found[5]["name"]) == ("rules", "Ann")
    image = ImagePart.model_validate(found[5]["content"][1])
    assert image.source.model_dump() == {"type": "data", "value": "aGk=", "mime_type": "image/png"}
    assert [part["type"] for part in found[7]["content"]] == ["image"]
    assert (found[9]["content"], found[9]["error"]) == ("no", "no")
    assert len({one["id"] for one in found}) == len(found)
    left_out = {one.getMessage().split("of ")[1].split(" has")[0] for one in caplog.records}
    assert left_out == {"the role 'critic'", "type 'function'"}


def test_a_users_picture_is_sent_on_with_all_that_is_known_of_it() -> None:
    """A graph gets it as an `image_url` block, which has no place for its name."""
    source = {"type": "url", "value": "https://e.com/a", "mimeType": "image/png"}
    about = {"id": "p1", "metadata": {"filename": "cat.png"}}
    picture = {"type": "image", "source": source, **about}
    [held] = agui_messages_to_langchain([message("user", "u", [picture])])
    assert held.content[0]["type"] == "image_url"  # type: ignore[index]
    assert sent(held)[0]["content"] == [picture]


def test_a_message_without_an_id_has_one_that_lasts() -> None:
    """The conversation grows: what was said before keeps its ids, also where it is said again."""
    said = [HumanMessage("hi"), AIMessage("ho"), HumanMessage("hi"), AIMessage("ho")]
    longer = sent(*said, HumanMessage("hi", id="mine"))
    assert longer[:3] == sent(*said[:3])
    assert len({one["id"] for one in longer}) == 5
    assert longer[-1]["id"] == "mine"
