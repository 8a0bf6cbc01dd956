"""Find the chat models in a graph, and name the provider whose messages they make.

A compiled graph or any Runnable goes in, chat models come out, or objects of another class. The
search looks at the nodes: at the Runnables and tools in them, and at what their functions are bound
to, close over or take from globals, a few steps deep. It finds the models of `create_agent`, of its
tools and of subgraphs. It does not find a model that a function makes when it runs: name its
provider in `ReasoningOptions(provider=...)`. The search runs nothing and never raises.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel

T = TypeVar("T")


class Place(NamedTuple):
    """An object in a graph, and where it is: in how many graphs.

    `where` names the nodes and tools that lead to it, outermost first. `auxiliary` models do not
    write the assistant's messages of a conversation: they summarize, choose tools or emulate them.
    """

    value: object
    where: tuple[str, ...] = ()
    auxiliary: bool = False
    steps: int = 0
    graphs: int = 0


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """An object in a graph, and where it is.

    Attributes:
        value: The object.
        where: The names of the nodes and tools that lead to it, outermost first.
        auxiliary: Whether it only helps the agent: it is in a middleware that summarizes, chooses
            tools or emulates them.
    """

    value: T
    where: tuple[str, ...] = ()
    auxiliary: bool = False


# Steps from a node to a model: from a `Runnable` to its function, from there to what it closes
# over, and so on.
_STEPS: Final = 8
# Objects that one search looks at.
_OBJECTS: Final = 5_000
# Items of one container that a search looks at.
_ITEMS: Final = 200

_AUXILIARY: Final = frozenset(
    {"SummarizationMiddleware", "LLMToolSelectorMiddleware", "LLMToolEmulator"}
)
# The class by which `init_chat_model` wraps a model that a run's configuration may replace.
_CONFIGURABLE: Final = "_ConfigurableModel"


def find_models(graph: object) -> list[BaseChatModel]:
    """Return the chat models in `graph`, each once, the nearest first."""
    return [model for model, _ in models_at(walk(graph))]


def find_objects(graph: object, kind: type[T]) -> list[Found[T]]:
    """Return the objects of a class in `graph`, each once, the nearest first.

    The search runs nothing and never raises. An object that a node makes when it runs is not found.

    Args:
        graph: A compiled graph, or any other Runnable.
        kind: The class, for example `BaseChatModel`, `BaseTool` or `FunctionType`.
    """
    found = _each_once(of_kind(kind, walk(graph)))
    return [Found(value, place.where, place.auxiliary) for value, place in found]


def providers_in(places: Sequence[Place]) -> frozenset[str]:
    """Return the providers whose models answer in a graph, of which `walk` gives the places.

    There are none if a model is of an unknown provider, or is chosen when the graph runs.
    """
    chosen = any(type(place.value).__name__ == _CONFIGURABLE for place in places)
    names = {provider_of(model) for model, place in models_at(places) if not place.auxiliary}
    return frozenset(name for name in names if name is not None and not (chosen or None in names))


def of_kind(kind: type[T], places: Iterable[Place]) -> Iterator[tuple[T, Place]]:
    """Yield the objects of a kind. An object's `__class__` is not asked: a proxy answers for
    another.
    """
    return (
        (cast("T", place.value), place) for place in places if issubclass(type(place.value), kind)
    )


def models_at(places: Iterable[Place]) -> list[tuple[BaseChatModel, Place]]:
    """Return the models among the places of a graph, each once."""
    return _each_once(of_kind(BaseChatModel, places))  # type: ignore[type-abstract]


def _each_once(found: Iterable[tuple[T, Place]]) -> list[tuple[T, Place]]:
    """Return each object once; its place is one where it is not auxiliary, if any."""
    once: dict[int, tuple[T, Place]] = {}
    for value, place in found:
        known = once.get(id(value))
        if known is None or (known[1].auxiliary and not place.auxiliary):
            once[id(value)] = value, place
    return list(once.values())


def walk(graph: object) -> Iterator[Place]:
    """Yield the objects in `graph`, the nearest first; one may come twice, as auxiliary and not."""
    # Keeps the objects alive: a new object could get the id of one that is gone.
    seen: dict[tuple[int, bool], object] = {}
    queue = deque([Place(graph)])
    while queue and len(seen) < _OBJECTS:
        place = queue.popleft()
        value = place.value
        if (id(value), place.auxiliary) in seen:
            continue
        seen[id(value), place.auxiliary] = value
        yield place
        if not issubclass(type(value), BaseChatModel):
            with suppress(Exception):  # objects of users may do anything
                queue.extend(_next(place))


def _next(place: Place) -> list[Place]:
    """Return the places that the value at `place` leads to."""
    value, where, auxiliary, steps, graphs = place
    kind = type(value)
    if issubclass(kind, Pregel):
        nodes = cast("Pregel[Any, Any, Any, Any]", value).nodes.items()
        return [
            Place(node.bound, (*where, name), auxiliary, graphs=graphs + 1) for name, node in nodes
        ]
    if steps == _STEPS:
        return []
    if issubclass(kind, BaseTool):
        where = (*where, cast("BaseTool", value).name)
    auxiliary = auxiliary or any(cls.__name__ in _AUXILIARY for cls in kind.__mro__)
    return [
        Place(child, where, auxiliary, steps + 1, graphs)
        for child in islice(_children(value), _ITEMS)
    ]


def _children(value: object) -> Iterable[object]:
    """Return the objects that `value` refers to. It is not touched otherwise: proxies and mocks
    answer to anything.
    """
    kind = type(value)
    if issubclass(kind, (type, ModuleType)):
        return ()
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if isinstance(value, FunctionType):
        return [*(cell.cell_contents for cell in value.__closure__ or ()), *_globals(value)]
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if kind.__name__ == _CONFIGURABLE:
        return (value._model(),)  # type: ignore[attr-defined]  # the default model; raises if there is none
    return vars(value).values()


def _globals(function: FunctionType) -> list[object]:
    """Return the Runnables that a function takes from globals, and the functions of its package
    that it names.
    """
    package = _package_of(function)
    named = (
        function.__globals__.get(name) for code in codes_of(function) for name in code.co_names
    )
    return [
        one
        for one in named
        if issubclass(type(one), Runnable)
        or (
            issubclass(type(one), FunctionType)
            and _package_of(cast("FunctionType", one)) == package
        )
    ]


def _package_of(function: FunctionType) -> str:
    """Return the package that a function is of; empty if that is not known."""
    return (function.__module__ or "").partition(".")[0]


def codes_of(function: FunctionType) -> list[CodeType]:
    """Return the code of a function, and that of the functions inside it."""
    codes = [function.__code__]
    for code in codes:  # which grows
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return codes


# Providers with a package of their own, `langchain_<provider>`.
_PROVIDERS: Final = frozenset(
    {
        "anthropic",
        "deepseek",
        "google_genai",
        "groq",
        "mistralai",
        "ollama",
        "openai",
        "openrouter",
        "xai",
    }
)
# Classes of packages with several providers; their other classes derive from those of the packages
# above.
_CLASSES: Final = {
    ("langgraph_agui", "ReasoningChatOpenAI"): "openai_compatible",
    ("langchain_aws", "ChatBedrock"): "bedrock",
    ("langchain_aws", "ChatBedrockConverse"): "bedrock_converse",
    ("langchain_google_vertexai", "ChatVertexAI"): "google_vertexai",
}


def family_of(model: BaseChatModel) -> str | None:
    """Return the provider of the nearest class of a known package; None if there is no such
    class.
    """
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        name = package.removeprefix("langchain_")
        if (package, cls.__name__) in _CLASSES:
            return _CLASSES[package, cls.__name__]
        if name != package and name in _PROVIDERS:
            return name
    return None


def provider_of(model: BaseChatModel) -> str | None:
    """Return the name that the messages of `model` carry as `response_metadata["model_provider"]`;
    None if unknown.

    xAI's Responses messages carry OpenAI's name; `messages.options.maker_of` distinguishes them.

    The nearest class of a known package decides, so a subclass of one is of its provider. Classes
    of other LangChain packages give LangSmith a name. The name that LangChain makes up from a
    class's name does not count.
    """
    family = family_of(model)
    if family == "openai_compatible" and getattr(model, "use_responses_api", None):
        return "openai"  # langchain-openai reads these answers and puts its own name in
    if family == "bedrock" and getattr(model, "beta_use_converse_api", False):
        return "bedrock_converse"
    kind = type(model)
    names_itself = (
        kind._get_ls_params is not BaseChatModel._get_ls_params
        and kind.__module__.startswith("langchain_")
    )
    if family is not None or not names_itself:
        return family
    try:
        return model._get_ls_params().get("ls_provider")
    except Exception:  # it may ask for settings that are not there
        return None
