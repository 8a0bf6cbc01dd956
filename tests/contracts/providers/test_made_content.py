"""What a client sees of an answer besides its text is not needed on the way back, and not doubled:
the provider gets on the next turn what LangChain's own messages would send."""

from __future__ import annotations

import json

import pytest

from tests.kit.deep import deep
from tests.kit.expect.identity import differences
from tests.kit.models.made_answers import FORMS, Answer
from tests.kit.run.rig import MORE, Conversation, Rig

pytestmark = deep


@pytest.mark.parametrize(("answer", "whole"), FORMS)
@pytest.mark.filterwarnings("ignore")
def test_the_next_request_is_langchains_own(answer: Answer, whole: bool, rig: Rig) -> None:
    conversation = Conversation(rig, answer.provider, whole=whole)
    conversation.ask("Hi", answer.turn)
    held = conversation.held
    # The client has all of it, and sends back all but the activities.
    sent = json.dumps([one for one in held if one["role"] != "activity"])
    for name, _, _ in answer.calls:
        assert f'"name": "{name}"' in sent
    assert any(one["role"] == "activity" for one in held) == bool(answer.media)
    conversation.held = [one for one in held if one["role"] != "activity"]
    [candidate], [history] = conversation.ask("Anything else?", MORE)
    found = list(differences(candidate, conversation.reference(history)))
    assert not found, "\n".join(found)
