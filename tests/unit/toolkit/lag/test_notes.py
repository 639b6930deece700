"""What stands beside committed offsets, as librdkafka tells it."""

from __future__ import annotations

from typing import cast

import pytest
from confluent_kafka import TopicPartition

from tapelog.toolkit.lag.clients import note_of


class Part:
    """As confluent_kafka's: the bytes up to the next zero, wherever that is."""

    def __init__(self, raw: bytes | None) -> None:
        self._raw = raw

    @property
    def metadata(self) -> str | None:
        return None if self._raw is None else self._raw.decode()


@pytest.mark.parametrize(
    ("raw", "note"), [(None, ""), (b"", ""), ("ü".encode(), "ü"), (b"kgo-1\x85", "kgo-1"), (b"kgo-1\xf1\x0b", "kgo-1")]
)
def test_bytes_behind_a_note_that_are_no_text_are_left_away(raw: bytes | None, note: str) -> None:
    assert note_of(cast(TopicPartition, Part(raw))) == note
