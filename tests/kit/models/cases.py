"""Named answers of every provider, for tests that must hold for all of them.

A case with several turns is a tool loop: every turn but the last calls `get_weather`, whose results
go back before the next turn. `Case.seen` is what a reader of the final messages must find.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.kit.deep import firsts
from tests.kit.models.turns import Call, Reasoning, Text, Turn
from tests.kit.models.wires import signs_reasoning, speaks_responses


@dataclass(frozen=True)
class Seen:
    """What a turn comes to in LangChain: text, stretches of reasoning, and calls with their names
    and arguments. `opaque` is what the package must carry and send back unread."""

    text: str
    reasoning: tuple[str, ...]
    calls: tuple[tuple[str, Any], ...]
    opaque: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One conversation with one provider. `kind` is what it is a case of, with any provider."""

    kind: str
    provider: str
    turns: tuple[Turn, ...]
    prompt = "What should I wear today?"

    @property
    def id(self) -> str:
        return f"{self.provider}-{self.kind}"

    @property
    def uses_tools(self) -> bool:
        return any(turn.calls for turn in self.turns)

    @property
    def seen(self) -> tuple[Seen, ...]:
        return tuple(seen_as(self.provider, turn) for turn in self.turns)

    def __str__(self) -> str:
        return self.id


def seen_as(provider: str, turn: Turn) -> Seen:
    """What LangChain makes of a turn that `provider` sent."""
    package = provider.partition("-")[0]
    responses = speaks_responses(provider)
    hides = provider.startswith("openai-chat")
    thoughts = [] if hides else turn.of(Reasoning)
    parts = [part for one in thoughts for part in (one.summaries if responses else (one.joined,))]
    opaque: list[str | None] = []
    for block in turn.blocks:
        if isinstance(block, Reasoning):
            encrypts = responses and not provider.endswith(("stored", "chained"))
            opaque.append(block.encrypted if encrypts or package == "openrouter" else None)
            if signs_reasoning(provider):
                opaque += [block.redacted, block.signature]
        if package == "google":
            opaque.append(block.signature)  # type: ignore[union-attr]
    return Seen(
        turn.text,
        tuple(filter(None, parts)),
        tuple((call.name, dict(call.args)) for call in turn.calls),
        tuple(value for value in opaque if value is not None),
    )


def _b64(text: str) -> str:
    return b64encode(text.encode()).decode()


_Kinds = dict[str, tuple[tuple[Any, ...] | Turn, ...]]
_ANSWER = Text("Take a light jacket – it is sunny in Paris. ☀️")
_PARIS = Call("get_weather", {"city": "Paris"}, "call_paris")
_ROME = Call("get_weather", {"city": "Rome, Città 🏛"}, "call_rome")
_THOUGHT = Reasoning("The user asks about clothes. I need the weather first.")
_SUNNY = Reasoning("Sunny, so light clothes.")
_PLAIN = (_ANSWER,)

_CLAUDE = replace(_THOUGHT, signature="EqQBCkYIARgCKkBsaWduZWQ=")
_CLAUDE_2 = replace(_SUNNY, signature="EqQBCkYIARgCKkBzZWNvbmQ=")
_REDACTED = Reasoning(redacted="EmwKAhgBEgyREDACTED")  # Bedrock's package makes bytes of it
_ANTHROPIC: _Kinds = {
    "thinking-text": ((_CLAUDE, _ANSWER),),
    "redacted-first": ((_REDACTED, _CLAUDE, _ANSWER),),
    "redacted-after": ((_CLAUDE, _REDACTED, _ANSWER),),
    "empty-signed": ((Reasoning(signature="EqQBZW1wdHk="), _ANSWER),),
    "tool-loop": ((_CLAUDE, _PARIS), (_CLAUDE_2, _ANSWER)),
    "interleaved": ((_CLAUDE, Text("Let me look that up."), _CLAUDE_2, _PARIS), _PLAIN),
    "parallel-calls": ((_CLAUDE, Text("Two cities."), _PARIS, _ROME), _PLAIN),
    "no-arguments": ((Call("get_weather", {}, "call_empty"),), (Text("Which city?"),)),
    "eager-start": (Turn((_CLAUDE, _ANSWER), eager_start=True),),
    "text-only": (_PLAIN,),
}
_PARTS = ("**Reading the question**\n\nClothes depend on weather.", "**Planning**\n\nAsk the tool.")
_SUMMED = Reasoning(parts=_PARTS, encrypted="gAAAAABparts-ciphertext")
_HIDDEN = Reasoning(encrypted="gAAAAABhidden-ciphertext")
_SECOND = Reasoning("**Answering**", encrypted="gAAAAABsecond-ciphertext")
_COMMENT = Text("I will check two things.", phase="commentary")
_OPENAI: _Kinds = {
    "summary-parts": ((_SUMMED, _ANSWER),),
    "encrypted-only": ((_HIDDEN, _ANSWER),),
    "no-ciphertext": ((Reasoning(parts=_PARTS), _ANSWER),),
    "tool-loop": ((_SUMMED, _PARIS), (_SECOND, _ANSWER)),
    "hidden-tool-loop": ((_HIDDEN, _PARIS), (_HIDDEN, _ROME), _PLAIN),
    "parallel-calls": ((_SECOND, _PARIS, _ROME), _PLAIN),
    "two-texts": ((_SECOND, Text("First part. "), Text("Second part.")),),
    "phases": ((_SUMMED, _COMMENT, _SECOND, replace(_ANSWER, phase="final_answer")),),
    "text-only": (_PLAIN,),
}
_SIGNED_CALL = replace(_PARIS, signature=_b64("paris-signature"))
_GOOGLE: _Kinds = {
    "signature-on-thought": ((replace(_THOUGHT, signature=_b64("thought")), _ANSWER),),
    "signature-on-text": ((_THOUGHT, replace(_ANSWER, signature=_b64("text"))),),
    "signature-on-empty-text": ((_THOUGHT, _ANSWER, Text(signature=_b64("late"))),),
    "tool-loop": ((_THOUGHT, _SIGNED_CALL), _PLAIN),
    "call-without-id": ((_THOUGHT, replace(_SIGNED_CALL, id=None)), _PLAIN),
    "parallel-calls": ((_THOUGHT, _SIGNED_CALL, _ROME), _PLAIN),
    "parallel-calls-apart": (
        Turn((_THOUGHT, Text("Two cities."), _SIGNED_CALL, _ROME), calls_together=False),
        _PLAIN,
    ),
    "text-on-finish": (Turn((_THOUGHT, _ANSWER), finish_on_last=True),),
    "text-only": (_PLAIN,),
    "call-on-finish": (
        Turn((_THOUGHT, _SIGNED_CALL), finish_on_last=True),
        Turn(_PLAIN, finish_on_last=True),
    ),
}
_FLAT: _Kinds = {
    "thinking-text": ((_THOUGHT, _ANSWER),),
    "text-on-finish": (Turn((_THOUGHT, _ANSWER), finish_on_last=True),),
    "tool-loop": ((_THOUGHT, _PARIS), (_SUNNY, _ANSWER)),
    "parallel-calls": ((_THOUGHT, _PARIS, _ROME), _PLAIN),
    "text-then-call": ((_THOUGHT, Text("Let me look."), _PARIS), _PLAIN),
    "text-only": (_PLAIN,),
}
_SUMMED_UP = Reasoning("**Planning**", encrypted="gAAAAABsummary")
_OPENROUTER: _Kinds = {
    **_FLAT,
    "signed": ((_CLAUDE, _ANSWER),),
    "encrypted": ((Reasoning(encrypted="gAAAAABopenrouter"), _ANSWER),),
    "encrypted-with-summary": ((_SUMMED_UP, _ANSWER),),
    "signed-tool-loop": ((_CLAUDE, _PARIS), _PLAIN),
    "encrypted-tool-loop": ((_SUMMED_UP, _PARIS), _PLAIN),
}
_FEW = ("thinking-text", "tool-loop", "parallel-calls", "text-then-call")
_STORED = ("summary-parts", "tool-loop", "parallel-calls", "two-texts", "phases")


def _all(providers: str, kinds: _Kinds, *names: str, but: str = "") -> list[Case]:
    """The cases of providers; a variant needs fewer than its provider."""
    return [
        Case(kind, provider, tuple(_turn(provider, one) for one in kinds[kind]))
        for provider in providers.split()
        for kind in names or kinds
        if kind != but
    ]


def _turn(provider: str, given: tuple[Any, ...] | Turn) -> Turn:
    turn = given if isinstance(given, Turn) else Turn(given)
    if not provider.startswith("mistral"):
        return turn
    ids = {"call_paris": "callParis", "call_rome": "callRome1"}  # it takes nine characters
    named: Callable[[Any], Any] = lambda one: replace(one, id=ids[one.id])  # noqa: E731
    return replace(turn, blocks=tuple(named(b) if isinstance(b, Call) else b for b in turn.blocks))


CASES: tuple[Case, ...] = (
    *_all("anthropic anthropic-v1", _ANTHROPIC),
    *_all("openai openai-v1", _OPENAI),
    # it keeps one reasoning item per message and mixes up several
    *_all("openai-v0", _OPENAI, but="phases"),
    *_all("openai-chat ollama deepseek groq xai mistral", _FLAT),
    *_all("google google-v1", _GOOGLE),
    *_all("openrouter", _OPENROUTER),
    # its blocks have no start that could carry text
    *_all("bedrock", _ANTHROPIC, but="eager-start"),
    *_all("openai-stored openai-v1-stored xai-responses", _OPENAI, *_STORED),
    *_all("openai-v0-stored", _OPENAI, *_STORED, but="phases"),
    *_all("mistral-v1", _FLAT, *_FEW[:3]),
    *_all("bedrock-v1", _ANTHROPIC, "redacted-first", "empty-signed", "tool-loop"),
    *_all("bedrock-v1", _ANTHROPIC, "parallel-calls", "interleaved"),
    *_all("bedrock-oss", _FLAT, *_FEW),
)

EACH_CASE = firsts(CASES, lambda case: case.provider, lambda case: case.kind)
"""Each provider and each kind."""

# Only for what is sent back: these messages cannot be read as described, or requests leave out what
# was said. With v1 blocks langchain-core adds streamed calls to the block of the same index; a
# chained request has no history.
SENT_CASES: tuple[Case, ...] = (
    *_all("openai-chained", _OPENAI, *_STORED),
    *_all("openai-chat-v1 ollama-v1 deepseek-v1 groq-v1 xai-v1", _FLAT, *_FEW),
    *_all("mistral-v1", _FLAT, "text-then-call"),
    *_all("openrouter-v1", _OPENROUTER, "signed", "encrypted-with-summary"),
    *_all("openrouter-v1", _OPENROUTER, "signed-tool-loop", "tool-loop"),
)

BY_ID = {case.id: case for case in (*CASES, *SENT_CASES)}
assert len(BY_ID) == len(CASES) + len(SENT_CASES), "case ids must be unique"
