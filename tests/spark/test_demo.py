"""`tape demo --pipeline`, as `make demo` runs it: what it reports is what was sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

COMMAND = [sys.executable, "-m", "tapelog", "demo", "--pipeline", "--json", "--port", "19192"]
ENDS_S_MAX = 400


def demo(place: Path, *words: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "--report", str(place / "report"), *words]
    env = os.environ | {"TMPDIR": str(place)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=place)


def processes_of(place: Path) -> list[str]:
    """Processes that were started with this directory for temporary files: the demo's, Java and Python workers too."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={place}\0".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.timeout(500)
def test_topic_table_and_orders_agree_and_every_bad_order_is_a_dead_letter(tmp_path: Path) -> None:
    with demo(tmp_path, "--seconds", "15") as process:
        out, err = process.communicate(timeout=ENDS_S_MAX)
    assert process.returncode == 0, err
    told: dict[str, Any] = json.loads(out.splitlines()[-1])["report"]
    assert told["windows"]["agree"] and told["windows"]["compared"] >= 1, told
    assert told["windows"]["sent"] == told["windows"]["topic"] == told["windows"]["table"] > 0
    assert sum(told["dead_letters"].values()) == told["bad_orders_sent"] > 0
    assert "expectation failed: amount > 0" in told["dead_letters"]
    root = ElementTree.fromstring(Path(told["picture"]).read_text())
    assert root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert not processes_of(tmp_path) and [path.name for path in tmp_path.iterdir()] == ["report"], "it tidies up"


@pytest.mark.timeout(600)
def test_it_ends_at_once_when_told_to_while_spark_starts(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        while '"topics"' not in (line := process.stdout.readline()):
            assert line, "it has ended by itself"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["report"]["windows"]["compared"] == 0
    assert not processes_of(tmp_path)
