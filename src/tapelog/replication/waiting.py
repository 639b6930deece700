"""Things that wait for a partition: an append for its acknowledgement, a fetch for data.

The server's handlers subclass these; partitions only know the two calls.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)  # tests wait too
class AppendWaiter:
    """Waits for one or more appended batches; each is told by the index its owner gave."""

    def committed(self, index: int) -> None:
        """The batch is as durable as was asked for."""
        raise NotImplementedError

    def failed(self, index: int, code: int) -> None:
        """The batch is not in the log, or nobody can say any more: answer with this error code."""
        raise NotImplementedError

    def overdue(self, now_ms: int) -> bool:
        """Whether its client has given up by now (monotonic): then it is told so instead of waiting on."""
        return False


@mypyc_attr(allow_interpreted_subclasses=True)
class FetchWaiter:
    """Waits until partitions have something to read."""

    def __init__(self) -> None:
        self.ripe = False

    def retry(self) -> None:
        """Some partition moved: answer if there is enough now."""
        raise NotImplementedError
