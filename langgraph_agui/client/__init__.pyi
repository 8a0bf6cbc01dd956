# The public names, and where each is: type checkers read this, and the package imports a name on its first use.

from langgraph_agui.client import errors as errors
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
