"""Rare events: what is named is explained, and missed when it does not happen."""

from __future__ import annotations

from pathlib import Path

from tapelog.sim.rare import NAMED, Rare, never, table

PAGE = Path(__file__).parents[3] / "docs" / "adr" / "0013-lives-from-seeds.md"


def test_every_named_event_is_in_the_documents() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert [row for name, what in NAMED.items() if (row := f"| {name} | {what} |") not in rows] == []


def test_an_event_that_never_happened_is_missed() -> None:
    rare = Rare()
    for name in NAMED:
        rare.count(name)
    rare.count("bit rot", 4)
    assert never(rare.counts) == []
    del rare.counts["lost rename"]
    assert never(rare.counts) == ["lost rename"]
    assert "bit rot                                       5       2.5" in table(rare.counts, 2000)
