"""Tools that run at the client, offered to a remote agent as frontend tools (AG-UI 1.0, tools).

In: LangChain tools, and the calls that the agent leaves to its client. Out: descriptions of the
tools for the agent, and the results of the calls.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from inspect import getfullargspec
from typing import Any, Final, TypeAlias
from uuid import uuid4

from ag_ui.core import Tool, ToolCall, ToolMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import tool as make_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from langgraph_agui.kernel.aio import run_sync
from langgraph_agui.messages.content import as_content, content_parts
from langgraph_agui.protocol.json import parse_arguments

logger = logging.getLogger(__name__)

# A LangChain tool, or a function with annotations and a docstring. Or only an AG-UI description of
# a tool, for calls that the application answers itself.
LocalTool: TypeAlias = BaseTool | Callable[..., object] | Tool

_FAILED: Final = "The tool failed."
_INTERRUPTED: Final = "The tool was interrupted."


class LocalTools:
    """The tools of a client.

    A tool that fails answers with an error, because a call without a result would block the thread.
    The agent sees the text of a `ToolException`, which is meant for models, and of arguments that
    do not fit. Other exceptions are logged.

    Attributes:
        offered: The tools as a run's input describes them.
        names: The names of the tools that run here.

    Raises:
        ValueError: Two tools have one name.
    """

    def __init__(self, tools: Iterable[LocalTool] = ()) -> None:
        made = [tool if isinstance(tool, BaseTool | Tool) else make_tool(tool) for tool in tools]
        names = [tool.name for tool in made]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"Two tools have the name {min(twice)!r}.")
        self._tools = {tool.name: tool for tool in made if isinstance(tool, BaseTool)}
        self.offered = [tool if isinstance(tool, Tool) else agui_tool(tool) for tool in made]
        self.names = set(self._tools)

    async def run(self, call: ToolCall, *, blocking: bool = False) -> ToolMessage:
        """Run the tool of a call; return its result or error. `blocking`: without an event loop.

        Raises:
            KeyError: No tool of this name runs here.
        """
        tool = self._tools[call.function.name]
        try:
            request = _request(call, tool)
            if not blocking:
                output = await tool.ainvoke(request)
            elif isinstance(tool, StructuredTool) and tool.func is None:
                # only a coroutine, as MCP's tools are
                output = run_sync(tool.ainvoke(request))
            else:
                output = tool.invoke(request)
        except Exception as error:
            output = LCToolMessage(_error_text(call, error), tool_call_id=call.id, status="error")
        if not isinstance(output, LCToolMessage):
            output = LCToolMessage(str(output), tool_call_id=call.id)
        content = content_parts(as_content(output.content))
        error_text = content if isinstance(content, str) else _FAILED
        failed = output.status == "error"
        return ToolMessage(
            id=str(uuid4()),
            content=content,
            tool_call_id=call.id,
            error=error_text if failed else None,
        )


def interrupted_result(call: ToolCall) -> ToolMessage:
    """Return the result of a call whose tool was stopped."""
    return ToolMessage(
        id=str(uuid4()), tool_call_id=call.id, content=_INTERRUPTED, error=_INTERRUPTED
    )


def agui_tool(tool: Mapping[str, Any] | type | Callable[..., object] | BaseTool) -> Tool:
    """Return the AG-UI description of any tool that a chat model's `bind_tools` takes.

    Raises:
        ValueError: It has no schema of its own: a client cannot offer a tool that a provider runs.
    """
    function = convert_to_openai_tool(tool).get("function")
    if not isinstance(function, Mapping):
        raise ValueError(f"This cannot be offered as a tool, because it has no schema: {tool!r}.")
    return Tool(
        name=function["name"],
        description=function.get("description", ""),
        parameters=function.get("parameters"),
    )


def _request(call: ToolCall, tool: BaseTool) -> dict[str, object]:
    """Return a call as `tool` takes it, without arguments that the tool does not offer.

    Those may be injected ones, which are not the agent's to give.

    Raises:
        ToolException: The arguments are not a JSON object.
    """
    arguments = parse_arguments(call.function.arguments)
    if not isinstance(arguments, dict):
        raise ToolException("The arguments are not a JSON object.")
    schema = agui_tool(tool).parameters or {}
    names = set(schema.get("properties", ()))
    if schema.get("additionalProperties"):
        functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
        specs = [getfullargspec(one) for one in functions if one] or [getfullargspec(tool._run)]
        parameters = {name for spec in specs for name in [*spec.args, *spec.kwonlyargs]}
        names |= arguments.keys() - parameters
    allowed = {name: value for name, value in arguments.items() if name in names}
    return {"type": "tool_call", "id": call.id, "name": call.function.name, "args": allowed}


def _error_text(call: ToolCall, error: Exception) -> str:
    """Return the text of an error for the agent, which may not see all."""
    if isinstance(error, ToolException):
        return str(error) or _FAILED
    if isinstance(error, ValidationError):
        places = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        return f"The arguments do not fit: {'; '.join(places)}"
    logger.error("The tool %.80r failed", call.function.name, exc_info=error)
    return _FAILED
