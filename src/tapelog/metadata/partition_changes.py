"""What the coming and going of a broker means for the partitions it holds: one record per partition that changes.

Called by brokers.py, heartbeat.py, directories.py and upkeep.py; election.py decides each partition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tapelog.base.config import BrokerSettings
from tapelog.metadata.election import ONLINE, UNCLEAN, Wish, decide
from tapelog.metadata.electorate import Electorate, directory_of, online
from tapelog.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from tapelog.metadata.record_types import PartitionChangeRecord


def all_partitions(image: MetadataImage) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
    """Every partition, in the image's own order."""
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            yield topic, index, partition


def election_of(electorate: Electorate, topic: TopicImage) -> int:
    """What kind of election the topic gets when its leader is lost."""
    return UNCLEAN if electorate.unclean(topic.name) else ONLINE


def leave(image: MetadataImage, settings: BrokerSettings, brokers: Collection[int]) -> list[PartitionChangeRecord]:
    """The brokers stop serving, all at the same time: out of every ISR and every lead."""
    electorate = Electorate(image, settings, without=brokers)
    records = []
    for topic, index, partition in all_partitions(image):
        if partition.leader in brokers or any(id in brokers for id in partition.isr):
            isr = [id for id in partition.isr if id not in brokers]
            change = decide(electorate, topic, index, Wish(isr=isr, election=election_of(electorate, topic)))
            if change is not None:
                records.append(change)
    return records


def join(
    image: MetadataImage, settings: BrokerSettings, broker_id: int, log_dirs: Collection[bytes] | None = None
) -> list[PartitionChangeRecord]:
    """The broker begins to serve (with these directories, if the image does not know them yet): it may lead what has no
    leader and counts it in."""
    electorate = Electorate(image, settings, welcome=broker_id, welcome_dirs=log_dirs)
    records = []
    for topic, index, partition in all_partitions(image):
        if partition.leader == NO_LEADER and broker_id in partition.replicas:
            change = decide(electorate, topic, index, Wish(election=election_of(electorate, topic)))
            if change is not None:
                records.append(change)
    return records


def restart(
    image: MetadataImage, settings: BrokerSettings, broker_id: int, log_dirs: Collection[bytes], clean: bool
) -> list[PartitionChangeRecord]:
    """Another incarnation of the broker takes over, fenced for now, with these directories.

    After an unclean stop its replicas may have lost their last records. One whose directory is not among them is not
    there. It has lost everything if that was the broker's only directory and another one is now; else that is known
    when the broker assigns it to another one (directories.py): a directory may be offline for a while.
    """
    electorate = Electorate(image, settings, without=(broker_id,))
    known = image.brokers.get(broker_id)
    only = next(iter(log_dirs)) if len(log_dirs) == 1 else None
    replaced = known.log_dirs if known is not None and only is not None and len(known.log_dirs) == 1 else ()
    records = []
    for topic, index, partition in all_partitions(image):
        if broker_id not in partition.replicas:
            continue
        directory = directory_of(partition, broker_id)
        away = not online(directory, log_dirs)
        wiped = away and directory in replaced
        if not wiped and broker_id not in (partition.leader, *partition.isr, *partition.elr):
            continue
        wish = Wish(
            isr=[id for id in partition.isr if id != broker_id],
            unclean=() if clean and not away else (broker_id,),
            wiped=(broker_id,) if wiped else (),
            directories={broker_id: only} if wiped and only is not None else {},
            election=election_of(electorate, topic),
        )
        change = decide(electorate, topic, index, wish)
        if change is not None:
            records.append(change)
    return records


def directories_lost(
    image: MetadataImage, settings: BrokerSettings, broker_id: int, lost: Collection[bytes]
) -> list[PartitionChangeRecord]:
    """These directories of a living broker failed: what they hold is neither in sync nor led there."""
    electorate = Electorate(image, settings, without=(broker_id,))
    records = []
    for topic, index, partition in all_partitions(image):
        if broker_id in (partition.leader, *partition.isr) and directory_of(partition, broker_id) in lost:
            isr = [id for id in partition.isr if id != broker_id]
            change = decide(electorate, topic, index, Wish(isr=isr, election=election_of(electorate, topic)))
            if change is not None:
                records.append(change)
    return records


def assigned_elsewhere(image: MetadataImage, broker_id: int, log_dirs: Collection[bytes]) -> list[bytes]:
    """Directories that hold replicas of the broker, as the image says, and are not among these."""
    found: dict[bytes, None] = {}
    for _, _, partition in all_partitions(image):
        directory = directory_of(partition, broker_id)
        if not online(directory, log_dirs):
            found[directory] = None
    return list(found)


def leads_any(image: MetadataImage, broker_id: int) -> bool:
    """Whether the broker leads a partition."""
    return any(partition.leader == broker_id for _, _, partition in all_partitions(image))
