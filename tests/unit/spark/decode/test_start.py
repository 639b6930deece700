"""What a process costs before it reads: Spark starts fresh ones for planning, and one for each streaming query."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from tapelog.spark.decode.columns import COLUMNS
from tapelog.spark.decode.decoder import Decoder
from tapelog.wire.record_batch import Record, build_batch

data = build_batch([Record(0, 1_700_000_000_000, b"key", b"value", [("h", b"1")])], base_offset=0)
batches = list(Decoder("größe", 7, 0, 1, columns=COLUMNS).decode(data, 0, len(data)))
row = batches[0]
assert row.num_rows == 1
assert row.column("topic")[0].as_py() == "größe" and row.column("partition")[0].as_py() == 7
assert row.column("timestampType")[0].as_py() == 0
print("pandas" in sys.modules)
"""


def test_decoding_does_not_load_pandas() -> None:
    pytest.importorskip("pandas", reason="pandas is absent here: nothing could load it")
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "False"
