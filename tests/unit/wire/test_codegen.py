"""What is committed is what the generator writes from codegen/definitions, and nothing of Kafka's prose is in there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from codegen.model import TAGS_OF_OURS, Versions, snake
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    PartitionTraffic,
    TrafficRate,
)
from tapelog.wire.reader import Reader

CODEGEN = Path(__file__).parents[3] / "codegen"


def test_the_committed_modules_are_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, CODEGEN / "generate.py", "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_definitions_hold_facts_only() -> None:
    allowed = {
        "module", "apiKey", "type", "name", "validVersions", "flexibleVersions", "latestVersionUnstable", "listeners",
        "versions", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "fields", "commonStructs",
    }  # fmt: skip

    def check(node: dict[str, object]) -> None:
        assert node.keys() <= allowed
        for child in (*node.get("fields", ()), *node.get("commonStructs", ())):  # type: ignore[misc]
            check(child)

    files = sorted((CODEGEN / "definitions").glob("*.json"))
    assert len(files) == 280
    for path in files:
        check(json.loads(path.read_text()))


def test_fields_of_our_own_are_tagged_far_from_kafkas() -> None:
    added = sorted((CODEGEN / "additions").glob("*.json"))
    assert added
    for path in added:
        assert (CODEGEN / "definitions" / path.name).exists()
        for fields in json.loads(path.read_text()).values():
            assert all(one["tag"] >= TAGS_OF_OURS and one["taggedVersions"] == one["versions"] for one in fields)


def test_fields_of_our_own_survive_encoding_and_are_left_out_where_there_are_no_tags() -> None:
    part = DescribeLogDirsPartition(1, 2, traffic=PartitionTraffic(3, 4, 5, 6, 7, [TrafficRate(60, 1.5)]))
    sent = DescribeLogDirsResponse(
        results=[DescribeLogDirsResult(topics=[DescribeLogDirsTopic("t", [part])])], counted_ms=9
    )
    data = sent.tobytes(5)
    got = DescribeLogDirsResponse.decode(Reader(data, 0, len(data)), 5)
    assert got.counted_ms == 9 and got.results[0].topics[0].partitions == [part]
    data = sent.tobytes(1)
    got = DescribeLogDirsResponse.decode(Reader(data, 0, len(data)), 1)
    assert got.counted_ms == -1 and got.results[0].topics[0].partitions == [DescribeLogDirsPartition(1, 2)]


def test_version_ranges() -> None:
    assert Versions.parse("none").empty
    assert list(Versions.parse("3-5")) == [3, 4, 5]
    assert list(Versions.parse("7")) == [7]
    assert 9 in Versions.parse("9+")
    assert 8 not in Versions.parse("9+")
    assert Versions.parse("2+") & Versions.parse("0-4") == Versions(2, 4)


def test_names_become_python_names() -> None:
    assert snake("ThrottleTimeMs") == "throttle_time_ms"
    assert snake("KRaftVersionRecord") == "kraft_version_record"
    assert snake("LastKnownElr") == "last_known_elr"
