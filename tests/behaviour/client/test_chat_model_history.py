"""What `AGUIChatModel` sends of a conversation: to the agent what it said itself, byte for byte; of
others the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, ImagePart, UserMessage
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
    messages_from_dict,
    messages_to_dict,
)
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, TrustOptions, agui_messages_to_langchain
from langgraph_agui.client import AGUIChatModel
from tests.kit.deep import each_value
from tests.kit.models.loops import loop
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.models.tools import get_weather
from tests.kit.processes.client_agents import remote, tooled
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.agents import dumped
from tests.kit.run.rig import Conversation, Rig, rigged
from tests.kit.run.wire_events import in_run, text


@pytest.fixture(scope="module")
def rig(node_client: NodeClient) -> Iterator[Rig]:
    with rigged(node_client) as rig:
        yield rig


@pytest.mark.parametrize(
    "provider", ["anthropic", "anthropic-v1", "openai", "google", "bedrock", "openrouter"]
)
def test_a_provider_is_sent_what_langchain_itself_would_send(provider: str, rig: Rig) -> None:
    """The agent keeps nothing: its reasoning, signatures and ciphertext are in the messages
    here."""
    actor, reference = rig.actor(provider), Conversation(rig, provider).reference
    model = AGUIChatModel(url=rig.served.url(actor.path))
    held: list[BaseMessage] = []
    own: list[BaseMessage] = []
    for number in range(2):
        question = HumanMessage(f"Question {number}", id=f"q{number}")
        held = [*loads(dumps(held), allowed_objects="messages"), question]
        answer, candidates = rig.recorded(lambda: model.invoke(held), *loop(provider, number))  # noqa: B023
        held.append(answer)
        run = actor.received.runs[-1]
        own.append(question)
        for message in run[[one.id for one in run].index(question.id) + 1 :]:
            if isinstance(message, AIMessage):
                assert candidates.pop(0) == reference(own)
            own.append(message)
        assert not candidates
    assert len([one for one in own if isinstance(one, AIMessage)]) == 4


KEPT = {
    "objects": lambda messages: messages,
    "dumps": lambda messages: loads(dumps(messages), allowed_objects="messages"),
    "dicts": lambda messages: messages_from_dict(messages_to_dict(messages)),
}


GIVEN = ["Be kind.", "a", "one", "Sunny in Rome", "sunny", "b", "two", "b"]


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
@each_value()
def test_a_conversation_is_one_thread(kept: str, saver: Any) -> None:
    """The messages tell which, so it goes on wherever they are; and an agent that keeps them finds
    each once."""
    turns = [
        [
            thinking("hm"),
            thinking(signature="sig"),
            text_chunk("one"),
            call("get_weather", "c", 2, city="Rome"),
        ],
        ["sunny"],
        ["two"],
        ["three"],
    ]
    scripted = Scripted(*turns)
    graph = tooled(scripted, get_weather, checkpointer=saver() if saver else None)
    with remote(LangGraphAgent(graph=graph, trust=TrustOptions(instructions="accept"))) as agent:
        held: list[BaseMessage] = [SystemMessage("Be kind.")]
        for question in ("a", "b", "b"):
            held = KEPT[kept]([*held, HumanMessage(question)])
            held.append(agent.model().invoke(held))
        assert len({one.thread_id for one in agent.inputs}) == 1
        holds = agent.recorded(1).messages
        assert dumped(agent.inputs[2].messages)[: len(holds)] == dumped(holds)
        if saver:
            state = graph.get_state({"configurable": {"thread_id": agent.inputs[0].thread_id}})
            assert [one.text for one in state.values["messages"]] == [*GIVEN, "three"]
    assert [one.text for one in scripted.seen[-1]] == GIVEN
    assert scripted.seen[-1][2].content[0]["signature"] == "sig"


def test_what_one_agent_said_is_text_for_another() -> None:
    """No thoughts, no values, none of the calls that it ran itself: they would be calls without
    results there."""
    turns = [
        thinking("hm"),
        thinking(signature="canary"),
        text_chunk("one"),
        call("get_weather", "c", 2, city="Rome"),
    ]
    first, second = Scripted(turns, ["sunny"], ["three"]), Scripted(["two"])
    with remote(tooled(first, get_weather)) as a, remote(tooled(second)) as b:
        held: list[BaseMessage] = []
        for question, agent in (("x", a), ("y", b), ("z", a)):
            held.append(HumanMessage(question))
            held.append(agent.model().invoke(held))
        assert [one.role for one in b.inputs[0].messages] == ["user", "assistant", "user"]
        answer = b.inputs[0].messages[1]
        assert isinstance(answer, AssistantMessage)
        assert (answer.content, answer.tool_calls, answer.encrypted_value) == (
            "onesunny",
            None,
            None,
        )
        assert b"canary" not in b.exchanges[0][0]
        assert [one.thread_id == a.inputs[0].thread_id for one in (*a.inputs, *b.inputs)] == [
            True,
            True,
            False,
        ]
        back = a.inputs[1].messages
    roles = ["user", "reasoning", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert [one.role for one in back] == roles
    assert (back[6].content, back[6].encrypted_value) == ("two", None)
    assert first.seen[-1][1].content[0]["signature"] == "canary"


def sent(*messages: BaseMessage) -> list[dict[str, Any]]:
    """What an agent is sent, twice alike."""
    with server(*[recording(*in_run(*text("m", "hi")))] * 2) as agent:
        for _ in range(2):
            AGUIChatModel(url=agent.url).invoke([*messages])
        one, other = (asked.json["messages"] for asked in agent.asked)
    assert one == other
    return one


def test_of_a_models_message_text_and_calls_are_sent() -> None:
    made = {"type": "tool_call", "id": "c", "name": "f", "args": {"x": 1}}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "canary"},
        {"type": "text", "text": "look"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
        {"type": "server_tool_call", "id": "s", "name": "web", "args": {}},
        {
            "type": "server_tool_result",
            "tool_call_id": "s",
            "status": "success",
            "output": "canary",
        },
    ]
    foreign = AIMessage(
        blocks,  # type: ignore[arg-type]
        id="a",
        name="Ann",
        tool_calls=[made],
        additional_kwargs={"reasoning_content": "canary"},
        response_metadata={"model_provider": "anthropic"},
    )
    assert sent(foreign, ToolMessage("sunny", tool_call_id="c", id="o")) == [
        {
            "id": "a",
            "role": "assistant",
            "content": "look",
            "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
            ],
        },
        {"id": "o", "role": "tool", "toolCallId": "c", "content": "sunny"},
    ]


def test_every_role_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    png = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    messages = [
        *convert_to_messages([("system", "s"), {"role": "developer", "content": "d"}]),
        SystemMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], name="rules"),
        ChatMessage("c", role="developer"),
        ChatMessage("u", role="user"),
        ChatMessage("x", role="critic"),
        FunctionMessage("y", name="f"),
        HumanMessage([{"type": "text", "text": "look"}, png], name="Ann"),
        AIMessage("", tool_calls=[{"id": "c", "name": "f", "args": {}}]),
        ToolMessage([png], tool_call_id="c"),
        AIMessage("", tool_calls=[{"id": "d", "name": "f", "args": {}}]),
        ToolMessage("no", tool_call_id="d", status="error"),
        AIMessage(""),
    ]
    found = sent(*messages)
    assert [one["role"] for one in found] == [
        *("system", "developer", "system", "developer", "user", "user"),
        *("assistant", "tool", "assistant", "tool", "assistant"),
    ]
    assert [one["content"] for one in found[:5]] == ["s", "d", "ab", "c", "u"]
    assert (found[2]["name"], found[5]["name"]) == ("rules", "Ann")
    image = ImagePart.model_validate(found[5]["content"][1])
    assert image.source.model_dump() == {"type": "data", "value": "aGk=", "mime_type": "image/png"}
    assert [part["type"] for part in found[7]["content"]] == ["image"]
    assert (found[9]["content"], found[9]["error"]) == ("no", "no")
    assert len({one["id"] for one in found}) == len(found)
    assert {one.getMessage().split("of ")[1].split(" has")[0] for one in caplog.records} == {
        "the role 'critic'",
        "type 'function'",
    }


def test_a_users_picture_is_sent_on_with_all_that_is_known_of_it() -> None:
    """A graph gets it as an `image_url` block, which has no place for its name."""
    picture = {
        "type": "image",
        "id": "p1",
        "source": {"type": "url", "value": "https://e.com/a", "mimeType": "image/png"},
        "metadata": {"filename": "cat.png"},
    }
    (message,) = agui_messages_to_langchain([{"id": "u", "role": "user", "content": [picture]}])
    assert message.content[0]["type"] == "image_url"  # type: ignore[index]
    assert sent(message)[0]["content"] == [picture]


def test_a_message_without_an_id_has_one_that_lasts() -> None:
    """The conversation grows: what was said before keeps its ids, also where it is said again."""
    first = sent(HumanMessage("hi"), AIMessage("ho"), HumanMessage("hi"))
    longer = sent(
        HumanMessage("hi"),
        AIMessage("ho"),
        HumanMessage("hi"),
        AIMessage("ho"),
        HumanMessage("hi", id="mine"),
    )
    assert longer[:3] == first
    assert len({one["id"] for one in longer}) == 5
    assert longer[-1]["id"] == "mine"
    assert isinstance(UserMessage.model_validate(longer[0]), UserMessage)
