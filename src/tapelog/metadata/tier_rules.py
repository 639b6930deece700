"""What a topic's settings for tiered storage and for a hold may be, and what a hold forbids. KafkaError, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.base.config import BrokerSettings
from tapelog.base.config_values import parse_boolean, parse_whole, split_list
from tapelog.metadata.image import MetadataImage
from tapelog.wire.errors import ErrorCode, KafkaError


def check(new: Mapping[str, str], old: Mapping[str, str], settings: BrokerSettings) -> None:
    """Raise INVALID_CONFIG unless a topic with the overrides old may get new ones."""
    remote, was_remote = _flag(new, "remote.storage.enable"), _flag(old, "remote.storage.enable")
    compacted = "compact" in split_list(new.get("cleanup.policy", settings.string("log.cleanup.policy")))
    if remote and not settings.flag("remote.log.storage.system.enable"):
        raise _refused(
            "remote.storage.enable: this cluster has no tiered storage; start its brokers with "
            "remote.log.storage.system.enable=true and tapelog.tier.url"
        )
    if remote and compacted:
        raise _refused("remote.storage.enable: a topic that is compacted cannot be tiered")
    if _flag(new, "tapelog.tier.hold") and compacted:
        raise _refused("tapelog.tier.hold: compaction would remove what is to be kept; use cleanup.policy=delete")
    if remote:
        _check_local(new, "ms", settings)
        _check_local(new, "bytes", settings)
    if was_remote and not remote:
        if _flag(new, "tapelog.tier.hold") or _flag(old, "tapelog.tier.hold"):
            raise _refused("remote.storage.enable: the topic is under a hold; set tapelog.tier.hold=false first")
        if not _flag(new, "remote.log.delete.on.disable"):
            raise _refused(
                "remote.storage.enable: turning it off deletes what is in the tier, and asks for "
                "remote.log.delete.on.disable=true; to stop copying only, set remote.log.copy.disable=true"
            )


def check_deletion(image: MetadataImage, topic: str) -> None:
    """Raise POLICY_VIOLATION if a hold keeps the topic from being deleted."""
    if _flag(image.topic_config(topic), "tapelog.tier.hold"):
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"Topic '{topic}' is under a hold: nothing of it is deleted before tapelog.tier.hold is set to false",
        )


def _check_local(new: Mapping[str, str], unit: str, settings: BrokerSettings) -> None:
    """What stays here cannot be more than there is."""
    local = parse_whole(new.get(f"local.retention.{unit}", settings.string(f"log.local.retention.{unit}")))
    if unit == "ms":
        whole = parse_whole(new["retention.ms"]) if "retention.ms" in new else settings.millis("log.retention.ms")
    else:
        whole = parse_whole(new.get("retention.bytes", settings.string("log.retention.bytes")))
    if whole >= 0 and local != -2 and (local == -1 or local > whole):
        raise _refused(f"local.retention.{unit} ({local}) must not be greater than retention.{unit} ({whole})")


def _flag(configs: Mapping[str, str], name: str) -> bool:
    return parse_boolean(configs.get(name, "false"))


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
