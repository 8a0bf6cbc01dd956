"""Run remote AG-UI agents from Python.

``AGUIClient``      an agent: `run(RunAgentInput)` yields the events of a run
``AGUISession``     a conversation with an agent: messages, typed state, open interrupts, local tools
``AGUIChatModel``   an agent as a LangChain chat model; ``RemoteInterrupts`` passes its interrupts on in `create_agent`
``RemoteAgent``     an agent as a Runnable and a node of a graph
``open_interrupts`` the interrupts that a message of an agent waits for
``ClientLimits``    what a remote agent may cost: bytes, time, rounds of local tools
``MessageChunks``   converts events to `AIMessageChunk`s; ``agui_messages_of`` converts messages back

The errors are in :mod:`langgraph_agui.client.errors`. HTTP needs the extra ``client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_agui.client import errors as errors
from langgraph_agui.lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_agui.client.agent import AGUIClient as AGUIClient
    from langgraph_agui.client.agent import RemoteRun as RemoteRun
    from langgraph_agui.client.errors import AgentError as AgentError
    from langgraph_agui.client.errors import AgentStatusError as AgentStatusError
    from langgraph_agui.client.errors import AgentUnreachableError as AgentUnreachableError
    from langgraph_agui.client.errors import EventTooLargeError as EventTooLargeError
    from langgraph_agui.client.errors import NotAnEventStreamError as NotAnEventStreamError
    from langgraph_agui.client.errors import RedirectError as RedirectError
    from langgraph_agui.client.errors import ResumeError as ResumeError
    from langgraph_agui.client.errors import RunFailedError as RunFailedError
    from langgraph_agui.client.errors import RunLimitError as RunLimitError
    from langgraph_agui.client.errors import StreamInvalidError as StreamInvalidError
    from langgraph_agui.client.errors import StreamTruncatedError as StreamTruncatedError
    from langgraph_agui.client.errors import ToolNotCalledError as ToolNotCalledError
    from langgraph_agui.client.langchain.chat_model import AGUIChatModel as AGUIChatModel
    from langgraph_agui.client.langchain.chunks import MessageChunks as MessageChunks
    from langgraph_agui.client.langchain.middleware import RemoteInterrupts as RemoteInterrupts
    from langgraph_agui.client.langchain.remote_agent import RemoteAgent as RemoteAgent
    from langgraph_agui.client.langchain.to_agui_request import agui_messages_of as agui_messages_of
    from langgraph_agui.client.langchain.to_agui_request import open_interrupts as open_interrupts
    from langgraph_agui.client.limits import ClientLimits as ClientLimits
    from langgraph_agui.client.session import AGUISession as AGUISession
    from langgraph_agui.client.session import Turn as Turn

# The names of each module, as above.
_PUBLIC = {
    "agent": "AGUIClient RemoteRun",
    "errors": (
        "AgentError AgentStatusError AgentUnreachableError EventTooLargeError NotAnEventStreamError RedirectError "
        "ResumeError RunFailedError RunLimitError StreamInvalidError StreamTruncatedError ToolNotCalledError"
    ),
    "langchain.chat_model": "AGUIChatModel",
    "langchain.chunks": "MessageChunks",
    "langchain.middleware": "RemoteInterrupts",
    "langchain.remote_agent": "RemoteAgent",
    "langchain.to_agui_request": "agui_messages_of open_interrupts",
    "limits": "ClientLimits",
    "session": "AGUISession Turn",
}

# Imported on first use: some need an extra.
__all__, __getattr__ = lazy_names(__name__, _PUBLIC)
