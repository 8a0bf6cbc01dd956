"""`--model`: which options make the reasoning of each model visible."""

from __future__ import annotations

import pytest

from langgraph_agui.devtools.cli.loading import load_model

ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "not-a-key")


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ("anthropic:claude-sonnet-5", "thinking", ADAPTIVE),
        ("anthropic:claude-from-the-future", "thinking", ADAPTIVE),
        ("anthropic:claude-sonnet-4-5", "thinking", {"type": "enabled", "budget_tokens": 2048}),
        ("openai:gpt-5-mini", "reasoning", {"effort": "medium", "summary": "auto"}),
        ("openai:gpt-4o", "reasoning", None),
    ],
)
def test_reasoning_is_asked_for_where_it_exists(spec, field, value):
    assert getattr(load_model(spec), field) == value


def test_reasoning_can_be_left_out():
    assert load_model("openai:gpt-5-mini", reasoning=False).reasoning is None
    assert load_model("anthropic:claude-sonnet-4-5", reasoning=False).thinking is None


def test_a_thinking_budget_leaves_room_for_the_answer():
    model = load_model("anthropic:claude-sonnet-4-5")
    assert model.max_tokens > model.thinking["budget_tokens"]
