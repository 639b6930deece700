"""How files and directories of a log are called: Kafka's layout, name by name."""

from __future__ import annotations

from typing import Final

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
TEMPORARY: Final = ".tmp"

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
START_OFFSETS: Final = "log-start-offset-checkpoint"
LOCAL_STARTS: Final = "local-log-start-offset-checkpoint"
CLEANED_OFFSETS: Final = "cleaner-offset-checkpoint"
SCRUB: Final = "scrub-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
DELETE_DIR: Final = "-delete"
STRAY_DIR: Final = "-stray"
FUTURE_DIR: Final = "-future"
FUTURE_COMPLETE: Final = "future-complete"
CLUSTER_METADATA: Final = "__cluster_metadata"

NAME_LENGTH_MAX: Final = 255


def offset_name(offset: int, suffix: str) -> str:
    """`00000000000000000042.log`: twenty digits sort as numbers do."""
    return f"{offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in such a name, or None if it is not one."""
    if not name.endswith(suffix):
        return None
    digits = name[: len(name) - len(suffix)]
    return int(digits) if len(digits) == 20 and digits.isdecimal() else None


def partition_dir(topic: str, partition: int) -> str:
    """`topic-3`."""
    return f"{topic}-{partition}"


def parse_partition_dir(name: str) -> tuple[str, int] | None:
    """Topic and partition of a live partition directory's name, else None (also for `…-delete`)."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isdecimal() or (len(number) > 1 and number[0] == "0"):
        return None
    return topic, int(number)


def delete_dir(topic: str, partition: int, token: bytes) -> str:
    """`topic-3.<32 hex digits>-delete`, the topic cut short where the name would get too long."""
    return _aside(topic, partition, token, DELETE_DIR)


def stray_dir(topic: str, partition: int, token: bytes) -> str:
    """`topic-3.<32 hex digits>-stray`: a copy that does not count, and that nobody but an operator removes."""
    return _aside(topic, partition, token, STRAY_DIR)


def _aside(topic: str, partition: int, token: bytes, suffix: str) -> str:
    tail = f"-{partition}.{token.hex()}{suffix}"
    return topic[: NAME_LENGTH_MAX - len(tail)] + tail


def future_dir(topic: str, partition: int, token: bytes) -> str:
    """`topic-3.<32 hex digits>-future`: a copy in the making, which is to take the place of the partition's log. The
    topic is never cut short: a name that would be too long (`NAME_LENGTH_MAX`) cannot be had."""
    return f"{topic}-{partition}.{token.hex()}{FUTURE_DIR}"


def parse_future_dir(name: str) -> tuple[str, int] | None:
    """Topic and partition of such a name, else None."""
    stem, _, token = name.removesuffix(FUTURE_DIR).rpartition(".")
    return parse_partition_dir(stem) if name.endswith(FUTURE_DIR) and len(token) == 32 else None
