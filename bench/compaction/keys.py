"""A log of very many keys, compacted by Tapelog and by Apache Kafka: the same files, the same memory for keys.

Told are the bytes of log per second until all of it is clean, the CPU that cleaning took, how many rounds it needed
because the memory for keys holds only so many, and the most memory that the processes ever had. Opening the log, which
makes its indexes, does not count. Time during which this process was stopped does not count, either: a run can be held
(SIGSTOP to its group) and go on later.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench import procs
from bench.compaction.tables import Table, place, size_of
from bench.load import Figures, LoadError
from bench.sides import Kafka, Side, Tapelog

TOPIC = "keys"
LOOK_S = 0.25
STALL_S = 1.0
"""A longer time between two looks was no time for anybody."""
GIVE_UP_S = 3600.0
OPEN_S_MAX = 600.0
SETTINGS = {"log.cleaner.backoff.ms": "500", "log.cleaner.min.cleanable.ratio": "0.01"}
CHECKPOINT = "cleaner-offset-checkpoint"


class BigKafka(Kafka):
    """Apache Kafka with settings of ours, and a heap that its map of keys fits into."""

    patience_s = OPEN_S_MAX

    def __init__(self, folder: Path, settings: dict[str, str], heap_mb: int) -> None:
        super().__init__(folder, None)
        self._extra = settings
        self._heap_mb = heap_mb

    def _write_properties(self) -> None:
        super()._write_properties()
        with open(self.folder / "server.properties", "a") as file:
            file.writelines(f"{name}={value}\n" for name, value in self._extra.items())

    def command(self) -> list[str]:
        heap = {"-Xms1G": f"-Xms{self._heap_mb}m", "-Xmx1G": f"-Xmx{self._heap_mb}m"}
        return [heap.get(word, word) for word in super().command()]


def side_of(name: str, folder: Path, map_mb: int) -> Side:
    """A server with so much memory for keys."""
    settings = {**SETTINGS, "log.cleaner.dedupe.buffer.size": str(map_mb << 20)}
    if name == "kafka":
        return BigKafka(folder, settings, 1024 + max(0, map_mb - 128))
    side = Tapelog(folder, None, page_cache=False, interpreted=name == "interpreted")
    side.settings.update(settings)
    side.patience_s = OPEN_S_MAX
    return side


def measure(side: Side, table: Table, told: Callable[[str], None]) -> Figures:
    """Have a log of many keys compacted, and see what that takes."""
    try:
        side.start()
        size = place(side, table, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
        told(f"{side.name}: {size / 1e9:.2f} GB are written")
        side.start()
        return {**_until_clean(side, table, size, told), "log_mb": size / 1e6}
    finally:
        side.stop()


def _until_clean(side: Side, table: Table, size: int, told: Callable[[str], None]) -> Figures:
    seen, cleaned, rounds, ran, most = time.monotonic(), 0, 0, 0.0, 0.0
    begun, cpu = -1.0, 0.0
    while cleaned < table.records:
        time.sleep(LOOK_S)
        now = time.monotonic()
        ran += min(now - seen, STALL_S)
        seen = now
        used = cleaner_cpu_s(side)
        cpu = max(cpu, used)
        if begun < 0 and used > 0:
            begun = ran
            told(f"{side.name}: begins to compact")
        most = max(most, peak_mb(side))
        found = _clean_up_to(side)
        if found > cleaned:
            cleaned, rounds = found, rounds + 1
            told(f"{side.name}: round {rounds}, clean up to {cleaned:,}, {ran - begun:.0f} s, {cpu:.0f} CPU s")
        if ran > GIVE_UP_S:
            raise LoadError(f"{side.name}: clean up to {cleaned:,} only after {ran:.0f} s")
    took = ran - begun
    return {
        "rounds": float(rounds),
        "seconds": took,
        "mb_s": size / 1e6 / took,
        "cpu_s": cpu,
        "cpu_s_gb": cpu / (size / 1e9),
        "memory_mb": most,
        "left_mb": size_of(side, TOPIC, 1) / 1e6,
    }


def _clean_up_to(side: Side) -> int:
    """Up to where the log is clean: Kafka writes its checkpoint after each round, Tapelog a line into its log (and its
    checkpoint with all others, every now and then)."""
    with suppress(OSError, ValueError):
        if isinstance(side, Tapelog):
            found = re.findall(TOPIC + r"-0: compacted up to offset (\d+)", (side.folder / "server.log").read_text())
            return int(found[-1]) if found else 0
        for line in (side.data / CHECKPOINT).read_text().splitlines():
            topic, _, rest = line.partition(" ")
            if topic == TOPIC and rest:
                return int(rest.split()[1])
    return 0


def cleaner_cpu_s(side: Side) -> float:
    """CPU that compaction has taken: Kafka's cleaning thread, or Tapelog's cleaning process."""
    total = 0.0
    for pid in procs.tree(side.pid):
        with suppress(OSError, IndexError):
            if b"cleaner_child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                total += procs.cpu_s(pid)
                continue
            for task in Path(f"/proc/{pid}/task").iterdir():
                if (task / "comm").read_text().startswith("kafka-log-clean"):
                    fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                    total += sum(map(int, fields[11:13])) / procs.TICK
    return total


def peak_mb(side: Side) -> float:
    """The most memory that each process of the server ever had, together."""
    total_kb = 0
    for pid in procs.tree(side.pid):
        with suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    total_kb += int(line.split()[1])
    return total_kb * 1024 / 1e6
