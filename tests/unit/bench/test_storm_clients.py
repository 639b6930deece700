"""The storm of librdkafka's consumers on a real broker: every record comes once, and pauses are counted."""

from __future__ import annotations

import json
import subprocess

import pytest

from bench import admin, build
from bench.coordination import STORM_SETTINGS
from tapelog.testing import Broker

PARTITIONS, MEMBERS = 6, 5
SHORT = ("session.timeout.ms=6000", "heartbeat.interval.ms=500")
"""A cooperative member of librdkafka 2.16 that has no partition yet does not tell the group that it leaves."""


@pytest.mark.slow
@pytest.mark.parametrize("protocol", list(STORM_SETTINGS))
def test_every_record_comes_once_while_consumers_come_and_go(protocol: str) -> None:
    with Broker() as broker:
        with admin.Admin(int(broker.bootstrap.rpartition(":")[2])) as a:
            a.create("events", PARTITIONS, {})
            a.wait_online("events", PARTITIONS)
        words = [broker.bootstrap, "events", PARTITIONS, MEMBERS, 4, 20, 7, *STORM_SETTINGS[protocol]]
        words += SHORT if protocol != "consumer" else ()
        command = [str(build.storm()), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    figures = json.loads(done.stdout)
    assert (figures["missing"], figures["failed"], figures["stuck"], figures["away"]) == (0, 0, 0, 0)
    assert figures["sent"] > PARTITIONS * 4 * 20
    assert figures["still_p50_s"] <= figures["still_max_s"] <= figures["elapsed_s"]
    assert figures["gap_max_s"] <= figures["still_max_s"]
