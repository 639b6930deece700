"""Reading ahead of a start with very many logs: only where the disk is asked at all, and nothing depends on it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tapelog.node import read_ahead
from tapelog.node.read_ahead import LOOKED_AT, ReadAhead

MANY = [f"many-{number}" for number in range(400)]


class Touched:
    """Notes which directories are read; `blocks` is what the disk is said to have given so far."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cold: bool) -> None:
        self.names: list[str] = []
        self.cold = cold
        monkeypatch.setattr(read_ahead, "touch", self.touch)
        monkeypatch.setattr(read_ahead, "_read_from_disk", lambda: len(self.names) if self.cold else 7)

    def touch(self, directory: str) -> None:
        self.names.append(directory)
        if len(self.names) % 5 == 0:
            raise FileNotFoundError(directory)


def finish(ahead: ReadAhead) -> None:
    for thread in ahead._threads:
        thread.join(30)


def test_a_cold_disk_is_read_ahead_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    touched = Touched(monkeypatch, cold=True)
    finish(ReadAhead(MANY))
    assert sorted(touched.names) == sorted(MANY[LOOKED_AT:])


def test_what_is_in_memory_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    touched = Touched(monkeypatch, cold=False)
    finish(ReadAhead(MANY))
    assert touched.names == MANY[LOOKED_AT : 2 * LOOKED_AT]


def test_nothing_is_read_once_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    names: list[str] = []

    def touch(directory: str) -> None:
        names.append(directory)
        begun.set()
        go_on.wait(30)

    monkeypatch.setattr(read_ahead, "touch", touch)
    ahead = ReadAhead(MANY)
    assert begun.wait(30)
    threading.Timer(0.05, go_on.set).start()
    ahead.stop()
    assert names == MANY[LOOKED_AT : LOOKED_AT + 1]
    assert not [thread for thread in threading.enumerate() if thread.name == "read-ahead"]


def test_a_few_logs_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    touched = Touched(monkeypatch, cold=True)
    read_ahead.expect(MANY[:100])()
    assert touched.names == []


def test_the_newest_files_of_a_log_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("00.log", "07.log", "00.index", "07.index", "partition.metadata", "leader-epoch-checkpoint"):
        (tmp_path / name).write_bytes(b"x" * 100)
    opened: list[str] = []
    real = read_ahead.os.open

    def noted(path: str, flags: int) -> int:
        opened.append(Path(path).name)
        return real(path, flags)

    monkeypatch.setattr(read_ahead.os, "open", noted)
    read_ahead.touch(str(tmp_path))
    assert sorted(opened) == ["07.index", "07.log", "leader-epoch-checkpoint", "partition.metadata"]
