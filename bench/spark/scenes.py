"""What is read: how many records of which size, compressed how; by whom; in which mode; and what was promised."""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 4
BROKERS = ("kafka", "tapelog")
FRESH = "fresh-"
"""The same in a session that has read next to nothing before, as in a job that begins; else in one that is warm."""
MODES = ("batch", "availableNow", f"{FRESH}batch", f"{FRESH}availableNow")

OURS, STOCK, TUNED = "tapelog", "official", "official tuned"
SOURCES = (STOCK, TUNED, OURS)
TUNING = {"kafka.max.partition.fetch.bytes": str(8 << 20), "kafka.max.poll.records": "4000"}
"""What made Spark's connector fastest here."""

FROM_AVRO, BY_HAND = "official + from_avro", "official + fastavro in mapInArrow"
AVRO_SOURCES = (FROM_AVRO, BY_HAND, OURS)


@dataclass(frozen=True, slots=True)
class Scene:
    """One topic. `at_least` times the stock connector's speed is promised; never slower than the tuned one."""

    name: str
    title: str
    records: int
    size: int
    codec: str
    at_least: float
    per_batch: int
    long: bool = False
    avro: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """Who reads it."""
        return AVRO_SOURCES if self.avro else SOURCES

    @property
    def rival(self) -> str:
        """Whom the promise is about."""
        return BY_HAND if self.avro else STOCK

    @property
    def megabytes(self) -> float:
        """Of values."""
        return self.records * self.size / 1e6


def _scenes() -> tuple[Scene, ...]:
    out = []
    for codec in ("none", "lz4"):
        out += [
            Scene(f"1k-1m-{codec}", f"1 M × 1 KiB, {codec}", 1_000_000, 1024, codec, 2.0, 100),
            Scene(f"100b-5m-{codec}", f"5 M × 100 B, {codec}", 5_000_000, 100, codec, 2.0, 1000),
            Scene(f"1k-4m-{codec}", f"4 M × 1 KiB, {codec}", 4_000_000, 1024, codec, 1.6, 100, long=True),
            Scene(f"100b-20m-{codec}", f"20 M × 100 B, {codec}", 20_000_000, 100, codec, 2.0, 1000, long=True),
        ]
    out.append(Scene("avro-2m", "2 M orders in Avro", 2_000_000, 80, "none", 2.0, 1000, avro=True))
    return tuple(sorted(out, key=lambda scene: (scene.long, scene.avro)))


SCENES = _scenes()


def select(names: list[str]) -> list[Scene]:
    """Scenes whose names begin so; all of them for none. ValueError names what fits nothing."""
    for name in names:
        if not any(scene.name.startswith(name) for scene in SCENES):
            raise ValueError(f"no scene begins with {name}; there are {', '.join(scene.name for scene in SCENES)}")
    return [scene for scene in SCENES if not names or any(scene.name.startswith(name) for name in names)]
