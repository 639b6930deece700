"""What a command says of a tier that it cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog.cli.app import run
from tapelog.cli.tier import _verified


@pytest.mark.parametrize("there", [True, False])
def test_a_directory_that_holds_no_tier_is_not_answered_with_a_bucket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    place = tmp_path / "tier"
    if there:
        place.mkdir()
    assert run(["tier", "verify", "--url", f"file://{place}"]) == 2
    told = capsys.readouterr().err
    assert str(place) in told and "mount" in told and "s3:" not in told


def test_a_url_that_is_none_is_answered_with_some_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tier", "verify", "--url", "bucket/prefix"]) == 2
    told = capsys.readouterr().err
    assert "s3://bucket/prefix" in told and "file:///" in told


@pytest.mark.parametrize(("count", "words"), [(0, "all is well"), (1, "1 problem"), (2, "2 problems")])
def test_problems_are_counted(count: int, words: str) -> None:
    result = {"segments": 3, "bytes": 9, "partitions": [{}], "leftover_objects": 0, "topics_without_document": []}
    assert _verified({**result, "problems": ["p"] * count})[-1].plain.endswith(f": {words}")
