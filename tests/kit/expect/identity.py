"""Whether the provider gets the request that LangChain's own messages would have made, byte for
byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from tests.kit.deep import deep, firsts
from tests.kit.models.cases import CASES, SENT_CASES, Case
from tests.kit.models.loops import loop
from tests.kit.models.provider_models import PROVIDERS, VARIANTS
from tests.kit.run.rig import MORE, Conversation, Rig

Column = Literal["streamed", "whole", "turns"]

STREAMED = (*CASES, *SENT_CASES)
WHOLE = tuple(
    case for case in STREAMED if not case.id.endswith(("eager-start", "on-finish", "apart"))
)
TURNS = (*PROVIDERS, *VARIANTS)

EXPECTED_DIFFERENCES: dict[tuple[str, Column], str] = {}
"""Why a request is another one: by the case's id, or by the provider for the five turns. Nothing
else may differ."""


def grouped(*given: Case | str) -> list[Any]:
    """Parameters of tests, so that one process of several meets all of a provider's package.

    `make test` has each provider and each kind of case; where providers are all there is, each
    package.
    """

    kept = firsts(
        given,
        lambda one: package(one) if isinstance(one, str) else one.provider,
        lambda one: "" if isinstance(one, str) else one.kind,
    )
    groups = [pytest.mark.xdist_group(package(one)) for one in given]
    return [
        pytest.param(one, id=str(one), marks=[group] if one in kept else [group, deep])
        for one, group in zip(given, groups, strict=True)
    ]


def package(given: Case | str) -> str:
    """The package of a provider, or of a case of it."""
    return (given if isinstance(given, str) else given.provider).partition("-")[0]


def check(name: str, column: Column, found: list[str]) -> None:
    """Take only the differences that are expected, and those in any case."""
    assert bool(found) is ((name, column) in EXPECTED_DIFFERENCES), "\n".join(["", *found])


def compare_case(rig: Rig, case: Case, *, whole: bool) -> list[str]:
    """Play a case, ask one question more, and tell how the request differs; nothing if it is
    identical."""
    conversation = Conversation(rig, case.provider, whole=whole)
    conversation.ask(case.prompt, *case.turns)
    [candidate], [history] = conversation.ask("Anything else?", MORE)
    return list(differences(candidate, conversation.reference(history)))


def compare_turns(rig: Rig, provider: str) -> list[str]:
    """Play five turns with a tool loop each, and tell how any request differs."""
    conversation = Conversation(rig, provider)
    return [one for number in range(5) for one in compare_turn(conversation, provider, number)]


def compare_turn(conversation: Conversation, provider: str, number: int) -> list[str]:
    """Play one more turn with a tool loop, and tell how its requests differ."""
    candidates, histories = conversation.ask(f"Question {number}?", *loop(provider, number))
    return [
        f"turn {number}, request {place}: {difference}"
        for place, (candidate, history) in enumerate(zip(candidates, histories, strict=True))
        for difference in differences(candidate, conversation.reference(history))
    ]


def differences(candidate: Any, reference: Any, path: str = "") -> Iterator[str]:
    """Where two JSON values differ, one line each: the path, what is sent, what should be."""
    if isinstance(candidate, dict) and isinstance(reference, dict):
        for key in sorted(candidate.keys() | reference.keys()):
            place = f"{path}.{key}" if path else key
            if key not in candidate:
                yield f"{place}: missing, should be {short(reference[key])}"
            elif key not in reference:
                yield f"{place}: {short(candidate[key])}, should not be there"
            else:
                yield from differences(candidate[key], reference[key], place)
    elif isinstance(candidate, list) and isinstance(reference, list):
        if len(candidate) != len(reference):
            yield f"{path}: {kinds(candidate)}, should be {kinds(reference)}"
        for place, (one, other) in enumerate(zip(candidate, reference, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
    elif type(candidate) is not type(reference) or candidate != reference:
        yield f"{path}: {short(candidate)}, should be {short(reference)}"


def kinds(entries: list[Any]) -> list[str]:
    """What the entries of a list are, in short."""
    names = [one if isinstance(one, dict) else {"type": short(one)} for one in entries]
    return [str(one.get("type") or one.get("role") or [*one]) for one in names]


def short(value: Any, limit: int = 300) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= limit else f"{text[:limit]}…"
