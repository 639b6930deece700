"""How far a directory has been scrubbed: `scrub-checkpoint`, three lines of text. Owned by `node.scrubbing`."""

from __future__ import annotations

from tapelog.base.ports import Disk, DiskError
from tapelog.log import names


class ScrubCheckpoint:
    """Where a pass stands: everything before this partition, and below this offset of it, has been looked at."""

    def __init__(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self.topic = ""
        self.partition = 0
        self.offset = 0
        self.complete = False

    @staticmethod
    def load(disk: Disk, directory: str, now_ms: int) -> ScrubCheckpoint:
        """What the directory's file says; a pass that begins now if there is none, or none that can be read."""
        found = ScrubCheckpoint(now_ms)
        try:
            lines = disk.read_file(f"{directory}/{names.SCRUB}").decode().split("\n")
            version, began_ms, complete = lines[0].split(" ")
            topic, partition, offset = lines[1].split(" ")
            if int(version) == 0:
                found.began_ms, found.complete = int(began_ms), complete == "complete"
                found.topic, found.partition, found.offset = topic, int(partition), int(offset)
        except (FileNotFoundError, DiskError, UnicodeDecodeError, ValueError, IndexError):
            return ScrubCheckpoint(now_ms)
        return found

    def render(self) -> bytes:
        """The file's bytes."""
        state = "complete" if self.complete else "going-on"
        return f"0 {self.began_ms} {state}\n{self.topic} {self.partition} {self.offset}\n".encode()

    def begin(self, now_ms: int) -> None:
        """A new pass."""
        self.began_ms, self.complete = now_ms, False
        self.topic, self.partition, self.offset = "", 0, 0

    def end(self) -> None:
        """Everything has been looked at."""
        self.complete = True
        self.topic, self.partition, self.offset = "", 0, 0

    def at(self, topic: str, partition: int, offset: int) -> None:
        """It has come so far."""
        self.topic, self.partition, self.offset = topic, partition, offset

    def offset_in(self, topic: str, partition: int) -> int:
        """From where on that partition is to be looked at; beyond every offset if it has been."""
        if (topic, partition) < (self.topic, self.partition):
            return 1 << 63
        return self.offset if (topic, partition) == (self.topic, self.partition) else 0
