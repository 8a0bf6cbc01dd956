"""A tool that lets a model of its own design a surface for the page (A2UI), with the toolkit of AG-UI's makers.

The conversation enters; the toolkit's envelope with the surface's operations leaves as the tool's result. The calls of
the designing model stream as those of any model inside a tool.
"""

import asyncio
from typing import Any

import ag_ui_a2ui_toolkit as toolkit
from ag_ui_a2ui_toolkit import A2UI_OPERATIONS_KEY, BASIC_CATALOG_ID, A2UIGuidelines, A2UIToolParams
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

__all__ = ["A2UI_OPERATIONS_KEY", "BASIC_CATALOG_ID", "A2UIGuidelines", "A2UIToolParams", "get_a2ui_tools"]

_RENDER = toolkit.RENDER_A2UI_TOOL_DEF["function"]["name"]


def get_a2ui_tools(params: A2UIToolParams) -> BaseTool:
    """Return a tool that makes or changes a surface.

    Args:
        params: The model that designs it, and how; see the toolkit.
    """
    options = toolkit.resolve_a2ui_tool_params(params)
    designer = options["model"].bind_tools([toolkit.RENDER_A2UI_TOOL_DEF], tool_choice=_RENDER)

    @tool(options["tool_name"], description=options["tool_description"])
    async def generate_a2ui(
        runtime: ToolRuntime[Any, Any],
        intent: str = "create",
        target_surface_id: str | None = None,
        changes: str | None = None,
    ) -> str:
        """Make a surface, or change one.

        Args:
            runtime: The tool's runtime.
            intent: `create` or `update`.
            target_surface_id: The surface to update.
            changes: What to change of it.
        """
        history: list[BaseMessage] = runtime.state.get("messages", [])[:-1]
        request = toolkit.prepare_a2ui_request(
            intent=intent,
            target_surface_id=target_surface_id,
            changes=changes,
            messages=history,
            state=runtime.state,
            guidelines=options["guidelines"],
        )
        if refusal := request.get("error"):
            return str(toolkit.wrap_error_envelope(refusal))

        def envelope(arguments: dict[str, Any]) -> str:
            return toolkit.build_a2ui_envelope(
                args=arguments,
                is_update=request["is_update"],
                target_surface_id=target_surface_id,
                prior=request["prior"],
                default_surface_id=options["default_surface_id"],
                default_catalog_id=options["default_catalog_id"],
            )

        # The toolkit's loop is synchronous: it tries again while a surface is not valid.
        result = await asyncio.to_thread(
            toolkit.run_a2ui_generation_with_recovery,
            base_prompt=request["prompt"],
            catalog=options["catalog"],
            config=options["recovery"],
            invoke_subagent=lambda prompt, _: asyncio.run(_call_arguments(designer, [SystemMessage(prompt), *history])),
            build_envelope=envelope,
            on_attempt=options["on_a2ui_attempt"],
        )
        return str(result["envelope"])

    return generate_a2ui


async def _call_arguments(designer: Runnable[Any, Any], messages: list[BaseMessage]) -> dict[str, Any] | None:
    """Return the arguments of the model's call, which streams; None if it makes none."""
    whole: AIMessageChunk | None = None
    async for chunk in designer.astream(messages):
        whole = chunk if whole is None else whole + chunk
    calls = whole.tool_calls if whole is not None else []
    return next((call["args"] for call in calls if call["name"] == _RENDER), None)
