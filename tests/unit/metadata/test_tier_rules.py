"""Settings of tiered storage, holds, and topics that are restored: what the controller allows."""

from __future__ import annotations

import pytest

from tapelog.base.config import BrokerSettings
from tapelog.log.tier import restoring
from tapelog.log.tier.restoring import Restore, Span
from tapelog.metadata import tier_rules
from tapelog.wire.errors import ErrorCode, KafkaError

TIER = BrokerSettings({"remote.log.storage.system.enable": "true"})
REMOTE = {"remote.storage.enable": "true"}


def refused(new: dict[str, str], old: dict[str, str] | None = None, settings: BrokerSettings = TIER) -> str:
    with pytest.raises(KafkaError) as caught:
        tier_rules.check(new, old or {}, settings)
    assert caught.value.code == ErrorCode.INVALID_CONFIG
    return caught.value.message or ""


def test_a_cluster_without_a_tier_has_no_tiered_topics() -> None:
    assert "remote.log.storage.system.enable=true" in refused(REMOTE, settings=BrokerSettings({}))
    tier_rules.check(REMOTE, {}, TIER)
    tier_rules.check({}, {}, BrokerSettings({}))


def test_a_compacted_topic_is_neither_tiered_nor_held() -> None:
    assert "compacted" in refused({**REMOTE, "cleanup.policy": "compact,delete"})
    assert "compaction" in refused({"tapelog.tier.hold": "true", "cleanup.policy": "compact"})


def test_what_stays_here_is_not_more_than_there_is() -> None:
    assert "local.retention.ms" in refused({**REMOTE, "local.retention.ms": "2000", "retention.ms": "1000"})
    assert "local.retention.bytes" in refused({**REMOTE, "local.retention.bytes": "-1", "retention.bytes": "1000"})
    tier_rules.check({**REMOTE, "local.retention.ms": "1000", "retention.ms": "-1"}, {}, TIER)
    tier_rules.check({**REMOTE, "local.retention.ms": "-2", "retention.ms": "1000"}, {}, TIER)


def test_turning_it_off_must_be_meant() -> None:
    assert "remote.log.delete.on.disable=true" in refused({}, REMOTE)
    off = {"remote.log.delete.on.disable": "true"}
    tier_rules.check(off, REMOTE, TIER)
    assert "hold" in refused(off, {**REMOTE, "tapelog.tier.hold": "true"})


def test_a_restore_is_read_as_it_was_written() -> None:
    spans = (Span(0, 0), Span(5, 100, ((0, 0), (3, 50))))
    restore = Restore(bytes(range(16)), 8, spans)
    assert restoring.parse(restore.render()) == restore
    assert restore.span_of(0) is None and restore.span_of(1) == spans[1] and restore.span_of(2) is None
    for text in ("", "x", "AAECAwQFBgcICQoLDA0ODw:1:9-5", "AAECAwQFBgcICQoLDA0ODw:1:a-b"):
        with pytest.raises(ValueError, match="tape tier restore"):
            restoring.parse(text)
