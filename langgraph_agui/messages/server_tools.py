"""Tools that a model's provider runs by itself: web search, code execution, file search, MCP.
LangChain calls them server tools.

Blocks of a LangChain message enter, in the shape of the provider's package or as standard v1
blocks. Calls and results leave, in the same form for all providers; the client sees them as tool
calls with results. It sends them back with its messages, and `without_server_tools` leaves them
out: the envelope of the answer holds the provider's own blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ag_ui import core as agui

from langgraph_agui.messages.content import ContentBlock
from langgraph_agui.protocol.json import clean_text, dump_json

# Metadata of the calls and results in the client's messages.
RUN_BY_PROVIDER: Final[Mapping[str, object]] = {"runBy": "provider"}

# Stands in the client's id of a call, between the id of the message and the provider's own.
_MARK: Final = ":provider-run:"

# The most characters of a result that a client gets: it sends them back with each request.
MAX_RESULT: Final = 100_000

# Members of results that only the provider can read.
_OPAQUE: Final = ("encrypted_", "signature")

# LangChain's standard names of server tools, by the names that packages have.
_NAMES: Final = {"code_execution": "code_interpreter"}


class ServerCall(NamedTuple):
    """A call, or a piece of its arguments: then `id` and `name` are None."""

    id: str | None
    name: str | None
    arguments: str


class ServerResult(NamedTuple):
    """The result of the call with this id; without an id, of the last call without a result."""

    call_id: str | None
    text: str
    failed: bool


ServerBlock: TypeAlias = ServerCall | ServerResult


def read_server_tool(block: ContentBlock) -> Sequence[ServerBlock]:
    """Return the calls and results in a block; none if it is no block of a server tool."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return ()
    if (read := _READERS.get(kind)) is not None:
        return read(block)
    if kind.endswith("_tool_result") and isinstance(block.get("tool_use_id"), str):
        return (_anthropic_result(block),)
    return ()


# -- blocks of packages --------------------------------------------------------------------------


def _standard_call(block: ContentBlock) -> Sequence[ServerBlock]:
    extras = block.get("extras")
    name = extras.get("tool_name") if isinstance(extras, Mapping) else None
    return (_call(block, name or block.get("name"), block.get("args")),)


def _standard_result(block: ContentBlock) -> Sequence[ServerBlock]:
    output = block.get("output")
    extras = block.get("extras")
    if not output and isinstance(extras, Mapping):
        output = extras.get("error")
    return (_result(block.get("tool_call_id"), output, failed=block.get("status") == "error"),)


def _anthropic_call(block: ContentBlock) -> Sequence[ServerBlock]:
    arguments = block.get("input") or block.get("partial_json")
    return (_call(block, block.get("name"), arguments),)


def _anthropic_result(block: ContentBlock) -> ServerResult:
    content = block.get("content")
    failed = isinstance(content, Mapping) and bool(content.get("error_code"))
    return _result(block.get("tool_use_id"), content, failed=failed or bool(block.get("is_error")))


def _gemini_call(block: ContentBlock) -> Sequence[ServerBlock]:
    arguments = {"code": block.get("executable_code", ""), "language": block.get("language")}
    return (_call(block, "code_interpreter", arguments),)


def _gemini_result(block: ContentBlock) -> Sequence[ServerBlock]:
    failed = block.get("outcome", 1) != 1
    output = block.get("code_execution_result")
    return (_result(block.get("tool_call_id"), output, failed=failed),)


def _web_search(block: ContentBlock) -> Sequence[ServerBlock]:
    action = block.get("action")
    about = dict(action) if isinstance(action, Mapping) else {}
    sources = about.pop("sources", None)
    return _openai(block, "web_search", about, {"sources": sources} if sources else None)


def _file_search(block: ContentBlock) -> Sequence[ServerBlock]:
    queries = {"queries": block.get("queries") or []}
    return _openai(block, "file_search", queries, block.get("results"))


def _code_interpreter(block: ContentBlock) -> Sequence[ServerBlock]:
    code = {"code": block["code"]} if "code" in block else {}
    return _openai(block, "code_interpreter", code, block.get("outputs"))


def _mcp(block: ContentBlock) -> Sequence[ServerBlock]:
    output = block.get("error") or block.get("output")
    return _openai(block, block.get("name"), block.get("arguments"), output)


def _mcp_tools(block: ContentBlock) -> Sequence[ServerBlock]:
    return _openai(block, "mcp_list_tools", {}, block.get("error") or block.get("tools"))


def _openai(
    block: ContentBlock, name: object, arguments: object, output: object
) -> Sequence[ServerBlock]:
    """Return the call and the result of an output item of the Responses API, which has both."""
    failed = block.get("status") == "failed" or bool(block.get("error"))
    call = _call(block, name, arguments)
    return (call, _result(call.id, output, failed=failed))


_READERS: Final[Mapping[str, Callable[[ContentBlock], Sequence[ServerBlock]]]] = {
    "server_tool_call": _standard_call,
    "server_tool_call_chunk": _standard_call,
    "server_tool_result": _standard_result,
    "server_tool_use": _anthropic_call,
    "mcp_tool_use": _anthropic_call,
    "input_json_delta": _anthropic_call,
    "executable_code": _gemini_call,
    "code_execution_result": _gemini_result,
    "web_search_call": _web_search,
    "file_search_call": _file_search,
    "code_interpreter_call": _code_interpreter,
    "mcp_call": _mcp,
    "mcp_list_tools": _mcp_tools,
}


def _call(block: ContentBlock, name: object, arguments: object) -> ServerCall:
    text = arguments if isinstance(arguments, str) else ""
    if isinstance(arguments, Mapping) and arguments:
        text = dump_json(arguments)
    named = clean_text(name) if isinstance(name, str) and name else None
    return ServerCall(_text(block.get("id")), _NAMES.get(named or "", named), text)


def _result(call_id: object, output: object, *, failed: bool) -> ServerResult:
    if not output:
        return ServerResult(_text(call_id), "", failed)
    try:
        shown = _readable(output)
    except RecursionError:
        shown = {"__type__": "truncated"}
    text = shown if isinstance(shown, str) else dump_json(shown)
    if len(text) > MAX_RESULT:
        text = f"{text[:MAX_RESULT]}… ({len(text) - MAX_RESULT} more characters)"
    return ServerResult(_text(call_id), clean_text(text), failed)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _readable(output: object) -> object:
    """Return an output without ciphertext, and without inline data: those of pictures are shown as
    media.
    """
    if isinstance(output, Mapping):
        return {
            key: _readable(value)
            for key, value in output.items()
            if not str(key).startswith(_OPAQUE)
        }
    if isinstance(output, list | tuple):
        return [_readable(item) for item in output]
    if isinstance(output, str) and output[:5].lower() == "data:":
        return output.partition(",")[0]
    return output


# -- messages of clients -------------------------------------------------------------------------


def server_call_id(message_id: str, own_id: str) -> str:
    """Return the client's id of a call, from that of its message and the provider's."""
    return f"{message_id}{_MARK}{own_id}"


def is_server_call(call_id: str) -> bool:
    """Return whether a client's id is that of a call that the provider has run."""
    return _MARK in call_id


def without_server_tools(messages: Sequence[agui.Message]) -> list[agui.Message]:
    """Return a client's messages without the calls that providers have run, and their results: no
    graph and no model gets them.
    """
    kept: list[agui.Message] = []
    for message in messages:
        match message.role, message:
            case "tool", agui.ToolMessage() if is_server_call(message.tool_call_id):
                continue
            case "assistant", agui.AssistantMessage(tool_calls=[*calls]):
                own = [call for call in calls if not is_server_call(call.id)]
                is_same = len(own) == len(calls)
                update = {"tool_calls": own or None}
                kept.append(message if is_same else message.model_copy(update=update))
            case _:
                kept.append(message)
    return kept
