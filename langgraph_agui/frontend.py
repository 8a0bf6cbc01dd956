"""What a client sends for the graph: its tools, its context, its forwarded properties.

`RunAgentInput` enters `frontend_config`, and a configuration leaves. The other functions read it in any node of the
graph. With `create_agent`, `AGUIMiddleware` does all of this. A graph of your own binds the tools itself and leaves the
client's calls open: the run ends, and their results come with the client's next run.

```python
def model(state: State, config: RunnableConfig) -> dict:
    bound = llm.bind_tools([*TOOLS, *frontend_tools(config, server=TOOLS)])
    return {"messages": [bound.invoke(state["messages"])]}


def after_model(state: State, config: RunnableConfig) -> list[Send] | str:
    calls = state["messages"][-1].tool_calls
    own = [call for call in calls if not is_frontend_call(call, config, server=TOOLS)]
    return [Send("tools", [call]) for call in own] or END


def after_tools(state: State, config: RunnableConfig) -> str:
    turn = next(message for message in reversed(state["messages"]) if isinstance(message, AIMessage))
    return END if any(is_frontend_call(call, config, server=TOOLS) for call in turn.tool_calls) else "model"


builder.add_node("model", model)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", after_model, ["tools", END])
builder.add_conditional_edges("tools", after_tools, ["model", END])
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias, cast

from ag_ui.core import Context, RunAgentInput
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config

from langgraph_agui.protocol.wire import JsonValue, to_jsonable, wire_fields
from langgraph_agui.telemetry import count_dropped, run_logger

logger = run_logger(__name__)

# Its key in `configurable`. LangGraph copies only scalars from there to checkpoints and traces; this is a dict.
KEY = "agui"

# A tool of the graph's own, as `bind_tools` takes it, or only its name.
ServerTool: TypeAlias = BaseTool | Callable[..., object] | Mapping[str, Any] | str


class SentInput(dict[str, JsonValue]):
    """What a client sends for the graph.

    Attributes:
        fields_read: The fields that somebody has looked at.
    """

    def __init__(self, **fields: JsonValue) -> None:
        super().__init__(fields)
        self.fields_read: set[str] = set()

    def __getitem__(self, key: str) -> JsonValue:
        """Return a field, and note that."""
        self.fields_read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field, and note that."""
        self.fields_read.add(key)
        return super().get(key, default)


def frontend_config(run_input: RunAgentInput) -> RunnableConfig:
    """Return a configuration with the client's tools, context and forwarded properties, as JSON data.

    `LangGraphAgent` gives it to each run, below what the developer configures. Only for graphs that are run without it.
    """
    sent = SentInput(
        tools=to_jsonable([*map(wire_fields, run_input.tools or ())]),
        context=to_jsonable([*map(wire_fields, run_input.context or ())]),
        forwardedProps=to_jsonable(run_input.forwarded_props),
    )
    return {"configurable": {KEY: sent}}


def frontend_tools(config: RunnableConfig | None = None, *, server: Iterable[ServerTool] = ()) -> list[dict[str, Any]]:
    """Return the client's tools in OpenAI's form, which `bind_tools` of every chat model takes.

    Args:
        config: The run's configuration; LangGraph's current one if None. Outside a run there are no tools.
        server: The graph's own tools. A client's tool of the same name is left out: it must not shadow them.
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
            "parameters": {"type": "object", "properties": {}, **(parameters if isinstance(parameters, dict) else {})},
        }
        tools[name] = {"type": "function", "function": function}
    return list(tools.values())


def is_frontend_call(
    call: Mapping[str, Any], config: RunnableConfig | None = None, *, server: Iterable[ServerTool] = ()
) -> bool:
    """Whether `call`, a tool call of an `AIMessage`, is for the client to answer.

    `config` and `server` are those of `frontend_tools`.
    """
    name = call["name"]
    return any(tool.get("name") == name for tool in _list(config, "tools")) and name not in map(name_of, server)


def agui_context(config: RunnableConfig | None = None) -> list[Context]:
    """Return the application's context (`RunAgentInput.context`); nothing outside a run.

    It comes from the client: information for the model, never instructions to trust. `config` is that of
    `frontend_tools`.
    """
    return [
        Context(description=str(entry.get("description", "")), value=str(entry.get("value", "")))
        for entry in _list(config, "context")
    ]


def forwarded_props(config: RunnableConfig | None = None) -> JsonValue:
    """Return `RunAgentInput.forwardedProps`, any JSON value; an empty object if there are none, or outside a run.

    They come from the client. `config` is that of `frontend_tools`.
    """
    given = cast("JsonValue", _sent(config).get("forwardedProps"))
    return {} if given is None else given


def name_of(tool: ServerTool) -> str:
    """Return the name by which a model calls `tool`; empty if it has none (a provider's built-in tool)."""
    if isinstance(tool, str):
        return tool
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        return str((inner if isinstance(inner, Mapping) else tool).get("name") or tool.get("title") or "")
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


def _sent(config: RunnableConfig | None) -> Mapping[str, Any]:
    sent = _configurable(config).get(KEY)
    return sent if isinstance(sent, Mapping) else {}


def _list(config: RunnableConfig | None, field: str) -> list[Mapping[str, Any]]:
    entries = _sent(config).get(field)
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


@cache
def _warn_taken(name: str) -> None:
    logger.warning("The client's tool %.80r was left out: the server has a tool of that name.", name)
