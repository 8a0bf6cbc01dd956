"""What nodes and tools send to the client besides messages and state.

`emit_activity` and `emit_result` are for authors of graphs; they write to LangGraph's custom stream. `RemoteAgent`
dispatches the messages and activities of its agent as LangChain custom events. The translation emits all of these as
output of the run.
"""

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias
from uuid import uuid4

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from pydantic import Field, TypeAdapter, ValidationError

# The custom event's name.
AGENT_OUTPUT: Final = "agui_told"

# If the value of an interrupt has this key and a client cancels it, the graph resumes with `{CANCELLED: True}`.
CANCELLED: Final = "agui_cancelled"

Activity: TypeAlias = ActivitySnapshotEvent | ActivityDeltaEvent
AgentOutput: TypeAlias = BaseMessage | Activity


async def dispatch_agent_output(output: AgentOutput, config: RunnableConfig) -> None:
    """Emit this message or activity at once, as output of the graph that runs under `config`."""
    await adispatch_custom_event(AGENT_OUTPUT, output, config=config)


# -- the custom stream ------------------------------------------------------------------------------------------------

# The key of a result in what a node writes.
_RESULT: Final = "agui_result"

_ACTIVITY: Final = TypeAdapter[Activity](Annotated[Activity, Field(discriminator="type")])


def emit_activity(activity_type: str, content: Mapping[str, object], *, message_id: str | None = None) -> str:
    """Show an activity to the client at once: a message of the application's own, which no model gets.

    Works in nodes, tools and subagents; outside a run, it does nothing. `ActivitySnapshotEvent` and
    `ActivityDeltaEvent` objects that are given to LangGraph's stream writer are sent as they are.

    Args:
        activity_type: What the front end chooses its view by, such as `"app:search_results"`.
        content: What it shows: JSON data.
        message_id: The activity to replace; by default this is a new one.

    Returns:
        The id of the activity, to replace it later.
    """
    message_id = message_id or str(uuid4())
    _write(ActivitySnapshotEvent(message_id=message_id, activity_type=activity_type, content=dict(content)))
    return message_id


def emit_result(value: object) -> None:
    """Make `value`, JSON data, the `result` of `RUN_FINISHED`. The last one of a run counts.

    Works in nodes, tools and subagents; outside a run, it does nothing. Without it, the result is the output of a graph
    that keeps no messages.
    """
    _write({_RESULT: value})


def _write(value: object) -> None:
    try:
        write = get_stream_writer()
    except RuntimeError:  # not in a run
        return
    write(value)


def activity_in(value: object) -> Activity | None:
    """Return the activity in what a node has written; None if there is none. A LangGraph server sends it as JSON."""
    try:
        return _ACTIVITY.validate_python(value)
    except ValidationError:  # a value of the graph's own
        return None


def result_in(value: object) -> tuple[object] | None:
    """Return the result in what a node has written, in a tuple; None if there is none."""
    return (value[_RESULT],) if isinstance(value, Mapping) and _RESULT in value else None
