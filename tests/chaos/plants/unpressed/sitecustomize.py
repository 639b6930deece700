"""A planted mistake: producers are never held back."""

from __future__ import annotations

from tapelog.node.pressure import Pressure


def look(self: Pressure) -> None:
    """Look away."""


Pressure.look = look  # type: ignore[method-assign]
