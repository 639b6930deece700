"""From record batches to Arrow: million rows per CPU second, without Spark and without a network.

Run `python -m bench.spark_decode [--rounds N] [--json FILE]`, after `make build` for the compiled walk. Each case is a
Fetch answer of about 4 MiB (as many as it takes to fill 64 MiB decoded), with CRC checked and the six columns that
Spark's Kafka source gives first. The CPU time is that of the whole process, so that pyarrow's threads would count.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path

import tapelog
from tapelog.spark.decode.decoder import Decoder
from tapelog.wire.compression import LZ4, NONE, ZSTD
from tapelog.wire.record_batch import Record, build_batch

ANSWER_BYTES = 4 * 1024 * 1024
DECODED_BYTES = 64 * 1024 * 1024
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp")
CASES = [
    ("100 B none, batches of 1 MB", 100, 1_000_000, NONE),
    ("100 B lz4, batches of 1 MB", 100, 1_000_000, LZ4),
    ("1 KiB none, batches of 1 MB", 1024, 1_000_000, NONE),
    ("1 KiB lz4, batches of 1 MB", 1024, 1_000_000, LZ4),
    ("100 B none, batches of 16 KB", 100, 16_384, NONE),
    ("100 B lz4, batches of 16 KB", 100, 16_384, LZ4),
    ("1 KiB none, batches of 16 KB", 1024, 16_384, NONE),
    ("100 B zstd, batches of 1 MB", 100, 1_000_000, ZSTD),
]


def answer(size: int, batch_bytes: int, codec: int) -> tuple[bytes, int]:
    """The records of one Fetch answer, and how many there are."""
    chance = random.Random(size)
    batches, offset, total = [], 0, 0
    while total < ANSWER_BYTES:
        records = []
        for number in range(max(1, batch_bytes // (size + 12))):
            noise = chance.randbytes(size // 4).hex().encode()
            records.append(Record(0, 1_700_000_000_000 + number, None, (noise + b"-" * size)[:size]))
        batches.append(build_batch(records, base_offset=offset, compression=codec))
        offset += len(records)
        total += len(batches[-1])
    return b"".join(batches), offset


def decode(buf: bytes, rows: int, times: int) -> float:
    """CPU seconds for decoding the answer so many times."""
    began = time.process_time()
    for _ in range(times):
        seen = 0
        for batch in Decoder("orders", 3, 0, rows, columns=COLUMNS).decode(buf, 0, len(buf)):
            seen += batch.num_rows
        assert seen == rows
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose names begin so")
    parser.add_argument("--json", type=Path, help="write every round there")
    options = parser.parse_args()
    results = {}
    print(f"compiled: {tapelog.COMPILED}\n{'case':32} {'M rows / CPU s':>16} {'lowest–highest':>16} {'MB / CPU s':>12}")
    for name, size, batch_bytes, codec in CASES:
        if not name.startswith(options.only):
            continue
        buf, rows = answer(size, batch_bytes, codec)
        times = max(1, DECODED_BYTES // (rows * size))
        decode(buf, rows, times)
        rates = [rows * times / decode(buf, rows, times) / 1e6 for _ in range(options.rounds)]
        results[name] = rates
        middle = statistics.median(rates)
        spread = f"{min(rates):.1f}–{max(rates):.1f}"
        print(f"{name:32} {middle:16.2f} {spread:>16} {middle * size:12.0f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"compiled": tapelog.COMPILED, "million_rows_per_cpu_second": results}))


if __name__ == "__main__":
    main()
