"""AG-UI -> LangChain: what a remote AG-UI agent says, as LangChain messages, and those back as AG-UI history.

``MessageChunks``      events in, `AIMessageChunk`s out
``agui_messages_of``   the sum of those chunks in, the AG-UI messages that it was made of out
"""

from langgraph_agui.client.chunks import MessageChunks
from langgraph_agui.client.history import agui_messages_of

__all__ = ["MessageChunks", "agui_messages_of"]
