"""What a command says of a tier that it cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog.base import ids
from tapelog.cli.app import run
from tapelog.cli.tier import _drawn, _verified
from tapelog.cli.tier_status import _topic
from tapelog.log.tier import growth, layout
from tapelog.log.tier.growth import Writer
from tapelog.node.directory_mark import Memory
from tapelog.node.directory_store import DirectoryBackend


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


def test_a_topic_that_is_not_in_the_bucket_is_not_said_to_be_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"file://{tmp_path}/tier"
    DirectoryBackend(f"{tmp_path}/tier", Memory(f"{tmp_path}/note", own=True)).put("other", b"1")
    assert run(["tier", "verify", "--url", url]) == 0
    assert f"nothing to check in {url}" in capsys.readouterr().out
    assert run(["tier", "verify", "oders", "--url", url]) == 4
    assert "not in the bucket: oders" in capsys.readouterr().err


def without_document(place: Path) -> tuple[str, bytes]:
    """A bucket whose one topic, `orders`, has lost its topic.json and a manifest; its URL, and the topic's id."""
    backend, topic_id = DirectoryBackend(f"{place}/tier", Memory(f"{place}/note", own=True)), b"\x07" * 16
    made = growth.empty("orders", topic_id, 0, 5, Writer(1, 9, "x", "cluster"))
    backend.put(layout.manifest_name(topic_id, 0), made.encode())
    backend.put(layout.partition_prefix(topic_id, 1) + layout.segment_name(0, 5, 1, "x"), b"1")
    return f"file://{place}/tier", topic_id


def test_a_topic_without_its_document_is_verified_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, topic_id = without_document(tmp_path)
    for name in ("orders", ids.to_text(topic_id)):
        assert run(["tier", "verify", name, "--url", url]) == 6
        told = capsys.readouterr().out
        assert "manifest.json is missing" in told and f"topic id {ids.to_text(topic_id)}: no topic.json" in told


def test_what_is_wrong_is_told_although_another_topic_that_was_named_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _ = without_document(tmp_path)
    assert run(["tier", "verify", "orders", "oders", "--url", url]) == 6
    told = capsys.readouterr()
    assert "manifest.json is missing" in told.out and "not in the bucket: oders" in told.err


def test_that_a_topic_is_not_tiered_does_not_mean_that_none_is() -> None:
    nothing: dict[str, list[str]] = {"topics": [], "brokers": []}
    assert not list(_drawn(nothing, 0, some=True))
    assert "no topic is tiered" in next(iter(_drawn(nothing, 0))).plain


def test_what_no_leader_has_read_of_the_tier_is_not_said_to_be_nothing() -> None:
    def cells(start_offset: int) -> list[list[str]]:
        part = {"remote_bytes": 0, "remote_segments": 0, "start_offset": start_offset, "state": "waiting"}
        part |= {"lag_bytes": 0, "lag_segments": 0, "hold": False, "error": None, "failing_since_ms": -1}
        topic = {"topic": "orders", "partitions": 1, "local_bytes": 5, "by_partition": [part]}
        (shown,) = _drawn({"topics": [topic | part], "brokers": []}, 0)
        return [[str(cell) for cell in column.cells] for column in shown.columns]

    assert cells(0)[3:5] == [["0 B"], ["0"]]
    assert cells(-1)[3:5] == [["-"], ["-"]]
    assert cells(0)[8] == ["nothing to copy"] and cells(-1)[8] == ["waiting"]


@pytest.mark.parametrize(
    ("state", "lag_segments", "error", "shown"),
    [
        ("waiting", 0, None, "nothing to copy"),
        ("waiting", 2, None, "waiting"),
        ("waiting", 2, "the store is away", "tries again"),
        ("working", 0, None, "working"),
        ("fenced", 0, "another leader", "fenced"),
    ],
)
def test_the_state_is_told_in_words_that_say_whether_all_is_well(
    state: str, lag_segments: int, error: str | None, shown: str
) -> None:
    part = {"state": state, "lag_segments": lag_segments, "error": error, "start_offset": 0, "failing_since_ms": 1}
    sizes = {"partition": 0, "local_bytes": 5, "remote_bytes": 5, "remote_segments": 1, "lag_bytes": 0, "hold": False}
    document = {"topics": [_topic("orders", [part | sizes])], "brokers": []}
    (drawn,) = _drawn(document, 0)
    assert [str(cell) for cell in drawn.columns[8].cells] == [shown]
    assert document["topics"][0]["state"] == state, "programs get the broker's word"
