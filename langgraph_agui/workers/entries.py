"""The entries of runs of other workers, which may have another version of this package: bytes
enter, the events that this version knows leave.
"""

import logging

from ag_ui.core import BaseEvent

from langgraph_agui.kernel.quoting import printable
from langgraph_agui.protocol.schema import examine
from langgraph_agui.protocol.sse import SSEDecoder

logger = logging.getLogger(__name__)


class EntryDecoder:
    """Decodes the entries of runs. Kinds that this version does not know are left out, and
    each is logged once.
    """

    def __init__(self) -> None:
        self._unknown = set[str]()

    def events(self, data: bytes) -> list[BaseEvent]:
        """Return the events of an entry.

        Raises:
            ProtocolError: A frame is no event, or a known event is malformed.
        """
        decoder, events = SSEDecoder(), list[BaseEvent]()
        for value in [*decoder.feed(data), *decoder.finish()]:
            event, notes = examine(value)
            if event is not None:
                events.append(event)
            self._log({*notes} - self._unknown)
        return events

    def _log(self, notes: set[str]) -> None:
        self._unknown |= notes
        for note in sorted(notes):
            logger.warning(
                "A worker with another version of langgraph-agui has written into the log of a "
                "run: %s. It is logged once.",
                printable(note),
            )
