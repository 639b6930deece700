"""`tape scrub` on files: damage is told with its range and makes the exit code 1; what is being written is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapelog.cli.main import main
from tapelog.wire.record_batch import Record, build_batch

BATCHES = [build_batch([Record(0, 5, b"k", b"%d" % number * 30)], base_offset=number) for number in range(6)]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node with two log directories and a partition of two segments in the second."""
    node = tmp_path / "node-1"
    node.mkdir()
    (node / "node.toml").write_text(
        'node_id = 1\ncluster_id = "AAAAAAAAAAAAAAAAAAAAAQ"\nlisteners = ["PLAINTEXT://127.0.0.1:9092"]\n'
        'controller_listener = "CONTROLLER://127.0.0.1:9093"\nlog_dirs = ["logs", "more"]\n'
    )
    partition = node / "more" / "orders-0"
    partition.mkdir(parents=True)
    (node / "logs").mkdir()
    (partition / f"{0:020d}.log").write_bytes(b"".join(BATCHES[:4]))
    (partition / f"{4:020d}.log").write_bytes(b"".join(BATCHES[4:]))
    return node


def rot(node: Path, base: int, position: int) -> None:
    path = node / "more" / "orders-0" / f"{base:020d}.log"
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


def test_files_as_they_were_written_are_fine(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scrub", str(node)]) == 0
    assert "2 segments" in capsys.readouterr().out


@pytest.mark.parametrize("below", ["", "more", "more/orders-0"])
def test_damage_is_told_with_its_range(node: Path, below: str, capsys: pytest.CaptureFixture[str]) -> None:
    rot(node, 0, len(BATCHES[0]) + 80)
    assert main(["scrub", str(node / below), "--json"]) == 1
    (damaged,) = json.loads(capsys.readouterr().out)["damaged"]
    assert (damaged["first_offset"], damaged["next_offset"]) == (1, 2)
    assert (damaged["position"], damaged["bytes"]) == (len(BATCHES[0]), len(BATCHES[1]))
    assert damaged["reason"] == "wrong checksum"


def test_a_torn_end_of_the_newest_segment_is_not_damage_yet(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = node / "more" / "orders-0" / f"{4:020d}.log"
    path.write_bytes(path.read_bytes()[:-7])
    assert main(["scrub", str(node)]) == 0
    rot(node, 4, 80)
    assert main(["scrub", str(node)]) == 1, "but what lies before it is"


def test_an_empty_log_directory_is_told_and_the_others_are_checked(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (node / "logs" / "meta.properties").write_text("version=1\n")
    rot(node, 0, len(BATCHES[0]) + 80)
    words = ["scrub", str(node / "logs"), str(node / "more"), str(node)]
    assert main(words) == 1
    told = capsys.readouterr()
    assert "2 segments" in told.out, "each once, though the node's directory stands for all"
    assert "1 damaged range" in told.out and f"{node / 'logs'} is empty" in told.err
    assert main([*words, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["empty"], len(document["damaged"])) == ([str(node / "logs")], 1)
    assert main(["scrub", str(node / "logs")]) == 0


def test_what_no_node_has_is_refused_after_the_others_were_checked(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert main(["scrub", str(other), str(node)]) == 2
    told = capsys.readouterr()
    assert "2 segments" in told.out and f"{other} holds no partitions" in told.err


def test_a_place_without_partitions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scrub", str(tmp_path)]) == 2
    assert main(["scrub", str(tmp_path / "absent")]) != 0
    assert "node's directory" in capsys.readouterr().err
