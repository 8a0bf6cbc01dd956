"""A model's turn, described without any provider's words.

`wires/` renders it in one provider's own format. What a provider has no place for (a signature on
DeepSeek, say) is left out, as the provider itself would.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reasoning:
    """One stretch of thinking. `parts` are OpenAI's summary parts; elsewhere they are joined."""

    text: str = ""
    parts: tuple[str, ...] = ()
    signature: str | None = None
    encrypted: str | None = None
    redacted: str | None = None

    @property
    def summaries(self) -> tuple[str, ...]:
        return self.parts or ((self.text,) if self.text else ())

    @property
    def joined(self) -> str:
        return "\n\n".join(self.summaries)


@dataclass(frozen=True)
class Text:
    """Visible text. `citations` are in the provider's own form (OpenAI's annotations)."""

    text: str = ""
    signature: str | None = None
    phase: str | None = None
    citations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call. `id=None` sends no id where the format allows it (Gemini)."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    signature: str | None = None

    @property
    def json_args(self) -> str:
        return json.dumps(self.args, ensure_ascii=False)


@dataclass(frozen=True)
class Item:
    """What a model makes besides text, in the provider's own form: an output item, a block or a
    part."""

    data: Mapping[str, Any]


Block = Reasoning | Text | Call | Item


@dataclass(frozen=True)
class Turn:
    """One answer of the model.

    chunk: length of every delta. finish_on_last: the finish reason rides on the last content delta,
    where the format lets it. eager_start: a block's first delta comes with its start event
    (Anthropic). calls_together: consecutive calls come in one Gemini chunk. grounding: Gemini's
    `groundingMetadata`.
    """

    blocks: tuple[Block, ...]
    chunk: int = 8
    finish_on_last: bool = False
    eager_start: bool = False
    calls_together: bool = True
    grounding: Mapping[str, Any] | None = None

    def of(self, kind: type[Any]) -> list[Any]:
        return [block for block in self.blocks if isinstance(block, kind)]

    @property
    def calls(self) -> list[Call]:
        return self.of(Call)

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.of(Text))

    @property
    def reasoning(self) -> str:
        return "".join(block.joined for block in self.of(Reasoning))

    def pieces(self, text: str) -> list[str]:
        """`text` cut into the turn's deltas. Empty text has none."""
        return [text[at : at + self.chunk] for at in range(0, len(text), self.chunk)]


def turn(*blocks: Block, **options: Any) -> Turn:
    return Turn(blocks, **options)
