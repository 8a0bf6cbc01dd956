"""Prints what is installed; and for each extra, null if what it is for can be used, else the
error."""

import json
import sys
from collections.abc import Callable
from importlib.metadata import distributions


def fastapi() -> None:
    from langgraph_agui import agui_router  # noqa: F401


def playground() -> None:
    from langgraph_agui.devtools.playground import playground_router  # noqa: F401


def client() -> None:
    from langgraph_agui.client import AGUIClient  # noqa: F401


def middleware() -> None:
    from langgraph_agui import AGUIMiddleware, StateStreamingMiddleware  # noqa: F401


def seal() -> None:
    from langgraph_agui import ReasoningSeal

    ReasoningSeal([ReasoningSeal.new_key()])


def interrupts() -> None:
    from langgraph_agui.protocol.response_schema import check_schema

    check_schema(1, {"type": "integer"}, "a question")


def redis() -> None:
    from langgraph_agui.workers import RedisRunStore  # noqa: F401


def postgres() -> None:
    from langgraph_agui.workers import PostgresRunStore  # noqa: F401


def a2ui() -> None:
    from langgraph_agui import get_a2ui_tools  # noqa: F401


def cli() -> None:
    from langgraph_agui.devtools import cli

    sys.argv[1:] = ["--help"]
    try:
        cli.main()
    except SystemExit as error:
        if error.code:
            raise ImportError(error.code) from error


def error_of(use: Callable[[], None]) -> str | None:
    try:
        use()
    except ImportError as error:
        return f"{error}"
    return None


uses = {
    "fastapi": [fastapi, playground],
    "client": [client],
    "middleware": [middleware],
    "seal": [seal],
    "interrupts": [interrupts],
    "a2ui": [a2ui],
    "postgres": [postgres],
    "redis": [redis],
    "cli": [cli],
}
errors = {extra: [error_of(use) for use in each] for extra, each in uses.items()}
print(
    "\n"
    + json.dumps(
        [[one.metadata["Name"].lower().replace("_", "-") for one in distributions()], errors]
    )
)
