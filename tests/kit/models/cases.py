"""Named answers of every provider, for tests that must hold for all of them.

A case with several turns is a tool loop: every turn but the last calls `get_weather`, whose results
go back before the next turn. `Case.seen` is what a reader of the final messages must find.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from tests.kit.deep import firsts
from tests.kit.models.turns import Call, Reasoning, Text, Turn, Usage

PROMPT = "What should I wear today?"


@dataclass(frozen=True)
class Seen:
    """What a turn comes to in LangChain: blocks in order, as ("reasoning" | "text", text) or
    ("call", …).

    Calls are `("call", name, args)`; `call_ids` are their ids, None where LangChain makes one up.
    `opaque` is what the package must carry and send back unread.
    """

    blocks: tuple[tuple[Any, ...], ...]
    call_ids: tuple[str | None, ...]
    opaque: tuple[str, ...]
    usage: Usage

    @property
    def text(self) -> str:
        return "".join(block[1] for block in self.blocks if block[0] == "text")

    @property
    def reasoning(self) -> tuple[str, ...]:
        return tuple(block[1] for block in self.blocks if block[0] == "reasoning")

    @property
    def calls(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(block[1:] for block in self.blocks if block[0] == "call")


@dataclass(frozen=True)
class Case:
    """One conversation with one provider."""

    id: str
    provider: str
    turns: tuple[Turn, ...]
    prompt: str = PROMPT
    overrides: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What it is a case of, with any provider."""
        return self.id.removeprefix(f"{self.provider}-")

    @property
    def uses_tools(self) -> bool:
        return any(turn.calls for turn in self.turns)

    @property
    def seen(self) -> tuple[Seen, ...]:
        return tuple(seen_as(self.provider, turn) for turn in self.turns)

    def __str__(self) -> str:
        return self.id


# Flat providers give one string of reasoning and one of text, whatever the order was.
_FLAT = {"deepseek", "groq", "ollama", "openai-chat", "openrouter", "xai"}
_FLAT |= {f"{provider}-v1" for provider in _FLAT}
_NO_IDS = {"ollama", "ollama-v1"}
_SIGNED = {
    "anthropic",
    "anthropic-v1",
    "bedrock",
    "bedrock-v1",
    "google",
    "google-v1",
    "openrouter",
    "openrouter-v1",
}
_REDACTED = {"anthropic", "anthropic-v1", "bedrock", "bedrock-v1", "openrouter", "openrouter-v1"}
_ENCRYPTED = {"openai", "openai-v0", "openai-v1", "openrouter", "openrouter-v1", "xai-responses"}
_STORED = {"openai-stored", "openai-v0-stored", "openai-v1-stored", "openai-chained"}
_RESPONSES = {"openai", "openai-v0", "openai-v1", "xai-responses"} | _STORED
_JOINS_TEXTS = {"google", "google-v1", "mistral", "mistral-v1"}


def seen_as(provider: str, turn: Turn) -> Seen:
    """What LangChain makes of a turn that `provider` sent."""
    blocks = _flat(provider, turn) if provider in _FLAT else _ordered(provider, turn)
    return Seen(
        blocks=blocks,
        call_ids=tuple(None if provider in _NO_IDS else call.id for call in turn.calls),
        opaque=_opaque(provider, turn),
        usage=turn.usage,
    )


def _flat(provider: str, turn: Turn) -> tuple[tuple[Any, ...], ...]:
    blocks: list[tuple[Any, ...]] = []
    if turn.reasoning and not provider.startswith("openai-chat"):
        blocks.append(("reasoning", turn.reasoning))
    if turn.text:
        blocks.append(("text", turn.text))
    return (*blocks, *(("call", call.name, call.dict_args) for call in turn.calls))


def _ordered(provider: str, turn: Turn) -> tuple[tuple[Any, ...], ...]:
    blocks: list[tuple[Any, ...]] = []
    for block in turn.blocks:
        if isinstance(block, Reasoning):
            parts = block.summaries if provider in _RESPONSES else (block.joined,)
            blocks += [("reasoning", part) for part in parts if part]
        elif isinstance(block, Call):
            blocks.append(("call", block.name, block.dict_args))
        elif block.text and provider in _JOINS_TEXTS and blocks and blocks[-1][0] == "text":
            blocks[-1] = ("text", blocks[-1][1] + block.text)
        elif block.text:
            blocks.append(("text", block.text))
    return tuple(blocks)


def _opaque(provider: str, turn: Turn) -> tuple[str, ...]:
    found: list[str | None] = []
    for block in turn.blocks:
        if isinstance(block, Reasoning):
            found += [
                block.encrypted if provider in _ENCRYPTED else None,
                block.redacted if provider in _REDACTED else None,
                block.signature if provider in _SIGNED else None,
            ]
        elif provider.startswith("google"):
            found.append(block.signature)
    return tuple(value for value in found if value is not None)


def _b64(text: str) -> str:
    return b64encode(text.encode()).decode()


_USAGE = Usage(input=120, output=45, reasoning=20, cached=16)
_MORE = Usage(input=200, output=30, reasoning=10)
_THOUGHT = "The user asks about clothes. I need the weather first."
_ANSWER = "Take a light jacket – it is sunny in Paris. ☀️"
_PARIS = Call("get_weather", {"city": "Paris"}, id="call_paris")
_ROME = Call("get_weather", {"city": "Rome, Città 🏛"}, id="call_rome")


def _case(case_id: str, provider: str, *turns: tuple[Any, ...] | Turn, **options: Any) -> Case:
    """A case of these turns, each given as its blocks; `options` apply to all of them."""
    usages = (_USAGE, _MORE, _MORE, _MORE)
    made = [
        given if isinstance(given, Turn) else Turn(blocks=given, usage=usage, **options)
        for given, usage in zip(turns, usages, strict=False)
    ]
    return Case(f"{provider}-{case_id}", provider, tuple(made))


def _anthropic(provider: str) -> list[Case]:
    signed = Reasoning(_THOUGHT, signature="EqQBCkYIARgCKkBsaWduZWQ=")
    second = Reasoning(
        "The tool says sunny, so light clothes.", signature="EqQBCkYIARgCKkBzZWNvbmQ="
    )
    redacted = Reasoning(redacted="EmwKAhgBEgyREDACTED")  # Bedrock's package makes bytes of it
    cases = [
        _case("thinking-text", provider, (signed, Text(_ANSWER))),
        _case("redacted-first", provider, (redacted, signed, Text(_ANSWER))),
        _case("redacted-after", provider, (signed, redacted, Text(_ANSWER))),
        _case("empty-signed", provider, (Reasoning(signature="EqQBZW1wdHk="), Text(_ANSWER))),
        _case("tool-loop", provider, (signed, _PARIS), (second, Text(_ANSWER))),
        _case(
            "interleaved",
            provider,
            (signed, Text("Let me look that up."), second, _PARIS),
            (Text(_ANSWER),),
        ),
        _case(
            "parallel-calls",
            provider,
            (signed, Text("Two cities."), _PARIS, _ROME),
            (Text(_ANSWER),),
        ),
        _case(
            "no-arguments",
            provider,
            (Call("get_weather", {}, id="call_empty"),),
            (Text("Which city?"),),
        ),
        _case("eager-start", provider, (signed, Text(_ANSWER)), eager_start=True),
        _case("text-only", provider, (Text(_ANSWER),), seed=7),
    ]
    if provider.startswith("bedrock"):  # its blocks have no start that could carry text
        return [case for case in cases if not case.id.endswith("eager-start")]
    return cases


def _openai(provider: str) -> list[Case]:
    parts = (
        "**Reading the question**\n\nClothes depend on weather.",
        "**Planning**\n\nAsk the tool.",
    )
    summed = Reasoning(parts=parts, encrypted="gAAAAABparts-ciphertext")
    hidden = Reasoning(encrypted="gAAAAABhidden-ciphertext")
    second = Reasoning("**Answering**", encrypted="gAAAAABsecond-ciphertext")
    commentary = Text("I will check two things.", phase="commentary")
    final = Text(_ANSWER, phase="final_answer")
    cases = [
        _case("summary-parts", provider, (summed, Text(_ANSWER))),
        _case("encrypted-only", provider, (hidden, Text(_ANSWER))),
        _case("no-ciphertext", provider, (Reasoning(parts=parts), Text(_ANSWER))),
        _case("tool-loop", provider, (summed, _PARIS), (second, Text(_ANSWER))),
        _case("hidden-tool-loop", provider, (hidden, _PARIS), (hidden, _ROME), (Text(_ANSWER),)),
        _case("parallel-calls", provider, (second, _PARIS, _ROME), (Text(_ANSWER),)),
        _case("two-texts", provider, (second, Text("First part. "), Text("Second part."))),
        _case("phases", provider, (summed, commentary, second, final)),
        _case("text-only", provider, (Text(_ANSWER),), seed=7),
    ]
    # it keeps one reasoning item per message and mixes up several
    if provider in {"openai-v0", "openai-v0-stored"}:
        return [case for case in cases if not case.id.endswith("phases")]
    return cases


def _google(provider: str) -> list[Case]:
    thought_signed = Reasoning(_THOUGHT, signature=_b64("thought-signature"))
    thought = Reasoning(_THOUGHT)
    paris = Call(
        "get_weather", {"city": "Paris"}, id="call_paris", signature=_b64("paris-signature")
    )
    unnamed = Call("get_weather", {"city": "Paris"}, signature=_b64("unnamed-signature"))
    return [
        _case("signature-on-thought", provider, (thought_signed, Text(_ANSWER))),
        _case(
            "signature-on-text",
            provider,
            (thought, Text(_ANSWER, signature=_b64("text-signature"))),
        ),
        _case(
            "signature-on-empty-text",
            provider,
            (thought, Text(_ANSWER), Text(signature=_b64("late"))),
        ),
        _case("tool-loop", provider, (thought, paris), (Text(_ANSWER),)),
        _case("call-without-id", provider, (thought, unnamed), (Text(_ANSWER),)),
        _case("parallel-calls", provider, (thought, paris, _ROME), (Text(_ANSWER),)),
        _case(
            "parallel-calls-apart",
            provider,
            (thought, Text("Two cities."), paris, _ROME),
            (Text(_ANSWER),),
            calls_together=False,
        ),
        _case("text-on-finish", provider, (thought, Text(_ANSWER)), finish_on_last=True),
        _case("text-only", provider, (Text(_ANSWER),), seed=7),
        _case("call-on-finish", provider, (thought, paris), (Text(_ANSWER),), finish_on_last=True),
    ]


def _flat_cases(
    provider: str, *, call_ids: tuple[str, str] = ("call_paris", "call_rome")
) -> list[Case]:
    """What all providers with one string of reasoning share."""
    thought = Reasoning(_THOUGHT)
    paris = Call("get_weather", {"city": "Paris"}, id=call_ids[0])
    rome = Call("get_weather", {"city": "Rome, Città 🏛"}, id=call_ids[1])
    second = Reasoning("Sunny, so light clothes.")
    return [
        _case("thinking-text", provider, (thought, Text(_ANSWER))),
        _case("text-on-finish", provider, (thought, Text(_ANSWER)), finish_on_last=True),
        _case("tool-loop", provider, (thought, paris), (second, Text(_ANSWER))),
        _case("parallel-calls", provider, (thought, paris, rome), (Text(_ANSWER),)),
        _case("text-then-call", provider, (thought, Text("Let me look."), paris), (Text(_ANSWER),)),
        _case("text-only", provider, (Text(_ANSWER),), seed=7),
    ]


def _mistral(provider: str) -> list[Case]:
    return _flat_cases(provider, call_ids=("callParis", "callRome1"))


def _openrouter(provider: str) -> list[Case]:
    signed = Reasoning(_THOUGHT, signature="EqQBCkYIARgCKkBvcg==")
    secret = Reasoning(encrypted="gAAAAABopenrouter")
    summed = Reasoning("**Planning**", encrypted="gAAAAABsummary")
    return [
        *_flat_cases(provider),
        _case("signed", provider, (signed, Text(_ANSWER))),
        _case("encrypted", provider, (secret, Text(_ANSWER))),
        _case("encrypted-with-summary", provider, (summed, Text(_ANSWER))),
        _case("signed-tool-loop", provider, (signed, _PARIS), (Text(_ANSWER),)),
        _case("encrypted-tool-loop", provider, (summed, _PARIS), (Text(_ANSWER),)),
    ]


def _some(made: list[Case], *names: str) -> list[Case]:
    """The cases of these names: a variant needs fewer than its provider."""
    return [case for case in made if case.id.removeprefix(f"{case.provider}-") in names]


def _stored(provider: str) -> list[Case]:
    return _some(
        _openai(provider), "summary-parts", "tool-loop", "parallel-calls", "two-texts", "phases"
    )


def _flat_variant(provider: str) -> list[Case]:
    return _some(
        _flat_cases(provider), "thinking-text", "tool-loop", "parallel-calls", "text-then-call"
    )


CASES: tuple[Case, ...] = (
    *_anthropic("anthropic"),
    *_anthropic("anthropic-v1"),
    *_openai("openai"),
    *_openai("openai-v0"),
    *_openai("openai-v1"),
    *_flat_cases("openai-chat"),
    *_google("google"),
    *_google("google-v1"),
    *_mistral("mistral"),
    *_flat_cases("ollama"),
    *_flat_cases("deepseek"),
    *_openrouter("openrouter"),
    *_flat_cases("groq"),
    *_flat_cases("xai"),
    *_anthropic("bedrock"),
    *_stored("openai-stored"),
    *_stored("openai-v0-stored"),
    *_stored("openai-v1-stored"),
    *_some(
        _openai("xai-responses"),
        "summary-parts",
        "tool-loop",
        "parallel-calls",
        "two-texts",
        "phases",
    ),
    *_some(_mistral("mistral-v1"), "thinking-text", "tool-loop", "parallel-calls"),
    *_some(
        _anthropic("bedrock-v1"),
        "redacted-first",
        "empty-signed",
        "tool-loop",
        "parallel-calls",
        "interleaved",
    ),
    *_flat_variant("bedrock-oss"),
)

EACH_CASE = firsts(CASES, lambda case: case.provider, lambda case: case.kind)
"""`CASES` as parameters: `make test` has each provider and each kind."""

# Only for what is sent back: these messages cannot be read as described, or requests leave out what
# was said. With v1 blocks langchain-core adds streamed calls to the block of the same index; a
# chained request has no history.
SENT_CASES: tuple[Case, ...] = (
    *_stored("openai-chained"),
    *_flat_variant("openai-chat-v1"),
    *_some(_mistral("mistral-v1"), "text-then-call"),
    *_flat_variant("ollama-v1"),
    *_flat_variant("deepseek-v1"),
    *_some(
        _openrouter("openrouter-v1"),
        "signed",
        "encrypted-with-summary",
        "signed-tool-loop",
        "tool-loop",
    ),
    *_flat_variant("groq-v1"),
    *_flat_variant("xai-v1"),
)

BY_ID = {case.id: case for case in (*CASES, *SENT_CASES)}
assert len(BY_ID) == len(CASES) + len(SENT_CASES), "case ids must be unique"


def cases(*providers: str) -> list[Case]:
    """The cases of these providers, for `pytest.mark.parametrize`."""
    return [case for case in CASES if case.provider in providers]
