"""Every kind of object store, through obstore: what the tier needs of it, and a topic's way there and back.

`tests/support/stores` says which can be had. In `make test` the small GCS of our own (moto has tests of its own), and
what is installed; TAPELOG_TIER_STORES=all tries all of them, with longer listings.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.log.tier.store import ABSENT, ConflictError, ObjectMissingError, RefusedError
from tapelog.node import object_stores
from tapelog.node.object_stores import Backend, open_backend
from tapelog.testing import Broker, Cluster
from tapelog.wire.crc import crc32c
from tests.clients.cluster_clients import QUIET
from tests.support.gcs import GcsServer
from tests.support.stores import Store, present, running
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALL = "TAPELOG_TIER_STORES" in os.environ
COUNT = 600
TIERED = {
    "remote.storage.enable": "true",
    "internal.segment.bytes": "100000",
    "local.retention.bytes": "1",
    "retention.ms": "-1",
    "file.delete.delay.ms": "0",
}
SETTINGS = {"log.retention.check.interval.ms": "300", "tapelog.tier.orphan.check.interval.ms": "1000"}


@pytest.fixture(scope="module", params=[name for name in present() if ALL or name != "moto"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch, running(request.param, tmp_path_factory.mktemp(request.param)) as found:
        for name, value in found.environment.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture
def backend(store: Store, request: pytest.FixtureRequest) -> Backend:
    return open_backend(f"{store.url}/{request.node.originalname}", store.endpoint)


@pytest.fixture
def tape(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tape:
    return Tape(capsys, monkeypatch)


def test_puts_heed_their_conditions(backend: Backend) -> None:
    first = backend.put("m", b"1", ABSENT)
    with pytest.raises(ConflictError):
        backend.put("m", b"2", ABSENT)
    second = backend.put("m", b"2", first)
    for late in (first, first):
        with pytest.raises(ConflictError):
            backend.put("m", b"3", late)
    with pytest.raises(ConflictError):
        backend.put("other", b"3", first)
    found = backend.get("m")
    assert found.data == b"2" and found.version == second
    backend.put("m", b"3", found.version)
    assert backend.get("m").data == b"3"


def test_a_large_object_arrives_whole_and_is_read_in_ranges(backend: Backend) -> None:
    data = random.Random(1).randbytes((11 << 20) + 17)
    backend.upload("a/large", iter([data[at : at + 1_000_003] for at in range(0, len(data), 1_000_003)]))
    assert backend.checksum("a/large", len(data)) == crc32c(data)
    size = len(data)
    ranges = [(0, 5), (1 << 20, 1 << 20), (size - 3, 3)]
    assert backend.get_ranges("a/large", ranges) == [data[at : at + count] for at, count in ranges]
    for beyond in ([(size - 3, 6)], [(size + 10, 6)], [(size + 10, 6), (0, 5)]):
        with pytest.raises(ObjectMissingError):
            backend.get_ranges("a/large", beyond)
    with pytest.raises(ObjectMissingError):
        backend.get("a/missing")


def test_listings_are_in_order_beyond_one_page_and_deleting_is_fine_twice(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = object_stores.LIST_PAGE_MAX if ALL else 50
    monkeypatch.setattr(object_stores, "LIST_PAGE_MAX", page)
    names = [f"t/{number:05d}" for number in range(page + 5)]
    for name in names:
        backend.put(name, b"1")
    first = backend.list("t/")
    assert [one.name for one in first.objects] == names[:page] and first.more
    second = backend.list("t/", first.objects[-1].name)
    assert [one.name for one in second.objects] == names[page:]
    assert [one.name for one in backend.list("t/", names[page]).objects] == names[page + 1 :]
    backend.delete(names[3:])
    backend.delete(names[2:5])
    assert [one.name for one in backend.list("t/").objects] == names[:2]
    assert backend.list("nothing/").objects == ()


def test_a_topic_goes_there_and_comes_back(store: Store, tape: Tape) -> None:
    settings = {**SETTINGS, **store.settings("cycle")}
    values = [b"%06d" % number + bytes((number + at) % 251 for at in range(1000)) for number in range(COUNT)]
    with Broker(settings=settings, env=store.environment) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        admin.create_topics([NewTopic("t", 1, 1, config=TIERED)])["t"].result(20)
        producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
        for number, value in enumerate(values):
            producer.produce("t", value)
            if number % 50 == 49:
                assert producer.flush(20) == 0
        in_the_tier = until(lambda: _copied(tape, broker), "everything copied", pause=0.3)
        assert _read(broker, COUNT) == values
    with Broker(settings=settings, env=store.environment) as fresh:
        done = tape.json("tier", "restore", "t", "--take-over", "-b", fresh.bootstrap)["topics"]
        start, end = done[0]["offsets"][0]
        assert done[0]["restored"] and (start, end) == (0, in_the_tier) and end > COUNT // 2
        assert _read(fresh, end) == values[:end]
        found = tape.json("tier", "verify", "-b", fresh.bootstrap)
        assert found["problems"] == [] and found["segments"] >= 4
        admin = AdminClient({"bootstrap.servers": fresh.bootstrap, **QUIET})
        admin.delete_topics(["t"])["t"].result(20)
        bucket = open_backend(f"{store.url}/cycle", store.endpoint)
        until(lambda: not bucket.list("topics/").objects, "the deleted topic's objects gone")


def test_a_store_that_ignores_conditions_is_refused_and_says_so(tmp_path: Path, tape: Tape) -> None:
    with GcsServer(tmp_path, heeds_conditions=False) as careless:
        there = Store("gs://tapelog", careless.endpoint, careless.environment)
        with Broker(settings={**SETTINGS, **there.settings()}, env=careless.environment) as broker:
            told = until(lambda: tape.json("tier", "status", "-b", broker.bootstrap)["brokers"], "refused")
            assert "conditional puts" in told[0]["error"]


def _deleted(admin: AdminClient, topic: str) -> bool:
    error = admin.delete_topics([topic], request_timeout=5)[topic].exception(20)
    return error is None or "UNKNOWN_TOPIC" in str(error)


def test_a_topic_deleted_after_kill_9_of_its_only_broker_leaves_the_bucket(tmp_path: Path, tape: Tape) -> None:
    with GcsServer(tmp_path) as gcs, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_SERVICE_ACCOUNT", gcs.environment["GOOGLE_SERVICE_ACCOUNT"])
        store = Store("gs://tapelog", gcs.endpoint, gcs.environment)
        with Cluster(nodes=3, settings={**SETTINGS, **store.settings()}, env=gcs.environment) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
            brokers = tape.json("broker", "list", "-b", cluster.bootstrap)
            (victim,) = (int(one["id"]) for one in brokers if one["quorum"] == "controller")
            admin.create_topics([NewTopic("t", 1, replica_assignment=[[victim]], config=TIERED)])["t"].result(20)
            producer = Producer({"bootstrap.servers": cluster.bootstrap, **QUIET})
            for number in range(400):
                producer.produce("t", bytes(1000))
                if number % 50 == 49:
                    assert producer.flush(20) == 0
            until(lambda: sum("/segments/" in name for name in gcs.objects) >= 3, "segments in the bucket")
            cluster.node(victim).kill()
            left = [name for name in gcs.objects if "/topics/" in name]
            admin = AdminClient({"bootstrap.servers": cluster.node(victim % 3 + 1).bootstrap, **QUIET})
            until(lambda: _deleted(admin, "t"), "a controller that deletes")  # the killed one was it
            assert left
            until(lambda: not any("/topics/" in name for name in gcs.objects), "others have removed it")


def test_a_directory_whose_mount_goes_away_is_told_and_used_again_when_it_is_back(tmp_path: Path, tape: Tape) -> None:
    root = tmp_path / "mount"
    settings = {**SETTINGS, "remote.log.storage.system.enable": "true", "tapelog.tier.url": f"file://{root}"}
    retry = {"remote.log.manager.task.retry.backoff.ms": "50", "remote.log.manager.task.retry.backoff.max.ms": "200"}
    root.mkdir()
    with Broker(settings={**settings, **retry}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        admin.create_topics([NewTopic("t", 1, 1, config=TIERED)])["t"].result(20)
        _write(broker, 500)
        until(lambda: _copied(tape, broker), "everything copied", pause=0.3)
        root.rename(tmp_path / "elsewhere")
        root.mkdir()
        _write(broker, 500)

        def trouble() -> str:
            return str(tape.json("tier", "status", "t", "-b", broker.bootstrap)["topics"][0]["error"] or "")

        until(lambda: "mounted" in trouble(), "the trouble told", pause=0.2)
        assert list(root.iterdir()) == [], "nothing is copied to the disk below"
        root.rmdir()
        (tmp_path / "elsewhere").rename(root)
        until(lambda: _copied(tape, broker), "everything copied", pause=0.3)
        assert _read(broker, 1000) == [b"%06d" % (number % 500) * 170 for number in range(1000)]


def _write(broker: Broker, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number in range(count):
        producer.produce("t", b"%06d" % number * 170)
        if number % 50 == 49:
            assert producer.flush(20) == 0


def test_a_bucket_that_is_not_there_says_so(store: Store) -> None:
    scheme = store.url.partition("://")[0]
    with pytest.raises(RefusedError, match="bucket"):
        open_backend(f"{scheme}://absent/tier", store.endpoint).put("m", b"1", ABSENT)


def _copied(tape: Tape, broker: Broker) -> int:
    found = tape.json("tier", "status", "t", "-b", broker.bootstrap)["topics"]
    ended = found and found[0]["lag_segments"] == 0 and found[0]["remote_segments"] >= 4 and not found[0]["error"]
    return int(found[0]["by_partition"][0]["tiered_end_offset"]) if ended else 0


def _read(broker: Broker, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", **QUIET})
    consumer.assign([TopicPartition("t", 0, 0)])
    values: list[bytes] = []

    def done() -> bool:
        for message in consumer.consume(1000, 1.0):
            assert message.error() is None, message.error()
            values.append(message.value() or b"")
        return len(values) >= count

    until(done, f"{count} records")
    consumer.close()
    return values
