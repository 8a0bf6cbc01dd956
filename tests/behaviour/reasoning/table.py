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


class Row(NamedTuple):
    """A package, the API that it calls, the output version of its messages, and what it sends back
    of their reasoning."""

    package: str
    api: str
    version: str
    sent_back: str


_ALL, _WORDS, _NOTHING = "words and values", "words", "nothing"
_SOME, _NO_CALLS = "values and signed words", "words, but not beside calls"
_UNSTORED, _STORED = "Responses, `store=False`", "Responses, stored"
_CHAINED, _CHAT = "Responses, `use_previous_response_id`", "Chat Completions"
_RESPONSES_V1 = "default (`responses/v1`)"


def _rows(package: str, name: str, api: str, sent: str, *versions: str) -> dict[str, Row]:
    """Rows of a provider: its default, and `v1` (or another version, with the key's ending)."""
    keys = [
        (one, name.replace("*", f"-{one}" if one in ("v0", "v1") else ""))
        for one in versions or ("default", "v1")
    ]
    return {
        key: Row(f"langchain-{package}", api, f"`{one}`" if one in ("v0", "v1") else one, sent)
        for one, key in keys
    }


_GPT = (_RESPONSES_V1, "v1", "v0")
ROWS: dict[str, Row] = {
    **_rows("anthropic", "anthropic*", "", _ALL),
    **_rows("openai", "openai*", _UNSTORED, _ALL, *_GPT),
    **_rows("openai", "openai*-stored", _STORED, _WORDS, *_GPT),
    **_rows("openai", "openai-chained", _CHAINED, _NOTHING, "default"),
    **_rows("openai", "openai-chat*", _CHAT, _NOTHING),
    **_rows("google-genai", "google*", "", _ALL, "default"),
    **_rows("google-genai", "google*", "", _SOME, "v1"),
    **_rows("aws", "bedrock*", "Converse, Claude", _ALL),
    **_rows("aws", "bedrock-oss", "Converse, gpt-oss", _WORDS, "default"),
    **_rows("openrouter", "openrouter*", "", _ALL),
    **_rows("mistralai", "mistral*", "", _NO_CALLS),
    **_rows("ollama", "ollama*", "", _WORDS),
    **_rows("deepseek", "deepseek*", "", _NOTHING),
    **_rows("groq", "groq*", "", _NOTHING),
    **_rows("xai", "xai*", _CHAT, _NOTHING),
    **_rows("xai", "xai-responses", _UNSTORED, _ALL, "default"),
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
        lines.append(line(package, messages, sent_back, "; ".join(found) or "identical"))
    return lines


def versions() -> str:
    """The packages that the results depend on."""
    providers = sorted({row.package for row in ROWS.values()})
    packages = ["langchain", "langchain-core", "langgraph", *providers]
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
