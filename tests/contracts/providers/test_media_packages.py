"""What each provider package does with each form of media that we hand over, and that a client's
forms stay harmless.

The packages get the forms as a client would have them without the adapter's checks: a path where
data belong, a path as a URL, a URL in the server's network that redirects.
docs/operations/security.md has the table.
"""

from __future__ import annotations

import json
import warnings
from base64 import b64encode
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.messages.content import content_blocks, user_blocks
from langgraph_agui.protocol.schema import known_messages, parse_input
from tests.kit.deep import deep
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.media_files import OF_KIND, PNG, SECRET, encoded
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn
from tests.kit.paths import ROOT
from tests.kit.processes.network import Network
from tests.kit.run.agents import record_run

pytestmark = deep

PAGE = ROOT / "docs" / "operations" / "security.md"
KINDS = ("image", "audio", "video", "document")

# What a package does at most with one form, in the words of the table: with any kind of media, in a
# user's message or a tool's result.
OPENED, FETCHED, FOLLOWED = "**opens the file**", "fetches it", "**fetches it, follows redirects**"
HANDED_ON, REFUSED = "hands it on", "sends nothing"
WORST = (OPENED, FOLLOWED, FETCHED, HANDED_ON, REFUSED)
PACKAGES = {
    "anthropic": "langchain-anthropic",
    "bedrock": "langchain-aws",
    "deepseek": "langchain-deepseek",
    "google": "langchain-google-genai",
    "groq": "langchain-groq",
    "mistral": "langchain-mistralai",
    "ollama": "langchain-ollama",
    "openai": "langchain-openai, Responses",
    "openai-chat": "langchain-openai, Chat Completions",
    "openrouter": "langchain-openrouter",
    "xai": "langchain-xai",
}


def part(kind: str, form: str, value: str) -> dict[str, Any]:
    mime = OF_KIND[kind][1]
    sources = {"data": {"mimeType": mime}, "url": {"mimeType": mime}, "file": {}}
    return {
        "type": kind,
        "source": {"type": form, "value": value, **sources[form]},
        "metadata": {"filename": "a"},
    }


def forms(secret: str, network: Network) -> dict[str, tuple[str, str]]:
    return {
        "a path as data": ("data", secret),
        "a path as URL": ("url", secret),
        "URL": ("url", network.address("/start")),
        "file id": ("file", secret),
    }


CALL = {"name": "look", "args": {}, "id": "c1"}


def sent_alone(
    server: ProviderServer, provider: str, sent: dict[str, Any], *, in_result: bool
) -> str:
    """Let a package send a part that no check has seen; return all that the provider got."""
    (message,) = known_messages(
        [{"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}, sent]}]
    )
    parts: Any = message.content  # type: ignore[union-attr]
    if in_result:
        result: Any = content_blocks(parts)
        asked = AIMessage("", tool_calls=[CALL])
        given = [HumanMessage("look"), asked, ToolMessage(result, tool_call_id="c1")]
    else:
        content, kwargs = user_blocks(parts)
        given = [HumanMessage(content, additional_kwargs=kwargs)]  # type: ignore[arg-type]
    return all_sent(server, provider, given)


def all_sent(server: ProviderServer, provider: str, messages: list[BaseMessage]) -> str:
    """Return all that the provider gets of these messages; nothing if the package refuses them."""
    server.script(provider, turn(Text("ok")))
    before = len(server.bodies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make_model(provider, server).invoke(messages)
        except (ValueError, OSError, KeyError, TypeError):
            return ""
    return json.dumps(server.bodies[before:])


def done(got: str, network: Network, value: str) -> str:
    """What a package has done, in the words of the table."""
    if SECRET in got or b64encode(SECRET.encode()).decode() in got:
        return OPENED
    if network.asked:
        return FOLLOWED if "/end" in network.asked else FETCHED
    # Bytes that were decoded may be encoded for URLs (google-genai).
    return HANDED_ON if value in got or value.replace("/", "_") in got else REFUSED


@pytest.mark.parametrize("provider", PACKAGES)
def test_what_a_package_does(
    provider: str, provider_server: ProviderServer, secret: str, network: Network
) -> None:
    found: dict[str, str] = {}
    for name, (form, value) in forms(secret, network).items():
        outcomes = set()
        for kind in KINDS:
            for in_result in (False, True):
                network.asked.clear()
                got = sent_alone(
                    provider_server, provider, part(kind, form, value), in_result=in_result
                )
                outcomes.add(done(got, network, value))
        found[name] = min(outcomes, key=WORST.index)
    row = next(
        line
        for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith(f"| {PACKAGES[provider]} |")
    )
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        PACKAGES[provider],
        *found.values(),
    ]


PICTURE: dict[str, Any] = {
    "type": "image",
    "id": "p1",
    "source": {"type": "data", "value": encoded(PNG), "mimeType": "image/png"},
    "metadata": {"filename": "a cat.png", "detail": "high", "cache_control": {"type": "canary"}},
}


@pytest.mark.parametrize("form", ["data", "url"])
@pytest.mark.parametrize("provider", PACKAGES)
def test_a_picture_of_a_user_is_sent_as_a_standard_block_is(
    provider: str, form: str, provider_server: ProviderServer, network: Network
) -> None:
    """To the byte, as a block that nodes know from `ag-ui-langgraph`."""
    if form == "url":
        address = network.address("/picture")
        source = {"type": "url", "value": address, "mimeType": "image/png"}
    else:
        source = PICTURE["source"]
    (message,) = known_messages(
        [
            {
                "id": "u",
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {**PICTURE, "source": source}],
            }
        ]
    )
    parts: Any = message.content  # type: ignore[union-attr]
    content, kwargs = user_blocks(parts)
    standard: Any = content_blocks(parts)
    assert (content[1]["type"], standard[1]["type"]) == ("image_url", "image")  # type: ignore[index]
    made, known = (
        all_sent(provider_server, provider, [message])
        for message in (
            HumanMessage(content, additional_kwargs=kwargs),  # type: ignore[arg-type]
            HumanMessage(standard),
        )
    )
    if (provider, form) == ("ollama", "url"):
        assert known == ""  # the package refuses the standard block
        assert source["value"] in made
    else:
        assert made == known
        assert bool(made) is ((provider, form) != ("bedrock", "url"))
    assert "canary" not in made


@pytest.mark.parametrize("provider", PACKAGES)
async def test_what_a_client_reaches_with_it(
    provider: str, provider_server: ProviderServer, secret: str, network: Network
) -> None:
    """By default: nothing of it reaches the package."""
    model = make_model(provider, provider_server)

    async def answer(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = (
        StateGraph(MessagesState)
        .add_node("answer", answer)
        .add_edge(START, "answer")
        .add_edge("answer", END)
    )
    agent = LangGraphAgent(builder.compile())
    for form, value in forms(secret, network).values():
        for kind in KINDS:
            messages = [{"id": "u", "role": "user", "content": [part(kind, form, value)]}]
            given = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": messages}
            last = (await record_run(agent, parse_input(given))).last
            assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
            assert last.message.startswith("messages[0].content[0]")
    assert provider_server.requests == []
    assert network.asked == []
