"""The adapters that are measured, behind one small interface: take a run input, deliver bytes.

Every subject gets the same compiled graph, a warm agent object, and an input that was built before.
The bytes are what the adapter's web endpoint would write to the socket. The baseline delivers none:
it drops what it consumes.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import ag_ui_langgraph
from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.types import StreamMode

import langgraph_agui
from langgraph_agui.protocol import encode
from langgraph_agui.translate.local.stream import MODES

from .over_http import Mount
from .recording import Drive, Stream, drop, keep
from .workloads import RECURSION_LIMIT, Workload

RAW_MODES: list[StreamMode] = ["messages", "updates", "values", "custom"]


@dataclass(frozen=True)
class Subject:
    """A way to run a workload's graph: ``bind`` makes its stream function, ``mount`` its web
    endpoint."""

    key: str
    label: str
    bind: Callable[[Workload], Stream]
    mount: Mount | None = None
    ours: bool = False
    adapter: bool = True
    is_content: Callable[[Any], bool] | None = None
    """Says of a part whether it has content, where the pieces are no bytes."""

    def drive(self, workload: Workload) -> Drive:
        """What runs the workload once, without HTTP."""
        stream = self.bind(workload)
        return partial(keep, stream) if self.adapter else partial(drop, stream, self.is_content)


def _config(**configurable: str) -> RunnableConfig:
    return {"configurable": configurable, "recursion_limit": RECURSION_LIMIT}


def _astream(
    workload: Workload,
    run_input: RunAgentInput,
    handlers: Sequence[BaseCallbackHandler],
    **options: Any,
) -> AsyncIterator[Any]:
    config = _config(thread_id=run_input.thread_id)
    config["callbacks"] = list(handlers)
    return workload.graph.astream(workload.graph_input(run_input), config, **options)


def raw(workload: Workload) -> Stream:
    """The graph itself, in the four usual stream modes."""
    return lambda run_input: _astream(workload, run_input, (), stream_mode=RAW_MODES)


def has_content(part: tuple[str, Any]) -> bool:
    """Whether a part of the raw stream is text, reasoning or arguments."""
    mode, payload = part
    if mode != "messages":
        return False
    chunk = payload[0]
    return bool(chunk.content) or any(call["args"] for call in chunk.tool_call_chunks)


class _Deaf(BaseCallbackHandler):
    """What any adapter needs to hear tokens at all: an inline handler that makes models stream. It
    ignores them."""

    run_inline = True

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        return output


def floor(workload: Workload) -> Stream:
    """The least that this design can cost: our stream modes and a handler, and nothing done with
    what they say."""
    return lambda run_input: _astream(
        workload, run_input, [_Deaf()], stream_mode=MODES, subgraphs=True, version="v2"
    )


def incumbent(raw_events: bool) -> Callable[[Workload], Stream]:
    """``ag-ui-langgraph`` the way its FastAPI endpoint uses it: a clone per request, its encoder,
    UTF-8."""

    def bind(workload: Workload) -> Stream:
        agent = incumbent_agent(workload, raw_events)

        async def stream(run_input: RunAgentInput) -> AsyncIterator[bytes]:
            encoder = EventEncoder(accept="text/event-stream")
            async for event in agent.clone().run(run_input):
                yield encoder.encode(event).encode("utf-8")

        return stream

    return bind


def incumbent_agent(workload: Workload, raw_events: bool) -> ag_ui_langgraph.LangGraphAgent:
    return ag_ui_langgraph.LangGraphAgent(
        name="bench", graph=workload.graph, config=_config(), emit_raw_events=raw_events
    )


def mount_incumbent(raw_events: bool) -> Mount:
    def mount(app: FastAPI, path: str, workload: Workload) -> None:
        ag_ui_langgraph.add_langgraph_fastapi_endpoint(
            app, incumbent_agent(workload, raw_events), path
        )

    return mount


def our_agent(workload: Workload) -> langgraph_agui.LangGraphAgent:
    return langgraph_agui.LangGraphAgent(name="bench", graph=workload.graph, config=_config())


def ours_sse(workload: Workload) -> Stream:
    """``langgraph_agui``, the path of its own endpoint."""
    return our_agent(workload).stream_sse


def ours_events(workload: Workload) -> Stream:
    """``langgraph_agui`` through event objects, encoded one by one."""
    agent = our_agent(workload)

    async def stream(run_input: RunAgentInput) -> AsyncIterator[bytes]:
        async for event in agent.run(run_input):
            yield encode(event)

    return stream


def mount_ours(app: FastAPI, path: str, workload: Workload) -> None:
    langgraph_agui.add_langgraph_fastapi_endpoint(app, our_agent(workload), path)


RAW = Subject("raw", "raw `astream`", raw, adapter=False, is_content=has_content)
OURS = Subject("sse", "**`stream_sse`**", ours_sse, mount_ours, ours=True)
SUBJECTS = (
    RAW,
    Subject("floor", "floor", floor, adapter=False),
    Subject("shipped", "incumbent as shipped", incumbent(True), mount_incumbent(True)),
    Subject("no-raw", "incumbent, raw events off", incumbent(False), mount_incumbent(False)),
    OURS,
    Subject("events", "`run` + `encode`", ours_events, ours=True),
)


def subjects_for(workload: Workload) -> list[Subject]:
    """Over HTTP an adapter has one way out, its endpoint; the baseline stays without HTTP."""
    return [s for s in SUBJECTS if not workload.http or s.mount or not s.adapter]
