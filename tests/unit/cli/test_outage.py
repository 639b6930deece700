"""What is told while no broker answers: one line after a while, one when it is over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tapelog.cli.outage import AWAY_S, Outage


class Watch:
    """Statistics as librdkafka gives them, second by second, and what was told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.told: list[str] = []
        self.outage = Outage(self.told.append, lambda: self.now)

    def second(self, brokers: dict[int, str], leaders: dict[int, int], *, port: int = 9092) -> None:
        about: dict[str, Any] = {"group": {"nodeid": -1, "nodename": "", "state": "INIT", "source": "logical"}}
        for id, state in brokers.items():
            name = f"127.0.0.1:{port + max(id, 0)}"
            about[f"{name}/{id}"] = {"nodeid": id, "nodename": name, "state": state, "source": "learned"}
        parts = {
            str(number): {"broker": leader, "desired": True, "fetch_state": "active"}
            for number, leader in leaders.items()
        }
        parts["-1"] = {"broker": -1, "desired": False, "fetch_state": "none"}
        self.outage.statistics(json.dumps({"brokers": about, "topics": {"t": {"partitions": parts}}}))
        self.now += 1


def test_a_broker_that_is_away_is_told_once_and_once_that_it_is_back() -> None:
    watch = Watch()
    watch.second({1: "UP"}, {0: 1})
    for _ in range(int(AWAY_S)):
        watch.second({1: "TRY_CONNECT"}, {0: 1})
    assert watch.told == []
    for _ in range(60):
        watch.second({1: "TRY_CONNECT"}, {0: 1})
    assert watch.told == ["127.0.0.1:9093 does not answer, waiting: start it again, or end with Ctrl-C"]
    for _ in range(3):
        watch.second({1: "UP"}, {0: 1})
    assert watch.told[1:] == ["127.0.0.1:9093 answers again"]


def test_a_short_absence_is_not_worth_a_line() -> None:
    watch = Watch()
    for _ in range(10):
        watch.second({1: "UP"}, {0: 1})
        watch.second({1: "CONNECT"}, {0: 1})
    assert watch.told == []


def test_each_absence_is_told() -> None:
    watch = Watch()
    for _ in range(2):
        watch.second({1: "UP"}, {0: 1})
        for _ in range(10):
            watch.second({1: "DOWN"}, {0: 1})
    watch.second({1: "UP"}, {0: 1})
    assert [line.partition(",")[0] for line in watch.told] == [
        "127.0.0.1:9093 does not answer",
        "127.0.0.1:9093 answers again",
        "127.0.0.1:9093 does not answer",
        "127.0.0.1:9093 answers again",
    ]


def test_a_client_that_has_gone_back_to_its_bootstrap_servers_still_knows_whom_it_waits_for() -> None:
    watch = Watch()
    watch.second({1: "UP"}, {0: 1})
    for _ in range(10):
        watch.second({-1: "INIT"}, {0: -1})
    assert watch.told == ["127.0.0.1:9093 does not answer, waiting: start it again, or end with Ctrl-C"]


def test_a_broker_that_went_before_it_was_known_is_told_by_its_bootstrap_address() -> None:
    watch = Watch()
    for _ in range(10):
        watch.second({-1: "INIT"}, {0: -1})
    watch.second({1: "UP"}, {0: 1}, port=9091)
    assert watch.told == [
        "127.0.0.1:9092 does not answer, waiting: start it again, or end with Ctrl-C",
        "127.0.0.1:9092 answers again",
    ]


def test_a_bootstrap_address_that_answers_is_not_the_broker_that_was_waited_for() -> None:
    watch = Watch()
    watch.second({1: "UP"}, {0: 1})
    for _ in range(10):
        watch.second({1: "DOWN"}, {0: 1})
    for _ in range(10):
        watch.second({-1: "UP", 1: "DOWN"}, {})  # it is advertised by a name that does not resolve
    assert [line.partition(",")[0] for line in watch.told] == ["127.0.0.1:9093 does not answer"]
    watch.second({-1: "UP", 1: "UP"}, {0: 1})
    assert watch.told[1:] == ["127.0.0.1:9093 answers again"]


def test_of_several_brokers_only_those_that_are_read_from_count() -> None:
    watch = Watch()
    watch.second({1: "UP", 2: "UP", 3: "UP"}, {0: 1, 1: 2})
    for _ in range(10):
        watch.second({1: "UP", 2: "UP", 3: "DOWN"}, {0: 1, 1: 2})
    assert watch.told == []
    for _ in range(10):
        watch.second({1: "UP", 2: "DOWN", 3: "DOWN"}, {0: 1, 1: 2})
    assert watch.told == ["127.0.0.1:9094 does not answer, waiting: start it again, or end with Ctrl-C"]
    watch.second({1: "UP", 2: "DOWN", 3: "DOWN"}, {0: 1, 1: 1})  # another leads
    assert watch.told[1:] == ["other brokers lead now: records can be read again"]


def test_partitions_without_a_leader_are_named() -> None:
    watch = Watch()
    watch.second({1: "UP"}, {0: 1, 1: 1})
    for _ in range(10):
        watch.second({1: "UP"}, {0: 1, 1: -1})
    watch.second({1: "UP"}, {0: 1, 1: 1})
    assert watch.told == [
        "no leader for t[1], waiting: `tape cluster describe` names the brokers to start, or end with Ctrl-C",
        "t[1]: there is a leader again",
    ]


@pytest.mark.parametrize("brokers", [{}, {1: "UP"}])
def test_a_member_without_partitions_waits_for_nobody(brokers: dict[int, str]) -> None:
    watch = Watch()
    for _ in range(10):
        watch.second(brokers or {1: "UP"}, {})
    assert watch.told == []
