"""What code that stands for another agent tells of it, and how it is told that its questions are cancelled.

`RemoteAgent` enters messages that no model of this process has said, and activities, as LangChain's custom events; the
translation takes them out and tells them as its own.
"""

from __future__ import annotations

from typing import Final

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

AGENT_OUTPUT: Final = "agui_told"
"""The custom event's name."""

CANCELLED: Final = "agui_cancelled"
"""A question with this key in its value goes on if a client cancels it, resumed with `{CANCELLED: True}`: it is for the
one who has asked to say what that means."""

AgentOutput = BaseMessage | ActivitySnapshotEvent | ActivityDeltaEvent


async def dispatch_agent_output(told: AgentOutput, config: RunnableConfig) -> None:
    """Show a client this message or activity at once, as one of the graph that runs under `config`."""
    await adispatch_custom_event(AGENT_OUTPUT, told, config=config)
