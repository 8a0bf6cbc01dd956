"""The chunks of a real agent's run say what a client holds of it, without and with the results."""

from __future__ import annotations

import pytest
from ag_ui.core import ToolMessage

from langgraph_agui.client import agui_messages_of
from tests.behaviour.client.adding import chunks_of, spoken, whole
from tests.contracts.providers.test_agent import run
from tests.kit.deep import deep
from tests.kit.models.cases import EACH_CASE, Case
from tests.kit.models.server import ProviderServer
from tests.kit.run.agents import dumped


@deep
@pytest.mark.parametrize("case", EACH_CASE, ids=str)
async def test_every_provider(case: Case, provider_server: ProviderServer) -> None:
    recorded = await run(case, provider_server)
    history = {one.id for one in recorded.input.messages}
    new = [one for one in recorded.streamed if one.id not in history]
    assert dumped(agui_messages_of(whole(chunks_of(recorded.events)))) == spoken(new)
    total = whole(chunks_of(recorded.events, tools=[]))
    assert dumped(agui_messages_of(total)) == spoken(new, ToolMessage)
    assert total.tool_calls == total.invalid_tool_calls == []
