"""The capacity plan."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.cli.app import run
from tapelog.cli.capacity import Workload, plan

SMALL = Workload(1000, 1000, 86_400_000, replicas=3)


def test_bytes_are_rate_times_size_times_retention_times_replicas_and_a_little() -> None:
    raw = 1000 * 1000 * 86_400 * 3
    assert raw < plan(SMALL).total_bytes < raw * 1.03


def test_growth_compounds() -> None:
    grown = plan(replace(SMALL, growth=0.5, years=2))
    assert grown.total_bytes == pytest.approx(plan(SMALL).total_bytes * 2.25)


def test_compression_makes_it_smaller() -> None:
    assert plan(replace(SMALL, compression=4.0)).total_bytes < plan(SMALL).total_bytes / 3


def test_there_are_never_fewer_brokers_than_replicas() -> None:
    assert plan(Workload(1, 10, 1000, replicas=3)).brokers == 3


def test_brokers_are_enough_for_disk_and_for_throughput() -> None:
    big = plan(Workload(50_000, 1024, 7 * 86_400_000, disk_bytes=10 * 1024**4))
    assert big.brokers_for_disk == -(-round(big.disk_bytes_needed) // (10 * 1024**4))
    assert big.brokers == max(big.brokers_for_disk, big.brokers_for_throughput, 3)


@given(rate=st.floats(1, 10**7), size=st.integers(1, 10**6), more=st.floats(1, 10))
def test_more_records_never_need_less(rate: float, size: int, more: float) -> None:
    less, greater = plan(Workload(rate, size, 10**7)), plan(Workload(rate * more, size, 10**7))
    assert greater.brokers >= less.brokers
    assert greater.total_bytes >= less.total_bytes


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", "--rate", "50k", "--size", "1KiB", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["workload"]["records_per_s"] == 50_000
    assert document["capacity"]["brokers"] >= 3


def test_the_command_explains_a_bad_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", "--rate", "50k", "--size", "big"]) == 2
    assert "is not a size" in capsys.readouterr().err
