"""What has failed in a graph on a LangGraph server, as one exception from where it began up to the end of the run.

A server tells an error again for each task around the one that failed, and once more as the run's own; all that they
have in common is what they say.
"""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.pregel.remote import RemoteException

from langgraph_agui.errors import ErrorCode
from langgraph_agui.translate.remote.tasks import Namespace, Task, own_namespace
from langgraph_agui.translate.translation import Translation


class RemoteErrors:
    """The errors of one run.

    Args:
        translation: Receives those of a graph that took too many steps.
    """

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._told: list[tuple[Namespace, RemoteException]] = []

    def of(self, namespace: Namespace, task: Task) -> RemoteException | None:
        """What a task has failed with, when it ends; what its graphs have failed with was caught, if it has not."""
        own, told = own_namespace(namespace, task), task.get("error")
        if not told:
            self._told = [(raised, error) for raised, error in self._told if raised[: len(own)] != own]
            return None
        error = self._same(told) or RemoteException(told)
        self._told.append((own, error))
        if isinstance(told, Mapping) and told.get("error") == "GraphRecursionError":
            self._translation.record_error(error, ErrorCode.RECURSION_LIMIT)
        return error

    def code(self, error: RemoteException) -> ErrorCode:
        """The code of a run that has failed with `error`."""
        told = error.args[0] if error.args else None
        if isinstance(told, Mapping) and told.get("error") == "GraphRecursionError":
            return ErrorCode.RECURSION_LIMIT
        return self._translation.classify_error(self._same(told) or error)

    def _same(self, told: object) -> RemoteException | None:
        return next((error for _, error in reversed(self._told) if error.args[0] == told), None)
