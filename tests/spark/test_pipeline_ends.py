"""How `tape pipeline run` ends when it is told to: in order, with what it has done, and without anybody's traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import ROOT, Topic
from tests.support.waiting import until

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
BATCH = PIPELINE.replace('trigger = "1 seconds"\n', "").replace('start = "earliest"', "stream = false")
BATCH = (
    BATCH.replace('from = "orders"', 'from = "slow"')
    + """
[steps.slow]
from = "orders"
python = "steps.py:slow"
"""
)
STEPS = """
import pathlib, time
from pyspark.sql.functions import udf

def slow(frame):
    @udf("string")
    def waiting(value):
        pathlib.Path("{begun}").touch()
        time.sleep(600)
        return value
    return frame.withColumn("value", waiting("value"))
"""
ENDS_S_MAX = 120


def running(file: Path, runs: Path) -> subprocess.Popen[str]:
    """`tape pipeline run`, in a group of its own, as a shell makes one for what Ctrl-C is to reach."""
    command = [sys.executable, "-m", "tapelog", "pipeline", "run", str(file), "--runs", str(runs)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=env
    )


def tell(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Ctrl-C reaches everybody, another signal the one process."""
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "stop"])
def test_it_ends_in_order_with_the_same_words(
    bootstrap: str, topic: Topic, tmp_path: Path, number: signal.Signals
) -> None:
    topic.write(30)
    file = tmp_path / "copy.toml"
    file.write_text(PIPELINE.format(source=topic, target=Topic(bootstrap, 1)))
    with running(file, tmp_path / "runs") as process:
        assert process.stdout is not None
        seen: list[str] = []
        while not (seen and "copied 30 rows" in seen[-1]):
            line = process.stdout.readline()
            assert line, (seen, process.communicate()[1])
            seen.append(line)
        tell(process, number)
        out, err = process.communicate(timeout=ENDS_S_MAX)
    assert (process.returncode, err) == (0, "")
    assert "copy: ended" in out
    last = out.splitlines()[-1].split()
    assert (last[0], last[2]) == ("copied", "30")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "stop"])
def test_a_batch_is_cut_off_and_says_that_it_is_not_finished(
    bootstrap: str, topic: Topic, tmp_path: Path, number: signal.Signals
) -> None:
    topic.write(30)
    target, begun = Topic(bootstrap, 1), tmp_path / "begun"
    file = tmp_path / "copy.toml"
    file.write_text(BATCH.format(source=topic, target=target))
    (tmp_path / "steps.py").write_text(STEPS.replace("{begun}", str(begun)))
    with running(file, tmp_path / "runs") as process:
        until(lambda: begun.exists() or process.poll() is not None, "a row is being worked on")
        tell(process, number)
        out, err = process.communicate(timeout=ENDS_S_MAX)
    assert process.returncode == 1, (out, err)
    assert "[sinks.copied] was stopped before all was written" in err and "Traceback" not in err
