"""Split the text of models that write their reasoning between tags, `<think>…</think>`, while it streams.

Qwen, the distilled DeepSeek R1 models, Groq with `reasoning_format="raw"` and others say reasoning and answer in one
text. In: that text, cut anywhere. Out: pieces of text and of reasoning, the same for any cutting.

- Text before an opening tag, and text without tags, is kept exactly.
- Whitespace inside reasoning next to its tags, and whitespace after a closing tag, belongs to the tags: these
  models put line breaks there.
- Tags do not nest: an opening tag inside reasoning is reasoning, a closing tag outside is text.
- Reasoning that is not closed is reasoning to the end, without the whitespace there.
"""

from __future__ import annotations

from typing import NamedTuple

from langgraph_agui.messages.blocks import BlockKind


class Piece(NamedTuple):
    """More of one stretch of text or of reasoning.

    `number` counts the stretches of this kind from 0. A tag ends a stretch; one that says nothing is not counted.
    """

    kind: BlockKind
    number: int
    text: str


class ThinkTagSplitter:
    """Splits one message; `fresh` makes a splitter for the next.

    Args:
        opening: What begins reasoning.
        closing: What ends it.
        opened: True if the model's template has already written the opening tag, so that its answer begins inside
            reasoning.

    Raises:
        ValueError: A tag is empty, or begins or ends with whitespace, or both are equal.
    """

    def __init__(self, opening: str = "<think>", closing: str = "</think>", *, opened: bool = False) -> None:
        for tag in (opening, closing):
            if not tag or tag != tag.strip():
                raise ValueError(f"A tag is not empty and has no whitespace around it, unlike {tag!r}.")
        if opening == closing:
            raise ValueError(f"The opening and the closing tag are both {opening!r}.")
        self._opening = opening
        self._closing = closing
        self._opened = opened
        self._numbers: dict[BlockKind, int] = {"text": -1, "reasoning": -1}
        self._held = ""
        self._kind: BlockKind
        self._after_tag: bool
        self._enter("reasoning" if opened else "text", after_tag=opened)

    def fresh(self) -> ThinkTagSplitter:
        """Return a splitter with the same settings that has read nothing yet."""
        return ThinkTagSplitter(self._opening, self._closing, opened=self._opened)

    def stand_in(self, text: str) -> bool:
        """Whether one of the tags stands in `text`."""
        return self._opening in text or self._closing in text

    def answer_in(self, text: str) -> str:
        """Return `text`, the whole of what a model said, without its reasoning."""
        splitter = self.fresh()
        pieces = [*splitter.feed(text), *splitter.end()]
        return "".join(piece.text for piece in pieces if piece.kind == "text")

    def feed(self, text: str) -> list[Piece]:
        """Return what can be told for sure after this much more text: one piece for each stretch, none of them empty.

        What may be the beginning of a tag, or whitespace that may belong to one, is held back.
        """
        if self._is_plain(text):
            return [self._piece(text)]
        text = self._held + text
        pieces: list[Piece] = []
        position = 0
        while True:
            if self._after_tag:
                position = _past_whitespace(text, position)
                self._after_tag = position == len(text)
            found = text.find(self._tag, position)
            if found < 0:
                break
            words = text[position:found]
            if said := words.rstrip() if self._kind == "reasoning" else words:
                pieces.append(self._piece(said))
            position = found + len(self._tag)
            self._enter("text" if self._kind == "reasoning" else "reasoning", after_tag=True)
        cut = self._cut(text, position)
        if said := text[position:cut]:
            pieces.append(self._piece(said))
        self._held = text[cut:]
        return pieces

    def end(self) -> list[Piece]:
        """Return what was held back, now that the message is over: at most one piece."""
        held, self._held = self._held, ""
        if self._kind == "reasoning":
            held = held.rstrip()
        return [self._piece(held)] if held else []

    def _enter(self, kind: BlockKind, *, after_tag: bool) -> None:
        """Begin a stretch; `after_tag` says that whitespace which comes next belongs to the tag before it."""
        self._kind = kind
        self._tag = self._closing if kind == "reasoning" else self._opening
        self._after_tag = after_tag
        self._silent = True

    def _piece(self, text: str) -> Piece:
        if self._silent:
            self._silent = False
            self._numbers[self._kind] += 1
        return Piece(self._kind, self._numbers[self._kind], text)

    def _is_plain(self, text: str) -> bool:
        """Tell quickly that `text` has nothing of a tag; most chunks have not."""
        if not text or self._held or self._after_tag or self._tag[0] in text:
            return False
        return self._kind == "text" or not text[-1].isspace()

    def _cut(self, text: str, start: int) -> int:
        """Return where the end of `text` begins that may belong to the next tag; before `start` it never does."""
        cut = len(text)
        for size in range(min(len(self._tag) - 1, cut - start), 0, -1):
            if text.endswith(self._tag[:size]):
                cut -= size
                break
        if self._kind == "reasoning":
            while cut > start and text[cut - 1].isspace():
                cut -= 1
        return cut


def _past_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
