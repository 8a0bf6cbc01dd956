"""Model calls on a LangGraph server whose messages no node keeps: clients lose them when the node
has ended."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_agui import ClientOptions
from tests.contracts.langgraph_server.conftest import Clients, kept
from tests.kit.deep import deep
from tests.kit.run.agents import RecordedRun
from tests.kit.run.thread_client import Client, ending

pytestmark = [pytest.mark.xdist_group("remote"), deep]

TYPES = {"user": "human", "assistant": "ai", "tool": "tool"}


async def run(client: Client, text: str) -> RecordedRun:
    recorded = await client.send(text)
    assert ending(recorded) == "success"
    recorded.check_snapshot()
    return recorded


def shown(recorded: RecordedRun) -> list[Any]:
    """The messages that a client holds, without reasoning."""
    held = [one for one in recorded.messages if one.role != "reasoning"]
    return [(TYPES[one.role], one.content or "") for one in held]


def position(recorded: RecordedRun, delta: str) -> int:
    """Where a fragment is; those behind it may have merged with it."""
    deltas = [str(getattr(event, "delta", None)) for event in recorded.events]
    return [text.startswith(delta) for text in deltas].index(True)


@pytest.mark.parametrize(
    "name",
    [
        "in_a_tool",
        "kept_as_text",
        "kept_later",
        "replaced",
        "retried",
        "retried_after_its_model",
        "rewritten",
    ],
)
async def test_the_client_holds_what_the_server_keeps(client_of: Clients, name: str) -> None:
    client = client_of(name)
    for text in ("hi", "more"):
        recorded = await run(client, text)
        held = shown(recorded)
        assert held == [(one.type, one.text) for one in await kept(client)]
        assert not recorded.last.outcome.pending_tool_call_ids
    heard = " / ".join(f"{kind}:{text}" for kind, text in held[:-1])
    assert held[-1][1].lower() == f"i heard {heard}".lower()


@pytest.mark.parametrize(
    ("name", "words"), [("in_a_tool", "Inner words"), ("kept_as_text", "A summary")]
)
async def test_it_is_seen_live_and_gone_when_its_node_has_ended(
    client_of: Clients, name: str, words: str
) -> None:
    """And so is its call, which is answered before."""
    recorded = await run(client_of(name), "hi")
    snapshot = recorded.types.index("MESSAGES_SNAPSHOT")
    assert position(recorded, words) < snapshot < position(recorded, "I heard")
    assert words not in str(recorded.events[snapshot])
    calls = [one.tool_call_id for one in recorded.of("TOOL_CALL_START")]
    assert calls == [one.tool_call_id for one in recorded.of("TOOL_CALL_RESULT")]


async def test_inner_models_can_be_hidden(client_of: Clients) -> None:
    client = client_of("in_a_tool", clients=ClientOptions(models_in_tools="hidden"))
    recorded = await run(client, "hi")
    assert ("Inner" in str(recorded.events), recorded.of("REASONING_START")) == (False, [])
