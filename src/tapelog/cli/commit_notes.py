"""What groups wrote beside their offsets, exactly. librdkafka hands such notes on without their length, so that what it
tells may end with bytes of something else; where there are any, brokers are asked directly. (Its Python clients commit
the zero byte that ends a C string along with their notes: that is no part of them.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapelog.cli.connect import Connection
from tapelog.cli.output import CliError
from tapelog.cli.reset import Place
from tapelog.toolkit.lag.values import Committed

BY_GROUPS, BY_NAMES = 8, 9
"""OffsetFetch: the first version that asks for groups, and the last that names topics."""

Offsets = dict[str, dict[Place, Committed]]


def with_notes(connection: Connection, told: Mapping[str, Mapping[Place, Committed]]) -> Offsets:
    """The same offsets with exact notes; as told where there are none, or where brokers cannot be asked."""
    found: Offsets = {group: dict(offsets) for group, offsets in told.items()}
    noted = [group for group, offsets in found.items() if any(one.metadata for one in offsets.values())]
    if noted:
        try:
            _ask(connection, noted, found)
        except CliError:
            pass  # no way to ask: what librdkafka told must do
    return found


def _ask(connection: Connection, groups: list[str], found: Offsets) -> None:
    from tapelog.cli.raw import GROUP, Wire
    from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
    from tapelog.wire.messages.offset_fetch_response import OffsetFetchResponse

    with Wire(connection) as wire:
        for group in groups:
            node = wire.coordinator(group, GROUP)
            if not wire.serves(OffsetFetchRequest, BY_GROUPS, node):
                return
            version = BY_NAMES if wire.serves(OffsetFetchRequest, BY_NAMES, node) else BY_GROUPS
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
            for answer in wire.ask(request, OffsetFetchResponse, node, version).groups:
                for topic in answer.topics:
                    for part in topic.partitions:
                        place = (topic.name, part.partition_index)
                        known = found[group].get(place)
                        if known is not None and known.offset == part.committed_offset and not part.error_code:
                            found[group][place] = replace(known, metadata=(part.metadata or "").rstrip("\0"))
