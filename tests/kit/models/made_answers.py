"""Answers with more than text, of every provider that gives some: pictures, audio, files, tools
that the provider runs, citations. `Answer` says what a client is to see of each."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kit.models.media_files import PNG, wav
from tests.kit.models.turns import Item, Reasoning, Text, Turn

PICTURE = b64encode(PNG).decode()
SOUND = b64encode(wav()).decode()
CHART = f"data:image/png;base64,{PICTURE}"
SECRET = "Q2lwaGVydGV4dA=="
SITE = "https://example.com/weather"


@dataclass(frozen=True)
class Answer:
    """One answer of a provider's model.

    calls: name, arguments and result of each tool that the provider has run; None where the result
    has no words. media: the kinds of media. cited: what each citation holds.
    """

    id: str
    provider: str
    turn: Turn
    calls: tuple[tuple[str, dict[str, Any], Any], ...] = ()
    failed: bool = False
    media: tuple[str, ...] = ()
    cited: tuple[dict[str, Any], ...] = ()
    streams: bool = True

    @property
    def text(self) -> str:
        return self.turn.text

    def __str__(self) -> str:
        return f"{self.provider}-{self.id}"


def turn(*blocks: Any, **options: Any) -> Turn:
    return Turn(blocks, **options)


_THOUGHT = Reasoning("I look it up.", encrypted=SECRET)
_PICTURE = Item(
    {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": PICTURE,
        "output_format": "png",
        "revised_prompt": "A red dot",
        "background": "opaque",
        "quality": "low",
        "size": "1024x1024",
    }
)
_SEARCH = Item(
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {
            "type": "search",
            "query": "weather Paris",
            "sources": [{"type": "url", "url": SITE}],
        },
    }
)
_URL = {"type": "url_citation", "url": SITE, "title": "Weather", "start_index": 3, "end_index": 8}
_FILES = Item(
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["weather"],
        "results": [
            {
                "file_id": "file-1",
                "filename": "a.txt",
                "score": 0.5,
                "text": "Sun",
                "attributes": {},
            }
        ],
    }
)
_CODE = Item(
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "print(1)",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1\n"}, {"type": "image", "url": CHART}],
    }
)
_WRITTEN = {
    "type": "container_file_citation",
    "container_id": "cntr_1",
    "file_id": "cfile_1",
    "filename": "plot.csv",
    "start_index": 0,
    "end_index": 3,
}
_MCP = Item(
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "status": "completed",
        "name": "roll",
        "server_label": "dice",
        "arguments": '{"sides": 6}',
        "output": "4",
    }
)
_MCP_FAILED = Item(
    {**_MCP.data, "id": "mcp_2", "status": "failed", "output": None, "error": "down"}
)
_MCP_TOOLS = Item(
    {
        "type": "mcp_list_tools",
        "id": "mcpl_1",
        "server_label": "dice",
        "tools": [{"name": "roll", "input_schema": {"type": "object"}}],
    }
)
_FOUND = ("web_search", {"type": "search", "query": "weather Paris"}, {"sources": [{"type": "url", "url": SITE}]})  # fmt: skip
_READ = (
    "file_search",
    {"queries": ["weather"]},
    [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "Sun", "attributes": {}}],
)
_RAN = (
    "code_interpreter",
    {"code": "print(1)"},
    [{"type": "logs", "logs": "1\n"}, {"type": "image", "url": "data:image/png;base64"}],
)
_ROLLED = ("roll", {"sides": 6}, "4")
_LISTED = ("mcp_list_tools", {}, [{"name": "roll", "input_schema": {"type": "object"}}])


def _openai(provider: str) -> list[Answer]:
    return [
        Answer(
            "picture", provider, turn(_THOUGHT, _PICTURE, Text("Here it is.")), media=("image",)
        ),
        Answer("only-a-picture", provider, turn(_PICTURE), media=("image",)),
        Answer(
            "web-search",
            provider,
            turn(_THOUGHT, _SEARCH, Text("It is sunny.", citations=(_URL,))),
            calls=(_FOUND,),
            cited=({"url": SITE, "title": "Weather", "startIndex": 3, "endIndex": 8},),
        ),
        Answer("file-search", provider, turn(_FILES, Text("Sun.")), calls=(_READ,)),
        Answer(
            "code",
            provider,
            turn(_CODE, Text("One.", citations=(_WRITTEN,))),
            calls=(_RAN,),
            media=("image", "document"),
        ),
        Answer("mcp", provider, turn(_MCP_TOOLS, _MCP, Text("Four.")), calls=(_LISTED, _ROLLED)),
        Answer(
            "mcp-failed",
            provider,
            turn(_MCP_FAILED, Text("No.")),
            calls=(("roll", {"sides": 6}, "down"),),
            failed=True,
        ),
    ]


_SERVER_SEARCH = Item(
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "weather Paris"},
    }
)
_SITE = {"type": "web_search_result", "url": SITE, "title": "Weather", "page_age": None}
_SERVER_FOUND = Item(
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{**_SITE, "encrypted_content": SECRET}],
    }
)
_SEARCH_FAILED = Item(
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
    }
)
_CITED = {
    "type": "web_search_result_location",
    "url": SITE,
    "title": "Weather",
    "cited_text": "Sun in Paris",
    "encrypted_index": SECRET,
}
_SERVER_CODE = Item(
    {
        "type": "server_tool_use",
        "id": "srvtoolu_2",
        "name": "code_execution",
        "input": {"code": "print(1)"},
    }
)
_SERVER_RAN = Item(
    {
        "type": "code_execution_tool_result",
        "tool_use_id": "srvtoolu_2",
        "content": {
            "type": "code_execution_result",
            "stdout": "1\n",
            "stderr": "",
            "return_code": 0,
            "content": [],
        },
    }
)
_SHELL = Item(
    {
        "type": "server_tool_use",
        "id": "srvtoolu_3",
        "name": "bash_code_execution",
        "input": {"command": "plot"},
    }
)
_PLOTTED = Item(
    {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_3",
        "content": {
            "type": "bash_code_execution_result",
            "stdout": "",
            "stderr": "",
            "return_code": 0,
            "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
        },
    }
)
_MCP_USE = Item(
    {
        "type": "mcp_tool_use",
        "id": "mcptoolu_1",
        "name": "roll",
        "server_name": "dice",
        "input": {"sides": 6},
    }
)
_MCP_RESULT = Item(
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "4"}],
    }
)


def _anthropic(provider: str) -> list[Answer]:
    thought = Reasoning("I look it up.", signature=SECRET)
    query = {"query": "weather Paris"}
    return [
        Answer(
            "web-search",
            provider,
            turn(
                thought,
                Text("Let me see. "),
                _SERVER_SEARCH,
                _SERVER_FOUND,
                Text("It is "),
                Text("sunny", citations=(_CITED,)),
                Text("."),
            ),
            calls=(("web_search", query, [_SITE]),),
            cited=(
                {
                    "url": SITE,
                    "title": "Weather",
                    "citedText": "Sun in Paris",
                    "startIndex": 18,
                    "endIndex": 23,
                },
            ),
        ),
        Answer(
            "web-search-failed",
            provider,
            turn(_SERVER_SEARCH, _SEARCH_FAILED, Text("No.")),
            calls=(("web_search", query, dict(_SEARCH_FAILED.data["content"])),),
            failed=True,
        ),
        Answer(
            "unfinished",
            provider,
            turn(Text("Wait."), _SERVER_SEARCH),
            calls=(("web_search", query, None),),
        ),
        Answer(
            "code",
            provider,
            turn(_SERVER_CODE, _SERVER_RAN, Text("One.")),
            calls=(("code_interpreter", {"code": "print(1)"}, dict(_SERVER_RAN.data["content"])),),
        ),
        Answer(
            "file",
            provider,
            turn(_SHELL, _PLOTTED, Text("Plotted.")),
            calls=(("bash_code_execution", {"command": "plot"}, dict(_PLOTTED.data["content"])),),
            media=("document",),
        ),
        Answer(
            "mcp",
            provider,
            turn(_MCP_USE, _MCP_RESULT, Text("Four.")),
            calls=(("roll", {"sides": 6}, [{"type": "text", "text": "4"}]),),
        ),
    ]


_INLINE = Item({"inlineData": {"mimeType": "image/png", "data": PICTURE}})
_EXECUTED = Item({"executableCode": {"language": "PYTHON", "code": "print(1)"}})
_OUTPUT = Item({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}})
_PCM = Item(
    {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": b64encode(bytes(64)).decode()}}
)
_GROUNDING = {
    "webSearchQueries": ["weather Paris"],
    "groundingChunks": [{"web": {"uri": SITE, "title": "Weather"}}],
    "groundingSupports": [
        {"segment": {"startIndex": 4, "endIndex": 15, "text": "Es ist schön"}, "groundingChunkIndices": [0]}
    ],
}  # fmt: skip


def _google(provider: str) -> list[Answer]:
    return [
        Answer("picture", provider, turn(Text("Here: "), _INLINE, Text("done.")), media=("image",)),
        Answer("only-a-picture", provider, turn(_INLINE), media=("image",)),
        Answer(
            "code",
            provider,
            turn(Text("So: "), _EXECUTED, _OUTPUT, _INLINE, Text("One.")),
            calls=(("code_interpreter", {"code": "print(1)", "language": "PYTHON"}, "1\n"),),
            media=("image",),
        ),
        Answer(
            "grounding",
            provider,
            turn(Text("Ö: Es ist schön."), grounding=_GROUNDING),
            cited=({"url": SITE, "title": "Weather", "startIndex": 3, "endIndex": 15},),
        ),
        Answer("audio", provider, turn(_PCM), media=("audio",)),
    ]


# langchain-openai gives audio only if it does not stream.
_SPOKEN = Item(
    {
        "content": None,
        "audio": {"id": "audio_1", "data": SOUND, "expires_at": 1_760_003_600, "transcript": "Hi."},
    }
)
_CHAT = [Answer("audio", "openai-chat", turn(_SPOKEN), media=("audio",), streams=False)]

ANSWERS = (
    *_openai("openai"),
    *_openai("openai-v1"),
    *_openai("openai-v0"),
    *_anthropic("anthropic"),
    *_anthropic("anthropic-v1"),
    *_google("google"),
    *_google("google-v1"),
    *_CHAT,
)

# Each as it is streamed, and as a model answers that does not stream.
FORMS = tuple(
    pytest.param(answer, whole, id=f"{answer}-{'whole' if whole else 'streamed'}")
    for answer in ANSWERS
    for whole in (False, True)
    if answer.streams or whole
)
