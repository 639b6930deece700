"""Every finding says what is the matter, and every trouble what to do."""

from __future__ import annotations

import pytest

from tapelog.toolkit.lag.judgement import Cause, Finding, Sample, Verdict
from tapelog.toolkit.lag.values import Oldest, PartitionLag
from tapelog.toolkit.lag.words import Owner, advice, matter

LAG = PartitionLag("orders", 3, 100, 0, 150, oldest=Oldest(102, 1_000), measured_ms=61_000)
FINE = (Cause.CAUGHT_UP, Cause.KEEPS_UP, Cause.TOO_LITTLE_KNOWN, Cause.NO_COMMIT, Cause.MARKERS)


def finding(cause: Cause, verdict: Verdict = Verdict.STALL, *, owned: bool | None = None) -> Finding:
    first, last = Sample(1_000, 90, 10), Sample(50_000, 100, 50)
    return Finding(verdict, cause, LAG, first, last, since_ms=1_000, owned=owned)


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words_and_every_trouble_advice(cause: Cause) -> None:
    assert matter(finding(cause), 61_000)
    assert bool(advice(finding(cause), "billing")) == (cause not in FINE)


def test_a_stall_names_its_owner_the_offset_and_how_long() -> None:
    said = matter(finding(Cause.NOT_MOVING, owned=True), 61_000, Owner("m-1", "worker-2", "10.0.0.7"))
    assert "worker-2 at 10.0.0.7 owns it" in said
    assert "offset 100" in said and "for 1 min" in said and "50 records behind (1 min)" in said
    told = advice(finding(Cause.NOT_MOVING, owned=True), "billing")
    assert "--offset 102" in told, "the record itself, after a gap"
    assert "tape group reset billing --topic orders:3 --to-offset 103" in told


def test_growth_is_told_from_where_to_where() -> None:
    assert matter(finding(Cause.ONLY_GROWS), 61_000) == "the lag only grows: from 10 to 50 records within 1 min"


def test_a_partition_without_an_owner_wants_consumers() -> None:
    assert "start the group's consumers" in advice(finding(Cause.NO_COMMITS, owned=False), "g")
    assert "start the group's consumers" in advice(finding(Cause.NOT_MOVING, Verdict.STOP, owned=False), "g")
