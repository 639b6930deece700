"""What a partition's log needs to know of its topic's configuration, parsed once.

`LogConfig` is built from Kafka's names and string values (the effective configuration that metadata computes)
and replaced as a whole by `Log.update_config`. Names that are absent have Kafka's default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LONG_MAX: Final = 9223372036854775807

AS_THE_WHOLE: Final = -2  # local.retention.*: what retention.* says

# compression.type -> codec id in the batch's attributes; "producer" keeps what the producer chose
KEEP_CODEC: Final = -1
CODECS: Final = {"producer": KEEP_CODEC, "uncompressed": 0, "none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class LogConfig:
    """One topic's settings for its logs; treat as immutable."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        given: Mapping[str, str] = {} if settings is None else settings

        self.segment_bytes = _number(given, "segment.bytes", 1073741824)
        self.segment_ms = _number(given, "segment.ms", 604800000)
        self.segment_jitter_ms = _number(given, "segment.jitter.ms", 0)
        self.segment_index_bytes = _number(given, "segment.index.bytes", 10485760)
        self.index_interval_bytes = _number(given, "index.interval.bytes", 4096)
        self.retention_ms = _number(given, "retention.ms", 604800000)
        self.retention_bytes = _number(given, "retention.bytes", -1)
        # tiered storage: local.retention.* is about what stays here of what the tier has, retention.* about the whole
        self.remote = given.get("remote.storage.enable", "false") == "true"
        self.remote_copy = given.get("remote.log.copy.disable", "false") != "true"
        self.local_retention_ms = local(_number(given, "local.retention.ms", AS_THE_WHOLE), self.retention_ms)
        self.local_retention_bytes = local(_number(given, "local.retention.bytes", AS_THE_WHOLE), self.retention_bytes)
        # a compliance hold: nothing of the topic is deleted, whatever the other settings say
        self.hold = given.get("tapelog.tier.hold", "false") == "true"
        # of a topic that takes over what is in the tier (tier.restoring)
        self.restore = given.get("tapelog.tier.restore", "")
        self.max_message_bytes = _number(given, "max.message.bytes", 1048588)
        self.flush_messages = _number(given, "flush.messages", LONG_MAX)
        self.flush_ms = _number(given, "flush.ms", LONG_MAX)
        self.timestamp_before_max_ms = _number(given, "message.timestamp.before.max.ms", LONG_MAX)
        self.timestamp_after_max_ms = _number(given, "message.timestamp.after.max.ms", 3600000)
        self.file_delete_delay_ms = _number(given, "file.delete.delay.ms", 60000)
        self.log_append_time = given.get("message.timestamp.type", "CreateTime") == "LogAppendTime"
        policies = [name.strip() for name in given.get("cleanup.policy", "delete").split(",")]
        # whatever a default may have become since: compaction removes, and would leave the tier's copies behind
        self.compact = "compact" in policies and not self.hold and not self.remote
        self.delete = "delete" in policies
        self.min_cleanable_dirty_ratio = float(given.get("min.cleanable.dirty.ratio", "0.5"))
        self.min_compaction_lag_ms = _number(given, "min.compaction.lag.ms", 0)
        self.max_compaction_lag_ms = _number(given, "max.compaction.lag.ms", LONG_MAX)
        if self.compact:  # what is appended to is not compacted: it must not be so for longer than the lag allows
            self.segment_ms = min(self.segment_ms, self.max_compaction_lag_ms)
        self.delete_retention_ms = _number(given, "delete.retention.ms", 86400000)
        self.compression_type = given.get("compression.type", "producer")
        self.codec = CODECS.get(self.compression_type, KEEP_CODEC)
        self.compression_level = compression_level(self.compression_type, given)
        # whether a batch may have to be looked into or changed before it is stored
        self.rewrites = self.log_append_time or self.compact or self.codec != KEEP_CODEC
        # flush.messages=1 asks for every batch to be on disk before it is acknowledged: what "fsync" means. flush.ms
        # asks for it within an interval, which no timer watches here: "fsync" keeps that promise, too
        asked_to_flush = self.flush_messages <= 1 or self.flush_ms != LONG_MAX
        self.page_cache = given.get("tapelog.flush", "fsync") == "page-cache" and not asked_to_flush
        # what the topic may hold on its leaders' disks, and whether its oldest segments make room for new ones
        self.max_bytes = _number(given, "tapelog.max.bytes", -1)
        drops = given.get("tapelog.max.bytes.policy", "reject") == "drop-oldest"
        self.may_drop = self.delete and not (self.compact or self.remote or self.hold)
        self.drop_oldest = drops and self.may_drop
        self.min_insync_replicas = _number(given, "min.insync.replicas", 1)
        # whoever holds up what a majority has leaves the ISR at once, instead of after replica.lag.time.max.ms
        self.acks_quorum = given.get("tapelog.acks", "all") == "quorum"


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    value = given.get(name)
    return default if value is None else int(value)


def local(value: int, whole: int) -> int:
    """A setting of local.retention.*, given that of retention.*."""
    return whole if value == AS_THE_WHOLE else value


def compression_level(codec_name: str, given: Mapping[str, str]) -> int | None:
    """The level set for that codec, or None for the codec's own default."""
    value = given.get(f"compression.{codec_name}.level")
    return None if value is None else int(value)
