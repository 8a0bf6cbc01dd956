"""One call of a model, as the sources of a run report it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid4

from langgraph_agui.messages.encrypted_values import AGENT, MessageSource
from langgraph_agui.messages.hidden import NOTHING, Hidden
from langgraph_agui.messages.to_agui import SUMMARIZATION
from langgraph_agui.messages.transformed_blocks import TransformedBlocks
from langgraph_agui.messages.transformers import Transformers
from langgraph_agui.translate.streaming_message import StreamingMessage
from langgraph_agui.translate.subagents import SubagentRun

# The key in the metadata of a model call that LangChain's middleware makes for itself.
INTERNAL_CALL: Final = "lc_internal_call"


@dataclass(slots=True, eq=False)
class ModelCall:
    """One model call. Whoever reports a call makes one, and gives it to `RunEvents` with all
    that it reports.

    Attributes:
        metadata: The metadata of its start.
        subagent: The subagent that calls the model.
        nostream: Whether the graph's author has hidden the call by a tag.
        structured: Whether the answer is data for the program (`with_structured_output`).
        output_tool: The tool that the model calls with this data, if it answers by a call.
        in_tool: Whether a tool of the same agent calls the model.
        hidden: The hidden parts of its message.
        run_id: The LangChain run.
        source: Which agent the client sees as the message's author.
        live: The message that the call streams.
        transformers: The stream transformers of the graph that calls the model, if it has any.
        transformed: The way of its message through the graph's stream transformers.
        best_id: The best id of the message so far.
        may_improve: Whether a better one may still come.
    """

    metadata: Mapping[str, Any]
    subagent: SubagentRun | None
    nostream: bool = False
    structured: bool = False
    output_tool: str | None = None
    in_tool: bool = False
    hidden: Hidden = NOTHING
    run_id: UUID = field(default_factory=uuid4)
    source: MessageSource = AGENT
    live: StreamingMessage | None = None
    transformers: Transformers | None = None
    transformed: TransformedBlocks | None = None
    best_id: str | None = None
    may_improve: bool = True

    @property
    def is_hidden(self) -> bool:
        """Whether the client sees nothing of the call: it has a tag that hides it, is hidden
        otherwise, or middleware makes it for itself.
        """
        return (
            self.nostream
            or self.hidden.is_total
            or INTERNAL_CALL in self.metadata
            or self.metadata.get("lc_source") == SUMMARIZATION
        )

    def rank(self, message_id: str | None) -> None:
        """Keep the best id seen: a provider's beats LangChain's own, as it does when LangChain adds
        up the chunks.
        """
        if message_id and self.may_improve:
            self.best_id = message_id
            self.may_improve = message_id.startswith(("lc_", "run-"))
