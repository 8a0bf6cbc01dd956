"""The first fault of a recorded stream: the finding of `validate`, and of the page."""

from collections.abc import Iterable, Mapping

from ag_ui.core import RunAgentInput

from langgraph_agui.protocol import ProtocolError, Verifier


def first_fault(
    events: Iterable[Mapping[str, object]], run_input: RunAgentInput | None = None
) -> tuple[int, ProtocolError] | None:
    """Return where a stream breaks a rule for producers first, and the error; None if it keeps them
    all.

    A fault of the whole stream is at the number of its events. Later faults would follow from the
    first.
    """
    verifier, index = Verifier(strict=True, input=run_input), 0
    try:
        for event in events:
            verifier.feed(event)
            index += 1
        verifier.finish()
    except ProtocolError as error:
        return index, error
    return None
