"""Functions for the nodes and tools of a graph: they read the client's input, and send more than
messages and state.

A `RunAgentInput` enters `frontend_config`, and the functions of the first part read it in any node.
The functions of the second part write to LangGraph's custom stream, here or on a server;
`translate/` reads them from there.

With `create_agent`, `AGUIMiddleware` offers the client's tools to the model. A graph of your own
binds the tools itself and leaves the client's calls open: the run ends, and their results come with
the client's next run.

```python
def model(state: State, config: RunnableConfig) -> dict:
    bound = llm.bind_tools([*TOOLS, *frontend_tools(config, server=TOOLS)])
    return {"messages": [bound.invoke(state["messages"])]}


def after_model(state: State, config: RunnableConfig) -> list[Send] | str:
    calls = state["messages"][-1].tool_calls
    own = [call for call in calls if not is_frontend_call(call, config, server=TOOLS)]
    return [Send("tools", [call]) for call in own] or END


def after_tools(state: State, config: RunnableConfig) -> str:
    answers = [message for message in state["messages"] if isinstance(message, AIMessage)]
    for_client = [is_frontend_call(call, config, server=TOOLS) for call in answers[-1].tool_calls]
    return END if any(for_client) else "model"


builder.add_node("model", model)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", after_model, ["tools", END])
builder.add_conditional_edges("tools", after_tools, ["model", END])
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast
from uuid import uuid4

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    Context,
    RunAgentInput,
    StateDeltaEvent,
)
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config, get_stream_writer
from langgraph.types import Command
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.protocol.json import JsonValue, to_jsonable
from langgraph_agui.protocol.wire import wire_fields

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

logger = run_logger(__name__)

# -- the client's input ---------------------------------------------------------------------------

# Its key in `configurable`. LangGraph copies only scalars from there to checkpoints and traces;
# this is a dict.
_CLIENT_INPUT: Final = "agui"

# Key in `configurable` of a set: the fields of it that nodes of the run have asked for.
ASKED = "agui_asked"

# A tool of the graph's own, as `bind_tools` takes it, or only its name.
ServerTool: TypeAlias = BaseTool | Callable[..., object] | Mapping[str, Any] | str


def frontend_config(run_input: RunAgentInput) -> RunnableConfig:
    """Return a configuration with the client's tools, context and forwarded properties, as JSON
    data.

    `LangGraphAgent` gives it to each run, below what the developer configures. Only for graphs that
    are run without it.
    """
    sent = {
        "tools": to_jsonable([*map(wire_fields, run_input.tools or ())]),
        "context": to_jsonable([*map(wire_fields, run_input.context or ())]),
        "forwardedProps": to_jsonable(run_input.forwarded_props),
    }
    return {"configurable": {_CLIENT_INPUT: sent}}


def frontend_tools(
    config: RunnableConfig | None = None, *, server: Iterable[ServerTool] = ()
) -> list[dict[str, Any]]:
    """Return the client's tools as function definitions, which every model's `bind_tools` takes.

    Args:
        config: The run's configuration; LangGraph's current one if None. Outside a run there are no
            tools.
        server: The graph's own tools. A client's tool of the same name is left out: it must not
            shadow them.
    """
    taken = {name_of(tool) for tool in server}
    tools: dict[str, dict[str, Any]] = {}
    for tool in _list(config, "tools"):
        name = tool.get("name")
        if not isinstance(name, str) or name in tools:
            continue
        if name in taken:
            _warn_taken(name)
            count_dropped("tool")
            continue
        parameters = tool.get("parameters")
        function = {
            "name": name,
            "description": tool.get("description") or "",
            # Providers insist on it: arguments are an object and have properties, at least none.
            "parameters": {
                "type": "object",
                "properties": {},
                **(parameters if isinstance(parameters, dict) else {}),
            },
        }
        tools[name] = {"type": "function", "function": function}
    return list(tools.values())


def is_frontend_call(
    call: Mapping[str, Any],
    config: RunnableConfig | None = None,
    *,
    server: Iterable[ServerTool] = (),
) -> bool:
    """Whether `call`, a tool call of an `AIMessage`, is for the client to answer.

    `config` and `server` are those of `frontend_tools`.
    """
    name = call["name"]
    return any(tool.get("name") == name for tool in _list(config, "tools")) and name not in map(
        name_of, server
    )


def agui_context(config: RunnableConfig | None = None) -> list[Context]:
    """Return the application's context (`RunAgentInput.context`); nothing outside a run.

    It comes from the client: information for the model, never instructions to trust. `config` is
    that of `frontend_tools`.
    """
    return [
        Context(description=str(entry.get("description", "")), value=str(entry.get("value", "")))
        for entry in _list(config, "context")
    ]


def forwarded_props(config: RunnableConfig | None = None) -> JsonValue:
    """Return `RunAgentInput.forwardedProps`, any JSON value; an empty object if there are none, or
    outside a run.

    They come from the client. `config` is that of `frontend_tools`.
    """
    given = cast("JsonValue", _sent(config, "forwardedProps"))
    return {} if given is None else given


def name_of(tool: ServerTool) -> str:
    """Return the name by which a model calls `tool`; empty if it has none (a provider's built-in
    tool).
    """
    if isinstance(tool, str):
        return tool
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        return str(
            (inner if isinstance(inner, Mapping) else tool).get("name") or tool.get("title") or ""
        )
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))


def is_root(config: RunnableConfig | None = None) -> bool:
    """Whether this is the graph that the client runs, rather than one inside it."""
    namespace = _configurable(config).get("checkpoint_ns")
    return "|" not in namespace if isinstance(namespace, str) else True


def _configurable(config: RunnableConfig | None) -> Mapping[str, Any]:
    if config is None:
        try:
            config = get_config()
        except RuntimeError:  # not in a run
            return {}
    return config.get("configurable") or {}


def _sent(config: RunnableConfig | None, field: str) -> object:
    """Return a field of the client's input; tell the run that somebody has asked for it."""
    configurable = _configurable(config)
    asked, sent = configurable.get(ASKED), configurable.get(_CLIENT_INPUT)
    if isinstance(asked, set):
        asked.add(field)
    return sent.get(field) if isinstance(sent, Mapping) else None


def _list(config: RunnableConfig | None, field: str) -> list[Mapping[str, Any]]:
    entries = _sent(config, field)
    return (
        [entry for entry in entries if isinstance(entry, Mapping)]
        if isinstance(entries, list)
        else []
    )


@cache
def _warn_taken(name: str) -> None:
    logger.warning(
        "The client's tool %.80r was left out: the server has a tool of that name.", name
    )


# -- state ---------------------------------------------------------------------------------------

_EMITTED: Final = "agui_state"
_PREDICTED: Final = "agui_predict"


class _Private:
    """The type of `Private`. It cannot be called, so LangGraph does not use it as a reducer."""

    def __repr__(self) -> str:
        return "Private"


# Marks a key of a graph's state that no client sees or changes: `secret: Annotated[str, Private]`.
# A reducer stands last: `Annotated[list[str], Private, operator.add]`.
Private: Final = _Private()


@dataclass(frozen=True, slots=True)
class PredictState:
    """Shows an argument of a tool call as state while the model is still writing it.

    The client sees the value grow until the graph writes its own. If the call is rejected or fails,
    the client sees the old value again. The prediction never reaches the graph.

    Attributes:
        tool: The tool's name.
        argument: The argument's name; None for the object of all arguments.
        state_key: The state key to show it under; by default the argument's name.
    """

    tool: str
    argument: str | None = None
    state_key: str = ""

    def __post_init__(self) -> None:
        if not (self.state_key or self.argument):
            raise ValueError("PredictState needs a state_key if it has no argument")

    @property
    def key(self) -> str:
        """The key of the state that shows the argument."""
        return self.state_key or self.argument or ""


def predicted_values(predict: Iterable[PredictState], arguments: str) -> dict[str, object]:
    """Return the values that `predict` reads from a call's arguments, by key of the state; they may
    be incomplete.

    Args:
        predict: The predictions of the call's tool.
        arguments: JSON, or the beginning of it. Anything else gives no values.
    """
    try:
        read = from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return {}
    if not isinstance(read, Mapping):
        return {}
    return {
        one.key: read if one.argument is None else read[one.argument]
        for one in predict
        if one.argument is None or one.argument in read
    }


def emit_state(state: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
    """Show state to the client at once, before the running node has ended.

    The values are previews. When the node's superstep is over, the client sees what the graph has
    written instead, so a node must also return everything that should stay. Keys that the graph
    does not have can be previewed too. Works in nodes, tools and subagents; outside a run, it does
    nothing.

    Args:
        state: Values by key, where other keys stay as they are; or a JSON Patch (RFC 6902) of the
            client's state.

    Raises:
        TypeError: `state` is neither.
        ValueError: An operation of the patch is not one of RFC 6902.
    """
    emission: dict[str, object]
    if isinstance(state, Mapping):
        emission = {"values": {str(key): to_jsonable(value) for key, value in state.items()}}
    elif isinstance(state, list | tuple):
        operations = [to_jsonable(operation) for operation in state]
        StateDeltaEvent(delta=cast("Any", operations))
        emission = {"patch": operations}
    else:
        raise TypeError(
            f"emit_state takes values by key or a list of operations, not {type(state).__name__}"
        )
    try:
        write, configurable = get_stream_writer(), get_config().get("configurable") or {}
    except RuntimeError:  # not in a run
        return
    write(_emitted(emission, configurable.get("checkpoint_ns") or ""))


def emission_of(values: Mapping[str, object], namespace: str) -> object:
    """Return what `emit_state(values)` writes to the custom stream in the task with this checkpoint
    namespace.
    """
    return _emitted(
        {"values": {str(key): to_jsonable(value) for key, value in values.items()}}, namespace
    )


def _emitted(emission: Mapping[str, object], namespace: str) -> object:
    return {_EMITTED: {**emission, "namespace": namespace}}


def state_update(
    runtime: ToolRuntime[Any, Any] | str,
    content: str | list[Any],
    values: Mapping[str, object],
    *,
    messages_key: str = "messages",
) -> Command[Any]:
    """Return a command that answers a tool's call and writes the graph's state, which the client
    then sees.

    ```python
    @tool
    def set_servings(servings: int, runtime: ToolRuntime) -> Command:
        recipe = {**runtime.state["recipe"], "servings": servings}
        return state_update(runtime, f"It is for {servings} now.", {"recipe": recipe})
    ```

    If a model may call several such tools at once, the key needs a reducer that merges their
    changes.

    Args:
        runtime: The tool's `ToolRuntime`, or the id of its call (`InjectedToolCallId`).
        content: The tool's result, for the model.
        values: The values to write, by key; reducers apply. Messages among them are put behind the
            answer.
        messages_key: The channel of the messages.

    Raises:
        ValueError: No model called the tool, so there is no call to answer.
    """
    call_id = runtime if isinstance(runtime, str) else runtime.tool_call_id
    if not call_id:
        raise ValueError("state_update needs the id of the tool call that it answers")
    more = cast("Any", values.get(messages_key, []))
    answer = ToolMessage(content, tool_call_id=call_id)
    messages = [answer, *(more if isinstance(more, list | tuple) else [more])]
    return Command(update={**values, messages_key: messages})


def emission_in(data: object) -> Mapping[str, Any] | None:
    """Return what `emit_state` wrote to the custom stream; None if `data` is something else.

    It has the checkpoint `namespace` of the task that called it, and either `values` by key or a
    `patch`.
    """
    found = data.get(_EMITTED) if isinstance(data, Mapping) and len(data) == 1 else None
    known = isinstance(found, Mapping) and (
        isinstance(found.get("values"), Mapping) or "patch" in found
    )
    return found if known else None


def emit_predictions(write: Any, predict: Iterable[PredictState]) -> None:
    """Ask for predictions, through a stream writer."""
    write(
        {
            _PREDICTED: [
                {"tool": one.tool, "tool_argument": one.argument, "state_key": one.key}
                for one in predict
            ]
        }
    )


def predictions_in(data: object) -> list[PredictState] | None:
    """Return the predictions in a part of the custom stream; None if it is something else."""
    found = data.get(_PREDICTED) if isinstance(data, Mapping) and len(data) == 1 else None
    return predictions_from(found) if found is not None else None


def predictions_from(found: object) -> list[PredictState]:
    """Return the predictions in a mapping or a list of mappings with `tool`, `tool_argument` and
    `state_key`.
    """
    return [
        PredictState(
            str(entry["tool"]), entry.get("tool_argument"), str(entry.get("state_key") or "")
        )
        for entry in (found if isinstance(found, list | tuple) else [found])
        if isinstance(entry, Mapping)
        and entry.get("tool")
        and (entry.get("state_key") or entry.get("tool_argument"))
    ]


# -- activities, results, the output of remote agents --------------------------------------------

# The custom event's name.
AGENT_OUTPUT: Final = "agui_told"

# If the value of an interrupt has this key and a client cancels it, the graph resumes with
# `{CANCELLED: True}`.
CANCELLED: Final = "agui_cancelled"

# The decisions of LangChain, as answers to an interrupt, that let a call run.
APPROVING: Final = ("approve", "edit")

Activity: TypeAlias = ActivitySnapshotEvent | ActivityDeltaEvent
AgentOutput: TypeAlias = BaseMessage | Activity


async def dispatch_agent_output(output: AgentOutput, config: RunnableConfig) -> None:
    """Emit this message or activity at once, as output of the graph that runs under `config`."""
    await adispatch_custom_event(AGENT_OUTPUT, output, config=config)


# The key of a result in the output of a node.
_RESULT: Final = "agui_result"

_ACTIVITY: Final = TypeAdapter[Activity](Annotated[Activity, Field(discriminator="type")])


def emit_activity(
    activity_type: str, content: Mapping[str, object], *, message_id: str | None = None
) -> str:
    """Show an activity to the client at once: a message from the application, which no model gets.

    Works in nodes, tools and subagents; outside a run, it does nothing. `ActivitySnapshotEvent` and
    `ActivityDeltaEvent` objects that are given to LangGraph's stream writer are sent as they are.

    Args:
        activity_type: The front end chooses its view by this, such as `"app:search_results"`.
        content: The JSON data that it shows.
        message_id: The activity to replace; by default this is a new one.

    Returns:
        The id of the activity, to replace it later.
    """
    message_id = message_id or str(uuid4())
    _write(
        ActivitySnapshotEvent(
            message_id=message_id, activity_type=activity_type, content=dict(content)
        )
    )
    return message_id


def emit_result(value: object) -> None:
    """Make `value`, JSON data, the `result` of `RUN_FINISHED`. The last one of a run counts.

    Works in nodes, tools and subagents; outside a run, it does nothing. Without it, the result is
    the output of a graph that keeps no messages.
    """
    _write({_RESULT: value})


def _write(value: object) -> None:
    try:
        write = get_stream_writer()
    except RuntimeError:  # not in a run
        return
    write(value)


def activity_in(value: object) -> Activity | None:
    """Return the activity in the output of a node; None if there is none. A LangGraph server
    sends it as JSON.
    """
    try:
        return _ACTIVITY.validate_python(value)
    except ValidationError:  # a value of the graph's own
        return None


def result_in(value: object) -> tuple[object] | None:
    """Return the result in the output of a node, in a tuple; None if there is none."""
    return (value[_RESULT],) if isinstance(value, Mapping) and _RESULT in value else None
