"""The `range` assignor: of every topic, each subscriber gets one run of consecutive partitions.

Members that read the same topics of the same size get the same partition numbers of all of them, which is what joins of
streams need. Nothing is remembered: the order of members decides, static members first by instance id and the others by
member id, so a static member that comes back under a new member id finds the partitions it had. A topic with fewer
partitions than subscribers goes to the first of them. Racks play no part, as in Kafka 4.3: runs could not be kept.
"""

from __future__ import annotations

from tapelog.coordinators.consumer.assignors.spec import Assignor, GroupSpec, MemberSpec, Pace, Pieces


def pieces(spec: GroupSpec, pace: Pace) -> Pieces:
    """Runs of n // m partitions, the first n % m of them longer by one."""
    members = sorted(spec.members, key=_order)
    subscribers: dict[bytes, int] = {}
    for member in members:
        for topic_id in member.subscribed:
            if topic_id in spec.topics:
                subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
        if pace.spent(len(member.subscribed)):
            yield
    topic_ids = sorted(subscribers)
    given = dict.fromkeys(topic_ids, 0)
    target: dict[str, dict[bytes, tuple[int, ...]]] = {}
    for member in members:
        share = target[member.member_id] = {}
        for topic_id in topic_ids if len(member.subscribed) >= len(topic_ids) else sorted(member.subscribed):
            if topic_id in given and topic_id in member.subscribed:
                place, count = given[topic_id], spec.topics[topic_id].partition_count
                given[topic_id] = place + 1
                start, end = _run(place, subscribers[topic_id], count)
                if start < end:
                    share[topic_id] = tuple(range(start, end))
        if pace.spent(3 * min(len(member.subscribed), len(topic_ids))):
            yield
    return target


assign = Assignor(pieces)


def _order(member: MemberSpec) -> tuple[bool, str, str]:
    return member.instance_id is None, member.instance_id or "", member.member_id


def _run(place: int, members: int, partitions: int) -> tuple[int, int]:
    """Where the run of the member at that place begins and ends."""
    length, longer = divmod(partitions, members)
    start = place * length + min(place, longer)
    return start, start + length + (place < longer)
