"""The rig notices what it is there for."""

from __future__ import annotations

import pytest

from tests.kit.expect.identity import differences, grouped
from tests.kit.models.loops import loop
from tests.kit.run.rig import MORE, Conversation, Rig


@pytest.mark.parametrize(
    "provider",
    grouped(
        "anthropic",
        "openai",
        "openai-stored",
        "google",
        "bedrock",
        "openrouter",
        "ollama",
        "mistral",
    ),
)
def test_what_a_client_loses_is_missing_from_the_request(provider: str, rig: Rig) -> None:
    conversation = Conversation(rig, provider)
    conversation.ask("Weather?", *loop(provider, 0))
    for message in conversation.held:
        for entity in (message, *message.get("toolCalls", ())):
            entity.pop("encryptedValue", None)
    [candidate], [history] = conversation.ask("Anything else?", MORE)
    assert list(differences(candidate, conversation.reference(history)))


def test_a_reference_repeats_itself(rig: Rig) -> None:
    conversation = Conversation(rig, "anthropic")
    conversation.ask("Weather?", *loop("anthropic", 0))
    assert conversation.reference(conversation.own) == conversation.reference(conversation.own)


@pytest.mark.parametrize(
    ("candidate", "reference", "lines"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, ['a[1].b: "x", should be "y"']),
        ({"a": 1}, {"b": 1}, ["a: 1, should not be there", "b: missing, should be 1"]),
        (
            {"a": [{"type": "text"}]},
            {"a": []},
            ["a: 1 entries, should be 0", "a: kinds ['text'], should be []"],
        ),
        ({"a": 1}, {"a": True}, ["a: 1, should be true"]),
        ({"a": 1}, {"a": 1.0}, ["a: 1, should be 1.0"]),
        ({"a": {}}, {"a": None}, ["a: {}, should be null"]),
    ],
)
def test_differences_are_told_by_path(
    candidate: object, reference: object, lines: list[str]
) -> None:
    assert list(differences(candidate, reference)) == lines
