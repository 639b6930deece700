"""Who waits for pieces. Apart from `piece`, since that is compiled: a waiter may be anything with this method."""

from __future__ import annotations

from typing import Protocol


class Waiter(Protocol):
    """Somebody who waits for pieces."""

    def tier_moved(self) -> None:
        """Something it waits for is here, or will not come: try again. Called on the loop."""
        ...
