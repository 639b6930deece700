"""Large files lose their names at once and their space bit by bit; whoever still reads one notices nothing."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapelog.node import removal
from tapelog.node.flush_signal import FlushSignal
from tapelog.node.removal import (
    LARGE_BYTES,
    PATIENT_BYTES_PER_S,
    PAUSE_S,
    PAUSES_AFTER_SLOW_ROUND,
    PAUSES_BESIDE_WRITERS,
    PIECE_BYTES,
    Removal,
)
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="only Linux tells who has a file open")

SIZE = LARGE_BYTES + 3 * PIECE_BYTES + 17


def idle() -> bool:
    """Whether nothing is being removed any more."""
    return not any(thread.name == "removal" for thread in threading.enumerate())


def large(folder: Path, name: str = "00.log.deleted") -> Path:
    path = folder / name
    path.write_bytes(b"x" * SIZE)
    return path


def test_the_name_goes_at_once_and_the_space_bit_by_bit(tmp_path: Path) -> None:
    path, go_on, left = large(tmp_path), threading.Event(), list[int]()

    def pause(_: float) -> None:
        assert go_on.wait(30)
        left.extend(os.stat(entry).st_size for entry in Path("/proc/self/fd").iterdir() if _is(entry, path))

    Removal(pause).remove(str(path))
    assert not path.exists()
    go_on.set()
    until(idle, "the file is gone")
    assert left == [SIZE // PIECE_BYTES * PIECE_BYTES - PIECE_BYTES * number for number in range(7)]


def test_no_piece_goes_while_a_flush_round_is_under_way_and_beside_writers_they_come_more_slowly(
    tmp_path: Path,
) -> None:
    path, signal, pauses = large(tmp_path), FlushSignal(), list[int]()

    def pause(_: float) -> None:
        assert not signal.raised
        pauses.append(signal.rounds)
        if len(pauses) == 1:
            signal.raise_it()  # somebody writes, once
            signal.lower()

    Removal(pause, signal).remove(str(path))
    until(idle, "the file is gone")
    assert len(pauses) == 7 + PAUSES_BESIDE_WRITERS - 1


def test_after_a_round_that_took_long_the_next_piece_waits_for_long(tmp_path: Path) -> None:
    path, pauses, waits = large(tmp_path), list[float](), list[bool]()

    class SlowAtFirst(FlushSignal):
        def wait(
            self, pause: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
        ) -> bool:
            waits.append(bool(waits))
            return waits[-1]

    flushes = SlowAtFirst()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            flushes.raise_it()
            flushes.lower()

    Removal(pause, flushes).remove(str(path))
    until(idle, "the file is gone")
    patience = int(SIZE / PATIENT_BYTES_PER_S / PAUSE_S)
    assert patience < PAUSES_AFTER_SLOW_ROUND
    assert len(pauses) == 7 + patience


def test_patience_lasts_until_a_large_file_is_gone_where_only_its_rest_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that are cut wait no more."""
    monkeypatch.setattr(removal, "PATIENT_BYTES", SIZE - 3 * PIECE_BYTES)
    path, flushes, pauses = large(tmp_path), FlushSignal(), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        flushes.raise_it()
        flushes.lower()

    Removal(pause, flushes).remove(str(path))
    until(idle, "the file is gone")
    assert len(pauses) > 7 + 2 * (PAUSES_BESIDE_WRITERS - 1)


def test_who_opens_a_file_that_is_going_is_let_in(tmp_path: Path) -> None:
    """A lease that is still held would keep him waiting, and send this process a signal that ends it."""
    path, opened, signals = large(tmp_path), list[int](), list[int]()
    done = threading.Event()

    def pause(_: float) -> None:
        for entry in Path("/proc/self/fd").iterdir():
            if not opened and _is(entry, path):
                opened.append(os.open(entry, os.O_RDWR | os.O_NONBLOCK))
        done.set()

    before = signal.signal(signal.SIGIO, lambda number, _: signals.append(number))
    try:
        Removal(pause).remove(str(path))
        until(idle, "nothing is left to do")
        assert done.is_set() and len(opened) == 1
        assert signals == []
    finally:
        signal.signal(signal.SIGIO, before)
        for fd in opened:
            os.close(fd)


def _is(entry: Path, path: Path) -> bool:
    try:
        return os.readlink(entry).startswith(str(path))
    except OSError:
        return False


def test_who_reads_a_removed_file_goes_on(tmp_path: Path) -> None:
    path, pauses = large(tmp_path), list[float]()
    with path.open("rb") as reader:
        Removal(pauses.append).remove(str(path))
        until(idle, "nothing is left to do")
        assert reader.read() == b"x" * SIZE
    assert pauses == []


def test_a_file_with_another_name_keeps_its_contents(tmp_path: Path) -> None:
    path, kept = large(tmp_path), tmp_path / "kept"
    os.link(path, kept)
    Removal(lambda _: None).remove(str(path))
    until(idle, "nothing is left to do")
    assert kept.read_bytes() == b"x" * SIZE


def test_of_a_link_only_the_link_goes(tmp_path: Path) -> None:
    path, link = large(tmp_path), tmp_path / "link"
    link.symlink_to(path)
    Removal(lambda _: None).remove(str(link))
    until(idle, "nothing is left to do")
    assert not link.is_symlink()
    assert path.stat().st_size == SIZE


def test_small_files_and_what_is_too_much_go_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, path, pauses = tmp_path / "small", large(tmp_path), list[float]()
    small.write_bytes(b"x" * LARGE_BYTES)
    Removal(pauses.append).remove(str(small))
    monkeypatch.setattr(removal, "WAITING_BYTES_MAX", SIZE - 1)
    Removal(pauses.append).remove(str(path))
    assert not small.exists()
    assert not path.exists()
    assert idle()
    assert pauses == []


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Removal().remove(str(tmp_path / "never"))
