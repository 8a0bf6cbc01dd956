"""AG-UI 1.0 by itself: judges, folds, encodes and decodes its events. Nothing here knows LangChain.

- `verify`, `Verifier`: whether a client accepts a stream, and whether a producer may send it.
- `fold`, `Fold`: the messages and state that a client holds after a stream.
- `compact`: fewer events with the same outcome.
- `encode`: events to bytes. `decode`, `SSEDecoder`: bytes to events.
- `parse_event`, `parse_input`: a wire object to a conforming event or `RunAgentInput`.
- `to_jsonable`: any Python value to JSON data. `parse_json`: bounded JSON text to JSON data.
- `has_expired`: whether an interrupt can only be cancelled.
- `relax_schema`: a JSON Schema of another agent, made safe to apply.
- `ProtocolError`: what all of them raise.
"""

from langgraph_agui.protocol.compact import compact
from langgraph_agui.protocol.fold import Fold, fold
from langgraph_agui.protocol.json import parse_json, to_jsonable
from langgraph_agui.protocol.relaxed_schema import relax_schema
from langgraph_agui.protocol.schema import parse_event, parse_input
from langgraph_agui.protocol.sse import SSEDecoder, decode, encode
from langgraph_agui.protocol.verify import Verifier, verify
from langgraph_agui.protocol.wire import ProtocolError, has_expired

__all__ = [
    "Fold",
    "ProtocolError",
    "SSEDecoder",
    "Verifier",
    "compact",
    "decode",
    "encode",
    "fold",
    "has_expired",
    "parse_event",
    "parse_input",
    "parse_json",
    "relax_schema",
    "to_jsonable",
    "verify",
]
