"""Listening in on the simulated net: which APIs are asked, which votes are refused. For counting only."""

from __future__ import annotations

from typing import Any, Final

from tapelog.sim.rare import Rare
from tapelog.sim.streams import End
from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import request_class, response_class
from tapelog.wire.primitives import Reader

VOTE: Final = 52
NAMES: Final = {
    26: "EndTxn",
    27: "WriteTxnMarkers",
    43: "ElectLeaders",
    45: "AlterPartitionReassignments",
    53: "BeginQuorumEpoch",
    54: "EndQuorumEpoch",
    56: "AlterPartition",
    58: "Envelope",
    59: "snapshot fetch",
    62: "BrokerRegistration",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
}
"""APIs whose requests are counted."""


class Listening:
    """Hears every chunk that is sent; frames are whole in most of them, which is enough for counting."""

    def __init__(self, rare: Rare) -> None:
        self.rare = rare
        self._votes: dict[int, dict[int, tuple[int, bool]]] = {}

    def __call__(self, end: End, data: bytes) -> None:
        if end.client:
            key = int.from_bytes(data[4:6], "big")
            if key in NAMES:
                self.rare.count(NAMES[key])
            elif key == VOTE:
                self._vote(end, data)
        elif end.number in self._votes:
            self._voted(end, data)

    def _vote(self, end: End, data: bytes) -> None:
        version, correlation = int.from_bytes(data[6:8], "big"), int.from_bytes(data[8:12], "big")
        request: Any = _decode(
            request_class(VOTE), data[12:], request_header_version(VOTE, version), version, named=True
        )
        part = request.topics[0].partitions[0]
        kind = bool(part.pre_vote)
        self.rare.count("pre-vote asked" if kind else "vote asked")
        self._votes.setdefault(end.number, {})[correlation] = version, kind

    def _voted(self, end: End, data: bytes) -> None:
        asked = self._votes[end.number].pop(int.from_bytes(data[4:8], "big"), None)
        if asked is None:
            return
        version, kind = asked
        response: Any = _decode(response_class(VOTE), data[8:], response_header_version(VOTE, version) + 1, version)
        if response.error_code == 0 and not response.topics[0].partitions[0].vote_granted:
            self.rare.count("pre-vote rejected" if kind else "vote rejected")


def _decode(message: Any, data: bytes, header: int, version: int, *, named: bool = False) -> Any:
    reader = Reader(data, 0, len(data))
    if named:
        reader.nullable_string()
    if header >= 2:
        reader.skip_tags()
    return message.decode(reader, version)
