"""What a group is and who is in it: classic and KIP-848 groups described alike.

librdkafka describes both kinds. What it leaves out of the newer one (epochs, states such as reconciling, what a member
subscribed to) is asked for directly, and left out where that is not possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaException

from tapelog.cli.connect import Connection, missing_group
from tapelog.cli.output import EXIT_NOT_FOUND, CliError
from tapelog.cli.reset import Place
from tapelog.wire.sink_markers import holds_markers, may_hold_markers

if TYPE_CHECKING:
    from tapelog.wire.messages import consumer_group_describe_response as answers
    from tapelog.wire.messages.list_groups_response import ListedGroup

MARKERS = "spark markers"
MEMBER_TYPES = {0: "classic", 1: "consumer"}


@dataclass(frozen=True, slots=True)
class Member:
    """One member. `target` is what the newer protocol wants it to have; None in a classic group."""

    member_id: str
    client_id: str = ""
    host: str = ""
    instance_id: str | None = None
    partitions: tuple[Place, ...] = ()
    target: tuple[Place, ...] | None = None
    epoch: int | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ()
    regex: str | None = None
    protocol: str | None = None

    @property
    def settled(self) -> bool:
        """Whether it has what it should have."""
        return self.target is None or set(self.target) == set(self.partitions)


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A group. Epochs are None where there are none (a classic group), or they could not be asked for."""

    group: str
    kind: str
    state: str
    assignor: str | None = None
    coordinator: int | None = None
    simple: bool = False
    epoch: int | None = None
    assignment_epoch: int | None = None
    members: tuple[Member, ...] = field(default=())

    @property
    def owners(self) -> dict[Place, Member]:
        """Partition → the member that has it."""
        return {place: member for member in self.members for place in member.partitions}


def state_name(state: Any) -> str:
    """`stable`, `empty`, `preparing rebalancing`, …"""
    return state.name.lower().replace("_", " ") if isinstance(state, ConsumerGroupState) else "unknown"


def kind_name(kind: Any) -> str:
    """`classic` or `consumer`; a cluster that does not say has only classic groups."""
    known = isinstance(kind, ConsumerGroupType) and kind != ConsumerGroupType.UNKNOWN
    return kind.name.lower() if known else "classic"


def words_of(name: str) -> str:
    """A state as Kafka spells it (`PreparingRebalance`), in words."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def describe_group(connection: Connection, group: str) -> GroupInfo:
    """A group that exists; CliError otherwise."""
    future = connection.admin.describe_consumer_groups([group], request_timeout=connection.timeout_s)[group]
    try:
        found = connection.result(future, group=group)
    except CliError as error:
        if error.exit_code == EXIT_NOT_FOUND:
            return _other_kind(connection, group)
        raise
    if found.state == ConsumerGroupState.DEAD:
        return _other_kind(connection, group)
    kind = kind_name(getattr(found, "type", None))
    info = GroupInfo(
        group,
        kind,
        state_name(found.state),
        found.partition_assignor or None,
        None if found.coordinator is None else found.coordinator.id,
        bool(found.is_simple_consumer_group),
        members=tuple(sorted((_member(one, kind) for one in found.members), key=lambda one: one.member_id)),
    )
    return info if kind != "consumer" else _with_epochs(connection, info)


def _other_kind(connection: Connection, group: str) -> GroupInfo:
    """A group that librdkafka does not describe: a share group, or none."""
    listed = list_all(connection)
    if not any(one.group == group and one.kind == "share" for one in listed):
        raise missing_group(group, (one.group for one in listed))
    from tapelog.cli.share_groups import describe_share_group

    return describe_share_group(connection, group)


def _member(found: Any, kind: str) -> Member:
    target = getattr(found, "target_assignment", None)
    return Member(
        found.member_id,
        found.client_id,
        found.host.lstrip("/"),
        found.group_instance_id,
        _places(found.assignment.topic_partitions),
        _places(target.topic_partitions) if kind == "consumer" and target is not None else None,
    )


def _places(parts: Iterable[Any]) -> tuple[Place, ...]:
    return tuple(sorted((part.topic, part.partition) for part in parts))


def _with_epochs(connection: Connection, info: GroupInfo) -> GroupInfo:
    from tapelog.cli.raw import GROUP, Wire
    from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
    from tapelog.wire.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse

    try:
        with Wire(connection) as wire:
            told = wire.ask(
                ConsumerGroupDescribeRequest([info.group]),
                ConsumerGroupDescribeResponse,
                wire.coordinator(info.group, GROUP),
            )
    except CliError:
        return info  # no way to ask: what librdkafka told must do
    if not told.groups or told.groups[0].error_code:
        return info
    return from_answer(info, told.groups[0])


def from_answer(info: GroupInfo, group: answers.DescribedGroup) -> GroupInfo:
    """The group as its coordinator describes it."""
    members = tuple(
        Member(
            one.member_id,
            one.client_id,
            one.client_host.lstrip("/"),
            one.instance_id,
            _assigned(one.assignment),
            _assigned(one.target_assignment),
            one.member_epoch,
            one.rack_id,
            tuple(one.subscribed_topic_names),
            one.subscribed_topic_regex or None,
            MEMBER_TYPES.get(one.member_type),
        )
        for one in sorted(group.members, key=lambda one: one.member_id)
    )
    return replace(
        info,
        state=words_of(group.group_state),
        assignor=group.assignor_name or info.assignor,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        members=members,
    )


def _assigned(assignment: answers.Assignment) -> tuple[Place, ...]:
    return tuple(
        sorted((part.topic_name, number) for part in assignment.topic_partitions for number in part.partitions)
    )


@dataclass(frozen=True, slots=True, order=True)
class Listed:
    """A row of `tape group list`. `simple`: it only commits; nobody has ever joined it."""

    group: str
    kind: str
    state: str
    simple: bool = False


def type_text(kind: str, simple: bool, markers: bool = False) -> str:
    """What a group is, in a word or two: as its protocol says, or what else is known of it."""
    return MARKERS if markers else "simple" if simple else kind


def list_all(connection: Connection) -> list[Listed]:
    """Every group of every kind, sorted; only what librdkafka lists where brokers cannot be asked directly."""
    from tapelog.cli.raw import Wire
    from tapelog.wire.messages.list_groups_request import ListGroupsRequest
    from tapelog.wire.messages.list_groups_response import ListGroupsResponse

    try:
        with Wire(connection) as wire:
            if wire.serves(ListGroupsRequest, 5):
                told = [wire.ask(ListGroupsRequest(), ListGroupsResponse, node) for node in wire.nodes()]
                listed = (group for answer in told for group in answer.groups)
                return sorted({_listed(one) for one in listed})
    except CliError:
        pass
    answer = connection.result(connection.admin.list_consumer_groups(request_timeout=connection.timeout_s))
    return sorted(
        Listed(
            entry.group_id,
            kind_name(getattr(entry, "type", None)),
            state_name(entry.state),
            bool(entry.is_simple_consumer_group),
        )
        for entry in answer.valid
    )


def _listed(one: ListedGroup) -> Listed:
    kind = one.group_type.lower()
    return Listed(one.group_id, kind, words_of(one.group_state), kind == "classic" and not one.protocol_type)


def marker_groups(connection: Connection, listed: Iterable[Listed]) -> frozenset[str]:
    """Groups that hold markers of Spark's exactly-once sink and nothing else. Where offsets may not be read, names that
    nobody chooses by accident decide.
    """
    named = [one.group for one in listed if one.kind == "classic" and may_hold_markers(one.group)]
    if not named:
        return frozenset()
    from tapelog.toolkit.lag import LagReader

    with LagReader(connection.config, admin=connection.admin, timeout_s=connection.timeout_s) as reader:
        try:
            return frozenset(reader.marker_groups(named))
        except KafkaException:
            return frozenset(name for name in named if holds_markers(name, ()))


def left_out_text(count: int) -> str:
    """What was not shown, and how to see it."""
    which = "1 group that holds" if count == 1 else f"{count:,} groups that hold"
    return f"left out: {which} markers of Spark's exactly-once sink, which nobody reads; --markers shows them"


def span(places: Iterable[Place]) -> str:
    """Partitions in few characters: `orders:0-2,5 audit:1`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(places):
        by_topic.setdefault(topic, []).append(number)
    return " ".join(f"{topic}:{_runs(numbers)}" for topic, numbers in by_topic.items())


def _runs(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
