"""From what a user types, `module:name` or `file.py:name`, to an agent, or to tools."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from langgraph.graph import StateGraph
from langgraph.pregel.protocol import PregelProtocol

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli.errors import CommandError

if TYPE_CHECKING:
    from types import ModuleType


def load_agent(spec: str) -> LangGraphAgent:
    """Return an agent for what `spec` names: a graph, a factory or an agent. Raises `CommandError`."""
    target = _target(spec, "a graph", (PregelProtocol, LangGraphAgent))
    if not isinstance(target, (LangGraphAgent, PregelProtocol, StateGraph)) and callable(target):
        target = _call(target, spec, "a graph")
    return _agent(target, spec)


def load_tools(spec: str) -> list[BaseTool]:
    """Return the tools that `spec` names: a list or a dict of them, a function that returns one, or one tool.

    A tool is one of LangChain's, or a function with annotations and a docstring. Raises `CommandError`.
    """
    from langgraph_agui.client.tools import LocalTools

    target = _target(spec, "a list of tools", (BaseTool, list, tuple, dict))
    if callable(target) and not isinstance(target, BaseTool):
        target = _call(target, spec, "a list of tools")
    if isinstance(target, Mapping):
        target = target.values()
    tools = [target] if isinstance(target, BaseTool) else list(target) if isinstance(target, Iterable) else None
    if tools is None or not all(callable(one) or isinstance(one, BaseTool) for one in tools):
        raise CommandError(f"{spec} is no list of LangChain tools or functions.")
    try:
        made = [one if isinstance(one, BaseTool) else make_tool(one) for one in tools]
        LocalTools(made)
    except (TypeError, ValueError) as error:
        raise CommandError(f"{spec} cannot be offered: {error}") from error
    return made


def _target(spec: str, what: str, known: tuple[type, ...]) -> Any:
    """What `spec` names; the hint for a wrong name tells of those that are `known`."""
    source, separator, path = spec.rpartition(":")
    if not separator or not source or not path:
        raise CommandError(f"{spec!r} does not name {what}. Write module:name or path/to/file.py:name.")
    return _attribute(_module(source), source, path, known)


def _module(source: str) -> ModuleType:
    if sys.path[:1] != [""]:
        sys.path.insert(0, "")
    try:
        if source.endswith(".py"):
            return _module_from_file(Path(source))
        return importlib.import_module(source)
    except CommandError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (source == error.name or source.startswith(f"{error.name}.")):
            raise CommandError(f"There is no module {error.name!r}, neither here nor installed.") from error
        raise CommandError(f"{source} imports {error.name!r}, which is not installed.") from error
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Importing {source} failed: {type(error).__name__}: {error}") from error


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"There is no file {path}.")
    # The file's folder is where its own imports look first, as when Python runs it.
    sys.path.insert(0, str(path.resolve().parent))
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise CommandError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[path.stem] = module
    module_spec.loader.exec_module(module)
    return module


def _attribute(module: ModuleType, source: str, path: str, known: tuple[type, ...]) -> Any:
    target: Any = module
    for name in path.split("."):
        try:
            target = getattr(target, name)
        except AttributeError:
            found = {key: value for key, value in vars(module).items() if not key.startswith("_")}
            names = [f"{source}:{key}" for key, value in found.items() if isinstance(value, known)]
            hint = f" It has: {', '.join(names)}." if names else ""
            raise CommandError(f"{source} has no {path!r}.{hint}") from None
    return target


def _call(factory: Any, spec: str, what: str) -> Any:
    if inspect.iscoroutinefunction(factory):
        raise CommandError(f"{spec} is an async function. Name {what} or a plain function that returns one.")
    try:
        inspect.signature(factory).bind()
    except TypeError:
        raise CommandError(f"{spec} needs arguments. Name {what} or a function that takes none.") from None
    except ValueError:
        pass  # a builtin without a signature: calling it will tell
    try:
        return factory()
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Calling {spec} failed: {type(error).__name__}: {error}") from error


def _agent(target: Any, spec: str) -> LangGraphAgent:
    if isinstance(target, LangGraphAgent):
        return target
    if isinstance(target, StateGraph):
        raise CommandError(f"{spec} is a graph that is not compiled yet. Serve what its compile() returns.")
    try:
        return LangGraphAgent(graph=target, name=getattr(target, "name", None) or "agent")
    except TypeError as error:
        raise CommandError(f"{spec} cannot be served: {error}.") from error
