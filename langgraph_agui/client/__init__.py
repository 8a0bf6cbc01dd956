"""Run remote AG-UI agents from Python.

- `AGUIClient`: an agent; `run(RunAgentInput)` yields the events of a run
- `AGUISession`: a conversation with an agent: messages, typed state, open interrupts, local tools
- `AGUIChatModel`: an agent as a LangChain chat model
- `RemoteInterrupts`: passes the interrupts of an `AGUIChatModel` on in `create_agent`
- `RemoteAgent`: an agent as a Runnable and a node of a graph
- `open_interrupts`: the interrupts that a message of an agent waits for
- `ClientLimits`: limits of a run: bytes, time, rounds of local tools
- `MessageChunks`: converts events to `AIMessageChunk`s
- `agui_messages_of`: converts messages back

The errors are in `langgraph_agui.client.errors`. HTTP needs the extra `client`.
"""

from langgraph_agui.client import errors as errors
from langgraph_agui.kernel.extras import lazy_names

# Imported on first use: some need an extra.
__getattr__, __dir__ = lazy_names(__name__, __file__, hidden=["errors"])
