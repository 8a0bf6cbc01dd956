"""What the page asks its server: Markdown as HTML, and what the verifier finds in a stream.

The body of a request enters, JSON data leaves. `HTTPException` is what is raised for a body that
does not fit.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from typing import Final, TypeVar

from fastapi import HTTPException
from pydantic import BaseModel, ValidationError

from langgraph_agui.protocol import ProtocolError
from langgraph_agui.protocol.limits import InputLimits, check_json, read_json
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.verify import first_fault
from langgraph_agui.protocol.wire import clean_text

Body = TypeVar("Body", bound=BaseModel)

# The most that one request may hold. Longer texts become plain paragraphs, longer code blocks have
# no colours.
MARKDOWN_LIMITS: Final = InputLimits(max_bytes=1_000_000, max_items=64)
STREAM_LIMITS: Final = InputLimits(max_values=1_000_000)
_MAX_TEXT: Final = 100_000
_MAX_CODE: Final = 50_000

_LINK: Final = re.compile(r"(https?:|mailto:)", re.IGNORECASE)
_TEXTS: Final = 'Expected {"texts": [...]}: at most 64 Markdown texts.'
_STREAM: Final = (
    'Expected {"input": RunAgentInput or null, "events": [...]}: AG-UI events as JSON objects.'
)


class _Texts(BaseModel):
    texts: list[str]


class _Stream(BaseModel):
    input: dict[str, object] | None = None
    events: list[dict[str, object]]


def render_texts(body: bytes) -> dict[str, list[str]]:
    """Return the HTML of each text in the body. Raises `HTTPException` if there is none, or too
    many.
    """
    texts = _read(body, _Texts, MARKDOWN_LIMITS, _TEXTS).texts
    if len(texts) > MARKDOWN_LIMITS.max_items:
        raise HTTPException(413, f"There are {len(texts)} texts. {_TEXTS}")
    render, cleaned = _renderer(), map(clean_text, texts)
    return {
        "html": [render(text) if len(text) <= _MAX_TEXT else _paragraphs(text) for text in cleaned]
    }


def find_faults(body: bytes) -> dict[str, object]:
    """Return the first event in the body that breaks a rule for producers, as `findings`: at most
    one.

    `index` is the event's place; that of a fault of the whole stream is the number of events. The
    verifier stops at what it finds, as later findings would follow from it. Raises `HTTPException`
    if the body holds no stream.
    """
    stream = _read(body, _Stream, STREAM_LIMITS, _STREAM)
    try:
        fault = first_fault(
            stream.events, None if stream.input is None else parse_input(stream.input)
        )
    except ProtocolError as error:
        raise HTTPException(422, f"{error} {_STREAM}") from error
    if fault is None:
        return {"findings": [], "stopped": False}
    index, found = fault
    return {
        "findings": [{"index": index, "code": found.code, "message": str(found)}],
        "stopped": True,
    }


def _read(body: bytes, form: type[Body], limits: InputLimits, expected: str) -> Body:
    """Return the data in a body. Raises `HTTPException`, with what is `expected`."""
    try:
        check_json(body, limits, "The body")
        return form.model_validate(read_json(body.decode("utf-8-sig")))
    except ProtocolError as error:
        raise HTTPException(413, str(error)) from error
    except ValidationError as error:
        raise HTTPException(422, expected) from error
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"The body is not JSON. {expected}") from error


@cache
def _renderer() -> Callable[[str], str]:
    """Return what makes HTML of Markdown. Without the extra `cli`, texts become plain
    paragraphs.
    """
    try:
        from markdown_it import MarkdownIt
        from markdown_it.renderer import RendererHTML
        from markdown_it.token import Token
        from markdown_it.utils import EnvType, OptionsDict
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
