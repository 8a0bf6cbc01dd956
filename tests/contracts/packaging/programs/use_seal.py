"""Reasoning is sealed for the client, comes back whole, and not into another thread."""

import json

from langchain_core.messages import AIMessage

from langgraph_agui import (
    ReasoningOptions,
    ReasoningSeal,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)

options = ReasoningOptions(visibility="hidden", seal=ReasoningSeal(keys=[ReasoningSeal.new_key()]))
blocks = [
    {"type": "thinking", "thinking": "A secret thought.", "signature": "c2ln"},
    {"type": "text", "text": "Yes."},
]
said = AIMessage(blocks, id="m", response_metadata={"model_provider": "anthropic"})
held = langchain_messages_to_agui([said], reasoning=options, thread_id="t")
wire = json.dumps([message.model_dump(mode="json", by_alias=True) for message in held])
assert "secret" not in wire
assert "c2ln" not in wire
assert agui_messages_to_langchain(held, reasoning=options, thread_id="t")[0].content == blocks
assert "secret" not in str(agui_messages_to_langchain(held, reasoning=options, thread_id="other"))
