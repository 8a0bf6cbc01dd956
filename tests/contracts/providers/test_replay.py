"""Reasoning goes back to the provider: real packages against the recording server."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from langgraph_agui import chat_models as models
from langgraph_agui.chat_models import provider_of
from langgraph_agui.messages.blocks import read_blocks
from tests.kit.models.cases import BY_ID
from tests.kit.models.playing import REPLAYING, ask, assistant_messages, make_replaying, play
from tests.kit.models.provider_models import KEY, make_model
from tests.kit.models.reading import run_case
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, turn

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from tests.kit.models.server import ProviderServer

HOW = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
PROVIDER = pytest.mark.parametrize("provider", REPLAYING)


def call(call_id: str) -> dict[str, Any]:
    return {"name": "get_weather", "args": {"city": "Paris"}, "id": call_id, "type": "tool_call"}


def thought(
    text: str | None, content: str = "", *calls: str, provider: str | None = None, **more: Any
) -> AIMessage:
    kwargs = {} if text is None else {"reasoning_content": text}
    metadata = {"model_provider": provider, **more} if provider else more
    return AIMessage(
        content,
        additional_kwargs=kwargs,
        tool_calls=list(map(call, calls)),
        response_metadata=metadata,
    )


def two_turns(provider: str | None = None) -> list[BaseMessage]:
    """A turn with a tool loop, a turn without, and a loop that is going on."""
    return [
        HumanMessage("one"),
        thought("t1", "", "c1", provider=provider),
        ToolMessage("Sunny", tool_call_id="c1"),
        thought("t2", "Sunny.", provider=provider),
        HumanMessage("two"),
        thought("t3", "Fine.", provider=provider),
        HumanMessage("three"),
        thought("t4", "", "c2", provider=provider),
        ToolMessage("Sunny", tool_call_id="c2"),
    ]


async def sent_back(
    server: ProviderServer,
    provider: str,
    history: list[BaseMessage],
    *,
    tools: bool = True,
    **options: Any,
) -> list[str | None]:
    """What the assistant's messages of `history` have as reasoning on the wire; None for no
    field."""
    server.script(provider, turn(Text("ok")))
    model = make_replaying(provider, server, **options)
    await (model.bind_tools([get_weather]) if tools else model).ainvoke(history)
    return [
        message.get(REPLAYING[provider][2]) for message in assistant_messages(server.bodies[-1])
    ]


@HOW
@PROVIDER
async def test_a_tool_loop_brings_reasoning_back(
    provider: str, stream: bool, provider_server: ProviderServer
) -> None:
    case = BY_ID[f"{provider}-tool-loop"]
    provider_server.script(provider, *case.turns)
    answers = await play(make_replaying(provider, provider_server), len(case.turns), stream=stream)
    assert [request.streamed for request in provider_server.requests] == [stream, stream]
    (message,) = assistant_messages(provider_server.bodies[1])
    assert message[REPLAYING[provider][2]] == case.turns[0].reasoning
    assert message["tool_calls"][0]["id"] == "call_paris"
    assert [part.text for part in read_blocks(answers[1]) if part.kind == "reasoning"] == [
        case.turns[1].reasoning
    ]


@HOW
@PROVIDER
async def test_the_package_alone_does_not(
    provider: str, stream: bool, provider_server: ProviderServer
) -> None:
    await run_case(BY_ID[f"{provider}-tool-loop"], provider_server, stream=stream)
    assert (
        not {"reasoning", "reasoning_content"}
        & assistant_messages(provider_server.bodies[1])[0].keys()
    )


@PROVIDER
@pytest.mark.parametrize(
    ("replay", "wanted"),
    [
        ("always", ["t1", "t2", "t3", "t4"]),
        ("tool_calls", [None, None, None, "t4"]),
        ("never", [None, None, None, None]),
    ],
)
async def test_policies(
    provider: str, replay: str, wanted: list[str | None], provider_server: ProviderServer
) -> None:
    assert (
        await sent_back(provider_server, provider, two_turns(), replay_reasoning=replay) == wanted
    )


async def test_defaults(provider_server: ProviderServer) -> None:
    sent = {
        provider: await sent_back(provider_server, provider, two_turns()) for provider in REPLAYING
    }
    everything, loop = ["t1", "t2", "t3", "t4"], [None, None, None, "t4"]
    assert sent == {"deepseek": everything, "openai-chat": everything, "xai": loop, "groq": loop}


@PROVIDER
async def test_what_others_thought_stays_out(
    provider: str, provider_server: ProviderServer
) -> None:
    own = provider_of(make_replaying(provider, provider_server))
    foreign = await sent_back(
        provider_server, provider, two_turns("ollama"), replay_reasoning="always", tools=False
    )
    assert foreign == [None] * 4
    mine = await sent_back(provider_server, provider, two_turns(own), replay_reasoning="always")
    assert mine == ["t1", "t2", "t3", "t4"]


async def test_deepseek_gets_the_field_wherever_it_checks_for_it(
    provider_server: ProviderServer,
) -> None:
    history = [
        HumanMessage("one"),
        thought(None, "Hello."),
        HumanMessage("two"),
        thought("t2", "", "c1"),
    ]
    history += [
        ToolMessage("Sunny", tool_call_id="c1"),
        thought("t3", "Ok.", provider="anthropic"),
        HumanMessage("go"),
    ]
    assert await sent_back(provider_server, "deepseek", history) == ["", "t2", ""]
    assert await sent_back(provider_server, "deepseek", history, tools=False) == [None, "t2", None]
    off = {"thinking": {"type": "disabled"}}
    assert await sent_back(provider_server, "deepseek", history, extra_body=off) == [
        None,
        "t2",
        None,
    ]
    assert await sent_back(provider_server, "deepseek", history, replay_reasoning="never") == [
        None,
        None,
        None,
    ]


async def test_groq_gets_no_reasoning_of_another_model(provider_server: ProviderServer) -> None:
    history = [
        HumanMessage("one"),
        thought("t1", "", "c1", provider="groq", model_name="openai/gpt-oss-120b"),
        ToolMessage("Sunny", tool_call_id="c1"),
        thought("t2", "", "c2", provider="groq", model_name="qwen/qwen3-32b"),
        ToolMessage("Sunny", tool_call_id="c2"),
    ]
    assert await sent_back(provider_server, "groq", history) == [None, "t2"]


async def test_calls_at_the_same_time_agree_on_the_servers_word(
    provider_server: ProviderServer,
) -> None:
    """An answer without reasoning that ends last changes nothing."""
    thoughtful = turn(Reasoning("Hm."), Text("ok"))
    provider_server.script("groq", turn(Text("a long answer"), chunk=2), thoughtful, thoughtful)
    model = models.ReasoningChatOpenAI(
        model="qwen3.6", base_url=provider_server.url("groq"), api_key=KEY
    )
    plain = model.astream("hi")
    await anext(plain)
    answer = await model.ainvoke("hi")
    assert [chunk async for chunk in plain]
    await model.ainvoke([HumanMessage("hi"), answer, HumanMessage("more")])
    (message,) = assistant_messages(provider_server.bodies[-1])
    assert message["reasoning"] == "Hm."


@HOW
async def test_a_compatible_server_is_heard_and_answered_in_its_own_words(
    stream: bool, provider_server: ProviderServer
) -> None:
    """`reasoning` in, `reasoning` out (vLLM): Groq's wire has it so, too."""
    case = BY_ID["groq-tool-loop"]
    provider_server.script("groq", *case.turns, turn(Text("ok")))
    model = models.ReasoningChatOpenAI(
        model="qwen3.6", base_url=provider_server.url("groq"), api_key=KEY
    )
    first, second = await play(model, 2, stream=stream)
    assert first.additional_kwargs["reasoning_content"] == case.turns[0].reasoning
    assert second.additional_kwargs["reasoning_content"] == case.turns[1].reasoning
    assert [block["type"] for block in second.content_blocks] == ["reasoning", "text"]
    (message,) = assistant_messages(provider_server.bodies[1])
    assert message["reasoning"] == case.turns[0].reasoning
    assert "reasoning_content" not in message
    named = model.model_copy(update={"reasoning_field": "reasoning_content"})
    await named.ainvoke(
        [HumanMessage("hi"), first, ToolMessage("Sunny", tool_call_id="call_paris")]
    )
    assert (
        assistant_messages(provider_server.bodies[-1])[0]["reasoning_content"]
        == case.turns[0].reasoning
    )
    assert "reasoning" not in assistant_messages(provider_server.bodies[-1])[0]


@HOW
@PROVIDER
async def test_the_messages_name_the_provider(
    provider: str, stream: bool, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, turn(Reasoning("Hm."), Text("Hello.")))
    model = make_replaying(provider, provider_server)
    answer = await ask(model, [HumanMessage("hi")], stream=stream)
    assert answer.response_metadata["model_provider"] == provider_of(model)
    assert [(block["type"]) for block in answer.content_blocks] == ["reasoning", "text"]


class Weather(BaseModel):
    celsius: int


@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_structured_answers_are_thought_about_once(provider_server: ProviderServer) -> None:
    provider_server.script(
        "openai-chat", turn(Reasoning("Twenty, I guess."), Text('{"celsius": 20}'))
    )
    model = make_replaying("openai-chat", provider_server)
    answer = await ask(model.bind(response_format=Weather), [HumanMessage("hi")], stream=True)
    assert answer.additional_kwargs["parsed"] == Weather(celsius=20)
    assert answer.additional_kwargs["reasoning_content"] == "Twenty, I guess."
    assert answer.response_metadata["model_provider"] == "openai_compatible"


@pytest.mark.parametrize("name", ["ReasoningChatOpenAI", "ReasoningChatXAI"])
async def test_responses_are_left_to_the_package(
    name: str, provider_server: ProviderServer
) -> None:
    thinking = Reasoning("**Planning**", encrypted="gAAAAABcipher")
    provider_server.script(
        "openai", turn(thinking, Call("get_weather", {"city": "Paris"}, id="c1")), turn(Text("ok"))
    )
    model = getattr(models, name)(
        model="some-model",
        base_url=f"{provider_server.url('openai')}/v1",
        api_key=KEY,
        use_responses_api=True,
        store=False,
        include=["reasoning.encrypted_content"],
    )
    first, _ = await play(model, 2, stream=True)
    sent = provider_server.bodies[1]["input"]
    assert [item["encrypted_content"] for item in sent if item["type"] == "reasoning"] == [
        "gAAAAABcipher"
    ]
    assert first.response_metadata["model_provider"] == "openai"
    assert provider_of(model) == ("xai" if name == "ReasoningChatXAI" else "openai")


async def test_in_an_agent(provider_server: ProviderServer) -> None:
    case = BY_ID["deepseek-tool-loop"]
    provider_server.script("deepseek", *case.turns, turn(Text("You are welcome.")))
    agent = create_agent(make_replaying("deepseek", provider_server), [get_weather])
    state = await agent.ainvoke({"messages": [HumanMessage("What should I wear in Paris?")]})
    await agent.ainvoke({"messages": [*state["messages"], HumanMessage("Thanks!")]})
    later = [
        message["reasoning_content"] for message in assistant_messages(provider_server.bodies[-1])
    ]
    assert later == [given.reasoning for given in case.turns]


def mistral(server: ProviderServer, **options: Any) -> BaseChatModel:
    url = f"{server.url('mistral')}/v1"
    return models.ReasoningChatMistralAI(
        model="magistral-medium-latest", base_url=url, api_key=KEY, **options
    )


def _contents(body: dict[str, Any]) -> list[Any]:
    """What is not empty of the assistant's contents: a stream begins with an empty text."""
    contents = [message["content"] for message in assistant_messages(body)]
    return [
        [block for block in content if block != {"type": "text", "text": ""}]
        if isinstance(content, list)
        else content
        for content in contents
    ]


@HOW
@pytest.mark.parametrize("version", [None, "v1"])
async def test_mistral_keeps_what_stands_beside_calls(
    stream: bool, version: str | None, provider_server: ProviderServer
) -> None:
    case = BY_ID["mistral-text-then-call"]
    provider_server.script("mistral", *case.turns)
    await play(mistral(provider_server, output_version=version), 2, stream=stream)
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": case.turns[0].reasoning}]}
    assert _contents(provider_server.bodies[1]) == [
        [thinking, {"type": "text", "text": case.turns[0].text}]
    ]
    assert assistant_messages(provider_server.bodies[1])[0]["tool_calls"][0]["id"] == "callParis"


@HOW
async def test_mistral_alone_empties_it(stream: bool, provider_server: ProviderServer) -> None:
    await run_case(BY_ID["mistral-text-then-call"], provider_server, stream=stream)
    assert assistant_messages(provider_server.bodies[1])[0]["content"] == ""


@pytest.mark.parametrize(
    ("replay", "wanted"),
    [("always", ["abc", "abc"]), ("tool_calls", ["c", "abc"]), ("never", ["c", "c"])],
)
async def test_mistral_policies(
    replay: str, wanted: list[str], provider_server: ProviderServer
) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]}
    content: list[Any] = [thinking, {"type": "text", "text": "c"}]
    metadata = {"model_provider": "mistralai"}
    history = [
        HumanMessage("one"),
        AIMessage(content, response_metadata=metadata),
        HumanMessage("two"),
        AIMessage(content, response_metadata=metadata, tool_calls=[call("callParis")]),
        ToolMessage("Sunny", tool_call_id="callParis"),
    ]
    provider_server.script("mistral", turn(Text("ok")))
    await mistral(provider_server, replay_reasoning=replay).ainvoke(history)
    full, bare = content, content[1:]
    assert _contents(provider_server.bodies[0]) == [
        full if text == "abc" else bare for text in wanted
    ]


async def test_mistral_gets_no_blocks_of_others(provider_server: ProviderServer) -> None:
    block = {
        "type": "tool_use",
        "id": "callParis",
        "name": "get_weather",
        "input": {"city": "Paris"},
    }
    history = [
        HumanMessage("one"),
        AIMessage(
            [block],
            response_metadata={"model_provider": "anthropic"},
            tool_calls=[call("callParis")],
        ),
        ToolMessage("Sunny", tool_call_id="callParis"),
        AIMessage("Let me look.", tool_calls=[call("callRome1")]),
        ToolMessage("Sunny", tool_call_id="callRome1"),
    ]
    provider_server.script("mistral", turn(Text("ok")))
    await mistral(provider_server).ainvoke(history)
    assert _contents(provider_server.bodies[0]) == ["", "Let me look."]


PACKAGES = {
    "ReasoningChatDeepSeek": "langchain-deepseek",
    "ReasoningChatGroq": "langchain-groq",
    "ReasoningChatMistralAI": "langchain-mistralai",
    "ReasoningChatOpenAI": "langchain-openai",
    "ReasoningChatXAI": "langchain-xai",
}


def test_no_package_is_needed_before_a_class_is() -> None:
    code = f"""
import sys
packages = {PACKAGES!r}
for package in packages.values():
    sys.modules[package.replace("-", "_")] = None
from langgraph_agui import chat_models as models
assert models.find_models(None) == []
for name, package in packages.items():
    try:
        getattr(models, name)
    except ImportError as error:
        assert str(error) == f"{{package.replace('-', '_')}} is missing: pip install {{package}}", error
    else:
        raise AssertionError(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_names_are_there() -> None:
    assert all(getattr(models, name) for name in models.__all__)
    assert set(PACKAGES) <= set(models.__all__)
    with pytest.raises(AttributeError, match="attribute ReasoningChatNobody"):
        models.ReasoningChatNobody  # noqa: B018


def test_the_plain_classes_are_what_ours_replace(provider_server: ProviderServer) -> None:
    for provider in REPLAYING:
        assert isinstance(
            make_replaying(provider, provider_server), type(make_model(provider, provider_server))
        )
