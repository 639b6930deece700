"""Runs one load against one server and returns figures: rates, latencies, CPU of the server's whole process tree."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import build, frames, procs
from bench.sides import Side

Figures = dict[str, float]
RUN_TIMEOUT_S = 300.0


class LoadError(Exception):
    """A driver failed or the server answered with errors: there is no figure."""


class HasPid(Protocol):
    """A server whose process tree is looked at."""

    @property
    def pid(self) -> int:
        """Of its first process."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """How hard the raw generator drives: connections, requests in flight on each, partitions, how long."""

    conns: int = 1
    depth: int = 1
    partitions: int = 1
    secs: float = 3.0
    warm_s: float = 0.5
    max_mb: float = 0.0
    rate: int = 1000


def raw(
    mode: str, side: Side, frame: frames.Frame, shape: Shape, core: int | None, samples: Path | None = None
) -> Figures:
    """One run of the raw generator. samples: a file for every latency, in microseconds, one a line."""
    with tempfile.NamedTemporaryFile(prefix="frame-", dir=side.folder) as prepared:
        prepared.write(frame.data)
        prepared.flush()
        options: dict[str, object] = {
            "port": side.port,
            "frame": prepared.name,
            "conns": shape.conns,
            "depth": shape.depth,
            "partitions": shape.partitions,
            "partition-pos": frame.partition_pos,
            "answer-pos": frame.answer_pos,
            "offset-pos": frame.offset_pos,
            "secs": shape.secs,
            "warm": shape.warm_s,
            "max-mb": shape.max_mb,
            "rate": shape.rate,
            "pids": ",".join(map(str, procs.tree(side.pid))),
        }
        if samples is not None:
            options["samples"] = samples
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        answer = run_driver([str(build.rawload()), mode, *words], side, core)
    return _figures(mode, answer)


def endtoend(side: Side, topic: str, shape: Shape, core: int | None) -> Figures:
    """One run of the librdkafka driver: publish to deliver, acks=all."""
    words = [f"127.0.0.1:{side.port}", topic, "100", str(shape.rate), str(shape.warm_s), str(shape.secs), "all"]
    before = procs.cpu_s(side.pid)
    answer = run_driver([str(build.endtoend()), *words], side, core)
    cpu = procs.cpu_s(side.pid) - before
    expected = int(shape.rate * shape.secs)
    if answer["e2e_n"] < expected * 0.999:
        raise LoadError(f"only {answer['e2e_n']:.0f} of {expected} records were delivered")
    out = {name: answer[f"e2e_{name}"] for name in ("p50_us", "p90_us", "p99_us", "p999_us")}
    out["ack_p50_us"], out["ack_p99_us"] = answer["ack_p50_us"], answer["ack_p99_us"]
    return {**out, "cpu_us_req": cpu / answer["requests"] * 1e6, "other_pct": answer["other_pct"]}


def run_driver(
    command: list[str],
    side: HasPid,
    core: int | None,
    folder: Path | None = None,
    timeout_s: float = RUN_TIMEOUT_S,
) -> dict[str, float]:
    """Run a driver on its core; what it prints, and how busy others were. LoadError if it fails."""
    pin = None if core is None else (lambda: os.sched_setaffinity(0, {core}))
    begin, busy, server = time.monotonic(), procs.machine_busy_s(), procs.cpu_s(side.pid)
    own = _children_cpu_s()
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, preexec_fn=pin, cwd=folder, check=False
    )
    wall = time.monotonic() - begin
    other = procs.machine_busy_s() - busy - (procs.cpu_s(side.pid) - server) - (_children_cpu_s() - own)
    if done.returncode or not done.stdout.strip():
        raise LoadError(f"{Path(command[0]).name}: {done.stderr.strip()[-300:] or done.stdout.strip()[-300:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    answer["other_pct"] = max(0.0, 100 * other / (wall * (os.cpu_count() or 1)))
    return answer


def _children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _figures(mode: str, answer: dict[str, float]) -> Figures:
    took, requests, moved = answer["elapsed_s"], answer["requests"], answer["bytes"]
    if mode == "fetch":
        moved = answer["useful_bytes"]
    out = {
        "req_s": requests / took,
        "mb_s": moved / took / 1e6,
        "cpu_us_req": answer["server_cpu_s"] / max(requests, 1) * 1e6,
        "cpu_s_gb": answer["server_cpu_s"] / max(moved, 1) * 1e9,
        "server_pct": answer["server_cpu_s"] / took * 100,
        "client_pct": answer["client_cpu_s"] / took * 100,
        "other_pct": answer["other_pct"],
    }
    if mode == "latency":
        out.update({name: answer[name] for name in ("p50_us", "p90_us", "p99_us", "p999_us")})
    return out
