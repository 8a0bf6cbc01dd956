"""The subjects that are measured: a workload goes in, a stream function comes out.

All get the same compiled graph and a warm agent object. An adapter delivers the bytes that its web
endpoint would write; parts of the graph's own stream are dropped.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from json import JSONEncoder
from typing import Any
from uuid import UUID

import ag_ui_langgraph  # type: ignore[import-untyped]
from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.types import StreamMode

import langgraph_agui
from langgraph_agui.translate.local.stream import MODES
from langgraph_agui.workers import PostgresRunStore, RedisRunStore

from .recording import Stream
from .workloads import Workload

NAME, PATH = "bench", "/agent"
RAW_MODES: list[StreamMode] = ["messages", "updates", "values", "custom"]
FRAME = 'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":'
TEXT = JSONEncoder(ensure_ascii=False)
Mount = Callable[[FastAPI, Workload], None]
Store = RedisRunStore | PostgresRunStore | None


@dataclass(frozen=True)
class Subject:
    """A way to run a workload's graph. Others are compared with a base; streams of ours must be
    right. `is_content` looks at the parts of a stream that is dropped."""

    key: str
    label: str
    bind: Callable[[Workload], Stream]
    mount: Mount | None = None
    base: bool = False
    ours: bool = False
    is_content: Callable[[Any], bool] | None = None


def _config() -> RunnableConfig:
    return RunnableConfig(recursion_limit=500)


def _astream(
    workload: Workload,
    run_input: RunAgentInput,
    handlers: Sequence[BaseCallbackHandler] = (),
    **options: Any,
) -> AsyncIterator[Any]:
    config = _config()
    config["configurable"] = {"thread_id": run_input.thread_id}
    config["callbacks"] = list(handlers)
    return workload.graph.astream(workload.graph_input(run_input), config, **options)


def raw(workload: Workload) -> Stream:
    """The graph itself, in the usual stream modes."""
    return lambda run_input: _astream(workload, run_input, stream_mode=RAW_MODES)


def has_content(part: tuple[str, Any]) -> bool:
    """Whether a part of the raw stream is text, reasoning or arguments."""
    mode, payload = part
    if mode != "messages":
        return False
    chunk = payload[0]
    return bool(chunk.content) or any(call["args"] for call in chunk.tool_call_chunks)


class _PrefixEncoder(BaseCallbackHandler):
    """Makes models stream, and a frame of each token: a fixed head, the text, a fixed end."""

    run_inline = True

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.frames.append(f"{FRAME}{TEXT.encode(token)}}}\n\n".encode())

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        return output


def floor(workload: Workload) -> Stream:
    """The least that our design can cost: our stream modes, and a handler that encodes tokens."""
    options = {"stream_mode": MODES, "subgraphs": True, "version": "v2"}
    return lambda run_input: _astream(workload, run_input, [_PrefixEncoder()], **options)


def incumbent_agent(workload: Workload) -> ag_ui_langgraph.LangGraphAgent:
    return ag_ui_langgraph.LangGraphAgent(
        name=NAME, graph=workload.graph, config=_config(), emit_raw_events=False
    )


def incumbent(workload: Workload) -> Stream:
    """`ag-ui-langgraph`, as its endpoint runs it: a clone of the agent per request."""
    agent = incumbent_agent(workload)

    async def stream(run_input: RunAgentInput) -> AsyncIterator[bytes]:
        encoder = EventEncoder(accept="text/event-stream")
        async for event in agent.clone().run(run_input):
            yield encoder.encode(event).encode()

    return stream


def mount_incumbent(app: FastAPI, workload: Workload) -> None:
    ag_ui_langgraph.add_langgraph_fastapi_endpoint(app, incumbent_agent(workload), PATH)


def our_agent(workload: Workload, store: Store = None) -> langgraph_agui.LangGraphAgent:
    return langgraph_agui.LangGraphAgent(
        name=NAME, graph=workload.graph, config=_config(), run_store=store
    )


def ours(workload: Workload) -> Stream:
    """This library, as its endpoint runs it."""
    return our_agent(workload).stream_sse


def mount_ours(app: FastAPI, workload: Workload) -> None:
    langgraph_agui.add_langgraph_fastapi_endpoint(app, our_agent(workload), PATH)


RAW = Subject("raw", "raw `astream`", raw, base=True, is_content=has_content)
FLOOR = Subject("floor", "floor", floor, base=True, is_content=lambda _: True)
INCUMBENT = Subject("incumbent", "`ag-ui-langgraph`", incumbent, mount_incumbent)
OURS = Subject("ours", "**`stream_sse`**", ours, mount_ours, ours=True)
SUBJECTS = (RAW, FLOOR, INCUMBENT, OURS)
