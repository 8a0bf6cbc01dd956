"""Names stand where they belong: those of other products in `compat/`, those of model providers in
`messages/` and `chat_models/`, and tools for developers use public names only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.kit.paths import PACKAGE

SOURCES = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")])

PRODUCTS = re.compile(r"ag[-_ ]?ui[-_ ]langgraph|copilot[-_ ]?kit|assistant[-_]ui", re.IGNORECASE)
PROVIDERS = re.compile(
    r"openai|azure|gpt-|anthropic|claude|gemini|google|vertexai|bedrock|amazon|nova|mistral"
    r"|groq|grok|deepseek|\bxai\b|\bx\.ai\b|ollama|openrouter|cohere|fireworks|qwen|vllm|sglang"
    r"|minimax|kimi|glm",
    re.IGNORECASE,
)
# LangChain's name for a form that every provider takes.
LANGCHAIN = "convert_to_openai_tool"


def lines_with(names: re.Pattern[str], *rooms: str) -> Iterator[str]:
    """The lines outside of some rooms that have one of the names, comments and docstrings
    included."""
    for path in SOURCES:
        place = path.relative_to(PACKAGE)
        if place.parts[0] in rooms:
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if names.search(line.replace(LANGCHAIN, "")):
                yield f"{place}:{number}: {line.strip()}"


def test_other_products_are_named_in_compat_only() -> None:
    assert [*lines_with(PRODUCTS, "compat")] == []


def test_providers_are_named_where_their_messages_and_models_are() -> None:
    assert [*lines_with(PROVIDERS, "messages", "chat_models")] == []


# -- tools for developers ------------------------------------------------------------------------

ROOMS = ("devtools", "testing")
PUBLIC = ("", ".client", ".protocol", ".chat_models", ".workers", ".compat", ".testing")
# It imports public names on their first use, and names the extra of a missing package. Users have
# no use for it, and the alternative is a copy.
KERNEL = {"langgraph_agui.kernel.extras": {"lazy_names", "named_extras"}}


def public_names() -> dict[str, set[str]]:
    """The public names of each package, by its name: those of its stub, or of its `__all__`."""
    names: dict[str, set[str]] = {}
    for part in PUBLIC:
        stub = PACKAGE.joinpath(*part.split("."), "__init__.pyi")
        names[f"langgraph_agui{part}"] = (
            {name for _, name in imported(stub)}
            if stub.exists()
            else set(import_module(f"langgraph_agui{part}").__all__)
        )
    names["langgraph_agui"].add("__version__")
    return names


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """The modules and names of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


TOOLS = sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_tools_import_public_names(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0]
    allowed = public_names() | KERNEL
    foreign = [
        (module, name)
        for module, name in imported(path)
        if module.split(".")[0] == "langgraph_agui"
        and not module.startswith(f"langgraph_agui.{room}")
        and name not in allowed.get(module, ())
    ]
    assert foreign == []
