"""Running the clients that are not Python: the Go, Node and Java check programs, and Apache Kafka's own tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ROOT / ".tools" / "clients"
_ready: dict[str, str] = {}


def jars() -> str:
    """Where Apache Kafka's jars are."""
    return os.environ.get("TAPELOG_KAFKA_LIB") or str(ROOT / ".tools" / "kafka" / "lib")


def prepare(kind: str) -> None:
    """Build or fetch what a kind of client (go, node, java) needs; leave the test out, saying why, where that fails."""
    if kind not in _ready:
        done = subprocess.run(["sh", str(HERE / "setup.sh"), kind], capture_output=True, text=True, timeout=600)
        reason = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        _ready[kind] = "" if done.returncode == 0 else f"{kind} clients could not be set up: {reason}"
    if _ready[kind]:
        pytest.skip(_ready[kind])


def run(command: list[str], *, stdin: str = "", seconds: float = 500) -> str:
    """Run to the end, which must be good; the standard output."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=seconds, cwd=ROOT)
    assert done.returncode == 0, f"{' '.join(command[:4])} … exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def java(*arguments: str) -> list[str]:
    """The command that runs a Java class with Kafka's jars and our checks."""
    level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    speed = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"]
    return ["java", *speed, level, "-cp", f"{BUILT / 'java'}{os.pathsep}{jars()}/*", *arguments]


class KafkaTools:
    """Kafka's administrative tools, one after the other in one JVM (java/Tools.java), started when first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, name: str, bootstrap: str, *arguments: str, address_at: int = 0) -> str:
        """Run one, with the broker's address before its arguments or at that place among them; what it printed."""
        if self._process is None:
            prepare("java")
            self._process = subprocess.Popen(java("Tools"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        words = [name, *arguments]
        words[address_at + 1 : address_at + 1] = ["--bootstrap-server", bootstrap]
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\t".join(words).encode() + b"\n")
        self._process.stdin.flush()
        code, size = map(int, self._process.stdout.readline().split())
        printed = self._process.stdout.read(size).decode()
        assert code == 0, f"{name} ended with {code}: {printed}"
        return printed

    def close(self) -> None:
        """End the JVM."""
        if self._process is not None:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(20)
            self._process.stdout.close()
            self._process = None
