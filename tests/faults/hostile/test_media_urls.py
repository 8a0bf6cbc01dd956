"""URLs in a client's media: provider packages fetch them on the server, so only public ones are
taken by default."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, TrustOptions
from langgraph_agui.kernel.errors import RunInputError
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.media_urls import is_public
from langgraph_agui.options import MediaUrls
from langgraph_agui.protocol.schema import parse_input
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn
from tests.kit.processes.network import Network

PUBLIC = [
    "https://example.com/a.png",
    "https://a.example.co:8443/x?y#z",
    "HTTPS://8.8.8.8/",
    "https://[2606:4700::1]/",
]

NOT_PUBLIC = [
    *(
        "http://example.com/a",
        "ftp://example.com/a",
        "file:///etc/passwd",
        "gs://bucket/a",
        "s3://bucket/a",
        "//a.com",
    ),
    *(
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://printer.local/",
        "https://router/",
    ),
    *(
        "https://a.test/",
        "https://a.invalid/",
        "https://a.onion/",
        "https://a.box/",
        "https://db.service.consul/",
    ),
    *("https://kubernetes.default.svc/", "https://localhost6.localdomain6/", "https://a.EXAMPLE./"),
    *(
        "https://metadata.google.internal/",
        "https://x.home.arpa/",
        "https:///x",
        "https://",
        "https://.",
    ),
    *(
        "https://127.0.0.1/",
        "https://127.1/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://017700000001/",
    ),
    *(
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://169.254.169.254/",
        "https://0/",
    ),
    *(
        "https://100.64.0.1/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://1.2.3.4.5/",
        "https://a.0x7f/",
    ),
    *(
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:8.8.8.8]/",
        "https://[fe80::1]/",
    ),
    *(
        "https://[fd00::1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[ff02::1]/",
        "https://[v1.x]/",
    ),
    *(
        "https://user@example.com/",
        "https://example.com:x/",
        "https://example.com:99999/",
        "https://[::1",
    ),
    *(
        "https://%31%32%37.0.0.1/",
        "https://127。0。0.1/",
        "https://１２７.0.0.1/",
        "https://example.com\\@localhost/",
    ),
    *(
        " https://localhost/",
        "https://exam\tple.com/",
        "https://example.com/\n",
        "javascript:alert(1)",
    ),
]


@pytest.mark.parametrize("url", PUBLIC)
def test_public(url: str) -> None:
    assert is_public(url)


@pytest.mark.parametrize("url", NOT_PUBLIC)
def test_not_public(url: str) -> None:
    assert not is_public(url)


LOCAL = "http://127.0.0.1/a"
BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "url": LOCAL},
    {"type": "image", "source_type": "url", "url": LOCAL},
    {"type": "image_url", "image_url": LOCAL},
    {"type": "image_url", "image_url": {"url": LOCAL}},
    {"type": "input_image", "image_url": LOCAL},
    {"type": "input_file", "file_url": LOCAL},
    {"type": "file", "file_id": "gs://bucket/a"},
    {"type": "media", "file_uri": "gs://bucket/a"},
    {"type": "document", "source": {"type": "url", "url": LOCAL}},
    {"document": {"source": {"s3Location": {"uri": "s3://bucket/a"}}}},
    {"type": "non_standard", "value": {"type": "image_url", "image_url": {"url": LOCAL}}},
    {
        "type": "tool_result",
        "content": [{"type": "image", "source": {"type": "url", "url": LOCAL}}],
    },
]


@pytest.mark.parametrize(
    "url", ["//169.254.169.254/x", " //a.com/", "\x01http://a.com/", "\ufeffhttps://127.0.0.1/"]
)
def test_addresses_that_do_not_begin_as_urls(url: str) -> None:
    for policy in ("public", "none"):
        with pytest.raises(RunInputError, match="media_urls"):
            ClientMedia(policy, []).check([HumanMessage([{"type": "image", "url": url}])])  # type: ignore[arg-type]


@pytest.mark.parametrize("block", BLOCKS)
def test_media_blocks_of_any_package(block: dict[str, Any]) -> None:
    for message in (HumanMessage([block]), ToolMessage([block], tool_call_id="c")):
        for policy in ("public", "none", lambda _: False):
            with pytest.raises(RunInputError, match="media_urls"):
                ClientMedia(policy, []).check([message])  # type: ignore[arg-type]  # a list of all kinds
        ClientMedia("any", []).check([message])
        ClientMedia(lambda url: url.startswith(("http://127.0.0.1/", "gs://", "s3://")), []).check(
            [message]
        )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": LOCAL},
        {"type": "text", "text": "x", "annotations": [{"type": "url_citation", "url": LOCAL}]},
        {
            "type": "image",
            "base64": encoded(PNG),
            "mime_type": "image/png",
            "extras": {"agui": {"metadata": {"from": LOCAL}}},
        },
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}},
        {"type": "file", "file_id": "file-1"},
        {"type": "tool_use", "name": "fetch", "input": {"url": LOCAL}},
    ],
)
def test_what_nobody_fetches(block: dict[str, Any]) -> None:
    ClientMedia("none", []).check([HumanMessage([block])])


def image(url: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "url", "value": url, "mimeType": "image/png"}}


def make_agent(
    server: ProviderServer, saver: InMemorySaver | None = None, **options: Any
) -> LangGraphAgent:
    model = make_model("google", server)

    async def answer(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return LangGraphAgent(builder.compile(checkpointer=saver), **options)


async def run(agent: LangGraphAgent, *messages: dict[str, Any]) -> Any:
    sent = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": list(messages)}
    return [event async for event in agent.run(parse_input(sent))][-1]


def user(number: int, *content: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"u{number}",
        "role": "user",
        "content": [{"type": "text", "text": "see"}, *content],
    }


@pytest.mark.parametrize("saved", [True, False])
async def test_gemini_fetches_nothing_in_the_servers_network(
    saved: bool, provider_server: ProviderServer, network: Network
) -> None:
    policies: list[tuple[MediaUrls, int]] = [("public", 0), ("none", 0), ("any", 1)]
    for policy, asked in policies:
        provider_server.script("google", turn(Text("seen"))) if asked else None
        trust = TrustOptions(media_urls=policy)
        agent = make_agent(provider_server, InMemorySaver() if saved else None, trust=trust)
        last = await run(agent, user(1, image(f"{network.url}/secret")))
        assert len(network.asked) == asked
        if asked:
            assert last.type.value == "RUN_FINISHED", last
        else:
            assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
            assert "media_urls" in last.message
            assert f"{network.url}/secret" in last.message


async def test_what_the_server_has_is_not_asked_again(
    provider_server: ProviderServer, network: Network
) -> None:
    """A client sends the whole history each time. What the thread holds was taken before, by
    another rule."""
    saver = InMemorySaver()
    first = user(1, image(f"{network.url}/secret"))
    provider_server.script("google", turn(Text("seen")), turn(Text("yes")))
    assert (
        await run(make_agent(provider_server, saver, trust=TrustOptions(media_urls="any")), first)
    ).type.value == "RUN_FINISHED"
    strict = make_agent(provider_server, saver)
    assert (await run(strict, first, user(2))).type.value == "RUN_FINISHED"
    edited = {**first, "content": [image(f"{network.url}/secret"), image(f"{network.url}/secret")]}
    assert (await run(strict, edited)).code == "invalid_input"


def test_an_unknown_policy(provider_server: ProviderServer) -> None:
    with pytest.raises(
        ValueError, match="media_urls must be one of 'public', 'any', 'none', not 'local'"
    ):
        make_agent(provider_server, trust=TrustOptions(media_urls="local"))
