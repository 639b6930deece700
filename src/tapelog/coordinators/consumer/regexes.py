"""Regular expressions of a group: which topics they match, found out beside the heartbeats, a bounded piece at a time.

A heartbeat that brings a new expression, or comes after topics were created, starts a resolution of all expressions
of the group; its result is a record for each, and a new group epoch if one of them matches other topics than before.
Members learn of it at their next heartbeat. At most one resolution of a group is under way, and not more than one
starts in ten seconds.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import MemberMetadata, ResolvedRegex
from tapelog.coordinators.consumer.records import regex_record, regex_tombstone
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.subscription import Seat, move_epoch, topics_resolved
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, nothing
from tapelog.coordinators.patterns import Matching, check
from tapelog.wire.errors import ErrorCode, KafkaError

REFRESH_MS_MIN: Final = 10_000
"""So much time lies at least between two resolutions of a group."""

UNCHANGED: Final = 0
CHANGED: Final = 1
CHANGED_AND_RESOLVED: Final = 2
"""What a heartbeat did to its member's expression; CHANGED: what the new one matches is not known yet."""


def note_change(groups: ConsumerGroups, seat: Seat, after: MemberMetadata, records: list[CoordinatorRecord]) -> int:
    """See what became of the member's expression; forget one that nobody uses, check one that nobody used.

    INVALID_REGULAR_EXPRESSION for one that cannot be used.
    """
    group, old, new = seat.group, seat.before.regex, after.regex
    if old == new:
        return UNCHANGED
    if old and group.regex_users.get(old) == 1 and old in group.regexes:
        records.append(regex_tombstone(group.group_id, old))
    if not new:
        return CHANGED_AND_RESOLVED
    if new not in group.regex_users:
        check(new)
        return CHANGED
    return CHANGED_AND_RESOLVED if new in group.regexes else CHANGED


def refresh_if_due(groups: ConsumerGroups, group: ConsumerGroup, before: MemberMetadata, after: MemberMetadata) -> None:
    """Start a resolution where something is unresolved, topics were added, or the last one is too long ago."""
    if not after.regex and not len(group.regex_users):
        return
    group_id = group.group_id
    users = dict(group.regex_users.items())
    if before.regex != after.regex and before.regex:
        users[before.regex] -= 1
    if after.regex:
        users.setdefault(after.regex, 1)
    used = sorted(regex for regex, count in users.items() if count > 0)
    if not used or group_id in groups.resolving:
        return
    resolved = [found for regex in used if (found := group.regexes.get(regex)) is not None]
    last_ms = max((found.timestamp_ms for found in resolved), default=-REFRESH_MS_MIN - 1)
    now_ms = groups.wall_ms()
    if 0 <= now_ms - last_ms <= REFRESH_MS_MIN:  # (less than 0: the clock was set back)
        return
    unresolved = len(resolved) < len(used)
    outdated = min((found.version for found in resolved), default=0) < groups.watch.grown_at_version
    if unresolved or outdated or now_ms > last_ms + groups.config.regex_refresh_ms:
        groups.resolving[group_id] = None
        groups.context.submit(_Resolution(groups, group_id).begin)


class _Resolution:
    """One resolution of all expressions of a group."""

    def __init__(self, groups: ConsumerGroups, group_id: str) -> None:
        self._groups = groups
        self._group_id = group_id
        self._matching: Matching | None = None
        self._version = -1

    def begin(self) -> Outcome[None]:
        """The expressions in use by now, over the topics there are by now."""
        group = self._groups.find(self._group_id)
        regexes = [] if group is None else [regex for regex, _ in group.regex_users.items()]
        self._version = self._groups.watch.topics.version()
        try:
            self._matching = Matching(regexes, sorted(self._groups.watch.topics.names()))
        except KafkaError:
            # This node cannot find out what they match; what was found out elsewhere stays.
            self._groups.resolving.pop(self._group_id, None)
            return nothing()
        return self._step()

    def _step(self) -> Outcome[None]:
        if self._group_id not in self._groups.resolving:
            return nothing()  # an undo came between: the next heartbeat starts anew
        assert self._matching is not None
        if not self._matching.step():
            self._groups.context.set_deadline(f"regex/{self._group_id}", 0, self._step)
            return nothing()
        return self._finish(self._matching.found)

    def _finish(self, matched: dict[str, set[str]]) -> Outcome[None]:
        groups = self._groups
        group = groups.find(self._group_id)
        groups.resolving.pop(self._group_id, None)
        if group is None:
            return nothing()
        now_ms = groups.wall_ms()
        records: list[CoordinatorRecord] = []
        changed = False
        topics = {regex: frozenset(names) for regex, names in matched.items() if regex in group.regex_users}
        for regex, names in topics.items():
            changed = changed or names != group.regex_topics(regex)
            records.append(regex_record(group.group_id, regex, ResolvedRegex(names, self._version, now_ms)))
        move_epoch(groups, group, topics_resolved(group, topics), changed, records)
        # All at once or one by one: the epoch is behind as long as it does not take into account what they match.
        return Outcome(records, None, failed=self._failed, atomic=False)

    def _failed(self, _: ErrorCode) -> None:
        self._groups.seen.pop(self._group_id, None)
