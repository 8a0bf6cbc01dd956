"""Receives the messages that nodes push (`langgraph.graph.message.push_message`).

A message enters when its node pushes it, in any thread; it leaves at once, as a call of
`on_pushed_message`. LangGraph gives such a message to the handlers of its stream mode `messages`.
That mode, or a second handler, would cost time for every token, so ours is one of that class.
LangGraph 1.2.20 and 1.2.21 take such handlers out of each run, which is why we need 1.2.22.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from langgraph_agui.kernel.weak import weakly

if TYPE_CHECKING:
    from langgraph.pregel._messages import StreamMessagesHandler
else:
    try:
        from langgraph.pregel._messages import StreamMessagesHandler
    except ImportError:

        class StreamMessagesHandler(BaseCallbackHandler):
            """Stands for LangGraph's handler in a version that keeps it elsewhere: pushed messages
            come with the state then.
            """

            def __init__(self, stream: object, subgraphs: bool) -> None:
                super().__init__()


class PushedMessages(StreamMessagesHandler):
    """A callback handler that receives pushed messages, and does nothing else by itself."""

    def __init__(self) -> None:
        pushed = weakly(self.on_pushed_message)

        def stream(part: tuple[object, str, object]) -> None:
            pushed(*cast("tuple[BaseMessage, Mapping[str, object]]", part[2]))

        super().__init__(stream, subgraphs=True)

    def on_pushed_message(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """A node has pushed a message. `metadata` is the node's."""
        raise NotImplementedError
