"""LangGraph's run configurations, merged; checkpoint namespaces, which say where in a graph
something happens; the channels of a state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Final, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from pydantic import BaseModel

# The node of a hook is named after its middleware, with one of these behind it.
_HOOKS: Final = (".before_agent", ".before_model", ".after_model", ".after_agent")


def merge_run_configs(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return the configurations as one; the later ones win.

    LangChain's own `merge_configs` ignores a recursion limit of 25, because that is its default.
    """
    given = [config for config in configs if config]
    if len(given) == 1:
        return given[0].copy()
    result = merge_configs(*given)
    for config in given:
        if "recursion_limit" in config:
            result["recursion_limit"] = config["recursion_limit"]
    return result


def namespace_of(metadata: Mapping[str, object] | None) -> str:
    """Return the checkpoint namespace of the task that a callback belongs to; "" outside a
    graph.
    """
    return cast("str", (metadata or {}).get("langgraph_checkpoint_ns") or "")


def is_hook(node: str) -> bool:
    """Return whether a node is a hook of middleware, which `create_agent` runs as a node of its own
    (`TodoListMiddleware.before_agent`).
    """
    return node.endswith(_HOOKS)


def task_id(namespace: str) -> str:
    """Return the id of the task with this namespace."""
    return namespace.rpartition(":")[2]


def graph_of(namespace: str) -> str:
    """Return the namespace of the graph that a task is part of, by the task's; "" for the root
    graph.
    """
    return namespace.rpartition("|")[0]


def graph_around(namespace: str) -> str:
    """Return the namespace of the graph whose task runs the graph at `namespace`; "" for the root
    graph. LangGraph numbers the graphs that one task runs, all but the first.
    """
    task, _, number = namespace.rpartition("|")
    return graph_of(task if number.isdigit() else namespace)


def subagent_run_id(namespace: Sequence[str]) -> str | None:
    """Return the `subagentRunId` of the graph at `namespace`; None for the root graph.

    It is the task that runs the graph, `name:task id`, and stays the same when a paused run
    resumes. LangGraph numbers the graphs that one task runs, all but the first.
    """
    if not namespace:
        return None
    *_, last = namespace
    return f"{namespace[-2]}:{last}" if last.isdigit() and len(namespace) > 1 else last


def graph_run_at(namespace: str) -> str | None:
    """Return the `subagentRunId` of the graph at a checkpoint namespace; None for the root."""
    return subagent_run_id(namespace.split("|")) if namespace else None


def as_mapping(values: object) -> Mapping[str, object] | None:
    """Return the channels of a state that is a mapping, a pydantic model or a dataclass; None for
    anything else.
    """
    if type(values) is dict or isinstance(values, Mapping):  # the first is quick
        return cast("Mapping[str, object]", values)
    if isinstance(values, BaseModel) and not isinstance(values, BaseMessage):
        return {name: getattr(values, name) for name in type(values).model_fields}
    if is_dataclass(values) and not isinstance(values, type):
        return {field.name: getattr(values, field.name) for field in fields(values)}
    return None
