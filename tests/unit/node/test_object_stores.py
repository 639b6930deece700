"""Stores behind URLs: conditions are heeded, listings are in order, nothing is half written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tapelog.base.node_config import Listener, NodeConfig, NodeConfigError
from tapelog.log.tier import scripts
from tapelog.log.tier.store import (
    ABSENT,
    ConflictError,
    ObjectMissingError,
    ObjectStore,
    RefusedError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.node import object_stores, ranged_reads
from tapelog.node.directory_mark import MARK, Memory
from tapelog.node.directory_store import DirectoryBackend
from tapelog.node.object_stores import open_backend, tier_url
from tapelog.node.tier_store import ThreadedStore
from tapelog.sim.objects import Bucket, SimStore
from tapelog.wire.crc import crc32c


@pytest.fixture
def backend(tmp_path: Path) -> DirectoryBackend:
    found = open_backend(f"file://{tmp_path}/tier", memory=Memory(f"{tmp_path}/note", own=True))
    assert isinstance(found, DirectoryBackend)
    return found


def test_an_object_is_read_as_it_was_written_whole_and_in_ranges(backend: DirectoryBackend) -> None:
    backend.upload("a/b/c", iter((b"hello ", b"world")))
    assert backend.get("a/b/c").data == b"hello world"
    assert backend.get_ranges("a/b/c", [(0, 5), (6, 5)]) == [b"hello", b"world"]
    assert backend.checksum("a/b/c", 11) == crc32c(b"hello world")
    with pytest.raises(ObjectMissingError):
        backend.get_ranges("a/b/c", [(6, 6)])
    with pytest.raises(UnavailableError):
        backend.checksum("a/b/c", 12)
    with pytest.raises(ObjectMissingError):
        backend.get("a/b")


def test_memory_is_filled_piece_by_piece_and_told_of_each_until_the_object_ends(backend: DirectoryBackend) -> None:
    backend.put("a", b"0123456789")
    memory, told = bytearray(9), []
    pieces = [memoryview(memory)[at : at + 3] for at in (0, 3, 6)]
    backend.read_into("a", 1, pieces, lambda: told.append(bytes(memory)))
    assert told == [b"123" + bytes(6), b"123456" + bytes(3), b"123456789"]
    told.clear()
    with pytest.raises(ObjectMissingError):
        backend.read_into("a", 2, pieces, lambda: told.append(bytes(memory[:6])))
    assert told[-1] == b"234567" and len(told) == 2


def test_a_conditional_put_heeds_its_condition(backend: DirectoryBackend) -> None:
    first = backend.put("m", b"1", ABSENT)
    with pytest.raises(ConflictError):
        backend.put("m", b"2", ABSENT)
    second = backend.put("m", b"2", first)
    with pytest.raises(ConflictError):
        backend.put("m", b"3", first)
    with pytest.raises(ConflictError):
        backend.put("other", b"3", first)
    assert backend.get("m").data == b"2" and backend.get("m").version == second


def test_of_many_writers_under_one_condition_one_wins(tmp_path: Path) -> None:
    backends = [DirectoryBackend(str(tmp_path), Memory(f"{tmp_path}/note{number}")) for number in range(8)]
    version = backends[0].put("m", b"0")
    won: list[int] = []

    def write(number: int) -> None:
        try:
            backends[number].put("m", b"%d" % (number + 1), version)
            won.append(number)
        except ConflictError:
            pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and backends[0].get("m").data == b"%d" % (won[0] + 1)


def test_a_listing_is_in_order_page_by_page_and_shows_no_private_files(backend: DirectoryBackend) -> None:
    names = sorted(f"t/{a}/{b}" for a in ("x", "x-1", "x.1", "y") for b in ("1", "10", "2"))
    for name in names:
        backend.put(name, b"12")
    found = backend.list("t/")
    assert [item.name for item in found.objects] == names and not found.more
    assert [item.name for item in backend.list("t/", names[4]).objects] == names[5:]
    assert [item.name for item in backend.list("t/x/").objects] == ["t/x/1", "t/x/10", "t/x/2"]
    assert [item.name for item in backend.list("").objects] == names
    assert backend.list("nothing/").objects == ()


def test_deleting_is_fine_twice_and_leaves_no_directories(backend: DirectoryBackend, tmp_path: Path) -> None:
    backend.put("t/a/b", b"1")
    backend.delete(["t/a/b", "t/a/c"])
    backend.delete(["t/a/b"])
    assert [path.name for path in (tmp_path / "tier").iterdir()] == [".tapelog"]


def test_an_upload_whose_source_fails_leaves_nothing(backend: DirectoryBackend, tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise StoreError("no more")

    with pytest.raises(StoreError):
        backend.upload("t/a", pieces())
    assert backend.list("").objects == ()
    assert not list((tmp_path / "tier" / ".tapelog").glob("*.tmp"))


def test_what_a_killed_process_left_half_written_goes_a_day_later(tmp_path: Path) -> None:
    private = tmp_path / ".tapelog"
    private.mkdir()
    for name, age_s in (("1-old.tmp", 100_000), ("2-new.tmp", 10)):
        (private / name).write_bytes(b"half")
        os.utime(private / name, (time.time() - age_s,) * 2)
    DirectoryBackend(str(tmp_path), Memory(f"{tmp_path}/note"))
    assert sorted(path.name for path in private.iterdir()) == ["2-new.tmp", MARK]


def run(script: scripts.Script, store: ObjectStore) -> StoreError | None:
    ended: list[StoreError | None] = []
    scripts.play(script, store, ended.append)
    return ended[0]


def test_a_store_that_ignores_conditions_is_refused() -> None:
    bucket = Bucket()
    assert run(scripts.probe("x"), SimStore(bucket)) is None and not bucket.objects
    bucket.conditional = False
    error = run(scripts.probe("x"), SimStore(bucket))
    assert isinstance(error, RefusedError) and "conditional" in str(error)


def test_the_probe_of_a_store_that_does_not_answer_may_be_repeated() -> None:
    store = SimStore(Bucket())
    store.weather.gone = True
    assert isinstance(run(scripts.probe("x"), store), UnavailableError)


def test_what_a_probe_has_left_goes_with_the_next_one_of_that_node() -> None:
    bucket = Bucket()
    store = SimStore(bucket)
    store.weather.lose_percent = 100
    for token in ("1-aa", "1-bb", "11-cc"):
        assert isinstance(run(scripts.probe(token), store), UnavailableError)
    assert len(bucket.objects) == 3
    store.weather.lose_percent = 0
    assert run(scripts.probe("1-dd"), store) is None
    assert list(bucket.objects) == ["probes/11-cc"], "another node may be at it"


@pytest.mark.parametrize("url", ["", "s3:", "s3://", "ftp://x/y", "/tmp/x", "file://"])
def test_a_url_that_is_none_says_what_one_looks_like(url: str) -> None:
    with pytest.raises(RefusedError, match="s3://bucket/prefix"):
        open_backend(url)


def config(**settings: str) -> NodeConfig:
    voters = settings.pop("voters", "")
    return NodeConfig(
        node_id=1,
        cluster_id="simulated-cluster-id00",
        listeners=[Listener.parse("PLAINTEXT://127.0.0.1:0")],
        controller_listener=Listener.parse("CONTROLLER://127.0.0.1:0"),
        log_dirs=["/data"],
        voters=[voters] if voters else None,
        settings={"remote.log.storage.system.enable": "true", **{k.replace("_", "."): v for k, v in settings.items()}},
    )


def test_a_node_alone_has_its_tier_beside_its_logs_and_a_cluster_must_say_where() -> None:
    assert tier_url(config()) == "file:///data/tier"
    assert tier_url(config(tapelog_tier_url="s3://bucket/x")) == "s3://bucket/x"
    with pytest.raises(NodeConfigError, match=r"tapelog\.tier\.url"):
        tier_url(config(voters="1@127.0.0.1:9093:AAAAAAAAAAAAAAAAAAAAAA"))


def test_results_and_errors_arrive_on_the_loop(tmp_path: Path) -> None:
    posted: list[Callable[[], None]] = []
    arrived = threading.Event()

    def post(action: Callable[[], None]) -> None:
        posted.append(action)
        arrived.set()

    memory = Memory(f"{tmp_path}/note")
    opened = lambda: DirectoryBackend(str(tmp_path), memory)  # noqa: E731
    store = ThreadedStore(opened, post, copiers=2, bytes_per_second=lambda: 1 << 40)
    results: list[object] = []

    def wait() -> object:
        assert arrived.wait(30)
        arrived.clear()
        assert not results, "nothing is told off the loop"
        posted.pop()()
        return results.pop()

    store.put("a", b"1", ABSENT, results.append)
    assert isinstance(wait(), Version)
    store.put("a", b"1", ABSENT, results.append)
    assert isinstance(wait(), ConflictError)

    def broken() -> Iterator[bytes]:
        raise ValueError("rotten")
        yield b""

    store.upload("b", broken, results.append)
    assert "rotten" in str(wait())

    class PanicException(BaseException):
        """As obstore's, which is no Exception."""

    def panicking() -> Iterator[bytes]:
        raise PanicException("range start must not be greater than end")
        yield b""

    for _ in range(5):
        store.upload("b", panicking, results.append)
        assert "range start" in str(wait()), "every thread lives on"


def test_what_has_been_filled_is_told_at_once_and_what_went_wrong_only_of_the_rest() -> None:
    posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
    go_on = threading.Event()

    class Breaking:
        """Fills two of them, the second when it may, and breaks."""

        def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> None:
            filled()
            assert go_on.wait(30)
            filled()
            if len(into) > 2:
                raise UnavailableError("broken off")

    opened: Any = Breaking
    store = ThreadedStore(opened, posted.put, copiers=1, bytes_per_second=lambda: 1)
    told: list[tuple[int, str]] = []
    for count in (4, 2):
        go_on.clear()
        told.clear()
        pieces = [memoryview(bytearray(1)) for _ in range(count)]
        store.read_into("a", 0, pieces, lambda number, error: told.append((number, str(error))))
        posted.get(timeout=30)()
        assert told == [(0, "None")], "told while the call goes on"
        go_on.set()
        while len(told) < count:
            posted.get(timeout=30)()
        assert told == [(0, "None"), (1, "None"), (2, "broken off"), (3, "broken off")][:count]


def test_pieces_that_a_backend_does_not_fill_are_not_taken_for_data_though_it_complains_of_nothing() -> None:
    posted: SimpleQueue[Callable[[], None]] = SimpleQueue()

    class Careless:
        """Fills as many as it likes."""

        def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> None:
            for _ in range(position):
                filled()

    opened: Any = Careless
    store = ThreadedStore(opened, posted.put, copiers=1, bytes_per_second=lambda: 1)
    for count, good in ((3, 0), (3, 1), (3, 2), (1, 0), (3, 3)):
        told: list[tuple[int, StoreError | None]] = []
        pieces = [memoryview(bytearray(1)) for _ in range(count)]
        store.read_into("a", good, pieces, lambda number, error, told=told: told.append((number, error)))  # type: ignore[misc]
        while len(told) < count:
            posted.get(timeout=30)()
        assert [number for number, _ in told] == list(range(count))
        assert [error is None for _, error in told] == [number < good for number in range(count)]
        assert all(isinstance(error, UnavailableError) for _, error in told if error is not None)


def test_who_opens_a_store_is_told_where_reading_straight_from_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ranged_reads.PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(object_stores, "_raw", lambda *_: object())
    said: list[str] = []
    for url, endpoint in (("s3://b/p", "http://127.0.0.1:9"), ("s3://b/p", "https://127.0.0.1:9"), ("gs://b/p", "")):
        found = open_backend(url, endpoint, complain=said.append)
        with pytest.raises(StoreError):  # it is no store that obstore knows
            found.read_into("a", 0, [memoryview(bytearray(1))], lambda: None)
    assert len(said) == 1 and "obstore is asked instead" in said[0], "of plain HTTP alone"


def test_a_directory_brings_several_pieces_with_one_call_and_other_stores_if_they_say_so(tmp_path: Path) -> None:
    class Remote:
        """Does not, but for a moment."""

        several = False

        def brings_several(self) -> bool:
            return self.several

        def get(self, name: str) -> None:
            raise ObjectMissingError(name)

    remote: Any = Remote()
    opened = DirectoryBackend(str(tmp_path), Memory(f"{tmp_path}/note"))
    for backend, several in ((remote, False), (opened, True)):
        posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        store = ThreadedStore(lambda one=backend: one, posted.put, copiers=1, bytes_per_second=lambda: 1)  # type: ignore[misc]
        assert not store.brings_several(), "nobody knows yet"
        store.get("x", lambda _: None)
        posted.get(timeout=30)()
        assert store.brings_several() == several
        remote.several = True
        assert store.brings_several()
