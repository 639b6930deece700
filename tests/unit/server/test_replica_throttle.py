"""Replicas that catch up take no more of their leader than they may; those in sync are never held back."""

from __future__ import annotations

from tests.support.rig import values_of
from tests.unit.server.replica_rig import ME, OTHER, THIRD, Follower, LeaderRig, at, told


def throttled_rig(replicas: str) -> LeaderRig:
    rig = LeaderRig(isr=(ME, OTHER), leader_replication_throttled_replicas=replicas)
    assert rig.node.core is not None
    rig.node.core.leader_throttle.rate = 100
    rig.send(b"x" * 500, acks=1)
    rig.send(b"y" * 500, acks=1)
    Follower(rig, OTHER).send(at(2))
    assert rig.partition().high_watermark == 2, "the third one is far from being in sync"
    return rig


def test_one_that_catches_up_waits_once_it_took_too_much() -> None:
    rig = throttled_rig("*")
    third = Follower(rig, THIRD)
    assert values_of(third.one(0, max_bytes=600)) == [b"x" * 500]
    answers = third.send(at(1))
    rig.node.pass_time(450)
    assert not answers, "500 bytes in a second, 100 are allowed"
    rig.node.pass_time(100)
    assert told(answers[0]) in ({}, {0: (0, [])})
    rig.node.pass_time(6000)
    assert values_of(third.one(1)) == [b"y" * 500]


def test_one_in_sync_does_not_wait() -> None:
    rig = throttled_rig("*")
    Follower(rig, THIRD).one(0)
    other = Follower(rig, OTHER)
    assert values_of(other.one(0)) == [b"x" * 500, b"y" * 500]


def test_replicas_that_are_not_named_do_not_wait() -> None:
    rig = throttled_rig(f"0:{OTHER},1:{THIRD}")
    third = Follower(rig, THIRD)
    third.one(0, max_bytes=600)
    assert values_of(third.one(1)) == [b"y" * 500]
