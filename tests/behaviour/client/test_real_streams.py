"""The chunks of real agents' runs."""

from __future__ import annotations

import pytest
from ag_ui.core import ToolMessage, UserMessage
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import agui_messages_of
from tests.behaviour.client.adding import chunks_of, spoken, whole
from tests.contracts.providers.test_agent import run
from tests.kit.deep import deep
from tests.kit.models.cases import EACH_CASE, Case
from tests.kit.models.scripted import Scripted, text_chunk, thinking
from tests.kit.models.server import ProviderServer
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input


def check(recorded: RecordedRun) -> None:
    """The chunks of the run say what a client holds of it, without and with the results."""
    history = {one.id for one in recorded.input.messages}
    new = [one for one in recorded.streamed if one.id not in history]
    assert dumped(agui_messages_of(whole(chunks_of(recorded.events)))) == spoken(new)
    total = whole(chunks_of(recorded.events, tools=[]))
    assert dumped(agui_messages_of(total)) == spoken(new, ToolMessage)
    assert total.tool_calls == total.invalid_tool_calls == []


@deep
@pytest.mark.parametrize("case", EACH_CASE, ids=str)
async def test_every_provider(case: Case, provider_server: ProviderServer) -> None:
    check(await run(case, provider_server))


async def test_the_history_goes_back_unchanged() -> None:
    """The agent's values come back to it: a second run finds in its input what it said in the
    first."""
    model = Scripted([thinking("hm"), thinking(signature="sig"), text_chunk("one")], ["two"])
    agent = LangGraphAgent(graph=create_agent(model, []))
    first = await record_run(agent, run_input(UserMessage(id="u", content="hi")))
    back = agui_messages_of(whole(chunks_of(first.events)))
    second = await record_run(agent, run_input(*first.input.messages, *back, "again"))
    assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
    assert isinstance(model.seen[1][0], HumanMessage)
