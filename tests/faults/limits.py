"""The limits of agents, routes and clients, for the table in the docs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from langgraph_agui import InputLimits, RunLimits
from langgraph_agui.client import ClientLimits
from tests.tables import line


class Limit(NamedTuple):
    """A limit, and what happens beyond it."""

    option: str
    what: str
    beyond: str


AGENT = [
    Limit(
        "total",
        "seconds of a run, without those in which it waits for its thread",
        "`RUN_ERROR` `run_timeout`",
    ),
    Limit("idle", "seconds without an event", "`RUN_ERROR` `run_timeout`"),
    Limit("runs", "runs at once, those that wait included", "429 `too_many_runs`"),
    Limit(
        "waiting", 'runs that wait in one thread (`on_busy="wait"`)', "`RUN_ERROR` `thread_busy`"
    ),
    Limit("readers", "clients that follow one run", "429 `too_many_readers`"),
    Limit(
        "unread",
        "bytes that wait for a client which does not read",
        "`RUN_ERROR` `reader_too_slow`",
    ),
]
ROUTES = [
    Limit("max_bytes", "bytes of a request", "413"),
    Limit("max_depth", "levels of JSON in a request, also in the arguments of calls", "422"),
    Limit(
        "max_items",
        "messages, tools, context items, answers; parts and calls of one message",
        "422",
    ),
    Limit("max_values", "JSON values in a request", "422"),
]
CLIENT = [
    Limit("max_event", "characters of one event", "`EventTooLargeError`"),
    Limit("max_bytes", "bytes of the stream of one run, unpacked", "`RunLimitError`"),
    Limit("max_weight", "weight of what patches make and copy", "`RunLimitError`"),
    Limit("max_tool_rounds", "runs of one turn that call local tools", "`RunLimitError`"),
    Limit("run_timeout", "seconds of one run", "`RunLimitError`"),
]


def rows(where: str, limits: list[Limit], defaults: type[Any]) -> list[str]:
    """The rows of the limits of one class of options."""
    known = {one.name: one.default for one in fields(defaults)}
    return [
        line(f"`{where}({one.option}=)`", one.what, shown(known[one.option]), one.beyond)
        for one in limits
    ]


def shown(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if value < 1 << 20 else f"{value >> 20} Mi"


def limits() -> str:
    """The table of limits."""
    heads = [
        line("option", "what it bounds", "default", "beyond it"),
        line("---", "---", "--:", "---"),
    ]
    return "\n".join(
        [
            *heads,
            *rows("RunLimits", AGENT, RunLimits),
            *rows("InputLimits", ROUTES, InputLimits),
            *rows("ClientLimits", CLIENT, ClientLimits),
        ]
    )
