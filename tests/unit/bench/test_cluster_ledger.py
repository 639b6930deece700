"""Figures of clusters survive the end of a run, and say nothing about where it ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cluster.ledger import ATTEMPTS_MAX, Ledger, OtherSettingsError

SETTINGS: dict[str, str | int | float] = {"reps": 2, "secs": 1.0}


def test_a_run_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "figures.json", SETTINGS)
    first.add("row", "kafka", {"mb_s": 100.0})
    again = Ledger(tmp_path / "figures.json", SETTINGS)
    assert again.count("row", "kafka") == 1
    assert again.count("row", "tapelog") == 0
    with pytest.raises(OtherSettingsError, match=r"figures.json was begun with"):
        Ledger(tmp_path / "figures.json", {**SETTINGS, "reps": 3})


def test_a_side_that_fails_again_and_again_is_not_tried_for_ever(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "figures.json", SETTINGS)
    for _ in range(ATTEMPTS_MAX):
        assert ledger.count("row", "kafka") == 0
        ledger.failed("row", "kafka")
    assert Ledger(tmp_path / "figures.json", SETTINGS).count("row", "kafka") > 100


def test_the_table_has_a_column_per_side_with_median_and_spread(tmp_path: Path) -> None:
    ledger = Ledger(None, SETTINGS)
    for value in (100.0, 300.0, 200.0):
        ledger.add("row", "tapelog", {"mb_s": value, "p99_ms": value / 1000})
    ledger.add("row", "kafka", {"mb_s": 1234.5})
    assert ledger.table().splitlines() == [
        "| | | tapelog | kafka |",
        "|---|---|---|---|",
        "| row | MB/s acknowledged | 200 (100–300) | 1,234 |",
        "| row | p99, ms | 0.2 (0.1–0.3) |  |",
    ]


def test_no_path_is_written_down(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "figures.json", SETTINGS)
    ledger.add("row", "kafka", {"mb_s": 100.0})
    ledger.save({"cores": 2})
    written = (tmp_path / "figures.json").read_text()
    assert str(tmp_path) not in written
    assert json.loads(written)["machine"] == {"cores": 2}
