r"""Mathematics in Markdown: TeX between `$…$`, `$$…$$`, `\(…\)` or `\[…\]` becomes a token that
has it as it is written, so that no rule of Markdown eats backslashes or makes emphasis of indices.

In: a Markdown parser. Out: the same, with tokens named `math` and `math_block`.

The plugins of mdit-py-plugins read the rest of a text again for each `\(` that nothing closes: an
agent could hold the server up with 40 kB of them.
"""

import re
from bisect import bisect_left
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_CLOSINGS: Final = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_OPENING: Final = re.compile(r"\$\$|\$|\\\(|\\\[")
_MARKS: Final = re.compile(r"\\.|\$\$?", re.DOTALL)
# "$5 and 10$" are prices: words do not belong to TeX, where they need a command.
_WORDS: Final = re.compile(r"\s(and|or|to|is|of|for|per|the|[A-Za-z]{4,})\s")
# Where the parser's environment keeps what is known of a text, so that each is looked through once.
_CLOSED: Final = "mathematics: closed"
_UNCLOSED: Final = "mathematics: unclosed"


def add_mathematics(markdown: MarkdownIt) -> None:
    """Have `markdown` read mathematics, and render it as its source in `<span class="math">`."""
    markdown.inline.ruler.before("escape", "math", _read_inline)
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", "math_block", _read_block, {"alt": interrupts})
    markdown.add_render_rule("math", _render_inline)
    markdown.add_render_rule("math_block", _render_block)


def _read_inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    opening = _OPENING.match(source, start)
    if opening is None:
        return False
    mark, inside = opening[0], opening.end()
    before = source[start - 1 : start]
    if mark == "$" and (before.isalnum() or before == "$" or source[inside : inside + 1].isspace()):
        return False
    places = _closed_at(state, mark)
    found = bisect_left(places, inside + 1)
    if found == len(places):
        return False
    content = source[inside : places[found]]
    end = places[found] + len(mark)
    if end > state.posMax or not content.strip():
        return False
    if mark == "$" and "\\" not in content and _WORDS.search(content):
        return False
    if mark == "\\[" and source[end : end + 1] == "(":  # a link that is written, not made
        return False
    if not silent:
        state.push("math", "", 0).content = source[start:end]
    state.pos = end
    return True


def _closed_at(state: StateInline, mark: str) -> list[int]:
    """Return the places in a text, in their order, where mathematics that `mark` opens can end."""
    texts = state.env.setdefault(_CLOSED, {})
    if state.src not in texts:
        texts[state.src] = _find_closings(state.src)
    closings: dict[str, list[int]] = texts[state.src]
    return closings[_CLOSINGS[mark]]


def _find_closings(source: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {closing: [] for closing in _CLOSINGS.values()}
    for mark in _MARKS.finditer(source):
        at, after = mark.start(), source[mark.end() : mark.end() + 1]
        is_price = mark[0] == "$" and (source[at - 1 : at].isspace() or after.isalnum())
        if mark[0] in places and not is_price:
            places[mark[0]].append(at)
    return places


def _read_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[start] + state.tShift[start]
    mark = state.src[begin : begin + 2]
    if mark not in ("$$", "\\[") or state.is_code_block(start):
        return False
    unclosed: dict[str, int] = state.env.setdefault(_UNCLOSED, {})
    if start < unclosed.get(mark, 0):
        return False
    closing = _CLOSINGS[mark]
    for line in range(start, end):
        first = begin + 2 if line == start else state.bMarks[line]
        text = state.src[first : state.eMarks[line]]
        if closing in text:
            if not text.rstrip().endswith(closing) or text.count(closing) > 1:
                return False
            if not silent:
                token = state.push("math_block", "p", 0)
                token.content = state.getLines(start, line + 1, state.blkIndent, False).strip()
                token.map = [start, line + 1]
            state.line = line + 1
            return True
        if line > start and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            break
    unclosed[mark] = line + 1
    return False


def _render_inline(
    renderer: RendererHTML,
    tokens: list[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    return f'<span class="math">{escape(tokens[index].content, quote=False)}</span>'


def _render_block(
    renderer: RendererHTML,
    tokens: list[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    return f"<p>{_render_inline(renderer, tokens, index, options, env)}</p>\n"
