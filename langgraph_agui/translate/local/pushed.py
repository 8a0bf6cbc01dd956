"""Receives the messages that nodes push (`langgraph.graph.message.push_message`).

A message enters when its node pushes it, in any thread; it leaves at once through `receive`.
LangGraph gives such a message to the handlers of its stream mode `messages`. That mode adds a
handler to every token, so here is one that takes nothing else.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

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


# Receives a message, with the metadata of the node that pushes it.
Receive: TypeAlias = Callable[[BaseMessage, Mapping[str, object]], None]


class PushedMessages(StreamMessagesHandler):
    """A callback handler that receives pushed messages, and nothing else.

    Args:
        receive: Receives them.
    """

    ignore_llm = True
    ignore_chat_model = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, receive: Receive) -> None:
        def stream(part: tuple[object, str, object]) -> None:
            receive(*cast("tuple[BaseMessage, Mapping[str, object]]", part[2]))

        super().__init__(stream, subgraphs=True)
