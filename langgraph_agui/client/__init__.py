"""Run remote AG-UI agents from Python.

``AGUIClient``      an agent: `run(RunAgentInput)` yields the events of a run
``AGUISession``     a conversation with an agent: messages, typed state, open interrupts, local tools
``AGUIChatModel``   an agent as a LangChain chat model; ``RemoteInterrupts`` passes its interrupts on in `create_agent`
``RemoteAgent``     an agent as a Runnable and a node of a graph
``open_interrupts`` the interrupts that a message of an agent waits for
``MessageChunks``   converts events to `AIMessageChunk`s; ``agui_messages_of`` converts messages back

The errors are in :mod:`langgraph_agui.client.errors`. HTTP needs the extra ``client``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from langgraph_agui.client.errors import (
    AgentError,
    AgentStatusError,
    AgentUnreachableError,
    EventTooLargeError,
    NotAnEventStreamError,
    ResumeError,
    RunFailedError,
    StreamInvalidError,
    StreamTruncatedError,
    ToolNotCalledError,
)
from langgraph_agui.client.langchain.chunks import MessageChunks
from langgraph_agui.client.langchain.to_agui_request import agui_messages_of, open_interrupts

if TYPE_CHECKING:
    from langgraph_agui.client.agent import AGUIClient, RemoteRun
    from langgraph_agui.client.langchain.chat_model import AGUIChatModel
    from langgraph_agui.client.langchain.middleware import RemoteInterrupts
    from langgraph_agui.client.langchain.remote_agent import RemoteAgent
    from langgraph_agui.client.session import AGUISession, Turn

__all__ = [
    "AGUIChatModel",
    "AGUIClient",
    "AGUISession",
    "AgentError",
    "AgentStatusError",
    "AgentUnreachableError",
    "EventTooLargeError",
    "MessageChunks",
    "NotAnEventStreamError",
    "RemoteAgent",
    "RemoteInterrupts",
    "RemoteRun",
    "ResumeError",
    "RunFailedError",
    "StreamInvalidError",
    "StreamTruncatedError",
    "ToolNotCalledError",
    "Turn",
    "agui_messages_of",
    "open_interrupts",
]

_LAZY = {
    "AGUIChatModel": "langchain.chat_model",
    "AGUIClient": "agent",
    "AGUISession": "session",
    "RemoteAgent": "langchain.remote_agent",
    "RemoteInterrupts": "langchain.middleware",
    "RemoteRun": "agent",
    "Turn": "session",
}


def __getattr__(name: str) -> object:
    """Import names that need an extra only when they are used."""
    if name in _LAZY:
        return getattr(import_module(f"langgraph_agui.client.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
