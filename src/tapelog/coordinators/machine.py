"""The group coordinator's machine for one partition of `__consumer_offsets`: groups of both kinds, offsets, retention.

The runtime drives it; the facade (`groups.GroupCoordinator`) calls the handlers with its parts.
"""

from __future__ import annotations

from tapelog.base.ports import Entropy
from tapelog.coordinators.classic.ledger import Ledger
from tapelog.coordinators.classic.owner import ClassicOwner
from tapelog.coordinators.classic.rebalance import activate
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.config import GroupConfig
from tapelog.coordinators.consumer import sessions
from tapelog.coordinators.consumer.config import ConsumerConfig
from tapelog.coordinators.consumer.owner import ConsumerOwner
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.watch import TopicWatch
from tapelog.coordinators.offsets.expiry import OffsetExpiry
from tapelog.coordinators.offsets.loader import OffsetLoader
from tapelog.coordinators.offsets.owner import OffsetDesk, OffsetOwner
from tapelog.coordinators.outcome import CoordinatorRecord, Held, ShardContext
from tapelog.coordinators.records import decode_record, encode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.records.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tapelog.wire.records.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tapelog.wire.records.group_metadata_key import GroupMetadataKey


class GroupMachine:
    """State and soft state of the groups of one shard."""

    def __init__(
        self,
        context: ShardContext,
        config: GroupConfig,
        consumer_config: ConsumerConfig,
        entropy: Entropy,
        watch: TopicWatch,
        ledger: Ledger,
    ) -> None:
        self.state = GroupState()
        self.classic = ClassicGroups(self.state, config, context, entropy, ledger)
        self.consumer = ConsumerGroups(
            self.state.consumer, config, consumer_config, context, entropy, watch, self.classic
        )
        self._loader = OffsetLoader(self.state.offsets)
        self.offsets = OffsetDesk(self.state.offsets, config, context.clock, self.owner_of)
        self._expiry = OffsetExpiry(self.offsets, context, self.state.group_ids)
        self._serving = False

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log."""
        return encode_record(record)

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """A record from the log; None for kinds from the future."""
        return decode_record(key, value)

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        """Decode and replay a record from the log. Most are offsets, for which there is a short way."""
        if not self._loader.load(offset, key, value, producer_id):
            record = decode_record(key, value)
            if record is not None:
                self.replay(offset, record, producer_id)

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = -1) -> None:
        """Apply one record. What is known of a group beyond its records ends with it, or when it changes its kind."""
        self.state.replay(offset, record, producer_id)
        key, gone = record.key, record.value is None
        if isinstance(key, GroupMetadataKey):
            if gone:
                # Somebody waits only in a group that becomes one of the newer protocol: let them join that.
                self.classic.drop(key.group, ErrorCode.REBALANCE_IN_PROGRESS)
            elif self._serving and key.group not in self.classic.active:
                activate(self.classic, key.group)  # one of the newer protocol became classic
        elif isinstance(key, ConsumerGroupMetadataKey | ConsumerGroupMemberMetadataKey):
            if not gone:
                self.classic.drop(key.group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            elif not self.state.consumer.exists(key.group_id):
                self.consumer.forget(key.group_id)

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        """Apply the marker of a producer's transaction."""
        self.state.end_transaction(offset, producer_id, commit)

    def commit(self, offset: int) -> None:
        """Records below offset are committed."""
        self.state.commit(offset)

    def revert(self, offset: int, error: ErrorCode) -> None:
        """Records at or after offset never happened: groups they created go, members they removed are back."""
        self.state.revert(offset)
        self.classic.drop_undone(error)
        activate(self.classic)
        self.consumer.reset()
        sessions.activate(self.consumer)

    def on_loaded(self) -> None:
        """Expect heartbeats from the members there are, and expire offsets from time to time."""
        self._loader.forget()
        self._serving = True
        activate(self.classic)
        sessions.activate(self.consumer)
        self._expiry.start()

    def on_unloaded(self) -> None:
        """Whoever waits in a group looks for its new coordinator."""
        for group_id in list(self.classic.active):
            self.classic.drop(group_id, ErrorCode.NOT_COORDINATOR)

    def owner_of(self, group_id: str) -> OffsetOwner | None:
        """The group as the owner of offsets; None if there is none."""
        consumer = self.consumer.find(group_id)
        if consumer is not None:
            return ConsumerOwner(consumer)
        group = self.classic.find(group_id)
        return None if group is None else ClassicOwner(self.classic, group)

    def live_keys(self) -> list[object]:
        """A name for every live record."""
        return self.state.live_keys()

    def live_record(self, key: object) -> CoordinatorRecord | Held | list[object] | None:
        """The record that restores what the key names."""
        return self.state.live_record(key)

    def live_count(self) -> int:
        """About how many records are live."""
        return self.state.live_count()

    def invariants(self) -> None:
        """What must hold between any two operations."""
        self.classic.invariants()
        self.consumer.invariants()
        for group in self.state.consumer.groups():
            assert group.group_id not in self.state.metadata, f"{group.group_id} is of both kinds"
        self.state.offsets.pending.invariants()
