"""confluent-kafka in groups of the newer protocol (KIP-848): ten members come and go, statically, by pattern, mixed."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.clients.test_confluent_groups import Feed, MakeMember, Member, settled
from tests.clients.test_confluent_groups import member as member
from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import until

NEWER: dict[str, Any] = {"group.protocol": "consumer"}


def kind_and_state(admin: AdminClient, group: str) -> tuple[ConsumerGroupType, ConsumerGroupState, int]:
    """What the group is, how it is, and how many members it has."""
    found = admin.describe_consumer_groups([group])[group].result(20)
    return found.type, found.state, len(found.members)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_ten_members_join_and_leave_and_every_record_is_read(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, member: MakeMember, assignor: str
) -> None:
    topic, group = make_topic(20), fresh()
    places = {(topic, partition) for partition in range(20)}
    config = {**NEWER, "group.remote.assignor": assignor}
    feed = Feed(bootstrap, topic, 20)
    everyone = [member(group, [topic], **config)]
    until(settled(everyone, places), "one member owns all")
    everyone += [member(group, [topic], **config) for _ in range(9)]
    until(settled(everyone, places), "ten share")
    until(lambda: kind_and_state(admin, group)[1:] == (ConsumerGroupState.STABLE, 10), "ten and stable")
    assert kind_and_state(admin, group)[0] == ConsumerGroupType.CONSUMER
    for one in everyone[:6]:
        one.stopping.set()
    for one in everyone[:6]:
        one.leave()
    until(settled(everyone[6:], places), "four share")
    everyone += [member(group, [topic], **config) for _ in range(3)]
    until(settled(everyone[6:], places), "seven share")
    feed.finish()
    wanted = {(topic, p, o) for p, end in ends(bootstrap, topic, 20).items() for o in range(end)}
    until(lambda: {place for one in everyone for place in list(one.read)} == wanted, "every record is read")
    for one in everyone[6:]:
        one.leave()
    # A member says that it leaves once and does not wait: if that is lost, its session ends it.
    until(lambda: kind_and_state(admin, group)[1:] == (ConsumerGroupState.EMPTY, 0), "nobody is left")


def ends(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """The end of every partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    found = {place.partition: consumer.get_watermark_offsets(place, timeout=20)[1] for place in places}
    consumer.close()
    return found


def test_members_that_keep_their_partitions_notice_nothing(
    make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(6), fresh()
    places = {(topic, partition) for partition in range(6)}
    first = member(group, [topic], **NEWER)
    second = member(group, [topic], **NEWER)
    until(settled([first, second], places), "two share")
    kept = {id(one): set(one.owned) for one in (first, second)}
    for one in (first, second):
        one.revoked.clear()  # whichever came first had to share with the other
    third = member(group, [topic], **NEWER)
    until(settled([first, second, third], places), "three share")
    for one in (first, second):
        assert one.owned < kept[id(one)]  # gave one up, was never without the others
        assert one.revoked == kept[id(one)] - one.owned


def test_a_static_member_comes_back_to_its_partitions(make_topic: MakeTopic, fresh: Fresh, member: MakeMember) -> None:
    topic, group = make_topic(4), fresh()
    places = {(topic, partition) for partition in range(4)}
    stays = member(group, [topic], **NEWER, **{"group.instance.id": "stays"})
    goes = member(group, [topic], **NEWER, **{"group.instance.id": "goes"})
    until(settled([stays, goes], places), "two share")
    had, before = set(goes.owned), stays.assignments
    goes.leave()
    back = member(group, [topic], **NEWER, **{"group.instance.id": "goes"})
    until(lambda: back.owned == had, "back to what it had")
    assert stays.assignments == before
    assert settled([stays, back], places)()


def test_an_instance_id_in_use_is_refused(make_topic: MakeTopic, fresh: Fresh, member: MakeMember) -> None:
    topic, group = make_topic(2), fresh()
    owner = member(group, [topic], **NEWER, **{"group.instance.id": "one"})
    until(lambda: len(owner.owned) == 2, "the first owns all")
    usurper = member(group, [topic], **NEWER, **{"group.instance.id": "one"})
    until(lambda: usurper.fatal, "the second is refused")
    assert len(owner.owned) == 2


DYING_MEMBER = """
import sys
from confluent_kafka import Consumer
c = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "group.protocol": "consumer"})
c.subscribe([sys.argv[3]], on_assign=lambda c, ps: print(len(ps), flush=True))
while True:
    c.poll(0.1)
"""


def test_a_member_that_is_killed_loses_its_partitions(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(4), fresh()
    survivor = member(group, [topic], **NEWER)
    doomed = subprocess.Popen([sys.executable, "-c", DYING_MEMBER, bootstrap, group, topic], stdout=subprocess.PIPE)
    try:
        until(lambda: len(survivor.owned) == 2, "two share")
        doomed.kill()
        started = time.monotonic()
        until(lambda: len(survivor.owned) == 4, "the survivor owns all")
        assert time.monotonic() - started > 2  # by session time-out, not by a closed connection
    finally:
        doomed.kill()
        doomed.wait()
        assert doomed.stdout is not None
        doomed.stdout.close()


def test_a_newer_group_follows_a_pattern_and_new_partitions(
    admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(1), fresh()
    only = member(group, [f"^{topic[:-8]}.*"], **NEWER)  # evaluated by the broker
    until(lambda: only.owned == {(topic, 0)}, "the first topic")
    another = make_topic(2)
    until(lambda: only.owned == {(topic, 0), (another, 0), (another, 1)}, "a topic that appeared")
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(20)
    until(lambda: len(only.owned) == 5, "partitions that appeared")


def test_classic_and_newer_members_share_a_group(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(6), fresh()
    places = {(topic, partition) for partition in range(6)}
    classic: dict[str, Any] = {"partition.assignment.strategy": "cooperative-sticky"}
    feed = Feed(bootstrap, topic, 6)
    old = [member(group, [topic], **classic) for _ in range(2)]
    until(settled(old, places), "two of the classic protocol")
    assert kind_and_state(admin, group)[0] == ConsumerGroupType.CLASSIC
    new = [member(group, [topic], **NEWER)]
    until(settled(old + new, places), "one of the newer beside them")
    assert kind_and_state(admin, group)[0] == ConsumerGroupType.CONSUMER
    old[0].leave()
    new.append(member(group, [topic], **NEWER))
    until(settled([old[1], *new], places), "two of the newer, one of the classic")
    for one in new:
        one.leave()
    until(settled(old[1:], places), "back to the classic protocol")
    assert kind_and_state(admin, group)[0] == ConsumerGroupType.CLASSIC
    feed.finish()
    wanted = {(topic, p, o) for p, end in ends(bootstrap, topic, 6).items() for o in range(end)}
    everyone: list[Member] = old + new
    until(lambda: {place for one in everyone for place in list(one.read)} == wanted, "every record is read")


def test_a_stranger_cannot_commit_into_a_group_with_members(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(1), fresh()
    inside = member(group, [topic], **NEWER)
    until(lambda: inside.owned == {(topic, 0)}, "an active member")
    outsider = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    with pytest.raises(KafkaException) as failed:
        outsider.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    assert failed.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    outsider.close()
