"""What is wrong in the tier is logged when it is met, not each time that somebody who waits for it asks again."""

from __future__ import annotations

import logging

import pytest

from tapelog.node.tier_reads import SAID_MAX, SAY_AGAIN_MS, TierReads
from tapelog.sim.objects import Bucket, SimStore
from tests.support.rig import Rig


def test_the_same_damage_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    assert rig.node.core is not None
    complain = TierReads(rig.node.core, SimStore(Bucket()), lambda topic_id, partition: None).pieces.complain
    caplog.set_level(logging.WARNING, logger="tapelog.node")
    for _ in range(20):
        complain("one is damaged")
        complain("two is damaged")
        rig.node.pass_time(500)
    assert [text for text in caplog.messages if "damaged" in text] == ["one is damaged", "two is damaged"]
    rig.node.pass_time(SAY_AGAIN_MS)
    complain("one is damaged")
    assert caplog.messages.count("one is damaged") == 2
    for number in range(SAID_MAX):
        rig.node.pass_time(1_000)
        complain(f"{number} is damaged")
    assert caplog.messages.count("99 is damaged") == 1, "what is remembered has a bound, what is said has none"
