"""What a topic, or all topics that begin with a prefix, may hold on the disks of their leaders.

Partitions led here share one Quota and ask it before a client's batch is appended. The clock (`node.quotas`) counts
anew what is really there, here and elsewhere, so that it need not hear of deletions.
"""

from __future__ import annotations

from tapelog.wire.errors import ErrorCode, KafkaError


class Quota:
    """One bound. `used` counts what is here and grows with every batch, `elsewhere` is what other leaders said last."""

    def __init__(self, subject: str, setting: str, limit: int, rejects: bool) -> None:
        self.subject = subject
        """Whose it is, in words."""
        self.setting = setting
        self.limit = limit
        self.rejects = rejects
        """Whether batches are refused beyond it; otherwise the oldest segments go."""
        self.topics: dict[str, None] = {}
        """Those it is about, as far as they are held here."""
        self.used = 0
        self.elsewhere = 0
        self.appended = 0
        """Since the last count began."""
        self.refused = 0

    @property
    def total(self) -> int:
        """All that counts."""
        return self.used + self.elsewhere

    def check(self, size: int) -> None:
        """KafkaError if a batch of that size is not to be taken."""
        if self.rejects and self.total + size > self.limit:
            self.refused += 1
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"{self.subject}: {self.total} of {self.limit} bytes are used ({self.setting}). Delete records, let "
                "retention do so, or raise the bound",
            )

    def took(self, size: int) -> None:
        """A batch of that size was taken."""
        self.used += size
        self.appended += size

    def begin_count(self) -> None:
        """What is appended from now on comes on top of what will be counted."""
        self.appended = 0

    def counted(self, size: int) -> None:
        """So much is here, without what came while it was counted."""
        self.used = size + self.appended
