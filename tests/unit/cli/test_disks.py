"""Log directories in words: offline, low on room, and what to do about it."""

from __future__ import annotations

import pytest

from tapelog.cli.disks import complaint, state_of
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResult

GIB = 1 << 30


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"error_code": 56}, "offline"),
        ({"total_bytes": 100 * GIB, "usable_bytes": 4 * GIB}, "low"),
        ({"total_bytes": 100 * GIB, "usable_bytes": 6 * GIB}, "online"),
        ({"total_bytes": 4000 * GIB, "usable_bytes": 20 * GIB}, "online"),
        ({"total_bytes": 4000 * GIB, "usable_bytes": 9 * GIB}, "low"),
        ({"total_bytes": 4000 * GIB, "usable_bytes": 0}, "full"),
        ({"total_bytes": -1, "usable_bytes": -1}, "online"),
        ({"is_cordoned": True}, "cordoned"),
    ],
)
def test_a_directory_in_a_word(fields: dict[str, int], state: str) -> None:
    directory = DescribeLogDirsResult(log_dir="/d", **fields)  # type: ignore[arg-type]
    assert state_of(directory) == state
    told = complaint(7, directory)
    assert (told is not None) == (state in ("offline", "full", "low"))
    assert told is None or ("broker 7" in told and "/d" in told)
