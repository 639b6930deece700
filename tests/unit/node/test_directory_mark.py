"""A directory whose file system is not mounted is never taken for an empty tier."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tapelog.log.tier.store import ABSENT, ObjectMissingError, RefusedError, UnavailableError
from tapelog.node.directory_mark import MARK, PRIVATE, Memory
from tapelog.node.directory_store import DirectoryBackend
from tapelog.node.object_stores import open_backend


def memory(tmp_path: Path, node: int = 1, used: bool = False) -> Memory:
    return Memory(f"{tmp_path}/note-{node}", used=lambda: used)


def unmounted(root: Path) -> None:
    """What was mounted there is elsewhere; the directory is there still, and empty."""
    os.rename(root, f"{root}-elsewhere")
    root.mkdir()


def mounted(root: Path) -> None:
    root.rmdir()
    os.rename(f"{root}-elsewhere", root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "tier"
    made.mkdir()
    return made


def test_all_nodes_find_the_same_tier_and_know_it_again(tmp_path: Path, root: Path) -> None:
    DirectoryBackend(str(root), memory(tmp_path)).put("m", b"1", ABSENT)
    other = DirectoryBackend(str(root), memory(tmp_path, 2, used=True))
    assert other.get("m").data == b"1"
    DirectoryBackend(str(root), memory(tmp_path)).put("n", b"1", ABSENT)
    assert (tmp_path / "note-1").read_text() == (tmp_path / "note-2").read_text()


def test_a_directory_that_is_named_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="mounted"):
        DirectoryBackend(f"{tmp_path}/missing", memory(tmp_path))
    assert not (tmp_path / "missing").exists()


def test_a_node_that_knows_its_tier_refuses_an_empty_directory_and_another_tier(tmp_path: Path, root: Path) -> None:
    DirectoryBackend(str(root), memory(tmp_path)).put("m", b"1")
    unmounted(root)
    with pytest.raises(RefusedError, match="mounted"):
        DirectoryBackend(str(root), memory(tmp_path))
    assert list(root.iterdir()) == []
    DirectoryBackend(str(root), memory(tmp_path, 2))
    with pytest.raises(RefusedError, match="another tier"):
        DirectoryBackend(str(root), memory(tmp_path))


def test_a_new_node_of_a_cluster_with_tiered_topics_refuses_an_empty_directory(tmp_path: Path, root: Path) -> None:
    with pytest.raises(RefusedError, match="mounted"):
        DirectoryBackend(str(root), memory(tmp_path, used=True))
    assert list(root.iterdir()) == []
    (root / PRIVATE).mkdir()
    (root / PRIVATE / MARK).write_text("mine")
    DirectoryBackend(str(root), memory(tmp_path, used=True)).put("m", b"1")


def test_the_line_that_a_refusal_gives_makes_the_directory_the_tier(tmp_path: Path, root: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        DirectoryBackend(str(root), memory(tmp_path, used=True))
    with pytest.raises(RefusedError, match=re.escape(str(refused.value))):
        DirectoryBackend(str(root), memory(tmp_path, used=True))
    subprocess.run(["sh", "-c", re.findall(r"mkdir .*", str(refused.value))[0]], check=True)
    for node in (1, 2):
        DirectoryBackend(str(root), memory(tmp_path, node, used=True)).put("m", b"1")
    assert (tmp_path / "note-1").read_text() == (tmp_path / "note-2").read_text() != "\n"


def test_a_node_that_knows_its_tier_says_which_it_is(tmp_path: Path, root: Path) -> None:
    DirectoryBackend(str(root), memory(tmp_path)).put("topics/m", b"1")
    known = (root / PRIVATE / MARK).read_text().strip()
    shutil.rmtree(root / PRIVATE)  # a copy without what is hidden
    with pytest.raises(RefusedError, match="mounted") as refused:
        DirectoryBackend(str(root), memory(tmp_path))
    told = str(refused.value)
    assert known in told
    subprocess.run(["sh", "-c", re.findall(r"mkdir [^;]*", told)[0]], check=True)
    assert DirectoryBackend(str(root), memory(tmp_path)).get("topics/m").data == b"1"


def test_a_tier_of_an_older_version_gets_its_mark(tmp_path: Path, root: Path) -> None:
    (root / "topics").mkdir()
    (root / "topics" / "x").write_bytes(b"1")
    assert DirectoryBackend(str(root), memory(tmp_path, used=True)).get("topics/x").data == b"1"
    assert (root / PRIVATE / MARK).exists()


def test_a_mount_that_goes_away_is_a_store_that_does_not_answer(tmp_path: Path, root: Path) -> None:
    backend = DirectoryBackend(str(root), memory(tmp_path))
    version = backend.put("topics/m", b"1")
    unmounted(root)
    with pytest.raises(UnavailableError, match="mounted"):
        backend.get("topics/m")
    with pytest.raises(UnavailableError):
        backend.get_ranges("topics/m", [(0, 1)])
    with pytest.raises(UnavailableError):
        backend.checksum("topics/m", 1)
    with pytest.raises(UnavailableError):
        backend.put("topics/m", b"2", ABSENT)
    with pytest.raises(UnavailableError):
        backend.put("topics/m", b"2", version)
    with pytest.raises(UnavailableError):
        backend.upload("topics/n", iter((b"1",)))
    with pytest.raises(UnavailableError):
        backend.list("topics/")
    with pytest.raises(UnavailableError):
        backend.delete(["topics/m"])
    assert list(root.iterdir()) == [], "nothing is written below the mount"
    mounted(root)
    assert backend.get("topics/m").data == b"1"
    with pytest.raises(ObjectMissingError):
        backend.get("topics/other")


def test_commands_change_nothing_and_tell_an_empty_directory_from_a_tier(tmp_path: Path, root: Path) -> None:
    with pytest.raises(RefusedError, match="mounted"):
        open_backend(f"file://{root}")
    assert list(root.iterdir()) == []
    DirectoryBackend(str(root), memory(tmp_path)).put("topics/m", b"1")
    assert open_backend(f"file://{root}").get("topics/m").data == b"1"
