"""OpenTelemetry as an application sets it up, with exporters that keep what they get.

A process has one provider of each kind, and keeps it: later tests of this worker have it too, which
changes nothing for them. Each test here has an agent with a name of its own, and looks at what
carries this name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Unreadable(InMemorySaver):
    async def aget_tuple(self, config: Any) -> Any:
        raise ConnectionError("secret")


@dataclass
class Seen:
    """What an operator sees of one agent."""

    agent: str
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans of the agent's runs that have ended."""
        return self.named(f"invoke_agent {self.agent}")

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of its only run."""
        (span,) = self.spans
        return dict(span.attributes or {})

    def named(self, name: str) -> list[ReadableSpan]:
        return [one for one in self.exporter.get_finished_spans() if one.name == name]

    def parent(self, name: str) -> Any:
        """The context of the parent of the only span of that name, and of the agent's only run."""
        (one,), (run,) = self.named(name), self.spans
        return one.parent, run.context

    def points(self, metric: str) -> list[Any]:
        """The points of a metric of the agent."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
            for point in one.data.data_points
            if one.name == metric
            and (point.attributes or {}).get("gen_ai.agent.name") == self.agent
        ]

    def values(self, metric: str, attribute: str) -> dict[Any, float]:
        """What a counter of the agent has counted, by an attribute."""
        return {one.attributes[attribute]: one.value for one in self.points(metric)}

    def value(self, metric: str) -> float | None:
        """What a metric of the agent is now; None if it has no point."""
        points = self.points(metric)
        assert len(points) <= 1
        return points[0].value if points else None

    def seconds(self, metric: str) -> float:
        """The time of the only run in a histogram."""
        (point,) = self.points(f"agui.run.{metric}")
        assert (point.count, point.explicit_bounds[-1]) == (1, 600)
        return float(point.sum)

    def dump(self) -> str:
        """All that was exported, as text."""
        data = self.reader.get_metrics_data()
        return "".join(one.to_json() for one in self.exporter.get_finished_spans()) + (
            data.to_json() if data else ""
        )


@pytest.fixture(scope="session")
def providers() -> Iterator[tuple[InMemorySpanExporter, InMemoryMetricReader]]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracing)
    metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
    assert trace.get_tracer_provider() is tracing
    yield exporter, reader
    exporter.shutdown()  # it keeps nothing of later tests


@pytest.fixture
def seen(
    providers: tuple[InMemorySpanExporter, InMemoryMetricReader], caplog: pytest.LogCaptureFixture
) -> Iterator[Seen]:
    exporter, reader = providers
    exporter.clear()
    yield Seen(f"agent-{uuid4()}", exporter, reader)
    # It raises nothing in an application: it logs, a context that is left in the wrong place for
    # example.
    logged = [one for one in caplog.get_records("call") if one.name.startswith("opentelemetry")]
    assert [one.getMessage() for one in logged] == []
