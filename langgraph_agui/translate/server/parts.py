"""The stream of a graph on a LangGraph server: tasks, subagents, errors and model
calls.

Parts of the stream enter, in the server's order: a task starts before the graphs that it runs, and
their tasks end before it does. Subagents, exceptions and model calls leave. A server names neither
the purpose of a tool nor a graph that is no agent. It does not report model calls: those are
recognised by what their chunks hold.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langgraph.errors import GraphInterrupt
from langgraph.pregel.remote import RemoteException

from langgraph_agui.kernel.configs import graph_of, namespace_of, subagent_run_id
from langgraph_agui.kernel.errors import ErrorCode
from langgraph_agui.messages.extract import message_ids
from langgraph_agui.translate.model_call import ModelCall
from langgraph_agui.translate.run_events import RunEvents
from langgraph_agui.translate.state_view import Namespace
from langgraph_agui.translate.subagents import SubagentRun

# The id that LangGraph gives to a node's message: a bare UUID.
_NODE_ID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Metadata: TypeAlias = Mapping[str, object]
Task: TypeAlias = Mapping[str, object]
StartedTask: TypeAlias = tuple[Namespace, Task]


@dataclass(slots=True)
class _Graph:
    """A graph inside the root graph.

    Attributes:
        speaker: The subagent that speaks in it; None is the main agent.
        is_subagent: Whether it is that subagent itself.
        agent: Its agent's name, maybe an inherited one.
        error: Its first error.
    """

    speaker: SubagentRun | None
    is_subagent: bool
    agent: str | None
    error: BaseException | None = None


class RemoteTasks:
    """The tasks of one run that have started and not ended, and the graphs that they run.

    A server also reports the start of a task that it does not run: one that had ended before the
    pause that the run resumes from, and one whose result is cached. Instead of its end comes an
    update, marked as cached, which names only the node.

    Args:
        messages_key: The state channel with the conversation.
    """

    def __init__(self, messages_key: str) -> None:
        self._key = messages_key
        self._running: dict[Namespace, StartedTask] = {}
        self._skipped: Counter[tuple[Namespace, str]] = Counter()
        self._root_agent: str | None = None
        self._graphs: dict[Namespace, _Graph] = {}
        # The ids of the messages that each graph has started from.
        self._given: dict[Namespace, set[str | None]] = {}

    def __bool__(self) -> bool:
        return bool(self._running)

    def clear(self) -> None:
        """Forget the running tasks: another run begins."""
        self._running.clear()
        self._skipped.clear()

    def subagent_at(self, namespace: Namespace) -> SubagentRun | None:
        """Return the subagent that speaks in the graph at this namespace; None is the main
        agent.
        """
        graph = self._graphs.get(namespace)
        return graph.speaker if graph is not None else None

    def give(self, namespace: Namespace, messages: Sequence[BaseMessage]) -> None:
        """Take the messages of a graph's state. The first ones, which arrive before its first task
        starts, are those that it was given.
        """
        if namespace and namespace not in self._given:
            self._given[namespace] = {message.id for message in messages}

    def runs_tool(self, own: Namespace) -> bool:
        """Return whether this task is known to run a tool: one for each call, not one for all calls
        of a message.
        """
        return own in self._running and bool(_call_of(self._running[own][1]))

    def start(self, namespace: Namespace, task: Task) -> None:
        """A task starts, or the stream reports so. The first one of a graph starts that graph.

        Not the task that runs the graph: when a paused run resumes, a server reports the start of
        finished tasks again.
        """
        if not namespace:
            self._root_agent = _agent_name(task)
        elif namespace not in self._graphs:
            self._graphs[namespace] = self._start_graph(namespace, _agent_name(task))
        self._running[own_namespace(namespace, task)] = namespace, task

    def _start_graph(self, namespace: Namespace, agent: str | None) -> _Graph:
        runner = _runner_of(namespace)
        _, task = self._running.get(runner, (None, {}))
        outer = self._graphs.get(runner[:-1])
        around = outer.speaker if outer is not None else None
        if self._speaks_in_conversation(namespace, task):
            return _Graph(around, is_subagent=False, agent=agent)
        inherited = outer.agent if outer is not None else self._root_agent
        call = _call_of(task)
        args = call.get("args")
        description = args.get("description") if isinstance(args, Mapping) else None
        own_name = agent if agent != inherited else None
        run = SubagentRun(
            id=subagent_run_id(namespace) or "",
            name=own_name or str(call.get("name") or runner[-1].partition(":")[0]),
            description=description if isinstance(description, str) and description else None,
            call_id=str(call["id"]) if call.get("id") else None,
            parent=around,
        )
        return _Graph(run, is_subagent=True, agent=agent)

    def _speaks_in_conversation(self, namespace: Namespace, task: Task) -> bool:
        """Return whether the graph that `task` runs speaks in the conversation of the graph around
        it: it is given messages of that, and no tool calls it.
        """
        if _runs_tools(task, self._key):
            return False
        return bool(self._given.get(namespace, set()) & message_ids(task.get("input"), self._key))

    def end_subagents(
        self, namespace: Namespace, task: Task, error: RemoteException | None
    ) -> Iterator[tuple[SubagentRun, BaseException | None]]:
        """Yield the subagents that end with a task, the innermost first, each with what has ended
        it.

        `error` is that of the task, if it has failed.
        """
        own = own_namespace(namespace, task)
        if (graph := self._graphs.get(namespace)) is not None:
            graph.error = graph.error or (GraphInterrupt() if task.get("interrupts") else error)
        inside = [found for found in self._graphs if found[: len(own)] == own]
        for found in sorted(inside, key=len, reverse=True):
            ended = self._graphs.pop(found)
            if ended.is_subagent and ended.speaker is not None:
                yield ended.speaker, ended.error or self._end_of(found, own, error)

    def _end_of(
        self, graph: Namespace, task: Namespace, error: RemoteException | None
    ) -> BaseException | None:
        """Return what has ended a graph of which no task has failed, when `task` has ended, maybe
        with `error`.
        """
        # It took too many steps: none of its tasks has failed, but the one that runs it.
        if error is not None and _is_recursion_error(error.args[0]):
            return error
        is_open = any(namespace == graph for namespace, _ in self._running.values())
        # A graph whose own task ends well has handed over to the graph around it.
        handed_over = error is None and _runner_of(graph) == task
        return GeneratorExit() if is_open and not handed_over else None

    def end(self, namespace: Namespace, task: Task) -> Task | None:
        """A task has ended. Return the report of its start; None if it ran before this
        run.
        """
        _, started = self._running.pop(own_namespace(namespace, task), (namespace, None))
        return started

    def take_ended_with(self, namespace: Namespace, task: Task) -> list[StartedTask]:
        """Remove and return the tasks that will have no end of their own, now that this one has
        ended.

        Those of the graphs that it has run, which were cancelled, and those of its node that were
        not run at all.
        """
        own = own_namespace(namespace, task)
        inside = [started for started in self._running.values() if started[0][: len(own)] == own]
        return self._take([*inside, *self._all_skipped(namespace, str(task["name"]))])

    def take_skipped(
        self, namespace: Namespace, node: str, call_ids: Iterable[str]
    ) -> list[StartedTask]:
        """The same, when a task of `node` was not run, whose result answers these tool calls.

        If they do not name the task, it is known when the others have ended.
        """
        answered = set(call_ids)
        of_node = self._of_node(namespace, node)
        found = [
            started
            for started in of_node
            if answered and _call_of(started[1]).get("id") in answered
        ]
        if len(found) == 1:
            return self._take(found)
        if of_node:
            self._skipped[namespace, node] += 1
        return self._take(self._all_skipped(namespace, node))

    def _of_node(self, namespace: Namespace, node: str) -> list[StartedTask]:
        return [
            one for one in self._running.values() if one[0] == namespace and one[1]["name"] == node
        ]

    def _all_skipped(self, namespace: Namespace, node: str) -> list[StartedTask]:
        """Return the running tasks of a node, if as many were skipped."""
        found = self._of_node(namespace, node)
        if len(found) != self._skipped[namespace, node]:
            return []
        del self._skipped[namespace, node]
        return found

    def _take(self, ended: list[StartedTask]) -> list[StartedTask]:
        for namespace, task in ended:
            del self._running[own_namespace(namespace, task)]
        return ended


class RemoteErrors:
    """The errors of one run, each as one exception.

    A server reports an error once for each task around the one that failed, and once more as the
    run's own. All that these reports have in common is their content.

    Args:
        run_events: Receives the errors of graphs that took too many steps.
    """

    def __init__(self, run_events: RunEvents) -> None:
        self._run_events = run_events
        self._errors: list[tuple[Namespace, RemoteException]] = []

    def of_task(self, namespace: Namespace, task: Task) -> RemoteException | None:
        """Return the error of a task that ends. If it has none, the errors of its graphs were
        caught.
        """
        own, report = own_namespace(namespace, task), task.get("error")
        if not report:
            self._errors = [
                (raised, error) for raised, error in self._errors if raised[: len(own)] != own
            ]
            return None
        error = self._find(report) or RemoteException(report)
        self._errors.append((own, error))
        if _is_recursion_error(report):
            self._run_events.errors.record(error, ErrorCode.RECURSION_LIMIT)
        return error

    def classify(self, error: RemoteException) -> ErrorCode:
        """Return the code of a run that has failed with `error`."""
        report = error.args[0] if error.args else None
        if _is_recursion_error(report):
            return ErrorCode.RECURSION_LIMIT
        return self._run_events.errors.classify(self._find(report) or error)

    def _find(self, report: object) -> RemoteException | None:
        return next((error for _, error in reversed(self._errors) if error.args[0] == report), None)


def own_namespace(namespace: Namespace, task: Task) -> Namespace:
    """Return the namespace of a task, which is that of the graph it runs, if it runs one."""
    return (*namespace, f"{task['name']}:{task['id']}")


def _runner_of(graph: Namespace) -> Namespace:
    """Return the namespace of the task that runs a graph."""
    return graph[:-1] if graph[-1].isdigit() else graph


def _is_recursion_error(report: object) -> bool:
    return isinstance(report, Mapping) and report.get("error") == "GraphRecursionError"


def _call_of(task: Task) -> Mapping[str, object]:
    """Return the one tool call that is a task's input. A task that runs all calls of a message has
    the state.
    """
    given = task.get("input")
    if isinstance(given, Mapping):
        given = [given.get("tool_call")]
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], Mapping):
        call: Mapping[str, object] = given[0]
        return call if call.get("type") == "tool_call" else {}
    return {}


def _runs_tools(task: Task, messages_key: str) -> bool:
    """Return whether a task runs one tool call, or all those of its last message."""
    given = task.get("input")
    messages = given.get(messages_key) if isinstance(given, Mapping) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    return bool(_call_of(task) or (isinstance(last, Mapping) and last.get("tool_calls")))


def _agent_name(task: Task) -> str | None:
    metadata = task.get("metadata")
    name = metadata.get("lc_agent_name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else None


@dataclass(slots=True, eq=False)
class _RemoteCall(ModelCall):
    """A model call, the chunks of its message, and their ids."""

    chunks: list[AIMessageChunk] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def may_continue(self, message_id: str | None, metadata: Metadata) -> bool:
        """Whether a chunk under a new id may belong to this call: same model, and the first id of
        its kind.
        """
        if message_id is None:
            return True
        same = all(
            self.metadata.get(key) == metadata.get(key) for key in ("ls_provider", "ls_model_name")
        )
        return same and all(
            _is_langchain_id(known) != _is_langchain_id(message_id) for known in self.ids
        )


class RemoteModels:
    """The model calls of one run.

    A call is known by the namespace of its task and the ids of its message. There may be two: some
    models put their own id only on the first chunk, and LangChain puts its id on all others.

    Args:
        run_events: Receives them.
        tasks: Knows which subagent they belong to.
    """

    def __init__(self, run_events: RunEvents, tasks: RemoteTasks) -> None:
        self._run_events = run_events
        self._tasks = tasks
        self._open: list[_RemoteCall] = []
        self._by_id: dict[tuple[str, str | None], _RemoteCall] = {}
        self._ended: set[tuple[str, str | None]] = set()
        self._marks_ends = False

    def receive_chunk(self, chunk: AIMessageChunk, metadata: Metadata) -> None:
        """Receive a chunk of a message. The hot path."""
        key = namespace_of(metadata), chunk.id
        call = self._by_id.get(key)
        if call is None:
            if key in self._ended:
                self._run_events.usage.add(chunk, metadata)
                return
            call = self._find_or_start(*key, metadata)
        call.chunks.append(chunk)
        self._run_events.messages.receive_chunk(call, chunk)
        if chunk.chunk_position == "last":
            self._marks_ends = True
            self._end(call)

    def _find_or_start(
        self, namespace: str, message_id: str | None, metadata: Metadata
    ) -> _RemoteCall:
        for call in self._open:
            if namespace_of(call.metadata) == namespace and call.may_continue(message_id, metadata):
                break
        else:
            call = self._start(metadata)
            self._open.append(call)
        if message_id is not None:
            call.ids.add(message_id)
            self._by_id[namespace, message_id] = call
        return call

    def _start(self, metadata: Metadata) -> _RemoteCall:
        task = namespace_of(metadata)
        graph, in_tool = graph_of(task), self._tasks.runs_tool(tuple(task.split("|")))
        subagent = self._tasks.subagent_at(tuple(graph.split("|"))) if graph else None
        tags = metadata.get("tags")
        hides = self._run_events.hidden_tags.intersection(tags if isinstance(tags, list) else ())
        call = _RemoteCall(metadata, subagent, nostream=bool(hides), in_tool=in_tool)
        self._run_events.start_model_call(call)
        return call

    def receive_whole(self, message: AIMessage, metadata: Metadata) -> None:
        """Receive a message in one piece, if a model made it: those of nodes come with the node's
        result.
        """
        if _is_from_model(message):
            self._emit_end(self._start(metadata), message)

    def leave_task(
        self, namespace: str, returned: set[str | None], error: BaseException | None
    ) -> None:
        """End the calls that a task, or a graph in it, has left open.

        A call has ended well if the task has returned its message, or if the server is too old to
        mark ends. Others have failed.

        Args:
            namespace: The task's.
            returned: Ids of the messages that the task has returned.
            error: Why the task failed, if it has.
        """
        inside = [
            call
            for call in self._open
            if namespace_of(call.metadata) == namespace
            or namespace_of(call.metadata).startswith(f"{namespace}|")
        ]
        for call in inside:
            if error is None and (not self._marks_ends or call.ids & returned):
                self._end(call)
            else:
                self._close(call)
                reason = error or RuntimeError(
                    "The server ended the task before the end of the model's message."
                )
                self._run_events.fail_model_call(call, reason)

    def _end(self, call: _RemoteCall) -> None:
        self._close(call)
        self._emit_end(call, message_chunk_to_message(call.chunks[0] + call.chunks[1:]))

    def _emit_end(self, call: _RemoteCall, message: BaseMessage) -> None:
        self._run_events.remember_model_message(call, message)
        self._run_events.end_model_call(call, message)

    def _close(self, call: _RemoteCall) -> None:
        self._open.remove(call)
        for message_id in call.ids:
            del self._by_id[namespace_of(call.metadata), message_id]
            self._ended.add((namespace_of(call.metadata), message_id))


def _is_langchain_id(message_id: str) -> bool:
    return message_id.startswith(("lc_", "run-"))


def _is_from_model(message: AIMessage) -> bool:
    """Whether a model made a whole message, rather than a node."""
    if message.id is None or _NODE_ID.fullmatch(message.id):
        return False
    return _is_langchain_id(message.id) or bool(message.usage_metadata or message.response_metadata)
