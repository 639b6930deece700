"""What librdkafka wrote is in the bucket, whatever happens on the way; and comes back from there.

A real S3 server (moto), a bad way to it (`s3_proxy`), real brokers.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tapelog.base import ids
from tapelog.cli.tier_bucket import Bucket
from tapelog.log.tier import layout
from tapelog.node.object_stores import open_backend
from tapelog.testing import Broker
from tapelog.wire.record_batch import batches, iterate
from tests.clients.cluster_clients import QUIET
from tests.support.s3 import BUCKET, ENVIRONMENT, S3Server
from tests.support.s3_proxy import S3Proxy
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "remote.log.manager.task.retry.backoff.ms": "50",
    "remote.log.manager.task.retry.backoff.max.ms": "500",
    "tapelog.tier.orphan.check.interval.ms": "1000",
}
TIERED = {"remote.storage.enable": "true", "internal.segment.bytes": "100000", "file.delete.delay.ms": "0"}


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with pytest.MonkeyPatch.context() as patch, S3Server() as running:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield running


class Stage:
    """A broker whose tier is reached by a way that can be made bad, and what was written to its topic."""

    def __init__(self, s3: S3Server, way: S3Proxy, prefix: str) -> None:
        self.settings = {**SETTINGS, **s3.settings(prefix), "tapelog.tier.endpoint": way.endpoint}
        self.broker = Broker(settings=self.settings, env=ENVIRONMENT)
        self.way = way
        self.url, self.endpoint = f"s3://{BUCKET}/{prefix}", s3.endpoint
        self.bucket = Bucket(open_backend(self.url, s3.endpoint))
        self.written: list[bytes] = []
        self.patience_s = 30.0
        """How long an acknowledgement may take."""

    def admin(self) -> AdminClient:
        self._admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, **QUIET})
        return self._admin

    def create(self, topic: str, **configs: str) -> None:
        config = {**TIERED, **{name.replace("_", "."): value for name, value in configs.items()}}
        self.admin().create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(20)

    def write(self, topic: str, count: int) -> None:
        """Records of a kilobyte, each acknowledged."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "linger.ms": 2, **QUIET})
        for number in range(len(self.written), len(self.written) + count):
            self.written.append(b"%08d" % number + bytes((number + at) % 251 for at in range(1015)))
            producer.produce(topic, self.written[-1])
            if number % 50 == 49:
                assert producer.flush(self.patience_s) == 0
        assert producer.flush(self.patience_s) == 0

    def copied(self, tape: Tape, topic: str) -> dict[str, object]:
        """Wait until nothing is left to copy."""

        def done() -> dict[str, object] | None:
            found = tape.json("tier", "status", topic, "-b", self.broker.bootstrap)["topics"]
            ended = found and found[0]["lag_segments"] == 0 and found[0]["remote_segments"] > 0
            return dict(found[0]) if ended and found[0]["error"] is None else None

        found = until(done, f"{topic} in the tier", pause=0.3)
        assert found is not None
        return found

    def topic_id(self, topic: str) -> bytes:
        return next(id for id, document in self.bucket.topics() if document is not None and document.name == topic)

    def in_the_bucket(self, topic: str) -> list[bytes]:
        """The values of all records that the manifest counts, read without a broker."""
        values: list[bytes] = []
        id = self.topic_id(topic)
        head = self.bucket.head(id, 0)
        assert head is not None
        for entry in self.bucket.segments(head):
            name = layout.partition_prefix(id, 0) + entry.name
            data = self.bucket.backend.get_ranges(name, [(0, entry.log_size)])[0]
            for batch in batches(data, 0, len(data)):
                found = iterate(data, batch.position, batch.position + batch.size)
                values += [record.value or b"" for record in found if record.offset >= entry.first_offset]
        return values

    def objects(self, topic_id: bytes) -> list[str]:
        return [found.name for found in self.bucket.backend.list(layout.topic_prefix(topic_id)).objects]


@pytest.fixture
def stage(s3: S3Server, request: pytest.FixtureRequest) -> Iterator[Stage]:
    with S3Proxy(s3.port) as way:
        made = Stage(s3, way, f"tier-{abs(hash(request.node.name)) % 10**8}")
        with made.broker:
            yield made


@pytest.fixture
def tape(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tape:
    return Tape(capsys, monkeypatch)


def test_what_was_written_is_in_the_bucket_and_damage_is_found(stage: Stage, tape: Tape) -> None:
    stage.create("t")
    stage.write("t", 500)
    status = stage.copied(tape, "t")
    values = stage.in_the_bucket("t")
    assert len(values) > 300 and values == stage.written[: len(values)]
    options = ("--url", stage.url, "--endpoint", stage.endpoint)
    result = tape.json("tier", "verify", *options)
    assert result["problems"] == [] and result["segments"] == status["remote_segments"]
    names = [name for name in stage.objects(stage.topic_id("t")) if name.endswith(".segment")]
    data = stage.bucket.backend.get(names[1]).data
    stage.bucket.backend.put(names[1], data[:5000] + bytes((data[5000] ^ 1,)) + data[5001:])
    stage.bucket.backend.delete([names[2]])
    problems = tape.json("tier", "verify", *options, code=6)["problems"]
    assert len(problems) == 2 and names[1] in problems[0] and "missing" in problems[1]
    assert len(tape.json("tier", "verify", "--quick", *options, code=6)["problems"]) == 1


def test_a_topic_comes_back_from_the_bucket_alone(stage: Stage, tape: Tape) -> None:
    stage.create("orders", retention_ms="-1", max_message_bytes="2000000")
    stage.write("orders", 400)
    stage.copied(tape, "orders")
    kept = stage.in_the_bucket("orders")
    id = stage.topic_id("orders")
    stage.broker.stop()
    with Broker(settings=stage.settings, env=ENVIRONMENT) as fresh:
        plan = tape.json("tier", "restore", "--all", "--dry-run", "-b", fresh.bootstrap)
        assert plan["topics"][0]["offsets"] == [[0, len(kept)]]
        done = tape.json("tier", "restore", "orders", "--take-over", "-b", fresh.bootstrap)["topics"]
        assert done[0]["restored"] and done[0]["topic_id"] == ids.to_text(id)
        stage.broker, stage.written = fresh, list(kept)
        stage.write("orders", 300)
        consumer = Consumer({"bootstrap.servers": fresh.bootstrap, "group.id": "g", **QUIET})
        consumer.assign([TopicPartition("orders", 0, 0)])
        got: list[tuple[int, bytes]] = []

        def all_read() -> bool:
            for message in consumer.consume(2000, 1.0):
                assert message.error() is None, message.error()
                got.append((message.offset() or 0, message.value() or b""))
            return len(got) >= len(stage.written)

        until(all_read, "everything, old and new")
        consumer.close()
        assert got == list(enumerate(stage.written))
        config = tape.json("topic", "describe", "orders", "-b", fresh.bootstrap)
        assert "2000000" in str(config)
        stage.copied(tape, "orders")
        assert stage.in_the_bucket("orders") == stage.written[: len(stage.in_the_bucket("orders"))]
        assert len(stage.in_the_bucket("orders")) > len(kept)


def test_a_hold_keeps_everything_until_it_is_released(stage: Stage, tape: Tape) -> None:
    stage.create("held", tapelog_tier_hold="true", retention_bytes="100000", local_retention_bytes="100000")
    stage.write("held", 400)
    stage.copied(tape, "held")
    id = stage.topic_id("held")
    before = stage.objects(id)
    tape("topic", "delete", "held", "--yes", "-b", stage.broker.bootstrap, code=1)
    assert "hold" in tape.err
    records = stage.admin().delete_records([TopicPartition("held", 0, 100)])
    assert "POLICY_VIOLATION" in str(records[TopicPartition("held", 0)].exception(20))
    time.sleep(1.5)  # retention would have gone over it several times
    assert stage.objects(id) == before
    _alter(stage, "held", "tapelog.tier.hold", "false")
    until(lambda: len(stage.objects(id)) < len(before), "retention after the hold")
    stage.admin().delete_topics(["held"])["held"].result(20)
    until(lambda: not stage.objects(id), "the deleted topic's objects gone")


def test_a_store_that_is_slow_failing_or_gone_stalls_nobody_and_loses_nothing(stage: Stage, tape: Tape) -> None:
    stage.create("t")
    stage.write("t", 200)
    stage.copied(tape, "t")

    def status() -> dict[str, Any]:
        return dict(tape.json("tier", "status", "t", "-b", stage.broker.bootstrap)["topics"][0])

    stage.way.delay_s = 300.0  # it hangs: a produce that waited for it would fail after `patience_s`
    stage.write("t", 300)

    def hangs() -> bool:
        told = status()
        return told["lag_segments"] >= 2 and told["lag_bytes"] > 0 and told["state"] == "working"

    until(hangs, "a copy under way, and what waits behind it")
    stage.way.fail_share, stage.way.delay_s = 0.5, 0.02
    stage.write("t", 300)
    stage.way.gone = True
    stage.write("t", 300)
    trouble = until(lambda: status()["error"] and status(), "the trouble in tape tier status")
    assert trouble["failing_since_ms"] > 0 and trouble["lag_segments"] > 0
    assert "since" in tape("tier", "status", "-b", stage.broker.bootstrap)
    stage.write("t", 100)
    stage.way.gone = False
    seen = len(stage.way.requests)
    until(lambda: len(stage.way.requests) > seen + 10, "requests")
    stage.way.fail_share = stage.way.delay_s = 0.0
    stage.copied(tape, "t")
    assert status()["error"] is None and status()["failing_since_ms"] < 0
    values = stage.in_the_bucket("t")
    assert len(values) > 900 and values == stage.written[: len(values)]
    assert tape.json("tier", "verify", "--url", stage.url, "--endpoint", stage.endpoint)["problems"] == []


MOMENTS = ("/segments/", "manifest.json", "DELETE")
PARTS = ("uploads", "partNumber=1", "partNumber=2", "POST", "manifest.json", "DELETE")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("parts", [False, True] if "TAPELOG_TIER_SEEDS" in os.environ else [False])
def test_a_broker_killed_at_any_request_goes_on_where_it_was(
    stage: Stage, tape: Tape, after: bool, parts: bool
) -> None:
    """kill -9 when a request of each kind arrives at the store, or when it was carried out and not answered. With
    parts: segments so large that they go up in parts, which are begun, sent one by one, and put together."""
    if parts:
        _killed_at(stage, tape, after, PARTS, 24_000, internal_segment_bytes="11000000", retention_bytes="22000000")
    else:
        _killed_at(stage, tape, after, MOMENTS, 300, retention_bytes="300000")


def _killed_at(
    stage: Stage, tape: Tape, after: bool, wanted_moments: Sequence[str], count: int, **configs: str
) -> None:
    stage.create("t", **configs)
    stage.patience_s = 5.0  # what is killed does not answer
    moments: list[str] = []
    one_at_a_time = threading.Lock()

    def fatal(method: str, path: str) -> None:
        with one_at_a_time:
            here = bool(moments) and (moments[0] in path or moments[0] == method or "?delete" in path)
            if here and method in ("PUT", "POST", "DELETE"):
                stage.broker.kill()
                moments.clear()  # and not before: who sees that it is over starts the broker again

    setattr(stage.way, "after" if after else "before", fatal)
    for wanted in wanted_moments:
        moments.append(wanted)
        try:
            stage.write("t", count)
        except AssertionError:
            pass  # killed meanwhile
        until(lambda: not moments, f"the moment of {wanted}")
        stage.broker.restart()
    stage.written, stage.patience_s = [], 30.0
    stage.write("t", count // 2)
    stage.copied(tape, "t")
    result = until(lambda: _clean(tape, stage), "no leftovers", pause=0.3)
    assert result["problems"] == []


def _clean(tape: Tape, stage: Stage) -> dict[str, object] | None:
    found = tape.json("tier", "verify", "--url", stage.url, "--endpoint", stage.endpoint)
    return None if found["leftover_objects"] else dict(found)


def _alter(stage: Stage, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    stage.admin().incremental_alter_configs([resource])[resource].result(20)
