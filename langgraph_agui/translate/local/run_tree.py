"""Where each LangChain run is: in which node, subagent and tool call.

The runs enter with their parents, as callbacks report them; locations leave. LangGraph does not
report that a graph begins. A graph is known by its nodes, whose runs are children of its own.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, Literal, TypeAlias
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolCall

from langgraph_agui.kernel.configs import as_mapping, graph_of, subagent_run_id, task_id
from langgraph_agui.messages.content import unanswered_calls
from langgraph_agui.messages.extract import extract_all, message_ids
from langgraph_agui.translate.local.sequencer import StreamPosition
from langgraph_agui.translate.subagents import SubagentRun

# The beginning of the tag that LangGraph gives to runs of nodes, and not to those of tasks
# (functional API).
_NODE_TAG: Final = "graph:step:"

# Returns whether the graph at a namespace shares the conversation of the graph around it.
SharesMessages: TypeAlias = Callable[[Sequence[str]], bool | None]

# The name of a graph that was given none.
_UNNAMED: Final = "LangGraph"


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A run of a tool: the call that it answers, its name and its purpose."""

    call_id: str | None
    name: str
    description: str | None

    @classmethod
    def of_start(cls, serialized: object, fields: Mapping[str, object]) -> "ToolRun":
        """Read the start of a tool. Its arguments describe a task better than the tool's own
        description does.

        Args:
            serialized: The tool's name and description.
            fields: `inputs`, its arguments; `tool_call_id`; `name`, for where `serialized` has
                none.
        """
        tool, arguments = as_mapping(serialized) or {}, as_mapping(fields.get("inputs")) or {}
        description = _first_text(arguments.get("description"), tool.get("description"))
        name, call_id = tool.get("name") or fields.get("name") or "tool", fields.get("tool_call_id")
        return cls(call_id if isinstance(call_id, str) else None, str(name), description)

    @classmethod
    def of_call(cls, call: ToolCall) -> "ToolRun":
        """Return the same for a call that a node carries out, without a tool."""
        arguments = call["args"]
        texts = _texts_in(arguments)
        alone = texts if len(texts) == 1 else ()
        return cls(call["id"], call["name"], _first_text(arguments.get("description"), *alone))


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run is.

    Attributes:
        name: The run's own name.
        namespace: The checkpoint namespace of the node that it is in; "" in no node, None in a node
            of a graph whose stream does not reach ours.
        node: The same, also in such a graph.
        subagent: The subagent that it belongs to.
        tool: The tool that it belongs to, inside that node.
        given: Its input.
        node_given: The input of that node.
        call_id: The id of a tool call that its configuration names.
    """

    name: str = ""
    namespace: str | None = ""
    node: str = ""
    subagent: SubagentRun | None = None
    tool: ToolRun | None = None
    given: object = None
    node_given: object = None
    call_id: object = None

    def position(self, point: Literal["start", "end"]) -> StreamPosition | None:
        """Where in the stream the node starts or ends; None if the stream does not show this
        node.
        """
        return (point, task_id(self.node)) if self.namespace is not None else None


_OUTSIDE: Final = RunLocation()


class RunTree:
    """The locations of the runs below one root run that have not ended.

    Args:
        messages_key: The state channel with the conversation.
        shares_messages: Returns whether the graph at a namespace, a node of another graph, shares
            that graph's conversation; None if the node is no graph itself.
    """

    def __init__(self, messages_key: str, shares_messages: SharesMessages) -> None:
        self._key = messages_key
        self._shares_messages = shares_messages
        self._locations: dict[UUID, RunLocation] = {}
        # The running graphs inside others: who speaks in each, and the subagents among them.
        self._graphs: dict[UUID, SubagentRun | None] = {}
        self._subagents: dict[UUID, SubagentRun] = {}
        self._roots: set[UUID] = set()
        self._by_namespace: dict[str, SubagentRun | None] = {}
        self._ids: set[str] = set()
        # The ids of the calls for which a node runs a graph.
        self._carried_out: set[str | None] = set()
        self._lock = threading.Lock()

    def find(self, run_id: UUID | None) -> RunLocation:
        """Return where a run is; an unknown one is outside of everything."""
        return self._locations.get(run_id, _OUTSIDE) if run_id is not None else _OUTSIDE

    def subagent_at(self, namespace: Sequence[str]) -> SubagentRun | None:
        """Return the subagent whose graph streams under this namespace."""
        return self._by_namespace.get("|".join(namespace))

    def enter(
        self,
        run_id: UUID,
        parent: UUID | None,
        name: str,
        tool: ToolRun | None = None,
        given: object = None,
        call_id: object = None,
    ) -> RunLocation:
        """A chain or a tool begins: it is where its parent is. Return where that is."""
        around = self.find(parent)
        self._locations[run_id] = location = replace(
            around, name=name, tool=tool or around.tool, given=given, call_id=call_id
        )
        return location

    def enter_node(
        self, run_id: UUID, parent: UUID | None, namespace: str, tags: Sequence[str]
    ) -> tuple[RunLocation, bool]:
        """A node begins. The first node of a graph inside another begins that graph.

        Returns:
            Where the node is, and whether it begins a graph inside another.
        """
        around = self.find(parent)
        subagent, within, begins = around.subagent, around.namespace, False
        given = self.find(run_id).given
        if parent is not None and any(tag.startswith(_NODE_TAG) for tag in tags):
            if around.node:
                # the first nodes of a graph may begin at once, each in a thread of its own
                with self._lock:
                    begins = parent not in self._graphs
                    if begins:
                        self._start_graph(parent, around, graph_of(namespace), given)
                    subagent = self._graphs[parent]
            else:
                self._roots.add(parent)
        streamed = within is not None and (not within or namespace.startswith(f"{within}|"))
        shown = namespace if streamed else None
        location = RunLocation(
            around.name, shown, namespace, subagent, given=given, node_given=given
        )
        self._locations[run_id] = location
        return location, begins

    def _start_graph(self, graph: UUID, around: RunLocation, namespace: str, first: object) -> None:
        if self._speaks_in_conversation(around, namespace, first):
            speaker = around.subagent
        else:
            speaker = self._subagents[graph] = self._new_subagent(around, namespace)
        self._graphs[graph] = speaker
        if namespace:
            self._by_namespace[namespace] = speaker

    def _speaks_in_conversation(self, around: RunLocation, namespace: str, first: object) -> bool:
        """Return whether a graph speaks in the conversation of the graph around it.

        One that is a node does so if both share their messages, one that a node calls if it is
        given messages of that conversation and has a conversation itself: `first`, the input of its
        first node, shows that. One that a tool calls never does.
        """
        if around.tool is not None:
            return False
        shares = self._shares_messages(namespace.split("|"))
        if shares is not None:
            return shares
        state = as_mapping(first) or {}
        # A graph that goes on with a tool call begins with that.
        if state and self._key not in state and "tool_call" not in state:
            return False
        return bool(
            message_ids(around.given, self._key) & message_ids(around.node_given, self._key)
        )

    def _new_subagent(self, around: RunLocation, namespace: str) -> SubagentRun:
        tool, task = around.tool or self._call_of(around), around.node.split("|")
        name = tool.name if tool is not None else task[-1].partition(":")[0]
        return SubagentRun(
            id=self._new_id(task, namespace),
            name=around.name if around.name not in ("", _UNNAMED) else name,
            description=tool.description if tool is not None else None,
            call_id=tool.call_id if tool is not None else None,
            parent=around.subagent,
        )

    def _call_of(self, graph: RunLocation) -> ToolRun | None:
        """Return the call that a node, which is no tool, carries out by this graph.

        The node's input has the call without a result. The graph is given the id of the call in its
        configuration, or all texts of its arguments. Of calls with the same arguments, each has a
        graph.
        """
        calls = unanswered_calls(extract_all(graph.node_given, self._key))
        texts = _texts_in(graph.given) if calls else ()
        named = [call for call in calls if call["id"] == graph.call_id]
        found = named or [call for call in calls if _has_words_of(call, texts)]
        free = [call for call in found if call["id"] not in self._carried_out]
        if not found:
            return None
        call, *_ = free or found
        self._carried_out.add(call["id"])
        return ToolRun.of_call(call)

    def _new_id(self, task: Sequence[str], namespace: str) -> str:
        """Return the id of the graph that `task` runs and that streams under `namespace`.

        A graph that keeps its own state, or that does not stream to us, has no task in its
        namespace. A graph that a task runs once more gets another id.
        """
        graph = namespace.split("|")
        first = subagent_run_id(graph if graph[: len(task)] == list(task) else task) or ""
        free = next(
            one
            for number in count()
            if (one := f"{first}:{number}" if number else first) not in self._ids
        )
        self._ids.add(free)
        return free

    def is_graph(self, run_id: UUID) -> bool:
        """Whether this run is one of a graph that is inside no other."""
        return run_id in self._roots

    def leave(self, run_id: UUID) -> SubagentRun | None:
        """A run has ended. Return the subagent that it was, if it was one."""
        self._locations.pop(run_id, None)
        self._graphs.pop(run_id, None)
        return self._subagents.pop(run_id, None)


def _first_text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)


def _has_words_of(call: ToolCall, texts: Sequence[str]) -> bool:
    """Return whether the texts in the arguments of a call are all among these."""
    asked = _texts_in(call["args"])
    return bool(asked) and all(text in texts for text in asked)


def _texts_in(value: object, depth: int = 3) -> list[str]:
    """Return the texts in the input of a graph or tool: of messages, in lists and under keys."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, BaseMessage):
        return [value.text]
    inner = as_mapping(value)
    members: object = inner.values() if inner is not None else value
    if not depth or not isinstance(members, Collection) or isinstance(members, bytes):
        return []
    return [text for member in members for text in _texts_in(member, depth - 1)]
