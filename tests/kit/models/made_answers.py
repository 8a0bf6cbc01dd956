"""Answers with more than text, of every provider that gives some: pictures, audio, files, tools
that the provider runs, citations. `Answer` says what a client is to see of each."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kit.models.media_files import PNG, wav
from tests.kit.models.turns import Item, Reasoning, Text, Turn, turn

PICTURE = b64encode(PNG).decode()
SOUND = b64encode(wav()).decode()
CHART = f"data:image/png;base64,{PICTURE}"
SECRET = "Q2lwaGVydGV4dA=="
SITE = "https://example.com/weather"

Called = tuple[str, dict[str, Any], Any]


@dataclass(frozen=True)
class Answer:
    """One answer of a provider's model.

    calls: name, arguments and result of each tool that the provider has run; None where the result
    has no words. media: the kinds of media. cited: what each citation holds.
    """

    id: str
    provider: str
    turn: Turn
    calls: tuple[Called, ...] = ()
    media: tuple[str, ...] = ()
    cited: tuple[dict[str, Any], ...] = ()
    failed: bool = False

    @property
    def text(self) -> str:
        return self.turn.text

    def __str__(self) -> str:
        return f"{self.provider}-{self.id}"


def _item(kind: str, **members: Any) -> Item:
    """A block of Anthropic's, or one of OpenAI's items."""
    return Item({"type": kind, **members})


def _done(kind: str, item_id: str, **members: Any) -> Item:
    return _item(kind, **{"id": item_id, "status": "completed", **members})


def _use(number: int, name: str, kind: str = "server_tool_use", **given: Any) -> Item:
    more = {"server_name": "dice"} if kind == "mcp_tool_use" else {}
    return _item(kind, id=f"srvtoolu_{number}", name=name, **more, input=given)


def _result(number: int, kind: str, content: Any, **more: Any) -> Item:
    return _item(f"{kind}_tool_result", tool_use_id=f"srvtoolu_{number}", **more, content=content)


_RAN = {"stdout": "", "stderr": "", "return_code": 0}
_QUERY = {"query": "weather Paris"}
_LINES = {"code": "print(1)"}
_PLOT = {"command": "plot"}
_SIDES = {"sides": 6}

_THOUGHT = Reasoning("I look it up.", encrypted=SECRET, signature=SECRET)
_PICTURE = _done(
    *("image_generation_call", "ig_1"),
    result=PICTURE,
    output_format="png",
    revised_prompt="A red dot",
    background="opaque",
    quality="low",
    size="1024x1024",
)
_SOURCES = {"sources": [{"type": "url", "url": SITE}]}
_ACTION = {"type": "search", **_QUERY}
_SEARCH = _done("web_search_call", "ws_1", action={**_ACTION, **_SOURCES})
_URL = {"type": "url_citation", "url": SITE, "title": "Weather", "start_index": 3, "end_index": 8}
_FILE = {"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "Sun", "attributes": {}}
_FILES = _done("file_search_call", "fs_1", queries=["weather"], results=[_FILE])
_LOGS = {"type": "logs", "logs": "1\n"}
_OUTPUTS = [_LOGS, {"type": "image", "url": CHART}]
_CODE = _done("code_interpreter_call", "ci_1", **_LINES, container_id="cntr_1", outputs=_OUTPUTS)
_SHOWN = [_LOGS, {"type": "image", "url": "data:image/png;base64"}]
_WRITTEN = {
    "type": "container_file_citation",
    "container_id": "cntr_1",
    "file_id": "cfile_1",
    "filename": "plot.csv",
    "start_index": 0,
    "end_index": 3,
}
_DICE = {"name": "roll", "server_label": "dice", "arguments": '{"sides": 6}'}
_MCP = _done("mcp_call", "mcp_1", **_DICE, output="4")
_MCP_FAILED = _done("mcp_call", "mcp_2", **_DICE, status="failed", output=None, error="down")
_TOOLS = [{"name": "roll", "input_schema": {"type": "object"}}]
_MCP_TOOLS = _item("mcp_list_tools", id="mcpl_1", server_label="dice", tools=_TOOLS)

_SITE = {"type": "web_search_result", "url": SITE, "title": "Weather", "page_age": None}
_FAILED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
_CITED = {
    "type": "web_search_result_location",
    "url": SITE,
    "title": "Weather",
    "cited_text": "Sun in Paris",
    "encrypted_index": SECRET,
}
_LOOK = _use(1, "web_search", **_QUERY)
_FOUND = _result(1, "web_search", [{**_SITE, "encrypted_content": SECRET}])
_OUT = {"type": "code_execution_result", **_RAN, "stdout": "1\n", "content": []}
_PLOTTED = {
    "type": "bash_code_execution_result",
    **_RAN,
    "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
}
_FOUR = [{"type": "text", "text": "4"}]

_PCM = b64encode(bytes(64)).decode()
_INLINE = Item({"inlineData": {"mimeType": "image/png", "data": PICTURE}})
_AUDIO = Item({"inlineData": {"mimeType": "audio/L16;rate=24000", "data": _PCM}})
_EXECUTED = Item({"executableCode": {"language": "PYTHON", **_LINES}})
_OUTPUT = Item({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}})
_SEGMENT = {"startIndex": 4, "endIndex": 15, "text": "Es ist schön"}
_GROUNDING = {
    "webSearchQueries": ["weather Paris"],
    "groundingChunks": [{"web": {"uri": SITE, "title": "Weather"}}],
    "groundingSupports": [{"segment": _SEGMENT, "groundingChunkIndices": [0]}],
}
_VOICE = {"id": "audio_1", "data": SOUND, "expires_at": 1_760_003_600, "transcript": "Hi."}


def _made(*blocks: Any, **more: Any) -> dict[str, Any]:
    """An answer of these blocks, texts as strings; `more` are the fields of `Answer`."""
    given = {"grounding": more.pop("grounding")} if "grounding" in more else {}
    said = [Text(block) if isinstance(block, str) else block for block in blocks]
    return {"turn": turn(*said, **given), **more}


def _at(start: int, end: int, **more: Any) -> tuple[dict[str, Any]]:
    return ({"url": SITE, "title": "Weather", **more, "startIndex": start, "endIndex": end},)


_OPENAI = {
    "picture": _made(_THOUGHT, _PICTURE, "Here it is.", media=("image",)),
    "only-a-picture": _made(_PICTURE, media=("image",)),
    "web-search": _made(
        *(_THOUGHT, _SEARCH, Text("It is sunny.", citations=(_URL,))),
        calls=(("web_search", _ACTION, _SOURCES),),
        cited=_at(3, 8),
    ),
    "file-search": _made(
        _FILES, "Sun.", calls=(("file_search", {"queries": ["weather"]}, [_FILE]),)
    ),
    "code": _made(
        *(_CODE, Text("One.", citations=(_WRITTEN,))),
        calls=(("code_interpreter", _LINES, _SHOWN),),
        media=("image", "document"),
    ),
    "mcp": _made(
        _MCP_TOOLS, _MCP, "Four.", calls=(("mcp_list_tools", {}, _TOOLS), ("roll", _SIDES, "4"))
    ),
    "mcp-failed": _made(_MCP_FAILED, "No.", calls=(("roll", _SIDES, "down"),), failed=True),
}
_ANTHROPIC = {
    "web-search": _made(
        *(_THOUGHT, "Let me see. ", _LOOK, _FOUND),
        *("It is ", Text("sunny", citations=(_CITED,)), "."),
        calls=(("web_search", _QUERY, [_SITE]),),
        cited=_at(18, 23, citedText="Sun in Paris"),
    ),
    "web-search-failed": _made(
        *(_LOOK, _result(1, "web_search", _FAILED), "No."),
        calls=(("web_search", _QUERY, _FAILED),),
        failed=True,
    ),
    "unfinished": _made("Wait.", _LOOK, calls=(("web_search", _QUERY, None),)),
    "code": _made(
        *(_use(2, "code_execution", **_LINES), _result(2, "code_execution", _OUT), "One."),
        calls=(("code_interpreter", _LINES, _OUT),),
    ),
    "file": _made(
        *(_use(3, "bash_code_execution", **_PLOT), _result(3, "bash_code_execution", _PLOTTED)),
        *("Plotted.",),
        calls=(("bash_code_execution", _PLOT, _PLOTTED),),
        media=("document",),
    ),
    "mcp": _made(
        *(_use(4, "roll", "mcp_tool_use", **_SIDES), _result(4, "mcp", _FOUR, is_error=False)),
        *("Four.",),
        calls=(("roll", _SIDES, _FOUR),),
    ),
}
_GOOGLE = {
    "picture": _made("Here: ", _INLINE, "done.", media=("image",)),
    "only-a-picture": _made(_INLINE, media=("image",)),
    "code": _made(
        *("So: ", _EXECUTED, _OUTPUT, _INLINE, "One."),
        calls=(("code_interpreter", {**_LINES, "language": "PYTHON"}, "1\n"),),
        media=("image",),
    ),
    "grounding": _made("Ö: Es ist schön.", grounding=_GROUNDING, cited=_at(3, 15)),
    "audio": _made(_AUDIO, media=("audio",)),
}
_CHAT = {"audio": _made(Item({"content": None, "audio": _VOICE}), media=("audio",))}

ANSWERS = [
    Answer(name, provider, **made)
    for answers, providers in (
        (_OPENAI, ("openai", "openai-v1", "openai-v0")),
        (_ANTHROPIC, ("anthropic", "anthropic-v1")),
        (_GOOGLE, ("google", "google-v1")),
        (_CHAT, ("openai-chat",)),
    )
    for provider in providers
    for name, made in answers.items()
]

FORMS = [
    pytest.param(answer, whole, id=f"{answer}-{'whole' if whole else 'streamed'}")
    for answer in ANSWERS
    for whole in (False, True)
    # langchain-openai gives audio only if it does not stream
    if whole or answer.provider != "openai-chat"
]
"""Each as it is streamed, and as a model answers that does not stream."""
