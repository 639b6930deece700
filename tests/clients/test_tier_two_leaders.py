"""Two leaders of one partition, one manifest, a real S3 server: who stood still while another was elected loses the
race for it, nothing of what counts is lost or doubled, and what the loser had brought there goes.

The old leader is stopped (SIGSTOP) while its change of the manifest is on the way, before the store has it or before
the leader hears of it; it goes on when its successor has changed the manifest, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.cli.tier_bucket import Bucket
from tapelog.log.tier.manifest import Manifest
from tapelog.node.object_stores import open_backend
from tapelog.testing import Cluster
from tests.clients.cluster_clients import QUIET, leader
from tests.clients.test_tier_reads import local_start, read, value, whole
from tests.support.names import Fresh
from tests.support.s3 import BUCKET, ENVIRONMENT, S3Server
from tests.support.s3_proxy import S3Proxy
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "remote.log.manager.task.retry.backoff.ms": "50",
    "remote.log.manager.task.retry.backoff.max.ms": "500",
    "tapelog.tier.orphan.check.interval.ms": "1000",
}
TIERED = {
    "remote.storage.enable": "true",
    "internal.segment.bytes": "100000",
    "local.retention.bytes": "1",
    "retention.ms": "-1",
    "file.delete.delay.ms": "0",
}
PRECONDITION_FAILED = 412


def write(bootstrap: str, topic: str, first: int, count: int) -> None:
    """Numbered records of a kilobyte, in batches that are smaller than a segment."""
    batches = {"batch.num.messages": 20, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": bootstrap, **batches, **QUIET})
    for number in range(first, first + count):
        producer.produce(topic, value(number), partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0


class Held:
    """The next change of a manifest stops on its way until it may go on."""

    def __init__(self, way: S3Proxy, when: str) -> None:
        self.here = threading.Event()
        self.go_on = threading.Event()
        self._way = way
        self._when = when
        setattr(way, when, self._pass)

    def _pass(self, method: str, path: str) -> None:
        if method == "PUT" and path.partition("?")[0].endswith("/manifest.json") and not self.here.is_set():
            self.here.set()
            assert self.go_on.wait(120)

    def statuses(self) -> list[int]:
        """How changes of manifests were answered so far."""
        return [
            status
            for method, path, status in list(self._way.answers)
            if method == "PUT" and path.partition("?")[0].endswith("/manifest.json")
        ]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with pytest.MonkeyPatch.context() as patch, S3Server() as running:
        for name, text in ENVIRONMENT.items():
            patch.setenv(name, text)
        yield running


@pytest.mark.parametrize("when", ["before", "after"])
def test_of_two_leaders_that_change_one_manifest_the_later_wins(
    when: str, s3: S3Server, fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, tape, prefix = fresh(), Tape(capsys, monkeypatch), f"two-{when}"
    bucket = Bucket(open_backend(f"s3://{BUCKET}/{prefix}", s3.endpoint))

    def head() -> Manifest | None:
        found = [id for id, document in bucket.topics() if document is not None and document.name == topic]
        return bucket.head(found[0], 0) if found else None

    def reaches(offset: int, epoch: int = -1) -> bool:
        found = head()
        return found is not None and found.end_offset >= offset and found.leader_epoch > epoch

    with S3Proxy(s3.port) as way:
        settings = SETTINGS | s3.settings(prefix) | {"tapelog.tier.endpoint": way.endpoint}
        with Cluster(nodes=3, settings=settings, env=ENVIRONMENT) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
            admin.create_topics([NewTopic(topic, 1, replica_assignment=[[1, 2, 3]], config=TIERED)])[topic].result(20)
            whole(cluster, topic)
            write(cluster.bootstrap, topic, 0, 400)
            until(lambda: reaches(300), "the first leader has changed the manifest")
            first = head()
            assert first is not None
            held = Held(way, when)
            write(cluster.bootstrap, topic, 400, 400)
            until(held.here.is_set, "a change of the manifest on its way")
            old = cluster.node(leader(cluster, topic))
            old.pause()
            until(lambda: leader(cluster, topic) not in (-1, old.number), "another leads")
            write(cluster.bootstrap, topic, 800, 400)
            until(lambda: reaches(1100, first.leader_epoch), "it has changed the manifest, too")
            later = head()
            held.go_on.set()
            if when == "before":
                until(lambda: PRECONDITION_FAILED in held.statuses(), "the old leader's change came too late")
                found = head()
                assert later is not None and found is not None, "a manifest is there"
                assert found.leader_epoch == later.leader_epoch and found.end_offset >= later.end_offset
            old.resume()
            whole(cluster, topic)
            write(cluster.bootstrap, topic, 1200, 300)
            until(lambda: reaches(1400), "the rest is there")
            for node in cluster.nodes:
                until(lambda n=node: local_start(n.directory, topic) > 1200, f"node {node.number} lets go")
            found = until(lambda: _tidy(tape, f"s3://{BUCKET}/{prefix}", s3.endpoint), "no leftovers", pause=0.5)
            assert found is not None and found["problems"] == []
            assert read(cluster.bootstrap, topic, 0, 1500) == [value(number) for number in range(1500)]


def _tidy(tape: Tape, url: str, endpoint: str) -> dict[str, object] | None:
    found = tape.json("tier", "verify", "--url", url, "--endpoint", endpoint)
    return None if found["leftover_objects"] else dict(found)
