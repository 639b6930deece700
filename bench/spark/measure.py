"""Round by round: every source on every broker in every mode, the order turning, one scene after the other.

Fresh modes give each read a session of its own, in which the source has read a topic of next to nothing before.
"""

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
from bench.spark.scenes import FRESH, OURS, STOCK, Scene
from bench.spark.session import ReadError, Session

Results = dict[str, dict[str, list[Figures]]]
"""Scene, then `broker mode source`, then one entry per repetition."""
Tell = Callable[[str], None]
WARM_RECORDS = 400_000
WARM_ROUNDS = 4
"""After two, Spark's JVM still spent half as much again on a read as after four."""
FIRST = Scene("first", "next to nothing", 8_000, 100, "none", 1.0, 1000)
"""What a fresh session reads before: classes are loaded, workers and connections are there."""
SESSION_S = 9.0
"""To start one, and to read next to nothing."""


def key(broker: str, mode: str, source: str) -> str:
    """Under which figures are kept."""
    return f"{broker}|{mode}|{source}"


class Stage:
    """Both brokers and a warm Spark session, running; topics come and go. make_session: another one."""

    def __init__(
        self,
        folder: Path,
        make_session: Callable[[], Session],
        brokers: Sequence[str],
        *,
        interpreted: bool,
        tell: Tell,
    ) -> None:
        self.make_session, self.tell = make_session, tell
        self._warm: Session | None = None
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
            fill(side.port, _topic(FIRST), FIRST, lambda share: None)

    def stop(self) -> None:
        """Session and brokers, and their data goes."""
        if self._warm is not None:
            self._warm.close()
        for side in self.sides.values():
            side.stop()
            shutil.rmtree(side.folder, ignore_errors=True)

    def run(self, scene: Scene, modes: Sequence[str], reps: int) -> dict[str, list[Figures]]:
        """One scene: fill, then read so many times; a failed read is told and left out."""
        out = dict[str, list[Figures]]()
        for name, side in self.sides.items():
            self._fill(name, side, scene)
        procs.settle()
        try:
            self._touch(scene)
            for rep in range(1, reps + 1):
                for broker in turned(tuple(self.sides), rep):
                    for mode in modes:
                        for source in turned(scene.sources, rep):
                            figures = self._read(scene, broker, mode, source)
                            if figures is not None:
                                out.setdefault(key(broker, mode, source), []).append({**figures, "rep": float(rep)})
        finally:
            for side in self.sides.values():
                with admin.Admin(side.port) as connection:
                    connection.delete(_topic(scene))
        return out

    def warm(self, scene: Scene, modes: Sequence[str]) -> None:
        """The same in small, unmeasured: Java compiles while it runs, workers are started, brokers get warm."""
        small = replace(scene, name=f"warm-{scene.name}", records=WARM_RECORDS)
        for name, side in self.sides.items():
            self._fill(name, side, small)
            for _ in range(WARM_ROUNDS):
                for mode in modes:
                    for source in small.sources:
                        self._read(small, name, mode, source)

    def _touch(self, scene: Scene) -> None:
        """Read all of it once, unmeasured: a broker's first read of a topic is not what is measured."""
        for side in self.sides.values():
            self._session.read(side, _topic(scene), scene, scene.sources[0], "batch")

    @property
    def _session(self) -> Session:
        """The warm one."""
        if self._warm is None:
            self._warm = self.make_session()
        return self._warm

    def _fill(self, name: str, side: Side, scene: Scene) -> None:
        began = time.monotonic()
        fill(side.port, _topic(scene), scene, lambda share: None)
        self.tell(f"  {scene.megabytes:,.0f} MB into {name} in {time.monotonic() - began:.1f} s")

    def _in(self, scene: Scene, broker: str, mode: str, source: str) -> Figures:
        side = self.sides[broker]
        if not mode.startswith(FRESH):
            return self._session.read(side, _topic(scene), scene, source, mode)
        session, mode = self.make_session(), mode.removeprefix(FRESH)
        try:
            session.read(side, _topic(FIRST), FIRST, source if source in FIRST.sources else STOCK, mode)
            return session.read(side, _topic(scene), scene, source, mode)
        finally:
            session.close()

    def _read(self, scene: Scene, broker: str, mode: str, source: str) -> Figures | None:
        label = f"  {scene.name:14} {broker:8} {mode:18} {source:34}"
        try:
            found = self._in(scene, broker, mode, source)
        except ReadError as error:
            self.tell(f"{label} no figure: {str(error).splitlines()[0][:160]}")
            return None
        cpu = f"CPU s: broker {found['broker_cpu_s']:.2f}, Spark {found['spark_cpu_s']:.1f}"
        self.tell(f"{label} {found['seconds']:6.2f} s, {cpu}, others {found['others_cpu_s']:.1f}")
        return found


def minutes(scenes: Sequence[Scene], modes: Sequence[str], brokers: int, reps: int, long_reps: int) -> float:
    """About how long it will take, from what two cores were seen to do."""
    seconds = 60.0
    for scene in scenes:
        about = [_about_s(scene, source) for source in scene.sources]
        reads = sum(2 * s + SESSION_S if mode.startswith(FRESH) else s for s in about for mode in modes) * brokers
        seconds += reads * (long_reps if scene.long else reps) + scene.megabytes / 250 * brokers + 2
    return seconds / 60


def _topic(scene: Scene) -> str:
    return f"bench-{scene.name}"


def _about_s(scene: Scene, source: str) -> float:
    """Of one read."""
    if scene.avro:
        return scene.records / (1_000_000 if source == OURS else 150_000)
    rows_s = {100: (1_300_000, 2_000_000, 4_000_000), 1024: (500_000, 650_000, 950_000)}[scene.size]
    return scene.records / rows_s[scene.sources.index(source)] + 0.3
