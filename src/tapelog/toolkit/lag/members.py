"""Who is in a group and owns what, as far as the judgement needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tapelog.toolkit.lag.clients import result
from tapelog.toolkit.lag.values import Place
from tapelog.toolkit.lag.words import Owner


@dataclass(frozen=True, slots=True)
class Membership:
    """A group's kind and state in lower case (`classic`, `consumer`; `stable`, `empty`, …) and its owners.

    `known` is False where the cluster does not describe such a group (a share group, say).
    """

    kind: str = "unknown"
    state: str = "unknown"
    members: int = 0
    simple: bool = False
    owners: dict[Place, Owner] = field(default_factory=dict)
    known: bool = False

    def owned(self, place: Place) -> bool | None:
        """Whether a live member has the partition; None where that is not known."""
        return place in self.owners if self.known else None


def memberships(admin: AdminClient, groups: Iterable[str], timeout_s: float) -> dict[str, Membership]:
    """Describe groups; one that cannot be described is unknown, which is no error."""
    wanted = list(dict.fromkeys(groups))
    if not wanted:
        return {}
    found = {}
    for group, future in admin.describe_consumer_groups(wanted, request_timeout=timeout_s).items():
        try:
            found[group] = _membership(result(future, timeout_s))
        except KafkaException:
            found[group] = Membership()
    return found


def _membership(described: Any) -> Membership:
    owners = {
        (part.topic, part.partition): Owner(member.member_id, member.client_id, member.host.lstrip("/"))
        for member in described.members
        for part in member.assignment.topic_partitions
    }
    kind = getattr(described, "type", None)
    newer = kind is not None and kind.name == "CONSUMER"  # some of its states have no name in librdkafka
    return Membership(
        "consumer" if newer else "classic",
        described.state.name.lower().replace("_", " "),
        len(described.members),
        bool(described.is_simple_consumer_group),
        owners,
        known=described.state.name != "DEAD" and (newer or described.state.name != "UNKNOWN"),
    )
