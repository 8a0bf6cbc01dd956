"""`python -m tests.reasoning.table`: play all identity cases, and write the table of the format's
page."""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from tests.node_client import NodeClient
from tests.providers.cases import BY_ID
from tests.reasoning.identity import (
    EXPECTED_DIFFERENCES,
    STREAMED,
    TURNS,
    WHOLE,
    Column,
    compare_case,
    compare_turns,
)
from tests.reasoning.rig import Rig, rigged
from tests.tables import BEGIN, END, line, written

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reasoning-format.md"

COLUMNS: dict[Column, str] = {
    "streamed": "streamed",
    "whole": "answered whole",
    "turns": "five turns with tools",
}
IDENTICAL = "identical"


class Row(NamedTuple):
    """A package, the settings that its messages were made with, and what it sends back of their
    reasoning."""

    package: str
    messages: str
    sent_back: str


_ALL, _NOTHING = "words and values", "nothing"

ROWS: dict[str, Row] = {
    "anthropic": Row("langchain-anthropic", "default", _ALL),
    "anthropic-v1": Row("langchain-anthropic", "`v1`", _ALL),
    "openai": Row("langchain-openai", "Responses, `store=False`, default (`responses/v1`)", _ALL),
    "openai-v1": Row("langchain-openai", "Responses, `store=False`, `v1`", _ALL),
    "openai-v0": Row("langchain-openai", "Responses, `store=False`, `v0`", _ALL),
    "openai-stored": Row(
        "langchain-openai", "Responses, stored, default (`responses/v1`)", "words"
    ),
    "openai-v1-stored": Row("langchain-openai", "Responses, stored, `v1`", "words"),
    "openai-v0-stored": Row("langchain-openai", "Responses, stored, `v0`", "words"),
    "openai-chained": Row(
        "langchain-openai", "Responses, stored, `use_previous_response_id`", _NOTHING
    ),
    "openai-chat": Row("langchain-openai", "Chat Completions, default", _NOTHING),
    "openai-chat-v1": Row("langchain-openai", "Chat Completions, `v1`", _NOTHING),
    "google": Row("langchain-google-genai", "default", _ALL),
    "google-v1": Row("langchain-google-genai", "`v1`", "values and signed words"),
    "bedrock": Row("langchain-aws", "Converse, Claude, default", _ALL),
    "bedrock-v1": Row("langchain-aws", "Converse, Claude, `v1`", _ALL),
    "bedrock-oss": Row("langchain-aws", "Converse, gpt-oss, default", "words"),
    "openrouter": Row("langchain-openrouter", "default", _ALL),
    "openrouter-v1": Row("langchain-openrouter", "`v1`", _ALL),
    "mistral": Row("langchain-mistralai", "default", "words, but not beside calls"),
    "mistral-v1": Row("langchain-mistralai", "`v1`", "words, but not beside calls"),
    "ollama": Row("langchain-ollama", "default", "words"),
    "ollama-v1": Row("langchain-ollama", "`v1`", "words"),
    "deepseek": Row("langchain-deepseek", "default", _NOTHING),
    "deepseek-v1": Row("langchain-deepseek", "`v1`", _NOTHING),
    "groq": Row("langchain-groq", "default", _NOTHING),
    "groq-v1": Row("langchain-groq", "`v1`", _NOTHING),
    "xai": Row("langchain-xai", "Chat Completions, default", _NOTHING),
    "xai-v1": Row("langchain-xai", "Chat Completions, `v1`", _NOTHING),
    "xai-responses": Row("langchain-xai", "Responses, `store=False`, default", _ALL),
}
"""Every provider key, in the order of the table."""

assert ROWS.keys() == set(TURNS), "every provider has a row"


def table(differing: Mapping[tuple[str, Column], str]) -> list[str]:
    """The lines of the table, given why what is not identical (as in `EXPECTED_DIFFERENCES`)."""
    reasons: dict[tuple[str, Column], dict[str, None]] = defaultdict(dict)
    for (name, column), reason in differing.items():
        reasons[BY_ID[name].provider if name in BY_ID else name, column][reason] = None
    heads = ["package", "messages", "sends back", *COLUMNS.values()]
    lines = [line(*heads), line(*["---"] * len(heads))]
    for provider, labels in ROWS.items():
        cells = ["; ".join(reasons[provider, column]) or IDENTICAL for column in COLUMNS]
        lines.append(line(*labels, *cells))
    return lines


def versions() -> list[str]:
    """The packages that the results depend on."""
    packages = [
        "langchain",
        "langchain-core",
        "langgraph",
        *sorted({row.package for row in ROWS.values()}),
    ]
    return [f"- {package} {version(package)}" for package in packages]


def section(lines: Iterable[str]) -> str:
    count = f"{len(STREAMED)} conversations streamed, {len(WHOLE)} answered whole, {5 * len(TURNS)} turns with tools."
    return "\n".join(
        [BEGIN, "", *lines, "", count, "", "With these packages:", "", *versions(), "", END]
    )


def play(rig: Rig) -> dict[tuple[str, Column], list[str]]:
    """All differences there are."""
    found: dict[tuple[str, Column], list[str]] = {}
    for case in STREAMED:
        found[case.id, "streamed"] = compare_case(rig, case, whole=False)
    for case in WHOLE:
        found[case.id, "whole"] = compare_case(rig, case, whole=True)
    for provider in TURNS:
        found[provider, "turns"] = compare_turns(rig, provider)
    return {place: lines for place, lines in found.items() if lines}


def main() -> int:
    logging.disable(logging.WARNING)  # packages tell of what they leave out
    client = NodeClient()
    with rigged(client) as rig:
        found = play(rig)
    client.close()
    differing = {place: EXPECTED_DIFFERENCES.get(place, lines[0]) for place, lines in found.items()}
    PAGE.write_text(written(PAGE.read_text() if PAGE.exists() else "", section(table(differing))))
    surprises = [
        *(found.keys() - EXPECTED_DIFFERENCES.keys()),
        *(EXPECTED_DIFFERENCES.keys() - found.keys()),
    ]
    for place in sorted(surprises):
        lines = found.get(place, ["is identical, but expected to differ"])
        sys.stderr.write("\n  ".join([": ".join(place), *lines]) + "\n")
    return bool(surprises)


if __name__ == "__main__":
    sys.exit(main())
