"""What the rest of the lake asks of a format. All changes are compare-and-set against what was last looked at."""

from __future__ import annotations

from typing import Any, Protocol

from tapelog.spark.lake.schema import Evolution
from tapelog.spark.lake.values import Commit, DataFile, Marker, Status


class Lake(Protocol):
    """One table, as last looked at. `refresh` looks again."""

    def refresh(self) -> None:
        """Look again: everything else answers and commits against this look."""

    def schema(self) -> Any | None:
        """Of the rows, as Arrow; partition columns that only directories hold are not in it. None: no table yet."""

    def create(self, schema: Any) -> None:
        """Make the table; if somebody else has just done so, that is the table."""

    def evolve(self, change: Evolution) -> None:
        """Change the schema. ConflictError where the table was changed since the last look."""

    def marker(self, app: str, wanted: int) -> Marker | None:
        """The newest batch of this application in the table; with the attempt that put it there if it is as young as
        the wanted one (finding that out may cost)."""

    def owner(self, name: str) -> str | None:
        """What stands for the application that last wrote under this name: to be compared with `sign(app)`."""

    def sign(self, app: str) -> str:
        """How `owner` tells this application."""

    def append(self, commit: Commit) -> None:
        """Files, marker and owner, in one. ConflictError where the table was changed since the last look."""

    def replace(self, old: tuple[DataFile, ...], new: tuple[DataFile, ...], now_ms: int) -> None:
        """Other files with the same rows. ConflictError as above; the caller checks that the old ones are still
        there."""

    def files(self) -> list[DataFile]:
        """What the table consists of. LakeError where rows were deleted in a way that only its own readers
        understand."""

    def status(self) -> Status:
        """Rows, size and times."""

    def tidy(self, older_than_ms: int) -> int:
        """Forget versions older than this moment, and remove files older than it that no version needs. How many."""
