# The public names, and where each is: type checkers read this,
# and the package imports a name on its first use.

from . import errors as errors
from .agent import AGUIClient as AGUIClient
from .agent import RemoteRun as RemoteRun
from .errors import AgentError as AgentError
from .errors import AgentStatusError as AgentStatusError
from .errors import AgentUnreachableError as AgentUnreachableError
from .errors import EventTooLargeError as EventTooLargeError
from .errors import NotAnEventStreamError as NotAnEventStreamError
from .errors import RedirectError as RedirectError
from .errors import ResumeError as ResumeError
from .errors import RunFailedError as RunFailedError
from .errors import RunLimitError as RunLimitError
from .errors import StreamInvalidError as StreamInvalidError
from .errors import StreamTruncatedError as StreamTruncatedError
from .errors import ToolNotCalledError as ToolNotCalledError
from .langchain.chat_model import AGUIChatModel as AGUIChatModel
from .langchain.chunks import MessageChunks as MessageChunks
from .langchain.middleware import RemoteInterrupts as RemoteInterrupts
from .langchain.remote_agent import RemoteAgent as RemoteAgent
from .langchain.to_agui_request import agui_messages_of as agui_messages_of
from .langchain.to_agui_request import open_interrupts as open_interrupts
from .limits import ClientLimits as ClientLimits
from .session import AGUISession as AGUISession
from .session import Turn as Turn
