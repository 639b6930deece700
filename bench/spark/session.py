"""The other end of bench.spark.reader: start it, give it jobs, and see what they cost whom."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any

from bench import procs
from bench.load import Figures
from bench.sides import REPOSITORY, Side
from bench.spark.scenes import BY_HAND, FROM_AVRO, OURS, TUNED, TUNING, Scene

START_S_MAX, JOB_S_MAX = 180.0, 300.0


class ReadError(Exception):
    """A read failed or gave other rows than there are."""


class Session:
    """A Spark session in a process of its own, with some Python that has PySpark."""

    def __init__(self, python: str, jars: list[Path], folder: Path, *, interpreted: bool = False) -> None:
        receiving, sending = os.pipe()
        self._log = folder / "spark.log"
        words = [python, str(Path(__file__).with_name("reader.py")), str(sending), ",".join(map(str, jars))]
        hot = {"TAPELOG_HOT": "interpreted"} if interpreted else {}
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), **hot}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=(sending,), env=env, cwd=folder
            )
        os.close(sending)
        self._answers = os.fdopen(receiving, "rb", buffering=0)
        self._rest = b""
        self.pyspark = str(self._answer(START_S_MAX)["pyspark"])

    def read(self, side: Side, topic: str, scene: Scene, source: str, mode: str) -> Figures:
        """One read: seconds, and CPU seconds of the broker and of Spark with its Python workers."""
        job = json.dumps(job_of(f"127.0.0.1:{side.port}", topic, scene, source, mode)) + "\n"
        broker, spark, busy = procs.cpu_s(side.pid), procs.cpu_s(self._process.pid), procs.machine_busy_s()
        assert self._process.stdin is not None
        self._process.stdin.write(job.encode())
        self._process.stdin.flush()
        found = self._answer(JOB_S_MAX)
        broker, spark = procs.cpu_s(side.pid) - broker, procs.cpu_s(self._process.pid) - spark
        if "error" in found:
            raise ReadError(found["error"])
        if found["rows"] != scene.records:
            raise ReadError(f"{found['rows']:,} rows, not {scene.records:,}")
        others = max(0.0, procs.machine_busy_s() - busy - broker - spark)
        return {
            "seconds": found["seconds"],
            "rows_s": scene.records / found["seconds"],
            "broker_cpu_s": broker,
            "spark_cpu_s": spark,
            "others_cpu_s": others,
        }

    def _answer(self, patience_s: float) -> dict[str, Any]:
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], patience_s)
            piece = self._answers.read(1 << 16) if ready else b""
            if not piece:
                tail = self._log.read_text(errors="replace")[-1500:]
                self.close()
                raise ReadError(f"no answer from Spark after {patience_s:g} s\n{tail}")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the session."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        procs.stop(self._process)


def job_of(bootstrap: str, topic: str, scene: Scene, source: str, mode: str) -> dict[str, Any]:
    """What the reader is told."""
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    if source == TUNED:
        options |= TUNING
    if scene.avro and source == OURS:
        from bench.spark.orders import SCHEMA

        options |= {"valueFormat": "avro", "valueSchema": SCHEMA}
    decode = {FROM_AVRO: "from_avro", BY_HAND: "fastavro"}.get(source, "ours" if scene.avro else "")
    return {"format": "tapelog" if source == OURS else "kafka", "options": options, "mode": mode, "decode": decode}
