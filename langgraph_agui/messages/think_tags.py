"""Reasoning that a model writes into its text, between tags: text enters in pieces, text and
reasoning leave.
"""

from typing import Final

from langgraph_agui.messages.blocks import BlockDelta
from langgraph_agui.options import ThinkTags

# First part of the key of reasoning that stood between tags.
TAGGED: Final = "think"


class TagSplitter:
    """Splits the text of one message at think tags, `<think>…</think>`, while it streams.

    Qwen, the distilled DeepSeek R1 models, Groq with `reasoning_format="raw"` and others write
    reasoning and answer into one text. It comes in, cut anywhere; deltas of text and of reasoning
    go out, the same for any cutting.

    - Text before an opening tag, and text without tags, is kept exactly.
    - Whitespace inside reasoning next to its tags, whitespace after a closing tag, and whitespace
      alone before the first tag belongs to the tags: these models put line breaks there.
    - Tags do not nest: an opening tag inside reasoning is reasoning, a closing tag outside is text.
    - Reasoning that is not closed is reasoning to the end, without the whitespace there. But if the
      template has opened it, the model may not have thought at all: a whole text without a tag is
      the answer. `end` returns it, after `feed` has returned it as reasoning.

    Args:
        tags: The tags.
    """

    def __init__(self, tags: ThinkTags) -> None:
        self._tags = tags
        self._opening, self._closing = tags.opening, tags.closing
        self._buffer = ""
        # The text so far while it may be all answer; None if a closing tag has come.
        self._so_far: list[str] | None = [] if tags.opened else None
        self._reasoning = tags.opened
        self._stretch = 0
        # Whether whitespace that comes next belongs to the tag before it, or may stand before the
        # first tag.
        self._after_tag, self._leading = tags.opened, not tags.opened

    @property
    def unclosed(self) -> bool:
        """Whether the template has opened reasoning, and no tag has come since."""
        return self._so_far is not None and not self.in_text("".join(self._so_far))

    def in_text(self, text: str) -> bool:
        """Whether `text` contains one of the tags."""
        return self._opening in text or self._closing in text

    def answer_in(self, text: str, *, is_whole: bool = True) -> str:
        """Return the `text` of a model without its reasoning; `is_whole` as for `end`."""
        splitter = TagSplitter(self._tags)
        deltas = [*splitter.feed(text), *splitter.end(is_whole=is_whole)]
        return "".join(delta.text for delta in deltas if delta.kind == "text")

    def feed(self, text: str) -> list[BlockDelta]:
        """Return the certain part after this much more text: one delta for each stretch, none of
        them empty.

        The splitter buffers a possible beginning of a tag, and whitespace that may belong to
        one.
        """
        if self._so_far is not None:
            self._so_far.append(text)
        text = self._buffer + text
        deltas: list[BlockDelta] = []
        start = 0
        while True:
            if self._after_tag:
                start = len(text) - len(text[start:].lstrip())
                self._after_tag = start == len(text)
            tag = self._closing if self._reasoning else self._opening  # which ends the stretch
            end = text.find(tag, start)
            if end < 0:
                break
            deltas += self._deltas(self._words(text[start:end]))
            start = end + len(tag)
            self._so_far = None
            self._reasoning, self._after_tag, self._leading = not self._reasoning, True, False
            self._stretch += 1
        sizes = range(min(len(tag) - 1, len(text) - start), 0, -1)
        partial = next((size for size in sizes if text.endswith(tag[:size])), 0)
        words = self._words(text[start : len(text) - partial])
        self._buffer = text[start + len(words) :]
        return deltas + self._deltas(words)

    def end(self, *, is_whole: bool = True) -> list[BlockDelta]:
        """Return the rest, now that the message is over: at most one delta.

        Args:
            is_whole: Whether the model has ended the text itself. If not, its closing tag may have
                been cut off.
        """
        rest, self._buffer = self._buffer, ""
        if is_whole and self.unclosed:
            rest, self._reasoning = "".join(self._so_far or ()), False
        self._so_far = None
        return self._deltas(rest.rstrip() if self._reasoning else rest)

    def _words(self, text: str) -> str:
        """Return `text` without the whitespace at its end that may belong to the next tag."""
        return text.rstrip() if self._reasoning or (self._leading and text.isspace()) else text

    def _deltas(self, text: str) -> list[BlockDelta]:
        if not text:
            return []
        self._leading = False
        if self._reasoning:
            return [BlockDelta("reasoning", (TAGGED, self._stretch), text)]
        return [BlockDelta("text", None, text)]
