"""The sources that a model's text cites.

The finished LangChain message enters, in the shape of the provider's package. Citations leave for
the metadata of the AG-UI message.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from langchain_core.messages import AIMessage
from langchain_core.messages.block_translators.google_genai import (
    translate_grounding_metadata_to_citations,
)

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.content import ContentBlock

logger = run_logger(__name__)

# The key in the metadata of an assistant message.
CITATIONS: Final = "citations"


def read_citations(message: AIMessage, text: str) -> list[dict[str, object]]:
    """Return the sources that a message cites, in order.

    Each has `url`, `title`, `fileId` and `citedText` (words of the source), as far as the provider
    tells them. `startIndex` and `endIndex` are the place in `text`, in code points, if it is known.

    Args:
        message: The message.
        text: Its visible text.
    """
    grounding = message.response_metadata.get("grounding_metadata")
    if isinstance(grounding, dict) and grounding:
        cited = _translated(lambda: translate_grounding_metadata_to_citations(grounding))
        return [_citation(one, text, 0, text) for one in cited]
    blocks = _translated(lambda: message.content_blocks) if _cites(message) else ()
    texts = [(block, words) for block in blocks if (words := _words(block)) is not None]
    if "".join(words for _, words in texts) != text:
        text = ""  # think tags were cut out: places in the blocks are none in it
    found: list[dict[str, object]] = []
    before = 0
    for block, words in texts:
        annotations = block.get("annotations")
        found += [
            _citation(annotation, text, before, words)
            for annotation in (annotations if isinstance(annotations, list) else ())
            if isinstance(annotation, Mapping) and annotation.get("type") == "citation"
        ]
        before += len(words)
    return found


def _words(block: ContentBlock) -> str | None:
    """Return the words of a block of text."""
    kind = block.get("type")
    words = block.get(kind) if kind == "text" or kind == "refusal" else None
    return words if isinstance(words, str) else None


def _translated(translate: Callable[[], Sequence[object]]) -> Sequence[ContentBlock]:
    """Return the result of a translator of langchain-core; nothing if it raises. It may raise any
    error on data that it does not expect.
    """
    try:
        return cast("Sequence[ContentBlock]", translate())
    except Exception:
        logger.warning("The citations of a message could not be read.", exc_info=True)
        return ()


def _cites(message: AIMessage) -> bool:
    content = message.content if isinstance(message.content, list) else ()
    return any(
        isinstance(block, Mapping) and (block.get("annotations") or block.get("citations"))
        for block in content
    )


def _citation(annotation: ContentBlock, text: str, before: int, words: str) -> dict[str, object]:
    """Return a citation in a block of these words, which begins at `before` in the text."""
    extras = annotation.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    cited = annotation.get("cited_text")
    start, end = annotation.get("start_index"), annotation.get("end_index")
    if "google_ai_metadata" in extras:
        # Gemini counts bytes, and repeats the words of the answer itself.
        start, words, cited = None, str(cited or ""), None
        before = text.find(words) if words else -1
    if isinstance(start, int) and isinstance(end, int):
        start, end = before + start, before + end
    else:
        start, end = before, before + len(words)
    is_known = 0 <= start < end <= len(text)
    about = {
        "url": annotation.get("url"),
        "title": annotation.get("title"),
        "fileId": extras.get("file_id"),
        "citedText": cited,
        "startIndex": start if is_known else None,
        "endIndex": end if is_known else None,
    }
    return {key: value for key, value in about.items() if isinstance(value, str | int)}
