"""Which topics a node holds for deleted: only those that it has seen itself, in this very metadata."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tapelog.base.timers import Timers
from tapelog.log.tier import growth, layout, manifest
from tapelog.log.tier.growth import Writer
from tapelog.metadata.image import RESOURCE_TOPIC, MetadataImage, PartitionImage, TopicImage
from tapelog.node.tier_known import EPOCHS_AHEAD, FILE, SAVE_MS, KnownTopics
from tapelog.node.tier_topics import TierTopics
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore

ID, OTHER = b"\x01" * 16, b"\x02" * 16


class Node:
    """As much of a node as is asked for; survives in its disk."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.disk = SimDisk(SimEntropy(1), self.timers)
        self.disk.mkdir("/data")
        self.storage = SimpleNamespace(metadata_path="/data")
        self.image = MetadataImage()
        self.known = self.restart()

    def restart(self) -> KnownTopics:
        self.known = KnownTopics(cast(Any, self))
        return self.known

    def has(self, *topics: tuple[bytes, int], offset: int, epoch: int = 5) -> None:
        """The metadata has tiered topics, each with its leader epoch."""
        images = [TopicImage(f"t{id[0]}", id, (PartitionImage((1,), (1,), 1, at),)) for id, at in topics]
        configs = {(RESOURCE_TOPIC, one.name): {"remote.storage.enable": "true"} for one in images}
        by_name, by_id = {one.name: one for one in images}, {one.id: one for one in images}
        self.image = MetadataImage(topics=by_name, topics_by_id=by_id, configs=configs, offset=offset, epoch=epoch)
        self.known.look()
        self.clock.advance(SAVE_MS)
        self.timers.run_due()


def test_what_was_seen_and_is_not_there_any_more_was_deleted_even_while_the_node_was_down() -> None:
    node = Node()
    node.has((ID, 7), (OTHER, 3), offset=10)
    assert node.known.gone() == []
    node.image = MetadataImage(offset=20, epoch=5)
    known = node.restart()
    known.look()
    assert known.gone() == [(ID, 7 + EPOCHS_AHEAD), (OTHER, 3 + EPOCHS_AHEAD)]
    known.forget(ID)
    node.clock.advance(SAVE_MS)
    node.timers.run_due()
    assert node.restart().gone() == [(OTHER, 3 + EPOCHS_AHEAD)]


def test_a_node_that_has_seen_nothing_holds_nothing_for_deleted() -> None:
    node = Node()
    node.image = MetadataImage(offset=20, epoch=5)
    node.known.look()
    assert node.known.gone() == []


@pytest.mark.parametrize(("offset", "epoch"), [(9, 5), (10, 4), (3, 1)])
def test_if_the_metadata_has_begun_anew_nothing_is_held_for_deleted(offset: int, epoch: int) -> None:
    node = Node()
    node.has((ID, 7), offset=10)
    known = node.restart()
    node.image = MetadataImage(offset=offset, epoch=epoch)
    known.look()
    assert known.gone() == []
    node.image = MetadataImage(offset=10**6, epoch=9)
    assert known.gone() == [], "not later, either"
    known = node.restart()
    known.look()
    assert known.gone() == [], "nor after a restart, when it is longer than the one before"


PLAIN = TopicImage("__consumer_offsets", b"\x09" * 16, (PartitionImage((1,), (1,), 1, 0),))


def with_plain(image: MetadataImage, plain: TopicImage = PLAIN) -> MetadataImage:
    topics, by_id = {**image.topics, plain.name: plain}, {**image.topics_by_id, plain.id: plain}
    return MetadataImage(
        topics=topics, topics_by_id=by_id, configs=image.configs, offset=image.offset, epoch=image.epoch
    )


@pytest.mark.parametrize("anew", [False, True])
def test_metadata_that_is_longer_by_now_but_another_one_proves_nothing(anew: bool) -> None:
    node = Node()
    node.has((ID, 7), (OTHER, 3), offset=10)
    node.image = with_plain(node.image)
    node.known.look()
    node.known._save()
    known = node.restart()
    other = TopicImage(PLAIN.name, b"\x08" * 16, PLAIN.partitions)
    node.image = with_plain(MetadataImage(offset=10**6, epoch=9), other if anew else PLAIN)
    known.look()
    assert [one for one, _ in known.gone()] == ([] if anew else [ID, OTHER])
    node.clock.advance(SAVE_MS)
    node.timers.run_due()
    known = node.restart()
    node.image = with_plain(MetadataImage(offset=10**7, epoch=9))
    known.look()
    assert anew is (known.gone() == []), "not later, either"


def test_a_topic_that_was_restored_is_no_proof_that_others_were_deleted() -> None:
    node = Node()
    node.has((ID, 7), (OTHER, 3), offset=10)
    node.image = with_plain(node.image)
    node.known.look()
    node.known._save()
    node.known = node.restart()
    node.has((ID, 1_000_007), offset=10**6, epoch=9)
    assert node.known.gone() == []


def test_what_was_restored_later_is_out_of_reach() -> None:
    node = Node()
    node.has((ID, 7), offset=10)
    restored = 7 + 1_000_000
    assert node.restart()._epochs[ID] + EPOCHS_AHEAD < restored
    node.known = node.restart()
    node.has((ID, restored), offset=20)
    node.image = MetadataImage(offset=30, epoch=5)
    assert node.known.gone() == [(ID, restored + EPOCHS_AHEAD)], "deleted here once more"


def test_a_removal_that_was_noted_is_dropped_when_the_topic_was_restored_meanwhile() -> None:
    node: Any = Node()
    node.entropy, node.node_id, node.topics = SimEntropy(2), 1, {}
    node.config = SimpleNamespace(cluster_id="ours")
    node.setting_int = lambda _: 10**9
    bucket, prefix = Bucket(), layout.partition_prefix(ID, 0)
    head = growth.empty("t", ID, 0, 0, Writer(1, 7, "x", "ours"))
    bucket.put(prefix + layout.MANIFEST, head.encode())
    store = SimStore(bucket)
    store.weather.gone = True
    topics = TierTopics(node, store)
    topics.start()
    topics.remove(layout.topic_prefix(ID), 7)
    assert topics.removing(prefix) and not topics.removing(layout.partition_prefix(OTHER, 0))
    node.has((ID, 1_000_007), offset=20)
    store.weather.gone = False
    for again in (topics, TierTopics(node, store)):
        again.start()
        node.clock.advance(100_000)
        node.timers.run_due()
        assert not again.removing(prefix)
        assert prefix + layout.MANIFEST in bucket.objects
        assert manifest.decode(bucket.objects[prefix + layout.MANIFEST]) == head


def test_topics_that_are_not_tiered_are_not_noted() -> None:
    node = Node()
    plain = TopicImage("plain", ID, (PartitionImage((1,), (1,), 1, 0),))
    node.image = MetadataImage(topics={"plain": plain}, topics_by_id={ID: plain}, offset=1)
    node.known.look()
    assert ID not in node.known
    with pytest.raises(FileNotFoundError):
        node.disk.read_file(f"/data/{FILE}")
