"""AG-UI 1.0 by itself: judging, folding and moving its events. Nothing here knows LangChain.

``verify``/``Verifier``     is this stream one that a client accepts, and one it should
``fold``/``Fold``           what a client holds after it: messages and state
``encode``/``DeltaFrame``   events to bytes; ``SSEDecoder``/``decode`` bytes to events
``parse_event``             one wire object to one conforming event
``to_jsonable``             any Python value to JSON data
``ProtocolError``           what all of them raise
"""

from langgraph_agui.protocol.fold import Fold, fold
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.sse import DeltaFrame, SSEDecoder, decode, encode
from langgraph_agui.protocol.verify import Verifier, verify
from langgraph_agui.protocol.wire import ProtocolError

__all__ = [
    "DeltaFrame",
    "Fold",
    "ProtocolError",
    "SSEDecoder",
    "Verifier",
    "decode",
    "encode",
    "fold",
    "parse_event",
    "to_jsonable",
    "verify",
]
