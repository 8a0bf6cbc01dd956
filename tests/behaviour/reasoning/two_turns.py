"""Two turns of an agent that keeps nothing: what its client holds of the first comes back."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent, ReasoningOptions
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input


def agent_with(
    provider: str, server: ProviderServer, reasoning: ReasoningOptions | None = None,
    tools: Any = (), named: str | None = None, **options: Any,
) -> LangGraphAgent:  # fmt: skip
    """An agent around a provider's model; `options` are the model's."""
    model = make_model(provider, server, **options)
    return LangGraphAgent(create_agent(model, [*tools], name=named), reasoning=reasoning)


async def two_turns(agent: LangGraphAgent) -> tuple[RecordedRun, RecordedRun]:
    first = await record_run(agent, run_input("What should I wear?", thread="t"))
    assert first.last.type.value == "RUN_FINISHED", first.last
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "Anything else?", thread="t"))
    assert second.last.type.value == "RUN_FINISHED", second.last
    second.check_snapshot()
    assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
    return first, second
