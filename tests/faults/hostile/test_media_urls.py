"""URLs in a client's media: provider packages fetch them on the server, so only public ones are
taken by default."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, TrustOptions
from langgraph_agui.kernel.errors import RunInputError
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.media_urls import is_public
from langgraph_agui.protocol.schema import parse_input
from tests.faults.hostile.requests import user, wire
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn
from tests.kit.processes.network import Network
from tests.kit.run.agents import collect

PUBLIC = ["https://example.com/a.png", "https://a.example.co:8443/x?y#z", "HTTPS://8.8.8.8/"]
PUBLIC += ["https://[2606:4700::1]/"]
NOT_HTTPS = "http://example.com/a ftp://example.com/a file:///etc/passwd gs://bucket/a //a.com"
HOSTS = """
localhost LOCALHOST. a.localhost printer.local router a.test a.invalid a.onion a.box
db.service.consul kubernetes.default.svc localhost6.localdomain6 a.EXAMPLE. x.home.arpa
metadata.google.internal 127.0.0.1 127.1 0x7f.1 2130706433 017700000001 10.0.0.1 172.16.0.1
192.168.1.1 169.254.169.254 0 100.64.0.1 224.0.0.1 255.255.255.255 1.2.3.4.5 a.0x7f . [::1] [::]
[::ffff:127.0.0.1] [::ffff:8.8.8.8] [fe80::1] [fd00::1] [64:ff9b::7f00:1] [2002:7f00:1::] [ff02::1]
[v1.x] [::1 user@example.com example.com:x example.com:99999 %31%32%37.0.0.1 127。0。0.1
１２７.0.0.1 example.com\\@localhost
"""
NOT_PUBLIC = [*NOT_HTTPS.split(), *(f"https://{host}/" for host in HOSTS.split())]
NOT_PUBLIC += ["https:///x", "https://", "javascript:alert(1)", " https://localhost/"]
NOT_PUBLIC += ["https://exam\tple.com/", "https://example.com/\n"]


def test_public() -> None:
    assert [url for url in (*PUBLIC, *NOT_PUBLIC) if is_public(url)] == PUBLIC


LOCAL = "http://127.0.0.1/a"
SOURCE, PICTURE = {"type": "url", "url": LOCAL}, f"data:image/png;base64,{encoded(PNG)}"
BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "url": LOCAL},
    {"type": "image", "source_type": "url", "url": LOCAL},
    {"type": "image_url", "image_url": LOCAL},
    {"type": "image_url", "image_url": {"url": LOCAL}},
    {"type": "input_image", "image_url": LOCAL},
    {"type": "input_file", "file_url": LOCAL},
    {"type": "file", "file_id": "gs://bucket/a"},
    {"type": "media", "file_uri": "gs://bucket/a"},
    {"type": "document", "source": SOURCE},
    {"document": {"source": {"s3Location": {"uri": "s3://bucket/a"}}}},
    {"type": "non_standard", "value": {"type": "image_url", "image_url": {"url": LOCAL}}},
    {"type": "tool_result", "content": [{"type": "image", "source": SOURCE}]},
]
# They do not begin as URLs do.
ODD = ["//169.254.169.254/x", " //a.com/", "\x01http://a.com/", "\ufeffhttps://127.0.0.1/"]
NO_URLS: list[dict[str, Any]] = [
    {"type": "text", "text": LOCAL, "annotations": [{"type": "url_citation", "url": LOCAL}]},
    {"type": "image", "base64": encoded(PNG), "extras": {"agui": {"metadata": {"from": LOCAL}}}},
    {"type": "image_url", "image_url": {"url": PICTURE}},
    {"type": "file", "file_id": "file-1"},
    {"type": "tool_use", "name": "fetch", "input": {"url": LOCAL}},
]


def allowed(url: str) -> bool:
    return url.startswith(("http://127.0.0.1/", "gs://", "s3://"))


def refused(policy: Any, message: Any) -> bool:
    try:
        ClientMedia(policy, []).check([message])
    except RunInputError as error:
        return "media_urls" in str(error)
    return False


def test_media_blocks_of_any_package() -> None:
    policies: list[Any] = ["public", "none", lambda _: False, "any", allowed]
    for block in BLOCKS:
        for message in (HumanMessage([block]), ToolMessage([block], tool_call_id="c")):
            found = [refused(policy, message) for policy in policies]
            assert found == [True, True, True, False, False], block
    for url in ODD:
        message = HumanMessage([{"type": "image", "url": url}])
        assert [refused(policy, message) for policy in ("public", "none")] == [True, True], url
    assert [block for block in NO_URLS if refused("none", HumanMessage([block]))] == []


def media(number: int, *urls: str) -> dict[str, Any]:
    """A user's message with images."""
    source = {"type": "url", "mimeType": "image/png"}
    parts = [{"type": "image", "source": {**source, "value": url}} for url in urls]
    return user([{"type": "text", "text": "see"}, *parts], f"u{number}")


async def run(server: ProviderServer, saver: Any, policy: Any, *messages: Any) -> Any:
    """The end of a run of a graph with Gemini."""
    trust = TrustOptions(media_urls=policy)
    graph = chain_of(talker(make_model("google", server)), checkpointer=saver)
    events = LangGraphAgent(graph, trust=trust).run(parse_input(wire(*messages)))
    return (await collect(events))[-1]


@pytest.mark.parametrize("saver", [InMemorySaver(), None], ids=["saved", "unsaved"])
async def test_gemini_fetches_nothing_in_the_servers_network(
    saver: Any, provider_server: ProviderServer, network: Network
) -> None:
    """What the thread holds was taken before, by another rule, and is not asked again."""
    url = f"{network.url}/secret"
    for policy in ("public", "none"):
        last = await run(provider_server, saver, policy, media(1, url))
        assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
        assert ("media_urls" in last.message, url in last.message) == (True, True)
    assert network.asked == []
    provider_server.script("google", turn(Text("seen")), turn(Text("yes")))
    last = await run(provider_server, saver, "any", first := media(1, url))
    assert (last.type.value, len(network.asked)) == ("RUN_FINISHED", 1)
    if saver is not None:
        last = await run(provider_server, saver, "public", first, media(2))
        assert last.type.value == "RUN_FINISHED"
        changed = await run(provider_server, saver, "public", media(1, url, url))
        assert changed.code == "invalid_input"


def test_an_unknown_policy() -> None:
    said = "media_urls must be one of 'public', 'any', 'none', not 'local'"
    with pytest.raises(ValueError, match=said):
        LangGraphAgent(chain_of(talker(None)), trust=TrustOptions(media_urls="local"))  # type: ignore[arg-type]
