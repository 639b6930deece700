"""Clients in other languages that live through it as well: Java's and franz-go, writing and reading (tests/clients)."""

from __future__ import annotations

import shutil
import subprocess
import threading
from typing import IO

from tests.chaos.cluster.work import Place, Seen
from tests.clients.programs import BUILT, HERE, java

FINISH_S = 180.0


def programs() -> dict[str, list[str]]:
    """By language, the command of its client; those that can be built here."""
    found: dict[str, list[str]] = {}
    for kind, command in (("java", java("Life")), ("go", [str(BUILT / "go-checks"), "life"])):
        if shutil.which(kind) is not None:
            done = subprocess.run(["sh", str(HERE / "setup.sh"), kind], capture_output=True, timeout=600)
            if done.returncode == 0:
                found[kind] = command
    return found


class Foreign:
    """A client in a process of its own, whose lines are read as they come."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads.append(threading.Thread(target=self._complain, daemon=True))
        self.complaints: list[str] = []
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        stream: IO[bytes] | None = self.process.stdout
        assert stream is not None
        for line in stream:
            self.heard(line.rstrip(b"\n"))

    def _complain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.complaints = [*self.complaints[-20:], line.decode(errors="replace").strip()]

    def heard(self, line: bytes) -> None:
        """It said something."""
        raise NotImplementedError

    def end(self) -> None:
        """Ask it to come to an end, and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(FINISH_S)
        for thread in self._threads:
            thread.join(30)
        assert code == 0, f"{self.name} ended with {code}: {self.complaints[-5:]}"

    def kill(self) -> None:
        """However it ended."""
        self.process.kill()
        self.process.wait()


class ForeignReader(Foreign):
    """Follows a topic."""

    def __init__(
        self, name: str, command: list[str], bootstrap: str, topic: str, partitions: int, *, committed: bool
    ) -> None:
        self.topic = topic
        self.seen: list[Seen] = []
        level = "read_committed" if committed else "read_uncommitted"
        super().__init__(name, [*command, "follow", bootstrap, topic, str(partitions), level])

    def heard(self, line: bytes) -> None:
        partition, offset, value = line.split(b" ", 2)
        self.seen.append((int(partition), int(offset), value))

    def finish(self) -> list[Seen]:
        """What it saw, partition by partition."""
        self.end()
        return sorted(self.seen, key=lambda one: one[0])


class ForeignWriter(Foreign):
    """Writes numbered records."""

    def __init__(self, name: str, command: list[str], bootstrap: str, topic: str, partitions: int, rate: int) -> None:
        self.count = 0
        self.acknowledged: dict[int, Place] = {}
        self.failed: dict[int, str] = {}
        super().__init__(name, [*command, "write", bootstrap, topic, str(partitions), name, str(rate)])

    def heard(self, line: bytes) -> None:
        kind, number, *rest = line.decode().split(" ", 3)
        if kind == "ack":
            self.acknowledged[int(number)] = (int(rest[0]), int(rest[1]))
        elif kind == "fail":
            self.failed[int(number)] = " ".join(rest)
        else:
            self.count = int(number)

    def finish(self) -> None:
        """Until it is known what became of everything."""
        self.end()
