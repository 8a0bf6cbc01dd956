"""`python -m tests.behaviour.reasoning.table`: play all identity cases, and write the table of the format's
page."""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import NamedTuple

from tests.kit.expect.identity import (
    EXPECTED_DIFFERENCES,
    STREAMED,
    TURNS,
    WHOLE,
    Column,
    compare_case,
    compare_turns,
)
from tests.kit.models.cases import BY_ID
from tests.kit.paths import ROOT
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.rig import Rig, rigged
from tests.kit.tables import BEGIN, END, line, written

PAGE = ROOT / "docs" / "reference" / "reasoning-format.md"

COLUMNS: dict[Column, str] = {
    "streamed": "streamed",
    "whole": "answered whole",
    "turns": "five turns with tools",
}
IDENTICAL = "identical"


class Row(NamedTuple):
    """A package, the API that it calls, the output version of its messages, and what it sends back
    of their reasoning."""

    package: str
    api: str
    version: str
    sent_back: str


_ALL, _WORDS, _NOTHING = "words and values", "words", "nothing"
_UNSTORED, _STORED = "Responses, `store=False`", "Responses, stored"

ROWS: dict[str, Row] = {
    "anthropic": Row("langchain-anthropic", "", "default", _ALL),
    "anthropic-v1": Row("langchain-anthropic", "", "`v1`", _ALL),
    "openai": Row("langchain-openai", _UNSTORED, "default (`responses/v1`)", _ALL),
    "openai-v1": Row("langchain-openai", _UNSTORED, "`v1`", _ALL),
    "openai-v0": Row("langchain-openai", _UNSTORED, "`v0`", _ALL),
    "openai-stored": Row("langchain-openai", _STORED, "default (`responses/v1`)", _WORDS),
    "openai-v1-stored": Row("langchain-openai", _STORED, "`v1`", _WORDS),
    "openai-v0-stored": Row("langchain-openai", _STORED, "`v0`", _WORDS),
    "openai-chained": Row(
        "langchain-openai", "Responses, `use_previous_response_id`", "default", _NOTHING
    ),
    "openai-chat": Row("langchain-openai", "Chat Completions", "default", _NOTHING),
    "openai-chat-v1": Row("langchain-openai", "Chat Completions", "`v1`", _NOTHING),
    "google": Row("langchain-google-genai", "", "default", _ALL),
    "google-v1": Row("langchain-google-genai", "", "`v1`", "values and signed words"),
    "bedrock": Row("langchain-aws", "Converse, Claude", "default", _ALL),
    "bedrock-v1": Row("langchain-aws", "Converse, Claude", "`v1`", _ALL),
    "bedrock-oss": Row("langchain-aws", "Converse, gpt-oss", "default", _WORDS),
    "openrouter": Row("langchain-openrouter", "", "default", _ALL),
    "openrouter-v1": Row("langchain-openrouter", "", "`v1`", _ALL),
    "mistral": Row("langchain-mistralai", "", "default", "words, but not beside calls"),
    "mistral-v1": Row("langchain-mistralai", "", "`v1`", "words, but not beside calls"),
    "ollama": Row("langchain-ollama", "", "default", _WORDS),
    "ollama-v1": Row("langchain-ollama", "", "`v1`", _WORDS),
    "deepseek": Row("langchain-deepseek", "", "default", _NOTHING),
    "deepseek-v1": Row("langchain-deepseek", "", "`v1`", _NOTHING),
    "groq": Row("langchain-groq", "", "default", _NOTHING),
    "groq-v1": Row("langchain-groq", "", "`v1`", _NOTHING),
    "xai": Row("langchain-xai", "Chat Completions", "default", _NOTHING),
    "xai-v1": Row("langchain-xai", "Chat Completions", "`v1`", _NOTHING),
    "xai-responses": Row("langchain-xai", _UNSTORED, "default", _ALL),
}
"""Every provider key, in the order of the table."""

assert ROWS.keys() == set(TURNS), "every provider has a row"


def table(differing: Mapping[tuple[str, Column], str]) -> list[str]:
    """The lines of the table, given why what is not identical (as in `EXPECTED_DIFFERENCES`)."""
    reasons: dict[str, dict[str, None]] = defaultdict(dict)
    for (name, column), reason in differing.items():
        provider = BY_ID[name].provider if name in BY_ID else name
        reasons[provider][f"{ROWS[provider].version}, {COLUMNS[column]}: {reason}"] = None
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for provider, row in ROWS.items():
        groups[row.package, row.api, row.sent_back].append(provider)
    heads = ["package", "messages", "sends back", "request"]
    lines = [line(*heads), line(*["---"] * len(heads))]
    for (package, api, sent_back), providers in groups.items():
        versions = ", ".join(ROWS[provider].version for provider in providers)
        found = [reason for provider in providers for reason in reasons[provider]]
        messages = f"{api}: {versions}" if api else versions
        lines.append(line(package, messages, sent_back, "; ".join(found) or IDENTICAL))
    return lines


def versions() -> str:
    """The packages that the results depend on."""
    packages = [
        "langchain",
        "langchain-core",
        "langgraph",
        *sorted({row.package for row in ROWS.values()}),
    ]
    return ", ".join(f"{package} {version(package)}" for package in packages)


def section(lines: Iterable[str]) -> str:
    count = (
        f"{len(ROWS)} settings: {len(STREAMED)} conversations streamed, {len(WHOLE)} answered "
        f"whole, {5 * len(TURNS)} turns with tools."
    )
    return "\n".join([BEGIN, "", *lines, "", count, "", f"With {versions()}.", "", END])


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
