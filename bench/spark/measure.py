"""Round by round: every source on every broker in both modes, the order turning, one scene after the other."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import admin, procs
from bench.load import Figures
from bench.runner import turned
from bench.sides import Kafka, Side, Tapelog
from bench.spark.fill import fill
from bench.spark.scenes import OURS, Scene
from bench.spark.session import ReadError, Session

Results = dict[str, dict[str, list[Figures]]]
"""Scene, then `broker mode source`, then one entry per repetition."""
Tell = Callable[[str], None]
WARM_RECORDS = 400_000
WARM_ROUNDS = 4
"""After two, Spark's JVM still spent half as much again on a read as after four."""


def key(broker: str, mode: str, source: str) -> str:
    """Under which figures are kept."""
    return f"{broker}|{mode}|{source}"


class Stage:
    """Both brokers and the Spark session, running; topics come and go."""

    def __init__(
        self, folder: Path, session: Session, brokers: Sequence[str], *, interpreted: bool, tell: Tell
    ) -> None:
        self.session, self.tell = session, tell
        self.sides: dict[str, Side] = {}
        for name in brokers:
            home = folder / name
            tapelog = name == "tapelog"
            self.sides[name] = (
                Tapelog(home, None, page_cache=True, interpreted=interpreted) if tapelog else Kafka(home, None)
            )

    def start(self) -> None:
        """Both brokers."""
        for name, side in self.sides.items():
            self.tell(f"{name} answers after {side.start():.1f} s")

    def stop(self) -> None:
        """Both, and their data goes."""
        for side in self.sides.values():
            side.stop()
            shutil.rmtree(side.folder, ignore_errors=True)

    def run(self, scene: Scene, modes: Sequence[str], reps: int) -> dict[str, list[Figures]]:
        """One scene: fill, then read so many times; a failed read is told and left out."""
        topic, out = f"bench-{scene.name}", dict[str, list[Figures]]()
        for name, side in self.sides.items():
            self._fill(name, side, topic, scene)
        procs.settle()
        try:
            for rep in range(1, reps + 1):
                for broker in turned(tuple(self.sides), rep):
                    for mode in modes:
                        for source in turned(scene.sources, rep):
                            figures = self._read(scene, topic, broker, mode, source)
                            if figures is not None:
                                out.setdefault(key(broker, mode, source), []).append({**figures, "rep": float(rep)})
        finally:
            for side in self.sides.values():
                with admin.Admin(side.port) as connection:
                    connection.delete(topic)
        return out

    def warm(self, scene: Scene, modes: Sequence[str]) -> None:
        """The same in small, unmeasured: Java compiles while it runs, workers are started, brokers get warm."""
        small = replace(scene, name=f"warm-{scene.name}", records=WARM_RECORDS)
        topic = f"bench-{small.name}"
        for name, side in self.sides.items():
            self._fill(name, side, topic, small)
            for _ in range(WARM_ROUNDS):
                for mode in modes:
                    for source in small.sources:
                        self._read(small, topic, name, mode, source)

    def _fill(self, name: str, side: Side, topic: str, scene: Scene) -> None:
        began = time.monotonic()
        fill(side.port, topic, scene, lambda share: None)
        self.tell(f"  {scene.megabytes:,.0f} MB into {name} in {time.monotonic() - began:.1f} s")

    def _read(self, scene: Scene, topic: str, broker: str, mode: str, source: str) -> Figures | None:
        label = f"  {scene.name:14} {broker:8} {mode:13} {source:34}"
        try:
            found = self.session.read(self.sides[broker], topic, scene, source, mode)
        except ReadError as error:
            self.tell(f"{label} no figure: {str(error).splitlines()[0][:160]}")
            return None
        cpu = f"CPU s: broker {found['broker_cpu_s']:.2f}, Spark {found['spark_cpu_s']:.1f}"
        self.tell(f"{label} {found['seconds']:6.2f} s, {cpu}, others {found['others_cpu_s']:.1f}")
        return found


def minutes(scenes: Sequence[Scene], modes: int, brokers: int, reps: int, long_reps: int) -> float:
    """About how long it will take, from what two cores were seen to do."""
    seconds = 60.0
    for scene in scenes:
        reads = sum(_about_s(scene, source) for source in scene.sources) * modes * brokers
        seconds += reads * (long_reps if scene.long else reps) + scene.megabytes / 250 * brokers + 2
    return seconds / 60


def _about_s(scene: Scene, source: str) -> float:
    """Of one read."""
    if scene.avro:
        return scene.records / (1_000_000 if source == OURS else 150_000)
    rows_s = {100: (1_300_000, 2_000_000, 4_000_000), 1024: (500_000, 650_000, 950_000)}[scene.size]
    return scene.records / rows_s[scene.sources.index(source)] + 0.3
