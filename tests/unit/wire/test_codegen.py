"""What is committed is what the generator writes from codegen/definitions, and nothing of Kafka's prose is in there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from codegen.model import Versions, snake

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
