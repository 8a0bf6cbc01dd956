"""Finds messages that nodes return once more.

The messages of models and the output of nodes enter, in any thread. The same output leaves, with
the ids of the streamed messages that it repeats.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, count
from threading import Lock
from typing import NamedTuple, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.extract import (
    extract_messages,
    extract_other_messages,
    extract_removals,
)
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker

# Messages that a node returns, each with the id of the streamed message that it repeats.
Returned: TypeAlias = Sequence[tuple[BaseMessage, str | None]]


class NodeOutput(NamedTuple):
    """The messages that a node returns.

    Attributes:
        messages: Those for the conversation.
        others: Answers of models and results of tools for other channels of the state.
        removed: The ids of messages that the node removes from the conversation, or
            `REMOVE_ALL_MESSAGES`.
    """

    messages: Returned
    others: Sequence[BaseMessage]
    removed: Sequence[str] = ()

    @property
    def with_copies(self) -> Returned:
        """All of them, each with the id of the streamed message that it repeats."""
        return [*self.messages, *((message, None) for message in self.others)]


class RepeatedMessages:
    """Finds the streamed message that a node returns once more under another id.

    `return {"messages": [AIMessage(reply.content)]}` is common, and the client has these words
    already. Nodes may call from several threads at once.
    """

    def __init__(self, subagents: SubagentTracker) -> None:
        self._visible_id = subagents.visible_id
        # By the namespaces of a message's task and of the tasks around it, with a number for each
        # message.
        self._streamed: defaultdict[str, dict[int, tuple[str, str | None, AIMessage]]] = (
            defaultdict(dict)
        )
        self._numbers = count()
        self._lock = Lock()

    def add(self, namespace: str, message: BaseMessage, subagent: SubagentRun | None) -> None:
        """Note a message that a model of this subagent generated in the task with this checkpoint
        namespace.
        """
        if isinstance(message, AIMessage) and message.id is not None:
            number, entry = next(self._numbers), (namespace, self._visible_id(subagent), message)
            with self._lock:
                for around in _around(namespace):
                    self._streamed[around][number] = entry

    def read_output(
        self, value: object, key: str, namespace: str, subagent: SubagentRun | None
    ) -> NodeOutput:
        """Return the messages in the output of a task.

        Args:
            value: The output.
            key: The channel of the conversation.
            namespace: The checkpoint namespace of the task.
            subagent: The subagent that the task belongs to.
        """
        messages = self.find_all(namespace, extract_messages(value, key), subagent)
        return NodeOutput(
            messages, extract_other_messages(value, key), extract_removals(value, key)
        )

    def find_all(
        self, namespace: str, messages: Sequence[BaseMessage], subagent: SubagentRun | None = None
    ) -> Returned:
        """Return the messages of a task with the ids of those that they repeat: of the same agent,
        in the same task.

        Each is found once, because a node may return the same words several times. Not one that is
        returned itself.
        """
        returned, source = {message.id for message in messages}, self._visible_id(subagent)
        return [(message, self._find(namespace, message, returned, source)) for message in messages]

    def _find(
        self,
        namespace: str,
        message: BaseMessage,
        returned: Collection[str | None],
        subagent_run_id: str | None,
    ) -> str | None:
        if not isinstance(message, AIMessage) or not (message.text or message.tool_calls):
            return None
        with self._lock:
            for number, (task, source, streamed) in self._streamed[namespace].items():
                if (
                    streamed.id not in returned
                    and source == subagent_run_id
                    and streamed.text == message.text
                    and [call["id"] for call in streamed.tool_calls]
                    == [call["id"] for call in message.tool_calls]
                ):
                    for around in _around(task):
                        del self._streamed[around][number]
                    return streamed.id
        return None


def _around(namespace: str) -> Iterable[str]:
    """Return the namespace of a task and those of the tasks around it."""
    return accumulate(namespace.split("|"), lambda outer, task: f"{outer}|{task}")
