"""The public API: names, import paths, parameters, defaults, fields and enum values.

`public_api.txt` lists the API. A change of that file is a change for users. To regenerate it, run

    python -m tests.rooms.test_public_api

and review the diff. Members that README and docs never mention are not listed: only our own modules
use them. An annotation is printed as the type it stands for, so the name and the module of an alias
do not matter. `...` stands for a type that is not public.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput, RunErrorEvent
from pydantic import BaseModel

PACKAGE = "langgraph_agui"
WIDTH = 100
TABLE = Path(__file__).with_name("public_api.txt")

MODULES: dict[str, tuple[str, ...] | None] = {
    PACKAGE: None,
    f"{PACKAGE}.fastapi": ("add_langgraph_fastapi_endpoint", "agui_router"),
    f"{PACKAGE}.middleware": ("AGUIMiddleware",),
    f"{PACKAGE}.client": None,
    f"{PACKAGE}.client.errors": (
        "AgentError",
        "AgentStatusError",
        "AgentUnreachableError",
        "EventTooLargeError",
        "NotAnEventStreamError",
        "RedirectError",
        "ResumeError",
        "RunFailedError",
        "RunLimitError",
        "StreamInvalidError",
        "StreamTruncatedError",
        "ToolNotCalledError",
    ),
    f"{PACKAGE}.protocol": None,
    f"{PACKAGE}.protocol.sse": ("encode",),
    f"{PACKAGE}.chat_models": None,
    f"{PACKAGE}.workers": None,
    f"{PACKAGE}.compat": None,
    f"{PACKAGE}.testing": None,
    f"{PACKAGE}.devtools": None,
}
"""The modules that users import from, and the names they import. None stands for the module's
`__all__`."""

_READ = ("__aiter__", "__iter__", "__await__", "__aenter__", "__aexit__", "__enter__", "__exit__")

MEMBERS: dict[str, tuple[str, ...]] = {
    "AGUICallbackHandler": ("events",),
    "AGUIChatModel": ("bind_tools",),
    "AGUIClient": ("run", "connect", "capabilities"),
    "AGUISession": (
        *(
            "messages",
            "state",
            "interrupts",
            "pending_tool_calls",
            "thread_id",
            "context",
            "forwarded_props",
        ),
        *(
            "send",
            "resume",
            "answer",
            "connect",
            "clear",
            "to_json",
            "from_json",
            "__class_getitem__",
        ),
    ),
    "AgentError": ("messages", "state"),
    "AgentStatusError": ("status", "body", "payload", "code"),
    "Fold": ("messages", "state", "feed"),
    "LangGraphAgent": ("run", "stream_sse", "connect", "cancel", "capabilities"),
    "MessageChunks": ("feed", "finish"),
    "ProtocolError": ("code", "event"),
    "PostgresRunStore": ("setup",),
    "ReasoningSeal": ("new_key",),
    "RecordedRun": (
        *("messages", "state", "text", "outcome", "error", "interrupts", "pending_tool_calls"),
        *("then", "answer"),
    ),
    "RemoteAgent": ("invoke", "ainvoke"),
    "RemoteRun": (
        *("messages", "state", "outcome", "interrupts", "pending_tool_call_ids", "usage", "result"),
        *("wait", "aclose", "close", *_READ),
    ),
    "ResumeError": ("code", "interrupt_ids"),
    "RunFailedError": ("code", "usage", "correlation_id", "event"),
    "ScriptedChatModel": ("bind_tools", "reply"),
    "SSEDecoder": ("feed", "finish"),
    "StreamInvalidError": ("code", "event"),
    "Turn": ("outcome", "interrupts", "result", "usage", "text", "wait", "aclose", "close", *_READ),
    "Verifier": ("feed", "finish"),
}
"""The documented members of each class, besides dataclass fields and enum members."""

RETURNED_ONLY = ("RemoteRun", "Turn")
"""Classes that users never construct. Their constructors are not public."""


def test_the_public_api_is_unchanged() -> None:
    assert "\n".join(api_lines()).rstrip("\n") == TABLE.read_text(encoding="utf-8").rstrip("\n")


# The lines of the table


def api_lines() -> Iterator[str]:
    """Yield the lines of `public_api.txt`."""
    paths: dict[int, str] = {}
    for path, names in MODULES.items():
        module = import_module(path)
        yield f"== {path}"
        if names is None:
            names = tuple(sorted(module.__all__))
        for name in names:
            found = getattr(module, name)
            first = paths.setdefault(id(found), f"{path}.{name}")
            if first == f"{path}.{name}":
                yield from _described(name, found)
            else:
                yield f"{name} = {first}"
        yield ""


def _described(name: str, found: Any) -> Iterator[str]:
    if inspect.isclass(found):
        yield from _class(name, found)
    elif inspect.isfunction(found):
        yield _function(name, found)
    else:
        yield f"object {name}"


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"class {name}({', '.join(_bases(cls))})"
    if issubclass(cls, enum.Enum):
        yield from (f"    {member.name} = {member.value!r}" for member in cls)
        return
    if issubclass(cls, BaseModel):
        yield from (f"    {field}" for field in sorted(_model_fields(cls)))
    elif dataclasses.is_dataclass(cls):
        frozen = cls.__dataclass_params__.frozen
        yield f"    dataclass{' frozen' if frozen else ''}"
        yield f"    {_function('__init__', cls.__init__, cls)}"
        yield f"    fields: {', '.join(field.name for field in dataclasses.fields(cls))}"
    elif name not in RETURNED_ONLY and _ours(init := _definer(cls, "__init__")):
        yield f"    {_function('__init__', init.__init__, init)}"
    for member in MEMBERS.get(name, ()):
        yield f"    {_member(name, cls, member)}"


def _bases(cls: type) -> Iterator[str]:
    """Yield the public classes that `cls` inherits from, and the first base from another
    package."""
    for base in cls.__mro__[1:]:
        if not _ours(base):
            if base.__module__ not in ("builtins", "abc", "typing") or issubclass(base, Exception):
                yield base.__name__
                return
        elif base in _public():
            yield base.__name__


def _member(name: str, cls: type, member: str) -> str:
    found = inspect.getattr_static(cls, member, None)
    if found is not None and member.startswith("__"):
        return member
    if isinstance(found, classmethod | staticmethod):
        kind = type(found).__name__
        return f"{kind} {_function(member, found.__func__, _definer(cls, member))}"
    if inspect.isfunction(found):
        return _function(member, found, _definer(cls, member))
    has = hasattr(SAMPLES[name]() if name in SAMPLES else cls, member)
    return f"{member}: {'attribute' if has else 'MISSING'}"


def _model_fields(cls: type[BaseModel]) -> Iterator[str]:
    """Yield the fields that our classes declare, without those of the provider's class."""
    seen: set[str] = set()
    for base in filter(_ours, cls.__mro__):
        for name, written in inspect.get_annotations(base).items():
            if name in cls.model_fields and name not in seen:
                seen.add(name)
                field = cls.model_fields[name]
                default = "" if field.is_required() else f" = {_default(field.get_default())}"
                default = " = <factory>" if field.default_factory is not None else default
                yield f"{name}: {_annotation(written, base.__module__)}{default}"


def _function(name: str, function: Callable[..., Any], cls: type | None = None) -> str:
    signature = inspect.signature(function)
    module = cls.__module__ if cls is not None else function.__module__
    parameters, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        # Callers cannot use the names of *args and **kwargs, so a change of them breaks nothing.
        printed_name = {parameter.VAR_POSITIONAL: "*args", parameter.VAR_KEYWORD: "**kwargs"}.get(
            parameter.kind, parameter.name
        )
        annotated = (
            ""
            if parameter.annotation is parameter.empty
            else f": {_annotation(parameter.annotation, module)}"
        )
        default = (
            "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        )
        parameters.append(f"{printed_name}{annotated}{default}")
    is_async = "async " if inspect.iscoroutinefunction(function) else ""
    result = _annotation(signature.return_annotation, module)
    line = f"{is_async}{name}({', '.join(parameters)}) -> {result}"
    if len(line) <= WIDTH:
        return line
    indent = "" if cls is None else "    "
    lines = "".join(f"\n{indent}    {parameter}," for parameter in parameters)
    return f"{is_async}{name}({lines}\n{indent}) -> {result}"


def _default(value: object) -> str:
    return "..." if inspect.isfunction(value) or _ours(type(value)) else repr(value)


# Annotations


class _Named:
    """Stands for an alias of another package, such as `ag_ui.core.Event`. Only its name is
    printed."""


def _annotation(written: object, module: str) -> str:
    """Print the type that an annotation in `module` stands for."""
    if isinstance(written, str):
        written = eval(written, _names(module))
    return _type(written)


_namespaces: dict[str, dict[str, Any]] = {}


def _names(module: str) -> dict[str, Any]:
    """Return the names of a module, including those it imports only for type checkers."""
    if module in _namespaces:
        return _namespaces[module]
    loaded = import_module(module)
    names = _namespaces[module] = {**vars(builtins), **vars(loaded)}
    for node in ast.walk(ast.parse(inspect.getsource(loaded))):
        for alias in node.names if isinstance(node, ast.Import) else ():
            with suppress(ImportError):
                names.setdefault(
                    (alias.asname or alias.name).split(".")[0],
                    import_module(alias.name.split(".")[0]),
                )
        if isinstance(node, ast.ImportFrom) and node.module:
            source = resolve_name("." * node.level + node.module, loaded.__package__)
            for alias in node.names:
                with suppress(ImportError, AttributeError):
                    value = getattr(import_module(source), alias.name)
                    if _is_alias(value) and source.split(".")[0] not in (
                        PACKAGE,
                        "typing",
                        "collections",
                    ):
                        names[alias.asname or alias.name] = type(alias.name, (_Named,), {})
                    names.setdefault(alias.asname or alias.name, value)
    return names


def _is_alias(value: object) -> bool:
    return not inspect.isclass(value) and typing.get_origin(value) is not None


def _type(found: Any) -> str:
    if found is None or found is type(None):
        return "None"
    if found is ... or isinstance(found, str | typing.ForwardRef):  # a type that refers to itself
        return "..."
    if isinstance(found, list):
        return f"[{', '.join(map(_type, found))}]"
    origin, arguments = typing.get_origin(found), typing.get_args(found)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, arguments)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Unpack:
        options = typing.get_type_hints(arguments[0])
        lines = "".join(
            f"\n            {name}: {_type(options[name])}," for name in sorted(options)
        )
        return f"Unpack[{{{lines}\n        }}]"
    if origin is not None:
        name = _name(origin)
        return name if name == "..." else f"{name}[{', '.join(map(_type, arguments))}]"
    return _name(found)


def _name(found: Any) -> str:
    if isinstance(found, typing.TypeVar) or (_ours(found) and found not in _public()):
        return "..."
    return str(getattr(found, "__name__", None) or found._name)


def _ours(found: Any) -> bool:
    if inspect.isclass(found) and issubclass(found, _Named):
        return False
    return str(getattr(found, "__module__", "")).split(".")[0] == PACKAGE


def _public() -> list[Any]:
    modules = {path: import_module(path) for path in MODULES}
    return [
        getattr(modules[path], name)
        for path, names in MODULES.items()
        for name in names or modules[path].__all__
    ]


def _definer(cls: type, member: str) -> type:
    """Return the class that defines a member of `cls`."""
    return next(base for base in cls.__mro__ if member in vars(base))


# Objects whose classes set some attributes only on instances


def _run_input() -> RunAgentInput:
    return RunAgentInput(
        thread_id="t",
        run_id="r",
        state=None,
        messages=[],
        tools=[],
        context=[],
        forwarded_props=None,
    )


def _client(name: str) -> Any:
    return getattr(import_module(f"{PACKAGE}.client"), name)


def _protocol_error() -> Any:
    return import_module(f"{PACKAGE}.protocol").ProtocolError("code", "message")


SAMPLES: dict[str, Callable[[], Any]] = {
    "AGUISession": lambda: _client("AGUISession")("http://127.0.0.1/"),
    "AgentStatusError": lambda: _client("AgentStatusError")("http://127.0.0.1/", 500, ""),
    "Fold": lambda: import_module(f"{PACKAGE}.protocol").Fold(),
    "ProtocolError": _protocol_error,
    "RemoteRun": lambda: _client("AGUIClient")("http://127.0.0.1/").run(_run_input()),
    "ResumeError": lambda: _client("ResumeError")("interrupt_unknown", ["i"], "message"),
    "RunFailedError": lambda: _client("RunFailedError")(RunErrorEvent(message="m")),
    "StreamInvalidError": lambda: _client("StreamInvalidError")(_protocol_error()),
    "Turn": lambda: _client("AGUISession")("http://127.0.0.1/").send("Hello"),
}


if __name__ == "__main__":
    TABLE.write_text("\n".join(api_lines()).rstrip("\n") + "\n", encoding="utf-8")
