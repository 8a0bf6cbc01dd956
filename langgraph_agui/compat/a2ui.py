"""A tool that lets a model of its own design a surface for the page (A2UI), with the toolkit of
AG-UI's makers.

The conversation enters; the toolkit's envelope with the surface's operations leaves as the tool's
result. The calls of the designing model stream as those of any model inside a tool.
"""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import ag_ui_a2ui_toolkit as toolkit
from ag_ui_a2ui_toolkit import A2UI_OPERATIONS_KEY, BASIC_CATALOG_ID, A2UIGuidelines, A2UIToolParams
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool

from langgraph_agui.kernel.aio import RunInLoop, run_in_thread_with_loop

__all__ = [
    "A2UI_OPERATIONS_KEY",
    "BASIC_CATALOG_ID",
    "A2UIGuidelines",
    "A2UIToolParams",
    "get_a2ui_tools",
]

_RENDER = toolkit.RENDER_A2UI_TOOL_DEF["function"]["name"]

Runtime: TypeAlias = ToolRuntime[Any, Any]

# The arguments of the designing model's call; None if it makes none.
Design: TypeAlias = dict[str, Any] | None


def get_a2ui_tools(params: A2UIToolParams) -> BaseTool:
    """Return a tool that makes or changes a surface.

    Args:
        params: The model that designs it, and how; see the toolkit.
    """
    options = toolkit.resolve_a2ui_tool_params(params)
    designer = options["model"].bind_tools([toolkit.RENDER_A2UI_TOOL_DEF], tool_choice=_RENDER)

    def generate_a2ui(
        runtime: Runtime,
        intent: str = "create",
        target_surface_id: str | None = None,
        changes: str | None = None,
    ) -> str:
        surface = _Surface(options, runtime, intent, target_surface_id, changes)
        return surface.make(lambda messages: _design(designer, messages))

    async def agenerate_a2ui(
        runtime: Runtime,
        intent: str = "create",
        target_surface_id: str | None = None,
        changes: str | None = None,
    ) -> str:
        surface = _Surface(options, runtime, intent, target_surface_id, changes)

        def make(run_in_loop: RunInLoop) -> str:
            return surface.make(lambda messages: run_in_loop(_adesign(designer, messages)))

        # The toolkit's loop is synchronous. The model's client may belong to this event loop, so it
        # runs here.
        return await run_in_thread_with_loop(make)

    return StructuredTool.from_function(
        generate_a2ui,
        agenerate_a2ui,
        name=options["tool_name"],
        description=options["tool_description"],
    )


class _Surface:
    """A surface that is to be made or changed.

    Args:
        options: The toolkit's, resolved.
        runtime: The tool's runtime.
        intent: `create` or `update`.
        target_surface_id: The surface to update.
        changes: The changes to it.
    """

    def __init__(
        self,
        options: toolkit.ResolvedA2UIToolParams,
        runtime: Runtime,
        intent: str,
        target_surface_id: str | None,
        changes: str | None,
    ) -> None:
        self._options = options
        self._target_surface_id = target_surface_id
        self._history: list[BaseMessage] = runtime.state.get("messages", [])[:-1]
        self._request = toolkit.prepare_a2ui_request(
            intent=intent,
            target_surface_id=target_surface_id,
            changes=changes,
            messages=self._history,
            state=runtime.state,
            guidelines=options["guidelines"],
        )

    def make(self, design: Callable[[list[BaseMessage]], Design]) -> str:
        """Return the envelope of the surface, or of an error. `design` asks the model, again if a
        surface is not valid.

        It blocks.
        """
        if refusal := self._request.get("error"):
            return str(toolkit.wrap_error_envelope(refusal))
        result = toolkit.run_a2ui_generation_with_recovery(
            base_prompt=self._request["prompt"],
            catalog=self._options["catalog"],
            config=self._options["recovery"],
            invoke_subagent=lambda prompt, _: design([SystemMessage(prompt), *self._history]),
            build_envelope=self._envelope,
            on_attempt=self._options["on_a2ui_attempt"],
        )
        return str(result["envelope"])

    def _envelope(self, arguments: dict[str, Any]) -> str:
        return toolkit.build_a2ui_envelope(
            args=arguments,
            is_update=self._request["is_update"],
            target_surface_id=self._target_surface_id,
            prior=self._request["prior"],
            default_surface_id=self._options["default_surface_id"],
            default_catalog_id=self._options["default_catalog_id"],
        )


def _design(designer: Runnable[Any, Any], messages: list[BaseMessage]) -> Design:
    return _arguments([*designer.stream(messages)])


async def _adesign(designer: Runnable[Any, Any], messages: list[BaseMessage]) -> Design:
    return _arguments([chunk async for chunk in designer.astream(messages)])


def _arguments(parts: list[AIMessage]) -> Design:
    """Return the arguments in the parts of a message: many chunks, or the whole of a model that
    does not stream.
    """
    whole = reduce(add, parts) if parts else AIMessage("")
    return next((call["args"] for call in whole.tool_calls if call["name"] == _RENDER), None)
