"""Loads what a user names on the command line: graphs by `module:name`, a model by `provider:name`.

In: the argument as typed. Out: the loaded object, or a `CommandError` that names what is wrong with
the argument.
"""

import importlib
import importlib.util
import inspect
import os
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from dotenv import dotenv_values
from langchain_core.language_models import BaseChatModel
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.formatting import CommandError
from langgraph_agui.devtools.reasoning_support import is_adaptive
from langgraph_agui.graphs import Graph
from langgraph_agui.options import OnDisconnect

_KEY_VARIABLES: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


class _GraphPath(BaseModel):
    path: str


class _LangGraphConfig(BaseModel):
    """The parts of a `langgraph.json` that count here."""

    graphs: dict[str, str | _GraphPath]
    env: str | dict[str, str] = {}
    dependencies: list[str] = []


def load_targets(spec: str) -> dict[str, object]:
    """Return the graphs and agents that `spec` names, by name. Those of asynchronous factories need
    `finish`.

    `spec` is `module:name`, `file.py:name`, a `file.py` with graphs, agents or factories, or a
    `langgraph.json`.
    """
    if spec.endswith(".json"):
        return _load_config(Path(spec))
    if spec.endswith(".py"):
        targets = {
            name: _call(one, f"{spec}:{name}")
            for name, one in _graphs_of(_import(spec), spec).items()
        }
        if len(targets) > 1:
            return targets
    else:
        targets = {"agent": _load(spec)}
    return {getattr(target, "name", None) or "agent": target for target in targets.values()}


async def finish(target: object, spec: str, stack: AsyncExitStack) -> object:
    """Return what an asynchronous factory makes, anything else as it is; `stack` closes what the
    factory opens.
    """
    try:
        if isinstance(target, AbstractAsyncContextManager):
            return await stack.enter_async_context(target)
        return await target if inspect.isawaitable(target) else target
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Calling {spec} failed: {type(error).__name__}: {error}") from error


def make_agent(
    target: object,
    name: str,
    spec: str,
    *,
    expose_errors: bool = False,
    on_disconnect: OnDisconnect = "cancel",
) -> LangGraphAgent:
    """Return an agent for a graph. A `LangGraphAgent` stays as it is."""
    if isinstance(target, LangGraphAgent):
        return target
    try:
        return LangGraphAgent(
            cast("Graph", target), name, expose_errors=expose_errors, on_disconnect=on_disconnect
        )
    except (TypeError, ValueError) as error:
        raise CommandError(f"{spec} cannot be served: {error}") from error


def load_model(spec: str, *, reasoning: bool = True) -> BaseChatModel:
    """Return the chat model that `spec` (`provider:model`) names, with visible reasoning where it
    has that.
    """
    from langchain.chat_models import init_chat_model

    provider, _, name = spec.partition(":")
    if not name:
        raise CommandError(
            f"--model {spec!r} must look like provider:model, e.g. anthropic:claude-sonnet-5."
        )
    variable = _KEY_VARIABLES.get(provider)
    if variable and not os.environ.get(variable):
        raise CommandError(f"--model {spec} needs an API key: set {variable}.")
    try:
        model = init_chat_model(name, model_provider=provider)
        options = _reasoning_options(provider, model) if reasoning else {}
        return init_chat_model(name, model_provider=provider, **options) if options else model
    except (
        Exception
    ) as error:  # each provider raises its own errors for a wrong name or a missing key
        raise CommandError(f"--model {spec} cannot be used: {error}") from error


def _reasoning_options(provider: str, model: BaseChatModel) -> dict[str, Any]:
    """Return the options that make reasoning visible. A model without a profile is assumed to be
    recent.
    """
    if not (model.profile or {}).get("reasoning_output", True):
        return {}
    by_budget = {"type": "enabled", "budget_tokens": 2048}
    options: dict[str, dict[str, Any]] = {
        "openai": {"reasoning": {"effort": "medium", "summary": "auto"}},
        "google_genai": {"include_thoughts": True},
        "ollama": {"reasoning": True},
        "anthropic": {
            "thinking": {"type": "adaptive", "display": "summarized"}
            if is_adaptive(model)
            else by_budget
        },
    }
    return options.get(provider, {})


def _load_config(path: Path) -> dict[str, object]:
    try:
        config = _LangGraphConfig.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is no langgraph.json: {error}") from error
    folder = path.resolve().parent
    if isinstance(config.env, str) and not (folder / config.env).is_file():
        raise CommandError(f"{path} names the env file {config.env}, which is not there.")
    env = dotenv_values(folder / config.env) if isinstance(config.env, str) else config.env
    for name, value in env.items():
        os.environ.setdefault(name, value or "")
    sys.path[:0] = [
        str((folder / one).resolve()) for one in config.dependencies if one.startswith(".")
    ]
    paths = {name: one if isinstance(one, str) else one.path for name, one in config.graphs.items()}
    return {name: _load(str(folder / one) if ".py:" in one else one) for name, one in paths.items()}


def _graphs_of(module: ModuleType, spec: str) -> dict[str, object]:
    """Return the graphs and agents of a module, or else its factories. Raises `CommandError` if it
    has none.
    """
    public: list[tuple[str, object]] = [
        item for item in vars(module).items() if not item[0].startswith("_")
    ]
    wrapped = [one.graph for _, one in public if isinstance(one, LangGraphAgent)]
    graphs = [item for item in public if isinstance(item[1], LangGraphAgent | Pregel | RemoteGraph)]
    graphs = [item for item in graphs if not any(item[1] is graph for graph in wrapped)]
    if found := {
        id(one): (name, one) for name, one in reversed(graphs)
    }:  # one with two names has the first
        return dict(reversed(found.values()))
    functions = [
        one
        for _, one in public
        if isinstance(one, FunctionType) and one.__module__ == module.__name__
    ]
    if factories := {one.__name__: one for one in functions if _is_factory(one)}:
        return {**factories}
    has = [name for name, one in public if isinstance(one, StateGraph)] + [
        f"{one.__name__}()" for one in functions
    ]
    raise CommandError(
        f"{spec} has no compiled graph, no agent, and no function without arguments whose name or "
        f"result names a "
        f"graph or an agent. It has {', '.join(has) or 'no functions'}. A StateGraph needs "
        f".compile(); "
        f"name others: {spec}:name."
    )


def _is_factory(function: FunctionType) -> bool:
    hint = f"{function.__name__} {inspect.signature(function).return_annotation}".lower()
    return ("graph" in hint or "agent" in hint) and all(
        "config" in str(one).lower() for one in _required(function)
    )


def _required(function: object) -> list[inspect.Parameter]:
    """Return the arguments that a function needs; none if that is not known."""
    try:
        parameters = inspect.signature(cast("FunctionType", function)).parameters.values()
    except (TypeError, ValueError):
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in parameters if one.default is one.empty and one.kind not in variadic]


def _load(spec: str) -> object:
    """Return what `spec` names, or what that returns if it can be called."""
    source, _, path = spec.rpartition(":")
    if not source or not path:
        raise CommandError(
            f"{spec!r} does not name a graph. Write module:name or path/to/file.py:name."
        )
    try:
        target = attrgetter(path)(_import(source))
    except AttributeError:
        raise CommandError(f"{source} has no {path!r}.") from None
    return _call(target, spec)


def _call(target: object, spec: str) -> object:
    """Return what a factory returns: of no arguments, or of a configuration, as on a LangGraph
    server.
    """
    try:
        if not callable(target):
            return target
        needs = _required(target)
        return (
            target({"configurable": {}})
            if len(needs) == 1 and "config" in str(needs[0]).lower()
            else target()
        )
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Calling {spec} failed: {type(error).__name__}: {error}") from error


def _import(source: str) -> ModuleType:
    if sys.path[:1] != [""]:
        sys.path.insert(0, "")
    if source.endswith(".py") and not Path(source).is_file():
        raise CommandError(f"There is no file {source}.")
    try:
        return (
            _import_file(Path(source))
            if source.endswith(".py")
            else importlib.import_module(source)
        )
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Importing {source} failed: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> ModuleType:
    """Import a file under its own name, also if an installed module has that name; a file is
    imported once.
    """
    known = sys.modules.get(path.stem)
    if known is not None and known.__dict__.get("__file__") == str(path.resolve()):
        return known
    # The file's own imports look in its folder first, as when Python runs it.
    sys.path.insert(0, str(path.resolve().parent))
    module_spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = sys.modules[path.stem] = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module
