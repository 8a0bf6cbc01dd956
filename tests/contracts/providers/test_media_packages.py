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
from itertools import product
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui.messages.content import content_blocks, user_blocks
from langgraph_agui.protocol.schema import known_messages, parse_input
from tests.kit.deep import deep
from tests.kit.graphs.small import agent_of, talker
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
LOOK = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])


def part(kind: str, form: str, value: str) -> dict[str, Any]:
    mime = {} if form == "file" else {"mimeType": OF_KIND[kind][1]}
    source = {"type": form, "value": value, **mime}
    return {"type": kind, "source": source, "metadata": {"filename": "a"}}


def forms(secret: str, network: Network) -> list[tuple[str, str]]:
    """A path as data, a path as URL, a URL, a file's id: the columns of the table."""
    return [("data", secret), ("url", secret), ("url", network.address("/start")), ("file", secret)]


def seen(*parts: dict[str, Any]) -> Any:
    """The parts of a user's message, which no check has seen."""
    content = [{"type": "text", "text": "see"}, *parts]
    (message,) = known_messages([{"id": "u", "role": "user", "content": content}])
    return message.content


def of_user(parts: Any) -> HumanMessage:
    content, kwargs = user_blocks(parts)
    return HumanMessage(content, additional_kwargs=kwargs)


def all_sent(server: ProviderServer, provider: str, *messages: BaseMessage) -> str:
    """Return all that the provider gets of these messages; nothing if the package refuses them."""
    server.script(provider, turn(Text("ok")))
    before = len(server.bodies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make_model(provider, server).invoke([*messages])
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
    found: list[str] = []
    for form, value in forms(secret, network):
        outcomes = set()
        for kind, in_result in product(KINDS, (False, True)):
            network.asked.clear()
            parts = seen(part(kind, form, value))
            result = ToolMessage(content_blocks(parts), tool_call_id="c1")
            given = [HumanMessage("look"), LOOK, result] if in_result else [of_user(parts)]
            outcomes.add(done(all_sent(provider_server, provider, *given), network, value))
        found.append(min(outcomes, key=WORST.index))
    lines, name = PAGE.read_text("utf-8").splitlines(), PACKAGES[provider]
    row = next(line for line in lines if line.startswith(f"| {name} |"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == [name, *found]


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
    address = network.address("/picture")
    url = {"type": "url", "value": address, "mimeType": "image/png"}
    parts = seen({**PICTURE, "source": url} if form == "url" else PICTURE)
    ours, standard = of_user(parts), HumanMessage(content_blocks(parts))
    assert [one.content[1]["type"] for one in (ours, standard)] == ["image_url", "image"]
    made, known = (all_sent(provider_server, provider, one) for one in (ours, standard))
    if (provider, form) == ("ollama", "url"):
        assert known == ""  # the package refuses the standard block
        assert address in made
    else:
        assert made == known
        assert bool(made) is ((provider, form) != ("bedrock", "url"))
    assert "canary" not in made


async def test_what_a_client_reaches_with_it(
    provider_server: ProviderServer, secret: str, network: Network
) -> None:
    """By default: nothing of it reaches the package."""
    agent = agent_of(talker(make_model("ollama", provider_server)))
    for (form, value), kind in product(forms(secret, network), KINDS):
        messages = [{"id": "u", "role": "user", "content": [part(kind, form, value)]}]
        given = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": messages}
        last = (await record_run(agent, parse_input(given))).last
        assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
        assert last.message.startswith("messages[0].content[0]")
    assert (provider_server.requests, network.asked) == ([], [])
