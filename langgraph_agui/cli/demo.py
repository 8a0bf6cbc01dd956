"""The demo agent: a `create_agent` graph on the scripted model, or on a real one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.chat_models import init_chat_model
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui.cli.demo_guide import plan_day_tool
from langgraph_agui.cli.demo_model import DemoModel
from langgraph_agui.cli.demo_tools import DEMO_TOOLS, DemoState
from langgraph_agui.cli.errors import CommandError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph

PROMPT: Final = (
    "You are the demo agent of langgraph-agui. Use the tools whenever they help, in parallel where the calls "
    "do not depend on each other. Answer briefly, in plain text without markup."
)
KEY_VARIABLES: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_THINKING_BUDGET: Final = 2048


def build_demo_graph(
    model: BaseChatModel | None = None, *, delay: float = 0.02
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the demo agent on `model`, by default a scripted one that waits `delay` seconds per chunk."""
    review = HumanInTheLoopMiddleware(
        interrupt_on={
            "send_email": {
                "allowed_decisions": ["approve", "edit", "reject"],
                "description": "The agent wants to send this e-mail.",
            }
        }
    )
    chosen = model or DemoModel(delay=delay)
    return create_agent(
        chosen,
        [*DEMO_TOOLS, plan_day_tool(chosen, delay)],
        system_prompt=PROMPT,
        middleware=[review],
        state_schema=DemoState,
        checkpointer=InMemorySaver(),
        name="demo",
    )


def load_model(spec: str, *, reasoning: bool = True) -> BaseChatModel:
    """Return the chat model that `spec` (`provider:model`) names, thinking aloud where it can.

    Raises `CommandError` when the package, the key or the model is missing.
    """
    provider, separator, name = spec.partition(":")
    if not separator or not name:
        raise CommandError(f"--model {spec!r} must look like provider:model, e.g. anthropic:claude-sonnet-5.")
    variable = KEY_VARIABLES.get(provider)
    if variable and not os.environ.get(variable):
        raise CommandError(f"--model {spec} needs an API key: set {variable}.")
    try:
        model = init_chat_model(name, model_provider=provider)
        options = _reasoning_options(provider, model.profile) if reasoning else {}
        return init_chat_model(name, model_provider=provider, **options) if options else model
    except Exception as error:  # providers raise what they like for a wrong name or a missing key
        raise CommandError(f"--model {spec} cannot be used: {error}") from error


def _reasoning_options(provider: str, profile: Any) -> dict[str, Any]:
    """Say how to switch visible reasoning on; a model without a profile is taken for a recent one."""
    facts: dict[str, Any] = dict(profile or {})
    if not facts.get("reasoning_output", True):
        return {}
    if provider == "openai":
        return {"reasoning": {"effort": "medium", "summary": "auto"}}
    if provider == "google_genai":
        return {"include_thoughts": True}
    if provider == "ollama":
        return {"reasoning": True}
    if provider == "anthropic":
        adaptive = not facts or "xhigh" in facts.get("reasoning_effort_levels", ())
        if adaptive:
            return {"thinking": {"type": "adaptive", "display": "summarized"}}
        return {"thinking": {"type": "enabled", "budget_tokens": _THINKING_BUDGET}}
    return {}
