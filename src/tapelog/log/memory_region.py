"""Records in memory that are sent from where they lie, piece by piece.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from tapelog.wire.values import Region


@mypyc_attr(allow_interpreted_subclasses=True)  # tests watch it let go
class MemoryRegion(Region):
    """Views that stay as they are until it is released. `size` is what is still to be sent."""

    def __init__(self, views: list[memoryview]) -> None:
        super().__init__(sum(map(len, views)))
        self._views = views

    def read(self) -> bytes:
        """All that is left, as a copy."""
        return b"".join(self._views)

    def next_view(self) -> memoryview:
        """What is to be sent next; there is something left."""
        return self._views[0]

    def sent(self, count: int) -> None:
        """So much of the next view has been taken; with the last of it the region lets go of its memory."""
        self.size -= count
        view = self._views[0]
        if count < len(view):
            self._views[0] = view[count:]
        else:
            del self._views[0]
        if not self.size:
            self.release()

    def release(self) -> None:
        self._views = []
