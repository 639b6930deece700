"""The committed table of configurations is what Apache Kafka's own definitions say."""

from __future__ import annotations

import os
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIB = Path(os.environ.get("TAPELOG_KAFKA_LIB") or ROOT / ".tools" / "kafka" / "lib")
CODEGEN = ROOT / "codegen" / "configs"


@pytest.mark.needs("java")
@pytest.mark.slow
@pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)")
def test_the_table_is_up_to_date() -> None:
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{LIB}/*", str(CODEGEN / "ConfigFacts.java")],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    written = runpy.run_path(str(CODEGEN / "generate.py"))["render"](done.stdout.splitlines())
    assert written == (ROOT / "src" / "tapelog" / "base" / "kafka_configs.py").read_text()
