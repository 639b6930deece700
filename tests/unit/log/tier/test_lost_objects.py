"""What is missing from the tier is told, however slow the store is, and however much is missing."""

from __future__ import annotations

import pytest

from tapelog.base.timers import Timers
from tapelog.log.tier import growth, layout
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.pieces import NotHereError, Pieces, UnreadableError
from tapelog.log.tier.view import View
from tapelog.sim.clock import SimClock
from tapelog.sim.objects import Bucket, SimStore

ID = b"\x07" * 16


def test_readers_who_miss_several_objects_do_not_keep_each_other_from_being_told() -> None:
    clock, bucket = SimClock(), Bucket()
    timers = Timers(clock)
    store = SimStore(bucket, timers)
    store.weather.delay_ms_max = 1
    bucket.put(layout.manifest_name(ID, 0), growth.empty("t", ID, 0, 0, Writer(1, 1, "x")).encode())
    view = View(Pieces(store, timers, 1 << 20), ID, 0)
    for _ in range(2):
        for name in ("one", "two"):  # asked for again since the head was read, and missing still
            clock.advance(10_000)
            timers.run_due()
            error = UnreadableError(f"there is no {name}", clock.monotonic_ms())
            try:
                told = view.unreadable(error)
            except NotHereError:
                told = None
    assert told is not None
    with pytest.raises(NotHereError):
        view.unreadable(UnreadableError("there is no third", clock.monotonic_ms()))
