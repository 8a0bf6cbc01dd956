"""Output of an agent that no model of this process made, and cancelled questions of such an agent.

`RemoteAgent` dispatches the messages and activities of its agent as LangChain custom events. The translation emits them
as output of the run.
"""

from __future__ import annotations

from typing import Final

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

# The custom event's name.
AGENT_OUTPUT: Final = "agui_told"

# If the value of an interrupt has this key and a client cancels it, the graph resumes with `{CANCELLED: True}`.
CANCELLED: Final = "agui_cancelled"

AgentOutput = BaseMessage | ActivitySnapshotEvent | ActivityDeltaEvent


async def dispatch_agent_output(output: AgentOutput, config: RunnableConfig) -> None:
    """Emit this message or activity at once, as output of the graph that runs under `config`."""
    await adispatch_custom_event(AGENT_OUTPUT, output, config=config)
