"""What a model makes besides text is seen by the client: live, after a reload, and in a history
that is converted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, Message, ToolMessage
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import (
    LangGraphAgent,
    ReasoningOptions,
    ReasoningSeal,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)
from langgraph_agui.protocol import fold
from tests.kit.models.made_answers import FORMS, Answer
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.talking import connect

SEAL = ReasoningSeal([b"k" * 32])
SEALED = (ReasoningOptions(seal=SEAL), ReasoningOptions(seal=SEAL, visibility="hidden"))


def without_spelling(messages: list[Message]) -> list[dict[str, Any]]:
    """Messages, whatever the spelling of the arguments of calls."""
    found = []
    for message in messages:
        data = message.model_dump(mode="json", exclude_none=True, by_alias=True)
        data.pop("encryptedValue", None)
        if message.role == "reasoning":
            data.pop("metadata", None)
        for call in data.get("toolCalls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        found.append(data)
    return found


def check(answer: Answer, held: list[Message]) -> None:
    said = [one for one in held if isinstance(one, AssistantMessage)]
    assert "".join(one.content or "" for one in said) == answer.text
    calls = [call for one in said for call in one.tool_calls or ()]
    results = {one.tool_call_id: one for one in held if isinstance(one, ToolMessage)}
    failed = {"status": "error"} if answer.failed else {}
    for call, (name, arguments, output) in zip(calls, answer.calls, strict=True):
        assert (call.function.name, json.loads(call.function.arguments)) == (name, arguments)
        result = results.pop(call.id)
        told = result.content if isinstance(output, str | None) else json.loads(str(result.content))
        assert (told, call.metadata) == (output or "", {"runBy": "provider"})
        assert result.metadata == {"runBy": "provider", **failed}
    made = [one for one in held if isinstance(one, ActivityMessage)]
    assert (len(made), results) == (bool(answer.media), {})
    for activity in made:
        parts, ids = activity.content["parts"], {one.id for one in said}
        assert activity.activity_type == "langgraph:media"
        assert activity.content["messageId"] in ids
        assert sorted(part["type"] for part in parts) == sorted(answer.media)
        assert all(part["source"]["value"] for part in parts)
    cited = [one for message in said for one in (message.metadata or {}).get("citations", ())]
    assert cited == [*answer.cited]
    text = json.dumps([one.model_dump(mode="json", exclude={"encrypted_value"}) for one in held])
    assert "Q2lwaGVydGV4dA" not in text, "ciphertext is for the provider"


@pytest.mark.parametrize(("answer", "whole"), FORMS)
@pytest.mark.filterwarnings("ignore:Pydantic serializer")
async def test_live_and_after_a_reload(
    answer: Answer, whole: bool, provider_server: ProviderServer
) -> None:
    provider_server.script(answer.provider, answer.turn)
    model = make_model(answer.provider, provider_server, disable_streaming=whole)
    graph = create_agent(model, [], checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.pending_tool_call_ids is None
    recorded.check_snapshot()
    check(answer, recorded.messages)
    shown, told = await connect(agent), without_spelling(recorded.messages)
    assert without_spelling(shown.messages) == told
    # A page that holds the thread keeps all of it.
    assert without_spelling(fold(shown.events, recorded.messages).messages) == told
    kept = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    assert without_spelling(langchain_messages_to_agui(kept)) == told
    for options in SEALED:
        sealed = langchain_messages_to_agui(kept, reasoning=options, thread_id="t")
        [_, back] = agui_messages_to_langchain(sealed, reasoning=options, thread_id="t")
        # One block of text is the same to Gemini as its text.
        assert back.content == kept[-1].content or (answer.cited and not answer.calls)
