"""How `tape pipeline run` ends when it is told to: in order, with what it has done, and without anybody's traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import ROOT, Topic

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

PIPELINE = """
[pipeline]
name = "copy"
trigger = "1 seconds"

[cluster]
bootstrap = "{source.bootstrap}"

[sources.orders]
topic = "{source.name}"
start = "earliest"
format = "string"

[sinks.copied]
from = "orders"
topic = "{target.name}"
format = "string"
value = "value"
"""
ENDS_S_MAX = 120


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "stop"])
def test_it_ends_in_order_with_the_same_words(
    bootstrap: str, topic: Topic, tmp_path: Path, number: signal.Signals
) -> None:
    topic.write(30)
    file = tmp_path / "copy.toml"
    file.write_text(PIPELINE.format(source=topic, target=Topic(bootstrap, 1)))
    command = [sys.executable, "-m", "tapelog", "pipeline", "run", str(file), "--runs", str(tmp_path / "runs")]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a shell makes one for what Ctrl-C is to reach
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    ) as process:
        assert process.stdout is not None
        seen: list[str] = []
        while not (seen and "copied 30 rows" in seen[-1]):
            line = process.stdout.readline()
            assert line, (seen, process.communicate()[1])
            seen.append(line)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=ENDS_S_MAX)
    assert (process.returncode, err) == (0, "")
    assert "copy: ended" in out
    last = out.splitlines()[-1].split()
    assert (last[0], last[2]) == ("copied", "30")
