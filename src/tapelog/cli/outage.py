"""Tells a person who waits for records that no records can come, because a broker does not answer; and when it is over.

librdkafka connects again and again in silence. Its statistics say which broker each partition is read from, and the
state of the connection to it: `Outage.statistics` is a consumer's `stats_cb`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from tapelog.base.addresses import host_port
from tapelog.cli.output import remark

INTERVAL_MS: Final = 1000
"""statistics.interval.ms"""
AWAY_S: Final = 3.0
"""A restarted broker or a new leader is often there in less: that is not worth a line."""
NAMES_MAX: Final = 5
BOOTSTRAP: Final = -1
"""librdkafka's node id for an address of bootstrap.servers."""

_CONNECTED: Final = ("UP", "UPDATE", "REAUTH")
_LOGICAL: Final = ("logical", "internal")


class Trouble(NamedTuple):
    """Why no records can come."""

    says: str
    do: str
    over: str
    silent: frozenset[str] = frozenset()
    """Who must answer again before `over` is true."""


class Outage:
    """One line when brokers have been silent for a while, one when they answer again."""

    def __init__(self, tell: Callable[[str], None] = remark, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._clock = tell, clock
        self._addresses: dict[int, str] = {}
        self._since: float | None = None
        self._told: Trouble | None = None

    def statistics(self, text: str) -> None:
        """librdkafka's statistics, once in INTERVAL_MS."""
        stats, now = json.loads(text), self._clock()
        brokers = [one for one in stats.get("brokers", {}).values() if one["source"] not in _LOGICAL]
        connected = {one["nodeid"]: _address(one["nodename"]) for one in brokers if one["state"] in _CONNECTED}
        self._addresses |= {one["nodeid"]: _address(one["nodename"]) for one in brokers if one["nodeid"] >= 0}
        if connected:
            self._addresses.pop(BOOTSTRAP, None)
        elif not self._addresses and brokers:  # it went before the first statistics came
            self._addresses[BOOTSTRAP] = _address(brokers[0]["nodename"])
        trouble = self._trouble(stats, connected)
        if trouble is None:
            if self._told is not None:
                if all(id < 0 for id in connected):
                    return  # a connection to a bootstrap address alone brings no records
                back = self._told.silent <= set(connected.values())
                self._tell(self._told.over if back else "other brokers lead now: records can be read again")
            self._since = self._told = None
            return
        if self._since is None:
            self._since = now
        if self._told is None and now - self._since >= AWAY_S:
            self._tell(f"{trouble.says}, waiting: {trouble.do}, or end with Ctrl-C")
            self._told = trouble

    def _trouble(self, stats: Mapping[str, Any], connected: Mapping[int, str]) -> Trouble | None:
        places = {
            f"{topic}[{number}]": part["broker"]
            for topic, about in stats.get("topics", {}).items()
            for number, part in about["partitions"].items()
            if part["desired"] and part["fetch_state"] == "active"
        }
        if not connected:  # librdkafka may have forgotten all but the bootstrap servers by now
            names = sorted(set(self._addresses.values()))
            if not names:
                return None
            over = f"{names[0]} answers again" if len(names) == 1 else "brokers answer again"
            return _silence(names, over, frozenset())
        gone = {self._addresses[id] for id in places.values() if id in self._addresses and id not in connected}
        if gone:
            over = f"{_list(gone)} {'answer' if len(gone) > 1 else 'answers'} again"
            return _silence(gone, over, frozenset(gone))
        leaderless = _list(place for place, id in places.items() if id < 0)
        if leaderless:
            do = "`tape cluster describe` names the brokers to start"
            return Trouble(f"no leader for {leaderless}", do, f"{leaderless}: there is a leader again")
        return None


def _silence(names: Collection[str], over: str, silent: frozenset[str]) -> Trouble:
    many = len(names) > 1
    says = f"{_list(names)} {'do' if many else 'does'} not answer"
    return Trouble(says, f"start {'them' if many else 'it'} again", over, silent)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:NAMES_MAX])


def _address(nodename: str) -> str:
    host, _, port = nodename.rpartition(":")
    return host_port(host, int(port)) if port.isdecimal() else nodename
