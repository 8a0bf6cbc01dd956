"""Private members are private to their class, and private names to their module."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator

from tests.kit.paths import PACKAGE

# Names of other packages that begin with an underscore, and that have no public counterpart.
ALLOWED = {
    # langchain-core's own hooks for models and tools: LangSmith's name of the provider, and the
    # parameters of a tool that has no function.
    ("chat_models/find.py", "_get_ls_params"),
    ("client/tools.py", "_run"),
    # The default model behind what `init_chat_model` returns.
    ("chat_models/find.py", "_model"),
    # Whether the application has set an executor.
    ("kernel/aio.py", "_default_executor"),
    # The one thing in common of `Required` and its like in typing and in typing_extensions.
    ("state/schema.py", "_name"),
    # Where LangGraph's `ToolRuntime.emit_output_delta` writes.
    ("translate/local/callbacks.py", "_tools"),
    ("translate/local/callbacks.py", "_tool_call_writer"),
    # The class of handlers that `push_message` looks for.
    ("translate/local/pushed.py", "_messages"),
    # rich redraws in a thread of its own, under this lock.
    ("devtools/cli/view.py", "_lock"),
}

# Python documents these as public (collections.namedtuple, enum).
PUBLIC = {"_asdict", "_field_defaults", "_fields", "_make", "_replace", "_value_"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def members(node: ast.ClassDef) -> set[str]:
    """The names that a class gives its instances or itself."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def uses(tree: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The private names of others that code uses, each with its line.

    A class may use its own private members on any object: those of another instance, or of the one
    that a class method makes.
    """
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                pass
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield node.lineno, name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[ast.Name(id=holder), ast.Constant(value=str(name)), *_],
            ) if is_private(name) and holder != "self":
                yield node.lineno, name
            case ast.ImportFrom(module=module, names=names):
                yield from (
                    (node.lineno, part)
                    for part in [*(module or "").split("."), *(one.name for one in names)]
                    if is_private(part)
                )
        is_class = isinstance(node, ast.ClassDef)
        yield from uses(node, own | members(node) if is_class else own)


def test_no_private_member_is_used_across_classes() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), name): line
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in uses(ast.parse(path.read_text("utf-8")))
    }
    assert [f"{file}:{found[file, name]}: {name}" for file, name in found.keys() - ALLOWED] == []
    assert ALLOWED - found.keys() == set(), "not used any more"


def test_the_wall_of_the_client_has_one_door_to_messages() -> None:
    """import-linter has no way to say "all of messages but one file", so its contract lists
    them."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    [contract] = [
        one
        for one in project["tool"]["importlinter"]["contracts"]
        if one.get("source_modules") == ["langgraph_agui.client"]
    ]
    files = {path.stem for path in (PACKAGE / "messages").glob("*.py")} - {"__init__", "content"}
    listed = {name for name in contract["forbidden_modules"] if ".messages." in name}
    assert listed == {f"langgraph_agui.messages.{name}" for name in files}
