"""Replay of records: what each does to an image, what it leaves alone, and what it refuses."""

from __future__ import annotations

import pytest

from tapelog.metadata.delta import ImageDelta, MetadataReplayError, replay
from tapelog.metadata.image import RESOURCE_TOPIC, MetadataImage, invariants
from tapelog.metadata.record_types import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    StateRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

A, B = b"a" * 16, b"b" * 16


def partition(id: bytes = A, index: int = 0, **more: object) -> PartitionRecord:
    record = PartitionRecord(
        partition_id=index, topic_id=id, replicas=[1, 2, 3], isr=[1, 2], leader=1, leader_epoch=4, partition_epoch=7
    )
    for name, value in more.items():
        setattr(record, name, value)
    return record


def after(*records: StateRecord, base: MetadataImage | None = None) -> MetadataImage:
    delta = ImageDelta(base if base is not None else MetadataImage())
    for record in records:
        delta.replay(record)
    image = delta.build(len(records), 1)
    invariants(image)
    return image


def with_topic() -> MetadataImage:
    return after(TopicRecord(name="a", topic_id=A), partition(), partition(index=1))


def test_one_record_at_a_time_equals_all_at_once() -> None:
    records: list[StateRecord] = [
        TopicRecord(name="a", topic_id=A),
        partition(),
        ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="a", name="retention.ms", value="1"),
        NoOpRecord(),
    ]
    step = MetadataImage()
    for record in records:
        step = replay(step, record)
    assert step.same_state(after(*records))


def test_a_change_shares_everything_it_does_not_touch() -> None:
    base = after(TopicRecord(name="a", topic_id=A), partition(), TopicRecord(name="b", topic_id=B), partition(B))
    image = after(PartitionChangeRecord(partition_id=0, topic_id=A, leader=2), base=base)
    assert image.topics["b"] is base.topics["b"]
    assert image.brokers is base.brokers
    assert image.configs is base.configs
    untouched = after(ProducerIdsRecord(broker_id=1, next_producer_id=1000), base=base)
    assert untouched.topics is base.topics


def test_the_base_image_is_never_changed() -> None:
    setting = ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="a", name="segment.ms", value="2")
    base = after(setting, base=with_topic())
    copy = after(setting, base=with_topic())
    after(
        ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="a", name="retention.ms", value="1"),
        base=base,
    )
    after(
        PartitionChangeRecord(partition_id=0, topic_id=A, leader=2),
        ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="a", name="retention.ms", value="1"),
        RemoveTopicRecord(topic_id=A),
        TopicRecord(name="a", topic_id=B),
        base=base,
    )
    assert base == copy


def test_a_leader_change_bumps_both_epochs_and_an_isr_change_only_the_partitions() -> None:
    base = with_topic()
    lead = after(PartitionChangeRecord(partition_id=0, topic_id=A, leader=2), base=base).topics["a"].partitions[0]
    assert (lead.leader, lead.leader_epoch, lead.partition_epoch, lead.isr) == (2, 5, 8, (1, 2))
    isr = after(PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1]), base=base).topics["a"].partitions[0]
    assert (isr.leader, isr.leader_epoch, isr.partition_epoch, isr.isr) == (1, 4, 8, (1,))


def test_reassignment_fields_and_eligible_leaders_are_kept() -> None:
    base = after(
        TopicRecord(name="a", topic_id=A),
        partition(adding_replicas=[3], removing_replicas=[1], eligible_leader_replicas=[3], last_known_elr=[2]),
    )
    one = base.topics["a"].partitions[0]
    assert (one.adding_replicas, one.removing_replicas, one.elr, one.last_known_elr) == ((3,), (1,), (3,), (2,))
    done = PartitionChangeRecord(
        partition_id=0, topic_id=A, replicas=[3, 2, 1], adding_replicas=[], removing_replicas=[]
    )
    two = after(done, base=base).topics["a"].partitions[0]
    assert (two.replicas, two.adding_replicas, two.removing_replicas, two.elr) == ((3, 2, 1), (), (), (3,))
    cleared = after(ClearElrRecord(topic_name=""), base=base).topics["a"].partitions[0]
    assert (cleared.elr, cleared.last_known_elr, cleared.adding_replicas) == ((), (), (3,))


def test_the_delta_tells_what_changed() -> None:
    base = after(TopicRecord(name="a", topic_id=A), partition(), TopicRecord(name="b", topic_id=B), partition(B))
    delta = ImageDelta(base)
    delta.replay(RemoveTopicRecord(topic_id=A))
    delta.replay(TopicRecord(name="a", topic_id=b"c" * 16))
    delta.replay(partition(b"c" * 16))
    delta.replay(ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="b", name="retention.ms", value="1"))
    image = delta.build(9, 1)
    assert [topic.id for topic in delta.deleted_topics] == [A]
    assert [(topic.name, topic.id) for topic in delta.changed_topics] == [("a", b"c" * 16)]
    assert delta.changed_configs == {(RESOURCE_TOPIC, "b"): None}
    assert image.topics["a"].id == b"c" * 16
    assert A not in image.topics_by_id


def test_a_topic_created_and_removed_at_once_leaves_no_trace() -> None:
    image = after(
        TopicRecord(name="a", topic_id=A),
        ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name="a", name="retention.ms", value="1"),
        partition(),
        RemoveTopicRecord(topic_id=A),
    )
    assert image.same_state(MetadataImage())


def test_a_config_set_to_null_is_gone() -> None:
    key = (RESOURCE_TOPIC, "a")
    base = after(
        ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1"),
        ConfigRecord(resource_type=2, resource_name="a", name="segment.ms", value="2"),
        base=with_topic(),
    )
    assert base.configs[key] == {"retention.ms": "1", "segment.ms": "2"}
    image = after(ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value=None), base=base)
    assert image.configs[key] == {"segment.ms": "2"}
    gone = after(ConfigRecord(resource_type=2, resource_name="a", name="segment.ms", value=None), base=image)
    assert key not in gone.configs


def test_fencing_in_both_spellings_and_the_way_into_shutdown() -> None:
    registered = RegisterBrokerRecord(broker_id=1, broker_epoch=5, fenced=True, log_dirs=[A])
    base = after(registered)
    assert base.brokers[1].fenced
    new = after(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1), base=base)
    old = after(UnfenceBrokerRecord(id=1, epoch=5), base=base)
    assert new.brokers == old.brokers
    assert new.brokers[1].active
    leaving = after(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, in_controlled_shutdown=1), base=new)
    assert (leaving.brokers[1].fenced, leaving.brokers[1].active, leaving.brokers[1].log_dirs) == (False, False, (A,))
    assert after(FenceBrokerRecord(id=1, epoch=5), base=new).brokers[1].fenced


@pytest.mark.parametrize(
    "record",
    [
        TopicRecord(name="a", topic_id=B),
        partition(B),
        PartitionChangeRecord(partition_id=9, topic_id=A),
        PartitionChangeRecord(partition_id=0, topic_id=B),
        RemoveTopicRecord(topic_id=B),
        partition(index=5),
        FenceBrokerRecord(id=1, epoch=1),
        ClearElrRecord(topic_name="nope"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_that_contradict_the_image_are_refused(record: StateRecord) -> None:
    with pytest.raises(MetadataReplayError):
        after(record, base=with_topic())


def test_a_topic_removed_twice_is_refused() -> None:
    with pytest.raises(MetadataReplayError):
        after(RemoveTopicRecord(topic_id=A), RemoveTopicRecord(topic_id=A), base=with_topic())


def test_unclean_elections_are_counted() -> None:
    delta = ImageDelta(after(TopicRecord(name="a", topic_id=A), partition()))
    clean = PartitionChangeRecord(partition_id=0, topic_id=A, leader=2)
    unclean = PartitionChangeRecord(partition_id=0, topic_id=A, leader=3, isr=[3], leader_recovery_state=1)
    recovered = PartitionChangeRecord(partition_id=0, topic_id=A, leader_recovery_state=0)
    for record, count in ((clean, 0), (unclean, 1), (recovered, 1), (unclean, 2)):
        delta.replay(record)
        assert delta.unclean_elections == count
