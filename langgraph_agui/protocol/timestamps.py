"""When an interrupt expires; the server and the client decide it the same way (AG-UI 1.0, interrupts)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ag_ui.core import Interrupt


def has_expired(interrupt: Interrupt, now: datetime | None = None) -> bool:
    """Return whether `expires_at` has passed; such an interrupt can only be cancelled.

    A time without a zone is UTC. An `expires_at` that is no ISO 8601 date is ignored.

    Args:
        interrupt: The open interrupt.
        now: The moment to compare with, with a zone; the current time by default.
    """
    try:
        end = datetime.fromisoformat(interrupt.expires_at or "")
    except ValueError:
        return False
    # Compare without converting: near the ends of the calendar, a conversion would overflow.
    return (end if end.tzinfo is not None else end.replace(tzinfo=UTC)) <= (now or datetime.now(UTC))
