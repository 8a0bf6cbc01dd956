"""Find the chat models in a graph, and name the provider whose messages they make.

In: a compiled graph, an agent, any Runnable. Out: the chat models that can be reached from it without running
anything: through its nodes and conditional edges, sequences and bindings, subgraphs, tools, middleware, and what their
functions refer to (closures, defaults, globals, bound objects). A model that a function makes when it runs cannot be
found. The search never raises, imports nothing and is bounded.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel


class Found(NamedTuple):
    """A chat model and its place.

    `where` names the nodes and tools that lead to it, outermost first. `auxiliary` models write nothing that a
    conversation keeps as an assistant's message: they sum up, choose or emulate tools.
    """

    model: BaseChatModel
    where: tuple[str, ...]
    auxiliary: bool


class _Place(NamedTuple):
    value: object
    where: tuple[str, ...] = ()
    auxiliary: bool = False


_EACH: Final = 5_000
"""Objects looked at for one node, at most; the nearest come first."""
_ALL: Final = 50_000
"""Objects looked at in one search, at most."""
_WIDE: Final = 500
"""Items of one container that are looked at."""
_DEEP: Final = 20
"""Graphs within graphs."""

_AUXILIARY: Final = frozenset({"SummarizationMiddleware", "LLMToolSelectorMiddleware", "LLMToolEmulator"})
_CONFIGURABLE: Final = "_ConfigurableModel"
"""What `init_chat_model` makes of a model that the configuration of a run may replace."""
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)
# Objects and closures of these lead to models; what their modules and classes refer to does not.
_FRAMEWORKS: Final = frozenset(
    {
        "deepagents",
        "langchain",
        "langchain_classic",
        "langchain_community",
        "langchain_core",
        "langgraph",
        "langgraph_supervisor",
        "langgraph_swarm",
        "langsmith",
    }
)
# Objects of these hold no chat models.
_SILENT: Final = sys.stdlib_module_names | {
    "anthropic",
    "boto3",
    "botocore",
    "google",
    "groq",
    "httpx",
    "numpy",
    "ollama",
    "openai",
    "pandas",
    "pydantic",
    "pydantic_core",
    "sqlalchemy",
    "torch",
    "transformers",
}


def find_models(graph: object) -> list[BaseChatModel]:
    """Return the chat models in `graph`, each once: node by node, and the nearest first."""
    return [found.model for found in find(graph)]


def find(graph: object) -> list[Found]:
    """Return the chat models in `graph` with their places, in the order of `find_models`."""
    return list(_searched(graph).found.values())


def providers_in(graph: object) -> frozenset[str]:
    """The providers of the models that speak in `graph`; none if one is unknown, or is chosen when the graph runs."""
    search = _searched(graph)
    names = {provider_of(found.model) for found in search.found.values() if not found.auxiliary}
    return frozenset(name for name in names if name is not None and not (search.chosen or None in names))


def _searched(graph: object) -> _Search:
    search = _Search()
    search.explore(_Place(graph), 0)
    return search


class _Search:
    """One search. `found` grows while it goes on; `chosen` tells that a model is chosen when the graph runs."""

    def __init__(self) -> None:
        self.found: dict[int, Found] = {}
        self.chosen = False
        # Holds the objects, too: the id of one that is gone would be given to another.
        self._seen: dict[tuple[int, bool], object] = {}

    def explore(self, start: _Place, depth: int) -> None:
        """Look at everything that can be reached from `start`, level by level, but graphs at once."""
        queue = deque([start])
        left = _EACH
        while queue and left and len(self._seen) < _ALL:
            place = queue.popleft()
            left -= 1
            value = place.value
            if issubclass(type(value), BaseChatModel):
                self._add(place)
            self.chosen = self.chosen or type(value).__name__ == _CONFIGURABLE
            if (id(value), place.auxiliary) in self._seen:
                continue
            self._seen[id(value), place.auxiliary] = value
            if not issubclass(type(value), Pregel):
                queue.extend(_next(place))
            elif depth < _DEEP:
                for node in _nodes(place):
                    self.explore(node, depth + 1)

    def _add(self, place: _Place) -> None:
        model: Any = place.value
        known = self.found.get(id(model))
        if known is None or (known.auxiliary and not place.auxiliary):
            self.found[id(model)] = Found(model, place.where, place.auxiliary)


def _nodes(place: _Place) -> list[_Place]:
    """The nodes of the graph at `place` and its conditional edges, in their order."""
    graph = cast("Pregel[Any, Any, Any, Any]", place.value)
    runnables: list[tuple[str, object]] = []
    with suppress(Exception):
        runnables.extend(graph.nodes.items())
        if isinstance(graph, CompiledStateGraph):
            for name, branches in graph.builder.branches.items():
                runnables.extend((name, branch.path) for branch in branches.values())
    return [_Place(runnable, (*place.where, name), place.auxiliary) for name, runnable in runnables]


def _next(place: _Place) -> list[_Place]:
    """What the value at `place` leads to, as far as it lets itself be looked into."""
    value, where, auxiliary = place
    places: list[_Place] = []
    with suppress(Exception):  # objects of users may do anything
        if isinstance(value, BaseTool):
            where = (*where, value.name)
        auxiliary = auxiliary or any(cls.__name__ in _AUXILIARY for cls in type(value).__mro__)
        for child in _children(value):
            if _promising(child):
                places.append(_Place(child, where, auxiliary))  # noqa: PERF401  # keeps what came before an error
    return places


def _promising(value: object) -> bool:
    """Whether `value` may hold a model. It is not touched: proxies and mocks answer to everything."""
    kind = type(value)
    if issubclass(kind, (FunctionType, MethodType, partial, dict, staticmethod, classmethod, property, *_CONTAINERS)):
        return True
    if issubclass(kind, type):
        return _is_users(value.__module__)
    return _origin(kind) not in _SILENT or kind.__name__ == "_lru_cache_wrapper"


def _children(value: object) -> Iterable[object]:
    """The objects that `value` refers to, nearest first."""
    if isinstance(value, Mapping):
        return list(islice(value.values(), _WIDE))
    if isinstance(value, _CONTAINERS):
        return list(islice(value, _WIDE))
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, type):
        return _of_class(value)
    return _of_object(value)


def _of_function(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()  # `__wrapped__`, and what users attach
    scope = function.__globals__
    if _is_users(str(scope.get("__name__"))):
        yield from _globals(function.__code__, scope)


def _globals(code: CodeType, scope: Mapping[str, object]) -> Iterator[object]:
    """The globals that `code` names, those of modules included (`models.fast`)."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in scope:
            value = scope[instruction.argval]
            if not issubclass(type(value), ModuleType):
                yield value
                continue
            module = vars(value)
            if _is_users(str(module.get("__name__"))):
                yield from (module[name] for name in code.co_names if name in module)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # functions and comprehensions inside
            yield from _globals(constant, scope)


def _of_class(cls: type) -> Iterator[object]:
    for name, value in vars(cls).items():
        if not (name.startswith("__") and name.endswith("__")) or name == "__call__":
            yield value


def _of_object(value: object) -> Iterator[object]:
    """The attributes of an object, and for an object of a user's class those of its class."""
    kind = type(value)
    if kind.__name__ == _CONFIGURABLE:
        yield value._model()  # type: ignore[attr-defined]  # the default model; raises if there is none
        return
    attributes = list(getattr(value, "__dict__", {}).values())
    if issubclass(kind, BaseChatModel):
        # Clients and settings lead nowhere, but a model may wrap another.
        yield from (child for child in attributes if isinstance(child, (Runnable, list, tuple, dict)))
        return
    yield from attributes
    for cls in kind.__mro__:
        for slot in vars(cls).values():
            if isinstance(slot, MemberDescriptorType):
                with suppress(AttributeError):  # not set; pydantic's private attributes are in one, too
                    yield slot.__get__(value)
        if _is_users(cls.__module__):
            yield from _of_class(cls)


def _origin(value: object) -> str:
    return str(getattr(value, "__module__", "")).partition(".")[0]


def _is_users(module: str) -> bool:
    package = module.partition(".")[0]
    return package not in _SILENT and package not in _FRAMEWORKS


_PACKAGES: Final = {
    "langchain_anthropic": "anthropic",
    "langchain_deepseek": "deepseek",
    "langchain_google_genai": "google_genai",
    "langchain_groq": "groq",
    "langchain_mistralai": "mistralai",
    "langchain_ollama": "ollama",
    "langchain_openai": "openai",
    "langchain_openrouter": "openrouter",
    "langchain_xai": "xai",
}
# Classes of packages with several providers; their other classes derive from those of the packages above.
_CLASSES: Final = {
    ("langgraph_agui", "ReasoningChatOpenAI"): "openai_compatible",
    ("langchain_aws", "ChatBedrock"): "bedrock",
    ("langchain_aws", "ChatBedrockConverse"): "bedrock_converse",
    ("langchain_google_vertexai", "ChatVertexAI"): "google_vertexai",
}
_LANGSMITH: Final = {"amazon_bedrock": "bedrock_converse", "azure": "openai", "mistral": "mistralai"}


def family_of(model: BaseChatModel) -> str | None:
    """Return the provider of the nearest class of a known package; None if there is no such class."""
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        if name := _PACKAGES.get(package) or _CLASSES.get((package, cls.__name__)):
            return name
    return None


def provider_of(model: BaseChatModel) -> str | None:
    """Return the name that the messages of `model` carry as `response_metadata["model_provider"]`; None if unknown.

    xAI's Responses messages carry OpenAI's name; what tells them apart is `messages.provider.maker_of`.

    The nearest class of a known package decides, so a subclass of one is of its provider. Of other classes the name
    that they give LangSmith is taken, if it is one of these providers or the class is of a LangChain package; the one
    that LangChain makes up from a class's name is not.
    """
    name = family_of(model)
    if name == "openai_compatible" and getattr(model, "use_responses_api", None):
        return "openai"  # langchain-openai reads these answers and puts its own name in
    if name == "bedrock" and getattr(model, "beta_use_converse_api", False):
        return "bedrock_converse"
    if name is not None:
        return name
    if type(model)._get_ls_params is BaseChatModel._get_ls_params:
        return None
    try:
        name = model._get_ls_params().get("ls_provider")
    except Exception:  # it may ask for settings that are not there
        return None
    if not isinstance(name, str):
        return None
    told = _LANGSMITH.get(name, name)
    known = told in _PACKAGES.values() or told in _CLASSES.values()
    return told if known or _origin(type(model)).startswith("langchain_") else None
