"""The one exception of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProtocolError(Exception):
    """An AG-UI stream broke a rule that ends the run.

    ``code`` is a short, stable kebab-case name of the broken rule, ``event`` the offending event in its wire
    form (``None`` when the fault belongs to the stream as a whole), and ``str(error)`` a sentence for people.
    """

    def __init__(self, code: str, message: str, event: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.event = event

    def __reduce__(self) -> tuple[type[ProtocolError], tuple[str, str, Mapping[str, object] | None]]:
        """Survive pickling, which would otherwise call the constructor with the message alone."""
        return type(self), (self.code, str(self), self.event)
