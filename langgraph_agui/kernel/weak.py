"""Bound methods that an object gives to its own parts, without a cycle of references.

If a part held its owner's method, only the garbage collector could free both: with hundreds of runs
at once, that took up to half of the time.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakMethod

P = ParamSpec("P")
T = TypeVar("T")


def weakly(method: Callable[P, T]) -> Callable[P, T | None]:
    """Return a bound method that does not keep its object alive. Once that is gone, a call does
    nothing and returns None.
    """
    reference = WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        alive = reference()
        return None if alive is None else alive(*args, **kwargs)

    return call
