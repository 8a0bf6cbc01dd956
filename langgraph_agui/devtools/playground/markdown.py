"""Markdown of agents as HTML that the page may show: without HTML of the agent's own, styles, and
images, which load from elsewhere. Mathematics stays TeX, which the page renders.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from typing import Final

from langgraph_agui.protocol import to_jsonable

# Longer texts become plain paragraphs, longer code blocks have no colours.
_MAX_TEXT: Final = 100_000
_MAX_CODE: Final = 50_000

_LINK: Final = re.compile(r"(https?:|mailto:)", re.IGNORECASE)


def to_html(text: str) -> str:
    """Return a Markdown text as HTML. Without the extra `cli`, it becomes plain paragraphs."""
    clean = str(to_jsonable(text))  # without halves of surrogate pairs, which no response can carry
    return _renderer()(clean) if len(clean) <= _MAX_TEXT else _paragraphs(clean)


@cache
def _renderer() -> Callable[[str], str]:
    """Return the function that makes HTML of Markdown."""
    try:
        from markdown_it import MarkdownIt
        from markdown_it.renderer import RendererHTML
        from markdown_it.token import Token
        from markdown_it.utils import EnvType, OptionsDict

        from langgraph_agui.devtools.playground.mathematics import add_mathematics
    except ModuleNotFoundError:
        return _paragraphs

    def link(
        renderer: RendererHTML,
        tokens: Sequence[Token],
        index: int,
        options: OptionsDict,
        env: EnvType,
    ) -> str:
        """Return an image as a link: the page loads nothing from elsewhere."""
        token = tokens[index]
        address = str(token.attrs["src"])
        text = renderer.renderInlineAsText(token.children, options, env) or address
        return f'<a href="{escape(address)}">{escape(text)}</a>'

    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True, "highlight": _highlight})
    markdown.enable(["table", "strikethrough"])
    markdown.add_render_rule("image", link)
    add_mathematics(markdown)
    markdown.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]

    def render(text: str) -> str:
        env: EnvType = {}
        tokens = markdown.parse(text, env)
        for token in tokens:  # the page allows no styles in markup
            if style := token.attrs.pop("style", None):
                token.attrs["class"] = str(style).removeprefix("text-align:")
        return str(markdown.renderer.render(tokens, markdown.options, env))

    return render


def _paragraphs(text: str) -> str:
    parts = (escape(part.strip("\n")) for part in re.split(r"\n[ \t]*\n", text))
    return "".join(f"<p>{part}</p>" for part in parts if part).replace("\n", "<br>")


def _highlight(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML with a class for each kind of token; "" leaves it as it is."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language or len(code) > _MAX_CODE:
        return ""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-")))
