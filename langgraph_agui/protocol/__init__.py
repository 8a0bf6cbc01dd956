"""AG-UI 1.0 by itself: judges, folds, encodes and decodes its events. Nothing here knows LangChain.

- `verify`, `Verifier`: whether a client accepts a stream, and whether a producer may send it.
- `fold`, `Fold`: the messages and state that a client holds after a stream.
- `compact`: fewer events with the same outcome.
- `encode`, `DeltaFrame`: events to bytes. `decode`, `SSEDecoder`: bytes to events.
- `parse_event`: a wire object to a conforming event.
- `to_jsonable`: any Python value to JSON data.
- `ProtocolError`: what all of them raise.
"""

from langgraph_agui.protocol.compact import compact
from langgraph_agui.protocol.fold import Fold, fold
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.sse import DeltaFrame, SSEDecoder, decode, encode
from langgraph_agui.protocol.verify import Verifier, verify
from langgraph_agui.protocol.wire import ProtocolError, to_jsonable

__all__ = [
    "DeltaFrame",
    "Fold",
    "ProtocolError",
    "SSEDecoder",
    "Verifier",
    "compact",
    "decode",
    "encode",
    "fold",
    "parse_event",
    "to_jsonable",
    "verify",
]
