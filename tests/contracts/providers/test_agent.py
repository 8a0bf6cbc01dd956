"""Every provider's own package, against its own wire format, through the adapter."""

from __future__ import annotations

import json

import pytest
from ag_ui.core import AssistantMessage, ReasoningMessage, ToolMessage
from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent
from tests.kit.deep import firsts
from tests.kit.models.cases import CASES, Case
from tests.kit.models.reading import case_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input


async def run(case: Case, server: ProviderServer) -> RecordedRun:
    server.script(case.provider, *case.turns)
    graph = create_agent(case_model(case, server), [get_weather] if case.uses_tools else [])
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
    answers = [message for message in recorded.messages if isinstance(message, AssistantMessage)]
    reasonings = [message for message in recorded.messages if isinstance(message, ReasoningMessage)]
    seen = case.seen
    assert [message.content or "" for message in answers] == [
        turn.text for turn in seen if turn.text or turn.calls
    ]
    assert "".join(message.content for message in reasonings) == "".join(
        "".join(turn.reasoning) for turn in seen
    )
    calls = [call for message in answers for call in message.tool_calls or ()]
    expected = [call for turn in seen for call in turn.calls]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in calls] == [
        (name, arguments) for name, arguments in expected
    ]
    results = [message for message in recorded.messages if isinstance(message, ToolMessage)]
    assert sorted(result.tool_call_id for result in results) == sorted(call.id for call in calls)
    text = json.dumps(dumped(recorded.messages))
    assert len({message.id for message in recorded.messages}) == len(recorded.messages), text
