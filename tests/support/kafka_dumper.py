"""Apache Kafka's own log dumper, for tests of the files that we write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

LIB = Path(os.environ.get("TAPELOG_KAFKA_LIB") or Path(__file__).resolve().parents[2] / ".tools" / "kafka" / "lib")

NEEDS_DUMPER = [
    pytest.mark.needs("java"),
    pytest.mark.slow,
    pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)"),
]
"""Marks for a module of such tests."""


def dump(*arguments: str) -> str:
    """What Kafka's dumper says."""
    command = ["java", "-Xmx256m", "-cp", f"{LIB}/*", "org.apache.kafka.tools.DumpLogSegments", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "Exception" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout
