"""The rig notices what it is there for."""

from __future__ import annotations

import pytest

from tests.kit.expect.identity import differences, grouped
from tests.kit.models.loops import loop
from tests.kit.run.rig import MORE, Conversation, Rig


@pytest.mark.parametrize("provider", grouped("anthropic", "openai", "google", "mistral"))
def test_what_a_client_loses_is_missing_from_the_request(provider: str, rig: Rig) -> None:
    conversation = Conversation(rig, provider)
    conversation.ask("Weather?", *loop(provider, 0))
    for message in conversation.held:
        for entity in (message, *message.get("toolCalls", ())):
            entity.pop("encryptedValue", None)
    [candidate], [history] = conversation.ask("Anything else?", MORE)
    assert list(differences(candidate, conversation.reference(history)))
