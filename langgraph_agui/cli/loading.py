"""Loads what a user names on the command line: an agent or tools by `module:name`, a model by `provider:name`.

In: the argument as typed. Out: the loaded object, or a `CommandError` that says what is wrong with the argument.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli.formatting import CommandError
from langgraph_agui.client.tools import LocalTools
from langgraph_agui.models.reasoning_support import is_adaptive

_KEY_VARIABLES: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


def load_agent(spec: str) -> LangGraphAgent:
    """Return an agent for what `spec` names: a graph, a function that returns one, or an agent."""
    target = _load(spec, "a graph")
    if isinstance(target, LangGraphAgent):
        return target
    try:
        return LangGraphAgent(graph=target, name=getattr(target, "name", None) or "agent")
    except TypeError as error:
        raise CommandError(f"{spec} cannot be served: {error}.") from error


def load_tools(spec: str) -> list[BaseTool]:
    """Return the tools that `spec` names: a list of them, or a function that returns one.

    A tool is one of LangChain's, or a function with annotations and a docstring.
    """
    tools = _load(spec, "a list of tools")
    if not isinstance(tools, list | tuple) or not all(callable(tool) or isinstance(tool, BaseTool) for tool in tools):
        raise CommandError(f"{spec} is no list of LangChain tools or functions.")
    try:
        made = [tool if isinstance(tool, BaseTool) else make_tool(tool) for tool in tools]
        LocalTools(made)  # it checks the names
    except (TypeError, ValueError) as error:
        raise CommandError(f"{spec} cannot be offered: {error}") from error
    return made


def load_model(spec: str, *, reasoning: bool = True) -> BaseChatModel:
    """Return the chat model that `spec` (`provider:model`) names, with visible reasoning where it has that."""
    from langchain.chat_models import init_chat_model

    provider, _, name = spec.partition(":")
    if not name:
        raise CommandError(f"--model {spec!r} must look like provider:model, e.g. anthropic:claude-sonnet-5.")
    variable = _KEY_VARIABLES.get(provider)
    if variable and not os.environ.get(variable):
        raise CommandError(f"--model {spec} needs an API key: set {variable}.")
    try:
        model = init_chat_model(name, model_provider=provider)
        options = _reasoning_options(provider, model) if reasoning else {}
        return init_chat_model(name, model_provider=provider, **options) if options else model
    except Exception as error:  # each provider raises its own errors for a wrong name or a missing key
        raise CommandError(f"--model {spec} cannot be used: {error}") from error


def _reasoning_options(provider: str, model: BaseChatModel) -> dict[str, Any]:
    """Return the options that make reasoning visible. A model without a profile is assumed to be recent."""
    if not (model.profile or {}).get("reasoning_output", True):
        return {}
    by_budget = {"type": "enabled", "budget_tokens": 2048}
    options: dict[str, dict[str, Any]] = {
        "openai": {"reasoning": {"effort": "medium", "summary": "auto"}},
        "google_genai": {"include_thoughts": True},
        "ollama": {"reasoning": True},
        "anthropic": {"thinking": {"type": "adaptive", "display": "summarized"} if is_adaptive(model) else by_budget},
    }
    return options.get(provider, {})


def _load(spec: str, what: str) -> Any:
    """Return what `spec` names, or what that returns if it can be called."""
    source, _, path = spec.rpartition(":")
    if not source or not path:
        raise CommandError(f"{spec!r} does not name {what}. Write module:name or path/to/file.py:name.")
    try:
        target = attrgetter(path)(_import(source))
    except AttributeError:
        raise CommandError(f"{source} has no {path!r}.") from None
    try:
        return target() if callable(target) else target
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Calling {spec} failed: {type(error).__name__}: {error}") from error


def _import(source: str) -> ModuleType:
    if sys.path[:1] != [""]:
        sys.path.insert(0, "")
    if source.endswith(".py") and not Path(source).is_file():
        raise CommandError(f"There is no file {source}.")
    try:
        return _import_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Importing {source} failed: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> ModuleType:
    """Import a file under its own name, also if an installed module has that name."""
    # The file's own imports look in its folder first, as when Python runs it.
    sys.path.insert(0, str(path.resolve().parent))
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = sys.modules[path.stem] = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module
