"""Which logs of a directory begin in a tier, and from where on they are here: `local-log-start-offset-checkpoint`.

Owned by `manager.LogDirectory`. It is written before segments go that only the tier has afterwards: so that a log that
is opened, before anybody can say how its topic is configured, is not taken for one that begins where its first segment
does; and so that of several segments a power cut does not bring back some. Entries are true, or lower than the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapelog.base.ports import Disk
from tapelog.log import names
from tapelog.log.checkpoints import CheckpointError, TopicPartition, parse_offsets, render_offsets


class LocalStarts:
    """The file, and what it says."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = f"{path}/{names.LOCAL_STARTS}"
        self.entries: dict[TopicPartition, int] = {}
        try:
            self.entries = parse_offsets(disk.read_file(self._path), names.LOCAL_STARTS)
        except (FileNotFoundError, CheckpointError):
            pass

    def of(self, key: TopicPartition) -> int:
        """From where on that log is here; -1 if it does not begin in a tier."""
        return self.entries.get(key, -1)

    def keep(self, starts: Mapping[TopicPartition, int]) -> None:
        """Write down that what lies below is in the tier alone. Durable. Blocks, unless it is said already."""
        if any(self.entries.get(key) != offset for key, offset in starts.items()):
            self.entries.update(starts)
            self.write()

    def forget(self, keys: Iterable[TopicPartition]) -> bool:
        """They do not begin in a tier any more; whether the file still says otherwise, until it is written."""
        known = [key for key in keys if key in self.entries]
        for key in known:
            del self.entries[key]
        return bool(known)

    def write(self) -> None:
        """Durably. Blocks."""
        self._disk.replace_file(self._path, render_offsets(self.entries))
