"""When a member shall be heard of next: after the usual interval, or sooner while it waits for something.

Who joins, or changes its mind, before the assignment interval is over comes back when it is. So does everybody heard of
shortly after targets were computed: members seldom come alone, and the next ones wait for what it will have to release.
Who waits for partitions that others have yet to release asks for them every second, and so does everybody while targets
are being computed. Clients follow whatever interval the last answer named. However large the group, those who come back
sooner do not come all at once.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from tapelog.coordinators.consumer.member import UNRELEASED_PARTITIONS, CurrentAssignment
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.subscription import Seat
from tapelog.coordinators.consumer.target import due_in_ms

SOON_MS_MIN: Final = 100
"""Nobody is asked to come back sooner than this."""

RELEASE_MS: Final = 1000
"""How often a member asks whether others have released what it should own."""

MEMBERS_PER_MS: Final = 1
"""Those who come back sooner are spread over as many milliseconds as their group has members by this."""


def next_heartbeat_ms(groups: ConsumerGroups, seat: Seat, current: CurrentAssignment) -> int:
    """After how long the member shall send its next heartbeat, never later than usual."""
    usual_ms = groups.config.heartbeat_interval_ms(seat.group.group_id)
    due_ms = due_in_ms(groups, seat.group)
    if current.state == UNRELEASED_PARTITIONS or seat.group.group_id in groups.computing:
        soon_ms = RELEASE_MS
    elif seat.is_wish_new or due_ms > 0:
        soon_ms = max(SOON_MS_MIN, due_ms)
    else:
        return usual_ms
    spread_ms = len(seat.group.metadata) // MEMBERS_PER_MS
    return min(usual_ms, soon_ms + (crc32(seat.member_id.encode()) % spread_ms if spread_ms else 0))
