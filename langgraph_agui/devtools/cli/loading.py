"""Loads the objects that a user names on the command line: graphs by `module:name`, a model by
`provider:name`.

In: the argument as typed. Out: the loaded object, or a `CommandError` that tells the mistake in the
argument.
"""

import importlib
import importlib.util
import inspect
import os
import re
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from operator import attrgetter
from pathlib import Path
from shlex import quote
from types import FunctionType, ModuleType
from typing import Any, Final, Literal, cast

import typer
from dotenv import dotenv_values
from langchain_core.language_models import BaseChatModel
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel
from starlette.applications import Starlette

from langgraph_agui import LangGraphAgent
from langgraph_agui.chat_models import reasoning_options
from langgraph_agui.devtools.cli.formatting import CommandError, printable

# The names of the graph that a file is for; the others in it are its helpers.
_MAIN: Final = ("agent", "graph", "app")

# The environment variable with the API key of a provider.
_KEY_VARIABLE: Final = re.compile(r"[A-Z]+_API_KEY")


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
    `langgraph.json`. Of a file, those with the usual names are taken, or else all.
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
    """Return the graph or agent of an asynchronous factory, anything else as it is; `stack` closes
    all that the factory opens.
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
    on_disconnect: Literal["cancel", "continue"] = "cancel",
) -> LangGraphAgent:
    """Return an agent for a graph. A `LangGraphAgent` stays as it is."""
    if isinstance(target, LangGraphAgent):
        return target
    try:
        graph = cast("Pregel[Any, Any, Any, Any]", target)  # which the agent checks
        return LangGraphAgent(graph, name, expose_errors=expose_errors, on_disconnect=on_disconnect)
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
            f"--model {spec!r} must look like provider:model, as init_chat_model takes it."
        )
    try:
        model = init_chat_model(name, model_provider=provider)
        _check_key(model)
        options = reasoning_options(model) if reasoning else {}
        return init_chat_model(name, model_provider=provider, **options) if options else model
    except Exception as error:  # each provider raises its own for a wrong name or a missing key
        if (variable := _KEY_VARIABLE.search(str(error))) and not os.environ.get(variable[0]):
            raise CommandError(f"--model {spec} needs an API key: set {variable[0]}.") from error
        raise CommandError(f"--model {spec} cannot be used: {error}") from error


def _check_key(model: BaseChatModel) -> None:
    """Raise `ValueError` for a model without its API key, which would fail at its first call."""
    for attribute, variable in model.lc_secrets.items():
        if _KEY_VARIABLE.fullmatch(variable) and not getattr(model, attribute, None):
            raise ValueError(variable)


def _load_config(path: Path) -> dict[str, object]:
    try:
        config = _LangGraphConfig.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is not a valid langgraph.json: {error}") from error
    folder = path.resolve().parent
    if isinstance(config.env, str) and not (folder / config.env).is_file():
        raise CommandError(f"{path} names the env file {config.env}, which is not there.")
    env = dotenv_values(folder / config.env) if isinstance(config.env, str) else config.env
    for name, value in env.items():
        os.environ.setdefault(name, value or "")
    local = [one for one in config.dependencies if one.startswith(".")]
    sys.path[:0] = [str((folder / one).resolve()) for one in local]
    targets: dict[str, object] = {}
    for name, graph in config.graphs.items():
        spec = graph if isinstance(graph, str) else graph.path
        targets[name] = _load(str(folder / spec) if ".py:" in spec else spec)
    return targets


def _graphs_of(module: ModuleType, spec: str) -> dict[str, object]:
    """Return the graphs and agents of a module, or else its factories. Raises `CommandError` if it
    has none.
    """
    public = {name: one for name, one in vars(module).items() if not name.startswith("_")}
    # An object with two names has the usual one, or the first. A graph in an agent is served by the
    # agent.
    known = [id(one.graph) for one in public.values() if isinstance(one, LangGraphAgent)]
    found: dict[str, object] = {}
    for name, one in sorted(public.items(), key=lambda item: item[0] not in _MAIN):
        if isinstance(one, LangGraphAgent | Pregel | RemoteGraph) and id(one) not in known:
            known.append(id(one))
            found[name] = one
    functions = [one for one in public.values() if isinstance(one, FunctionType)]
    own = [one for one in functions if one.__module__ == module.__name__]
    found = found or {one.__name__: one for one in own if _is_factory(one)}
    if found:
        return _main_of(found, spec)
    for name, one in public.items():
        _check_no_application(one, f"{spec}:{name}")
    builders = [name for name, one in public.items() if isinstance(one, StateGraph)]
    has = [*builders, *(f"{one.__name__}()" for one in own)]
    raise CommandError(
        f"{spec} has no compiled graph, no agent, and no function without arguments whose name or "
        f"result names a graph or an agent. It has {', '.join(has) or 'no functions'}. A "
        f"StateGraph needs .compile(); name others: {spec}:name."
    )


def _main_of(found: dict[str, object], spec: str) -> dict[str, object]:
    """Return those with the names of a main graph, and say how to take the others; or else all."""
    main = {name: one for name, one in found.items() if name in _MAIN}
    if not main:
        return found
    if others := [f"{spec}:{name}" for name in found if name not in main]:
        text = f"Using {', '.join(main)} of {spec}. Others by name: {', '.join(others)}"
        typer.echo(printable(text), err=True)
    return main


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
    """Return the object that `spec` names; if it is a factory, its result."""
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
    """Return the result of a factory, which takes no arguments or a configuration, as on a
    LangGraph server; anything else as it is. An application is refused.
    """
    _check_no_application(target, spec)
    try:
        if not callable(target):
            return target
        needs = _required(target)
        takes_config = len(needs) == 1 and "config" in str(needs[0]).lower()
        made = target({"configurable": {}}) if takes_config else target()
    except Exception as error:  # whatever the user's own code raises
        raise CommandError(f"Calling {spec} failed: {type(error).__name__}: {error}") from error
    _check_no_application(made, spec, "--factory ")
    return made


def _check_no_application(target: object, spec: str, option: str = "") -> None:
    """Raise `CommandError` for an ASGI application, such as one of FastAPI.

    Args:
        target: The object that `spec` names, or that the function of this name has made.
        spec: As the user gave it.
        option: The option with which uvicorn finds the application.
    """
    if not isinstance(target, Starlette):
        return
    source, _, name = spec.rpartition(":")
    if source.endswith(".py"):
        path = Path(source)
        option += f"--app-dir {quote(str(path.parent))} " if path.parent != Path() else ""
        source = path.stem
    command = f"uvicorn {option}{source}:{name}"
    raise CommandError(f"{spec} is an application, not a graph. Run it: {command}")


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
