"""The API alone: a run begins its span with the provider of the application."""

import asyncio
from typing import Any

from ag_ui.core import RunAgentInput, UserMessage
from langgraph.graph import START, MessagesState, StateGraph
from opentelemetry import trace

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import verify

begun = []


class Tracer(trace.NoOpTracer):
    def start_span(self, name: str, *args: Any, **options: Any) -> trace.Span:
        begun.append(name)
        return super().start_span(name, *args, **options)


class Provider(trace.NoOpTracerProvider):
    def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
        return Tracer()


async def answer(state: MessagesState) -> None: ...


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
agent = LangGraphAgent(graph=graph, name="assistant")
run_input = RunAgentInput(
    protocol_version="1.0",
    thread_id="t",
    run_id="r",
    messages=[UserMessage(id="m", content="Hello")],
)


async def main() -> None:
    events = verify([event async for event in agent.run(run_input)], strict=True)
    assert events[-1].type == "RUN_FINISHED", events[-1]


trace.set_tracer_provider(Provider())
asyncio.run(main())
assert begun == ["invoke_agent assistant"], begun
