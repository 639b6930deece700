"""A log of which most is in the tier, and its first segment, whose bytes tests change."""

from __future__ import annotations

from tests.unit.server.tier_rig import TierRig


class FirstSegment(TierRig):
    """`local` is where the log goes on beside the tier; blocks have this size, unless it is 0."""

    def __init__(self, block_bytes: int = 0) -> None:
        super().__init__(delay_ms=1)
        if block_bytes:
            self.reads.pieces.block_bytes = block_bytes
        self.values = self.fill(100)
        self.local = self.move()
        entry = self.copies[0].head.segments[0]
        self.name = self.copies[0].prefix + entry.name
        self.end, self.size = entry.end_offset, entry.log_size
