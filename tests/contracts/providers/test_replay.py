"""Reasoning goes back to the provider: real packages against the recording server."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from langgraph_agui import chat_models as models
from langgraph_agui.chat_models import provider_of
from langgraph_agui.messages.blocks import read_blocks
from tests.contracts.providers.playing import (
    HOW,
    REPLAYING,
    ask,
    assistant_messages,
    make_replaying,
    play,
    run_case,
)
from tests.kit.models.cases import BY_ID
from tests.kit.models.provider_models import KEY, make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, turn

PROVIDER = pytest.mark.parametrize("provider", REPLAYING)
OK = turn(Text("ok"))
ALL, LOOP, NONE = ["t1", "t2", "t3", "t4"], [None, None, None, "t4"], [None] * 4
SUNNY, SUNNY_2 = (ToolMessage("Sunny", tool_call_id=call_id) for call_id in ("c1", "c2"))


def call(call_id: str) -> dict[str, Any]:
    return {"name": "get_weather", "args": {"city": "Paris"}, "id": call_id}


def thought(text: str | None, content: Any = "", *calls: str, **metadata: Any) -> AIMessage:
    """A message of this reasoning, content and calls."""
    return AIMessage(
        *(content,),
        additional_kwargs={} if text is None else {"reasoning_content": text},
        tool_calls=[*map(call, calls)],
        response_metadata=metadata,
    )


def two_turns(**made_by: str) -> list[BaseMessage]:
    """A turn with a tool loop, a turn without, and a loop that is going on."""
    first, second = thought("t1", "", "c1", **made_by), thought("t2", "Sunny.", **made_by)
    third, fourth = thought("t3", "Fine.", **made_by), thought("t4", "", "c2", **made_by)
    one, two, three = map(HumanMessage, ("one", "two", "three"))
    return [one, first, SUNNY, second, two, third, three, fourth, SUNNY_2]


async def sent_back(
    server: ProviderServer, provider: str, history: list[BaseMessage], tools: bool = True,
    **options: Any,
) -> list[str | None]:  # fmt: skip
    """What the assistant's messages of `history` have as reasoning on the wire; None for no
    field."""
    server.script(provider, OK)
    model: Any = make_replaying(provider, server, **options)
    await (model.bind_tools([get_weather]) if tools else model).ainvoke(history)
    field = REPLAYING[provider][2]
    return [message.get(field) for message in assistant_messages(server.bodies[-1])]


@HOW
@PROVIDER
async def test_a_tool_loop_brings_reasoning_back(
    provider: str, stream: bool, provider_server: ProviderServer
) -> None:
    """The package alone does not."""
    case = BY_ID[f"{provider}-tool-loop"]
    provider_server.script(provider, *case.turns)
    model = make_replaying(provider, provider_server)
    answers = await play(model, len(case.turns), stream=stream)
    await run_case(case, provider_server, stream=stream)
    (message,), (without,) = (assistant_messages(provider_server.bodies[n]) for n in (1, 3))
    assert not {"reasoning", "reasoning_content"} & without.keys()
    assert message[REPLAYING[provider][2]] == case.turns[0].reasoning
    assert message["tool_calls"][0]["id"] == "call_paris"
    thoughts = [part.text for part in read_blocks(answers[1]) if part.kind == "reasoning"]
    assert thoughts == [case.turns[1].reasoning]
    assert answers[1].response_metadata["model_provider"] == provider_of(model)
    assert isinstance(model, type(make_model(provider, provider_server)))


@PROVIDER
async def test_policies(provider: str, provider_server: ProviderServer) -> None:
    default = ALL if provider in ("deepseek", "openai-chat") else LOOP
    assert await sent_back(provider_server, provider, two_turns()) == default
    for replay, wanted in (("always", ALL), ("tool_calls", LOOP), ("never", NONE)):
        history = two_turns()
        found = await sent_back(provider_server, provider, history, replay_reasoning=replay)
        assert found == wanted


@PROVIDER
async def test_what_others_thought_stays_out(
    provider: str, provider_server: ProviderServer
) -> None:
    own = provider_of(make_replaying(provider, provider_server))
    for made_by, tools, wanted in (("ollama", False, NONE), (own, True, ALL)):
        history, always = two_turns(model_provider=made_by), {"replay_reasoning": "always"}
        assert await sent_back(provider_server, provider, history, tools, **always) == wanted


async def test_deepseek_gets_the_field_wherever_it_checks_for_it(
    provider_server: ProviderServer,
) -> None:
    plain, asking = thought(None, "Hello."), thought("t2", "", "c1")
    foreign = thought("t3", "Ok.", model_provider="anthropic")
    one, two, go = map(HumanMessage, ("one", "two", "go"))
    history = [one, plain, two, asking, SUNNY, foreign, go]
    off = {"extra_body": {"thinking": {"type": "disabled"}}}
    for tools, options, wanted in (
        (True, {}, ["", "t2", ""]),
        (False, {}, [None, "t2", None]),
        (True, off, [None, "t2", None]),
        (True, {"replay_reasoning": "never"}, [None, None, None]),
    ):
        assert await sent_back(provider_server, "deepseek", history, tools, **options) == wanted


async def test_groq_gets_no_reasoning_of_another_model(provider_server: ProviderServer) -> None:
    groq = {"model_provider": "groq"}
    other = thought("t1", "", "c1", **groq, model_name="openai/gpt-oss-120b")
    own = thought("t2", "", "c2", **groq, model_name="qwen/qwen3-32b")
    history = [HumanMessage("one"), other, SUNNY, own, SUNNY_2]
    assert await sent_back(provider_server, "groq", history) == [None, "t2"]


def compatible(server: ProviderServer) -> Any:
    """A model of a server that says `reasoning`, as vLLM does; Groq's wire has it so, too."""
    return models.ReasoningChatOpenAI(model="qwen3.6", base_url=server.url("groq"), api_key=KEY)


async def test_calls_at_the_same_time_agree_on_the_servers_word(
    provider_server: ProviderServer,
) -> None:
    """An answer without reasoning that ends last changes nothing."""
    thoughtful = turn(Reasoning("Hm."), Text("ok"))
    provider_server.script("groq", turn(Text("a long answer"), chunk=2), thoughtful, thoughtful)
    model = compatible(provider_server)
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
    turns = BY_ID["groq-tool-loop"].turns
    provider_server.script("groq", *turns, OK)
    model = compatible(provider_server)
    first, second = await play(model, 2, stream=stream)
    heard = [one.additional_kwargs["reasoning_content"] for one in (first, second)]
    assert heard == [one.reasoning for one in turns]
    assert [block["type"] for block in second.content_blocks] == ["reasoning", "text"]
    named = model.model_copy(update={"reasoning_field": "reasoning_content"})
    result = ToolMessage("Sunny", tool_call_id="call_paris")
    await named.ainvoke([HumanMessage("hi"), first, result])
    sent = [assistant_messages(body)[0] for body in provider_server.bodies[1:]]
    fields = [(one.get("reasoning"), one.get("reasoning_content")) for one in sent]
    assert fields == [(heard[0], None), (None, heard[0])]


class Weather(BaseModel):
    celsius: int


@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_structured_answers_are_thought_about_once(provider_server: ProviderServer) -> None:
    thinking = turn(Reasoning("Twenty, I guess."), Text('{"celsius": 20}'))
    provider_server.script("openai-chat", thinking)
    model = make_replaying("openai-chat", provider_server).bind(response_format=Weather)
    answer = await ask(model, [HumanMessage("hi")], stream=True)
    assert answer.additional_kwargs["parsed"] == Weather(celsius=20)
    assert answer.additional_kwargs["reasoning_content"] == "Twenty, I guess."
    assert answer.response_metadata["model_provider"] == "openai_compatible"


@pytest.mark.parametrize(
    ("name", "provider"), [("ReasoningChatOpenAI", "openai"), ("ReasoningChatXAI", "xai")]
)
async def test_responses_are_left_to_the_package(
    name: str, provider: str, provider_server: ProviderServer
) -> None:
    thinking = Reasoning("**Planning**", encrypted="gAAAAABcipher")
    paris = Call("get_weather", {"city": "Paris"}, id="c1")
    provider_server.script("openai", turn(thinking, paris), OK)
    url = f"{provider_server.url('openai')}/v1"
    kept = {"store": False, "include": ["reasoning.encrypted_content"], "use_responses_api": True}
    model = getattr(models, name)(model="some-model", base_url=url, api_key=KEY, **kept)
    first, _ = await play(model, 2, stream=True)
    items = [one for one in provider_server.bodies[1]["input"] if one["type"] == "reasoning"]
    assert [item["encrypted_content"] for item in items] == ["gAAAAABcipher"]
    assert first.response_metadata["model_provider"] == "openai"
    assert provider_of(model) == provider


async def test_in_an_agent(provider_server: ProviderServer) -> None:
    turns = BY_ID["deepseek-tool-loop"].turns
    provider_server.script("deepseek", *turns, OK)
    agent = create_agent(make_replaying("deepseek", provider_server), [get_weather])
    state = await agent.ainvoke({"messages": [HumanMessage("What should I wear in Paris?")]})
    await agent.ainvoke({"messages": [*state["messages"], HumanMessage("Thanks!")]})
    later = assistant_messages(provider_server.bodies[-1])
    assert [one["reasoning_content"] for one in later] == [given.reasoning for given in turns]


def mistral(server: ProviderServer, **options: Any) -> BaseChatModel:
    url = f"{server.url('mistral')}/v1"
    own = {"model": "magistral-medium-latest", "base_url": url, "api_key": KEY}
    return models.ReasoningChatMistralAI(**own, **options)


def contents(body: dict[str, Any]) -> list[Any]:
    """What is not empty of the assistant's contents: a stream begins with an empty text."""
    found = [message["content"] for message in assistant_messages(body)]
    empty = {"type": "text", "text": ""}
    return [one if isinstance(one, str) else [b for b in one if b != empty] for one in found]


def thinks(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


@HOW
async def test_mistral_keeps_what_stands_beside_calls(
    stream: bool, provider_server: ProviderServer
) -> None:
    """The package alone empties it."""
    case = BY_ID["mistral-text-then-call"]
    said = {"type": "text", "text": case.turns[0].text}
    for version in (None, "v1"):
        provider_server.script("mistral", *case.turns)
        await play(mistral(provider_server, output_version=version), 2, stream=stream)
        sent = provider_server.bodies[-1]
        assert contents(sent) == [[thinks(case.turns[0].reasoning), said]]
        assert assistant_messages(sent)[0]["tool_calls"][0]["id"] == "callParis"
    await run_case(case, provider_server, stream=stream)
    assert contents(provider_server.bodies[-1]) == [""]


@pytest.mark.parametrize(
    ("replay", "wanted"), [("always", [2, 2]), ("tool_calls", [1, 2]), ("never", [1, 1])]
)
async def test_mistral_policies(
    replay: str, wanted: list[int], provider_server: ProviderServer
) -> None:
    content = [thinks("ab"), {"type": "text", "text": "c"}]
    made_by = {"model_provider": "mistralai"}
    one, two = thought(None, content, **made_by), thought(None, content, "callParis", **made_by)
    result = ToolMessage("Sunny", tool_call_id="callParis")
    provider_server.script("mistral", OK)
    model = mistral(provider_server, replay_reasoning=replay)
    await model.ainvoke([HumanMessage("one"), one, HumanMessage("two"), two, result])
    assert contents(provider_server.bodies[0]) == [content[-size:] for size in wanted]


async def test_mistral_gets_no_blocks_of_others(provider_server: ProviderServer) -> None:
    paris = call("callParis")
    used = {"type": "tool_use", "id": paris["id"], "name": paris["name"], "input": paris["args"]}
    foreign = thought(None, [used], "callParis", model_provider="anthropic")
    own = thought(None, "Let me look.", "callRome1")
    first, second = (ToolMessage("Sunny", tool_call_id=one) for one in ("callParis", "callRome1"))
    provider_server.script("mistral", OK)
    await mistral(provider_server).ainvoke([HumanMessage("one"), foreign, first, own, second])
    assert contents(provider_server.bodies[0]) == ["", "Let me look."]


PACKAGES = {
    f"ReasoningChat{name}": f"langchain-{name.lower()}"
    for name in ("DeepSeek", "Groq", "MistralAI", "OpenAI", "XAI")
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
    assert set(PACKAGES) <= {name for name in models.__all__ if getattr(models, name)}
    with pytest.raises(AttributeError, match="attribute ReasoningChatNobody"):
        models.ReasoningChatNobody  # noqa: B018
