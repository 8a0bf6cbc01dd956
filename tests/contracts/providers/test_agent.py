"""Every provider's own package, against its own wire format, through the adapter."""

from __future__ import annotations

import json

import pytest
from ag_ui.core import AssistantMessage, ReasoningMessage, ToolMessage
from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent
from tests.kit.deep import firsts
from tests.kit.models.cases import CASES, Case
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.run.agents import RecordedRun, record_run, run_input


async def run(case: Case, server: ProviderServer) -> RecordedRun:
    server.script(case.provider, *case.turns)
    tools = [get_weather] if case.uses_tools else []
    graph = create_agent(make_model(case.provider, server), tools)
    return await record_run(LangGraphAgent(graph=graph), run_input(case.prompt))


kinds = firsts(
    CASES, lambda case: case.provider, lambda case: (case.provider.partition("-")[0], case.kind)
)


@pytest.mark.parametrize("case", kinds, ids=str)
async def test_what_the_model_said_is_what_the_client_holds(
    case: Case, provider_server: ProviderServer
) -> None:
    recorded = await run(case, provider_server)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    held = recorded.messages
    answers = [message for message in held if isinstance(message, AssistantMessage)]
    thoughts = [message.content for message in held if isinstance(message, ReasoningMessage)]
    said = [seen.text for seen in case.seen if seen.text or seen.calls]
    assert [message.content or "" for message in answers] == said
    assert "".join(thoughts) == "".join(text for seen in case.seen for text in seen.reasoning)
    calls = [call for message in answers for call in message.tool_calls or ()]
    made = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    assert made == [call for seen in case.seen for call in seen.calls]
    results = [message.tool_call_id for message in held if isinstance(message, ToolMessage)]
    assert sorted(results) == sorted(call.id for call in calls)
    assert len({message.id for message in held}) == len(held)
