"""A model's turn, described without any provider's words.

A `Turn` says what the model thought, wrote and called; `wires/` renders it in one provider's own
format. What a provider has no place for (a signature on DeepSeek, say) is left out, as the provider
itself would.
"""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """Visible text. `new_item` opens another OpenAI message item instead of another content
    part. `citations` are in the provider's own form (OpenAI's annotations)."""

    text: str = ""
    signature: str | None = None
    phase: str | None = None
    new_item: bool = False
    citations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call. `args` may be a raw string, to send arguments that are not JSON.

    `id=None` sends no id where the format allows it (Gemini).
    """

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    signature: str | None = None

    @property
    def json_args(self) -> str:
        return (
            self.args if isinstance(self.args, str) else json.dumps(self.args, ensure_ascii=False)
        )

    @property
    def dict_args(self) -> dict[str, Any]:
        """The arguments for formats that carry an object; unparsable ones become empty."""
        if not isinstance(self.args, str):
            return dict(self.args)
        try:
            parsed = json.loads(self.args)
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}


@dataclass(frozen=True)
class Item:
    """What a model makes besides text, in the provider's own form: an output item, a block or a
    part."""

    data: Mapping[str, Any]


Block = Reasoning | Text | Call | Item


@dataclass(frozen=True)
class Usage:
    """Token counts; `output` includes `reasoning`, and `input` includes `cached`."""

    input: int = 11
    output: int = 7
    reasoning: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True)
class Turn:
    """One answer of the model.

    chunk: length of every delta. With a seed the lengths vary between 1 and 2 * chunk,
    reproducibly. finish_on_last: the finish reason rides on the last content delta, where the
    format lets it. eager_start: a block's first delta comes with its start event (Anthropic).
    calls_together: consecutive calls come in one Gemini chunk.
    cut: the answer ran into the token limit.
    grounding: Gemini's `groundingMetadata`.
    """

    blocks: tuple[Block, ...]
    usage: Usage = Usage()
    chunk: int = 8
    seed: int | None = None
    finish_on_last: bool = False
    eager_start: bool = False
    calls_together: bool = True
    cut: bool = False
    grounding: Mapping[str, Any] | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Call))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def reasoning(self) -> str:
        return "".join(block.joined for block in self.blocks if isinstance(block, Reasoning))

    def pieces(self, text: str) -> list[str]:
        """`text` cut into the turn's deltas. Empty text has none."""
        if self.seed is None:
            return [text[at : at + self.chunk] for at in range(0, len(text), self.chunk)]
        source = random.Random(self.seed ^ zlib.crc32(text.encode()))
        cut: list[str] = []
        at = 0
        while at < len(text):
            size = source.randint(1, 2 * self.chunk)
            cut.append(text[at : at + size])
            at += size
        return cut


def turn(*blocks: Block, **options: Any) -> Turn:
    """A `Turn` of these blocks, for short scripts."""
    return Turn(blocks=blocks, **options)
