"""Mistakes that somebody could make in the tier's upload, each planted: random histories must notice every one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapelog.log.tier import carry_out, collection, growth, uploader
from tapelog.log.tier.content import Content
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket
from tests.properties.tier_world import TierWorld

Plant = Callable[[pytest.MonkeyPatch], None]
LIVES = 60
STEPS = (
    "append",
    "append",
    "tick",
    "tick",
    "tick",
    "pass",
    "roll",
    "kill",
    "change_leader",
    "zombie",
    "zombie",
    "weather",
)


def conditions_are_ignored(patch: pytest.MonkeyPatch) -> None:
    """The head is written whatever is there."""
    put = Bucket.put
    patch.setattr(Bucket, "put", lambda self, name, data, condition=None: put(self, name, data))


def nobody_is_fenced(patch: pytest.MonkeyPatch) -> None:
    """A leader goes on with a head of a later epoch, as if it were its own."""
    read = uploader.Uploader._read

    def blind(self: Any, result: Any, wall_ms: int) -> None:
        epoch = self.leader_epoch
        self.leader_epoch = 1 << 30
        read(self, result, wall_ms)
        self.leader_epoch = epoch

    patch.setattr(uploader.Uploader, "_read", blind)
    patch.setattr(growth, "claimed", _claimed_without_looking)


def _claimed_without_looking(manifest: Any, writer: Any) -> Any:
    from dataclasses import replace

    return replace(
        manifest,
        leader_epoch=writer.leader_epoch,
        broker=writer.broker,
        token=writer.token,
        sequence=manifest.sequence + 1,
    )


def the_head_comes_before_the_segment(patch: pytest.MonkeyPatch) -> None:
    """An upload is committed while it is still under way."""
    copy: Any = carry_out._copy

    def hasty(operation: Any, store: Any, prefix: str, log: Any, done: Any, verify: bool) -> None:
        content = carry_out.open_content(log, operation.segment.base_offset)
        assert content is not None
        list(content.pieces())
        copy(operation, store, prefix, log, lambda result: None, verify)
        done(content.entry(operation.name, operation.first_offset))

    patch.setattr(carry_out, "_copy", hasty)


def objects_that_count_are_taken_for_orphans(patch: pytest.MonkeyPatch) -> None:
    """Collection forgets what pages and head name."""
    patch.setattr(collection.walk, "named_between", lambda *_, **__: {})


def an_upload_under_way_is_taken_for_an_orphan(patch: pytest.MonkeyPatch) -> None:
    """Collection believes that whatever is of an older epoch than its own list is dead, its own copies included."""
    gone = collection.Collection._gone
    patch.setattr(collection.Collection, "_gone", lambda self, head, pages, kept: gone(self, head, pages, ""))
    decide = uploader.Uploader._decide

    def collects_first(self: Any, now_ms: int, view: Any) -> Any:
        if self._claimed and self._related and self._head is not None and self._copied is not None:
            self._orphans_due_ms = 0
            found = self._collect(now_ms, self._head, view)
            if found is not None:
                return found
        return decide(self, now_ms, view)

    patch.setattr(uploader.Uploader, "_decide", collects_first)


def overlaps_count_twice(patch: pytest.MonkeyPatch) -> None:
    """A segment counts from its base, although the one before it ends later."""
    entry = Content.entry
    patch.setattr(Content, "entry", lambda self, name, first_offset: entry(self, name, self.base_offset))


def damage_on_the_way_goes_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """What arrives is not what was sent, and nobody compares."""
    pieces = Content.pieces

    def rotten(self: Content) -> Iterator[bytes]:
        for piece in pieces(self):
            yield bytes((piece[0] ^ 1,)) + piece[1:]

    patch.setattr(Content, "pieces", rotten)
    begin: Any = carry_out.carry_out
    patch.setattr("tests.properties.tier_world.carry_out", lambda *arguments: begin(*arguments, verify=False))


def a_segment_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """The newest sealed segment goes up first."""
    copy = uploader.Uploader._copy

    def newest(self: Any, head: Any, view: Any) -> Any:
        from dataclasses import replace

        return copy(self, head, replace(view, sealed=view.sealed[-1:]))

    patch.setattr(uploader.Uploader, "_copy", newest)


def nothing_is_ever_collected(patch: pytest.MonkeyPatch) -> None:
    """Orphans stay, as they did for leaders that had made the manifest themselves."""
    patch.setattr(uploader.Uploader, "_collect", lambda *_: None)


PLANTS: tuple[Plant, ...] = (
    conditions_are_ignored,
    nobody_is_fenced,
    the_head_comes_before_the_segment,
    objects_that_count_are_taken_for_orphans,
    an_upload_under_way_is_taken_for_an_orphan,
    overlaps_count_twice,
    damage_on_the_way_goes_unnoticed,
    a_segment_is_left_out,
    nothing_is_ever_collected,
)


def live(seed: int) -> None:
    """One history of chance."""
    chance = SimEntropy(seed)
    world = TierWorld(seed)
    for _ in range(90):
        world.step(STEPS[chance.below(len(STEPS))], chance.below(100))
    world.settle()


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant", PLANTS if "TAPELOG_TIER_SEEDS" in os.environ else PLANTS[:1], ids=lambda plant: plant.__name__
)
def test_a_planted_mistake_is_noticed(plant: Plant) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        for seed in range(LIVES):
            try:
                live(seed)
            except (AssertionError, KeyError):
                return
    raise AssertionError(f"nobody noticed in {LIVES} lives: {plant.__doc__}")


def test_without_a_mistake_there_is_nothing_to_notice() -> None:
    live(1)
