"""Tools that run here, offered to a remote agent as frontend tools (AG-UI 1.0, tools).

In: LangChain tools, and the calls that the agent has left to its client. Out: what the agent is told of the tools, and
the results of the calls.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias
from uuid import uuid4

from ag_ui.core import Tool, ToolCall, ToolMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import tool as make_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.utils.pydantic import get_fields
from pydantic import AliasChoices, AliasPath, ValidationError

from langgraph_agui.aio import run_sync
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.user_tool_content import as_content

logger = logging.getLogger(__name__)

LocalTool: TypeAlias = BaseTool | Callable[..., object] | Tool
"""A LangChain tool, or a function with annotations and a docstring; or only what the agent is told of one, for calls
that the application answers itself."""

_FAILED = "The tool failed."
_INTERRUPTED = "The tool was interrupted."


class LocalTools:
    """Tools by name. One that fails answers the agent so: a call without an answer would leave the thread stuck.

    Of exceptions only `ToolException`, which is meant for models, and arguments that do not fit are told; others are
    logged.

    Raises:
        ValueError: Two tools have one name.
    """

    def __init__(self, tools: Iterable[LocalTool] = ()) -> None:
        self._tools: dict[str, BaseTool] = {}
        self._offered: dict[str, Tool] = {}
        for given in tools:
            one = given if isinstance(given, BaseTool | Tool) else make_tool(given)
            if one.name in self._offered:
                raise ValueError(f"Two tools are called {one.name!r}.")
            self._offered[one.name] = one if isinstance(one, Tool) else agui_tool(one)
            if isinstance(one, BaseTool):
                self._tools[one.name] = one

    @property
    def offered(self) -> list[Tool]:
        """The tools as a run's input names them."""
        return list(self._offered.values())

    @property
    def names(self) -> set[str]:
        """The names of those that run here."""
        return set(self._tools)

    def mine(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Those of `calls` that run here."""
        return [call for call in calls if call.function.name in self._tools]

    def answers(self, calls: Sequence[ToolCall]) -> Iterator[ToolMessage]:
        """Run the tools that `calls` name, and yield each result before the next one runs. Blocks.

        Calls of other tools are left out.
        """
        for call in self.mine(calls):
            yield _told(call, self._run(call))

    async def aanswers(self, calls: Sequence[ToolCall]) -> AsyncIterator[ToolMessage]:
        """The same from coroutines; tools without one run in a thread."""
        for call in self.mine(calls):
            yield _told(call, await self._arun(call))

    def _run(self, call: ToolCall) -> LCToolMessage:
        tool = self._tools[call.function.name]
        if isinstance(tool, StructuredTool) and tool.func is None:  # a coroutine only, as MCP's are
            return run_sync(self._arun(call))
        try:
            return _message(call, tool.invoke(_request(call, tool)))
        except Exception as error:
            return _failure(call, error)

    async def _arun(self, call: ToolCall) -> LCToolMessage:
        tool = self._tools[call.function.name]
        try:
            return _message(call, await tool.ainvoke(_request(call, tool)))
        except Exception as error:
            return _failure(call, error)


def interrupted(call: ToolCall) -> ToolMessage:
    """The result of a call whose tool was stopped."""
    return ToolMessage(id=str(uuid4()), tool_call_id=call.id, content=_INTERRUPTED, error=_INTERRUPTED)


def agui_tool(tool: Mapping[str, Any] | type | Callable[..., object] | BaseTool) -> Tool:
    """Any tool that `bind_tools` of a chat model takes, as AG-UI names it.

    Raises:
        ValueError: It has no schema of its own: a tool that a provider runs is nothing that a client could offer.
    """
    function = convert_to_openai_tool(tool).get("function")
    if not isinstance(function, Mapping):
        raise ValueError(f"No tool for an AG-UI agent: {tool!r}.")
    return Tool(
        name=function["name"], description=function.get("description", ""), parameters=function.get("parameters")
    )


def _request(call: ToolCall, tool: BaseTool) -> dict[str, object]:
    """A call as `tool` takes it, without arguments that it has hidden from models: the agent's model is one.

    Raises:
        ToolException: The arguments are no JSON object.
    """
    written = call.function.arguments
    try:
        arguments = json.loads(written) if written.strip() else {}
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ToolException("The arguments are no JSON object.")
    hidden = _hidden(tool)
    told = {key: value for key, value in arguments.items() if key not in hidden}
    return {"type": "tool_call", "id": call.id, "name": call.function.name, "args": told}


def _hidden(tool: BaseTool) -> set[str]:
    """The arguments that a tool takes and does not offer, such as injected ones, by all their names."""
    schema, fields = tool.tool_call_schema, dict[str, object]()
    if isinstance(schema, dict):
        offered = set(schema.get("properties", ()))
    else:
        offered, fields = set(get_fields(schema)), {**get_fields(tool.get_input_schema())}
    own = [getattr(tool, name, None) for name in ("func", "coroutine")]
    takes = {
        one.name
        for function in ([one for one in own if one] or [tool._run])  # which a subclass defines
        for one in signature(function).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    spelt = {name for key, field in fields.items() if key not in offered for name in _names(field)}
    return (takes | spelt | set(fields)) - offered


def _names(field: object) -> set[str]:
    """What a field may be called in data, beside its own name."""
    given = [getattr(field, "alias", None), getattr(field, "validation_alias", None)]
    choices = [one for alias in given for one in (alias.choices if isinstance(alias, AliasChoices) else [alias])]
    return {str(one.path[0]) if isinstance(one, AliasPath) else one for one in choices if one}


def _message(call: ToolCall, result: object) -> LCToolMessage:
    if isinstance(result, LCToolMessage):
        return result
    return LCToolMessage(content=str(result), tool_call_id=call.id)


def _failure(call: ToolCall, error: Exception) -> LCToolMessage:
    if isinstance(error, ToolException):
        told = str(error) or _FAILED
    elif isinstance(error, ValidationError):
        places = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        told = f"The arguments do not fit: {places}"
    else:
        logger.error("The tool %r failed", call.function.name, exc_info=error)
        told = _FAILED
    return LCToolMessage(content=told, tool_call_id=call.id, status="error")


def _told(call: ToolCall, result: LCToolMessage) -> ToolMessage:
    content = content_parts(as_content(result.content))
    failed = result.status == "error"
    text = content if isinstance(content, str) else _FAILED
    return ToolMessage(id=str(uuid4()), content=content, tool_call_id=call.id, error=text if failed else None)
