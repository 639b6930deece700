"""Text scenarios of groups of the newer protocol: the commands of `story.Story`, and those of its consumers.

`tests/scenarios/consumer_*.txt` are run by test_consumer_scenarios.py. A consumer's member id is its name, with a
number from its second life on. It does at once what the answer to a heartbeat asks for, and says at its next one what
it owns if that changed; with `busy=yes` it does neither.
"""

from __future__ import annotations

from typing import Any

from tapelog.coordinators.records import decode_record
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.unit.coordinators.story import Client, Story

Shares = dict[bytes, list[int]]


class Consumer(Client):
    """What a consumer remembers between its heartbeats."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lives = 0
        self.regex: str | None = None
        self.topics_said: list[str] | None = ["orders"]
        self.assignor: str | None = None
        self.rack: str | None = None
        self.timeout_ms = 60_000
        self.start()

    def start(self) -> None:
        """It knows nothing."""
        self.lives += 1
        self.member_id = self.name if self.lives == 1 else f"{self.name}{self.lives}"
        self.rejoin()

    def rejoin(self) -> None:
        """It owns nothing."""
        self.generation = 0
        self.owned: Shares = {}
        self.reported: Shares = {}


class ConsumerStory(Story):
    """Runs commands against a bench and tells what happened."""

    def consumer(self, name: str) -> Consumer:
        client = self.clients.setdefault(name, Consumer(name))
        assert isinstance(client, Consumer), "a client is of one protocol"
        return client

    # -- heartbeats

    def do_beat(self, plain: list[str], named: dict[str, str]) -> None:
        """beat CONSUMER... [group= topics= regex= instance= assignor= rack= timeout= epoch= owned= version= member=
        full= busy=]"""
        for name in plain:
            self._beat(self.consumer(name), named)

    def _beat(self, consumer: Consumer, named: dict[str, str]) -> None:
        changes = {"topics", "regex", "instance", "assignor", "rack", "timeout"} & set(named)
        if "topics" in named:
            consumer.topics_said = [topic for topic in named["topics"].split(",") if topic]
        consumer.group = named.get("group", consumer.group)
        consumer.instance = named.get("instance", consumer.instance)
        consumer.regex = named.get("regex", consumer.regex)
        consumer.assignor = named.get("assignor", consumer.assignor)
        consumer.rack = named.get("rack", consumer.rack)
        consumer.timeout_ms = int(named.get("timeout", consumer.timeout_ms))
        epoch = int(named.get("epoch", consumer.generation))
        full = epoch == 0 or "full" in named
        request = ConsumerGroupHeartbeatRequest(
            group_id=consumer.group,
            member_id=named.get("member", consumer.member_id),
            member_epoch=epoch,
            instance_id=consumer.instance,
        )
        if full or changes:
            request.subscribed_topic_names = consumer.topics_said
            request.subscribed_topic_regex = consumer.regex
            request.server_assignor = consumer.assignor
            request.rack_id = consumer.rack
        if full:
            request.rebalance_timeout_ms = consumer.timeout_ms
        owned = self._shares(named["owned"]) if "owned" in named else consumer.owned
        if full or owned != consumer.reported:
            request.topic_partitions = [TopicPartitions(topic_id=t, partitions=p) for t, p in sorted(owned.items())]
            consumer.reported = {} if epoch == 0 else owned
            if epoch == 0:
                request.topic_partitions = []

        def tell(response: Any) -> str:
            return self._heard(consumer, response, "busy" in named)

        label = f"{consumer.name} beat"
        self.ask(label, "consumer_group_heartbeat", request, int(named.get("version", "1")), tell, consumer.name)

    def _heard(self, consumer: Consumer, response: Any, busy: bool) -> str:
        code = ErrorCode(response.error_code)
        if code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            consumer.rejoin()
        if code != ErrorCode.NONE:
            return code.name
        consumer.generation = response.member_epoch
        consumer.member_id = response.member_id
        text = f"epoch {response.member_epoch}"
        if response.member_id not in (consumer.name, f"{consumer.name}{consumer.lives}"):
            text += f" as {self.name(response.member_id)}"
        if response.heartbeat_interval_ms not in (0, 5000):
            text += f", every {response.heartbeat_interval_ms} ms"
        if response.assignment is None:
            return text
        shares = {topic.topic_id: topic.partitions for topic in response.assignment.topic_partitions}
        if not busy:
            consumer.owned = shares
        return f"{text}, {self.text_of(shares)}"

    def do_quit(self, plain: list[str], named: dict[str, str]) -> None:
        """quit CONSUMER... [epoch=]: leave; static ones for a while"""
        for name in plain:
            consumer = self.consumer(name)
            epoch = int(named.get("epoch", "-1" if consumer.instance is None else "-2"))
            request = ConsumerGroupHeartbeatRequest(
                group_id=consumer.group,
                member_id=consumer.member_id,
                member_epoch=epoch,
                instance_id=consumer.instance,
            )

            def tell(response: Any) -> str:
                code = ErrorCode(response.error_code)
                return code.name if code != ErrorCode.NONE else f"epoch {response.member_epoch}"

            self.ask(f"{name} quit", "consumer_group_heartbeat", request, 1, tell, name)
            consumer.start()

    def do_restart(self, plain: list[str], named: dict[str, str]) -> None:
        """restart CONSUMER...: its process starts anew, without a word to the coordinator"""
        for name in plain:
            self.consumer(name).start()

    def do_keep_beating(self, plain: list[str], named: dict[str, str]) -> None:
        """keep-beating CONSUMER... 60s: time passes, and they send heartbeats; tells only what is new in the end"""
        names, told = plain[:-1], self.told
        for _ in range(int(plain[-1][:-1]) // 5):
            self.bench.advance(5000)
            self.told = []
            self.do_beat(names, {})
        self.told = [*told, *self.told]

    # -- the world

    def do_topic(self, plain: list[str], named: dict[str, str]) -> None:
        """topic NAME PARTITIONS: it is created, or grows"""
        self.bench.topics.create(plain[0], int(plain[1]))
        self.bench.coordinator.on_topics_changed(plain[:1])
        self.bench.settle()

    def do_delete_topic(self, plain: list[str], named: dict[str, str]) -> None:
        """delete-topic NAME"""
        super().do_delete_topic(plain, named)
        self.bench.coordinator.on_topics_changed(plain)

    def do_racks(self, plain: list[str], named: dict[str, str]) -> None:
        """racks TOPIC RACK...: of its partitions, one by one"""
        self.bench.topics.rack_names[plain[0]] = [frozenset([rack]) for rack in plain[1:]]
        self.bench.coordinator.on_brokers_changed()

    def do_set_group(self, plain: list[str], named: dict[str, str]) -> None:
        """set-group GROUP NAME=VALUE..."""
        for name, value in named.items():
            self.bench.overrides[(plain[0], name)] = value

    def do_fetch(self, plain: list[str], named: dict[str, str]) -> None:
        """fetch GROUP [stable] [as=CONSUMER epoch=]"""
        if "as" not in named:
            super().do_fetch(plain, named)
            return
        consumer = self.consumer(named["as"])
        group = OffsetFetchRequestGroup(
            group_id=plain[0],
            member_id=consumer.member_id,
            member_epoch=int(named.get("epoch", consumer.generation)),
            topics=None,
        )

        def tell(response: Any) -> str:
            return ErrorCode(response.groups[0].error_code).name

        self.ask(f"fetch {plain[0]} as {consumer.name}", "offset_fetch", OffsetFetchRequest(groups=[group]), 9, tell)

    def do_consumers(self, plain: list[str], named: dict[str, str]) -> None:
        """consumers GROUP...: ConsumerGroupDescribe"""

        def tell(response: Any) -> str:
            lines = []
            for group in response.groups:
                if group.error_code:
                    lines.append(f"{group.group_id} {ErrorCode(group.error_code).name}")
                    continue
                epochs = f"epoch {group.group_epoch}, targets of {group.assignment_epoch}, {group.assignor_name}"
                lines.append(f"{group.group_id} {group.group_state}, {epochs}")
                lines += [f"  {self._member(member)}" for member in group.members]
            return "\n".join(lines)

        self.ask("consumers", "consumer_group_describe", ConsumerGroupDescribeRequest(group_ids=plain), 1, tell)

    def _member(self, member: Any) -> str:
        static = f" instance {member.instance_id}" if member.instance_id else ""
        regex = f" regex {member.subscribed_topic_regex}" if member.subscribed_topic_regex else ""
        owned = {t.topic_id: t.partitions for t in member.assignment.topic_partitions}
        target = {t.topic_id: t.partitions for t in member.target_assignment.topic_partitions}
        kind = " classic" if member.member_type == 0 else ""
        text = f"{self.name(member.member_id)}{static}{kind} epoch {member.member_epoch}{regex}: {self.text_of(owned)}"
        return text if owned == target else f"{text}; should have {self.text_of(target)}"

    # -- texts

    def _shares(self, text: str) -> Shares:
        """orders/0/1,events/0"""
        shares: Shares = {}
        for part in [part for part in text.split(",") if part]:
            topic, *partitions = part.split("/")
            shares[self.bench.topics.ids[topic]] = [int(partition) for partition in partitions]
        return shares

    def text_of(self, shares: Shares) -> str:
        """orders/0/1 events/0"""
        named = [(self.bench.topics.name_of(t) or f"{t.rstrip(bytes(15))[:6]!r}", p) for t, p in shares.items()]
        return " ".join("/".join([name, *map(str, partitions)]) for name, partitions in sorted(named)) or "nothing"

    def _record(self, key: bytes, value: bytes | None) -> str:
        record = decode_record(key, value)
        assert record is not None
        kind = type(record.key).__name__
        if not kind.startswith("ConsumerGroup"):
            return super()._record(key, value)
        found: Any = record.key
        what = kind.removeprefix("ConsumerGroup").removesuffix("Key")
        who = getattr(found, "member_id", None) or getattr(found, "regular_expression", None)
        place = f"{what} {found.group_id}" + (f"/{who}" if who else "")
        return f"{place} gone" if record.value is None else f"{place}: {self._value(record.value)}"

    def _value(self, value: Any) -> str:
        names = {
            "epoch": lambda v: f"epoch {v.epoch}",
            "assignment_epoch": lambda v: f"epoch {v.assignment_epoch}",
            "topic_partitions": lambda v: self.text_of({t.topic_id: t.partitions for t in v.topic_partitions}),
            "subscribed_topic_names": lambda v: ",".join(v.subscribed_topic_names) or (v.subscribed_topic_regex or "-"),
            "topics": lambda v: ",".join(v.topics) or "-",
        }
        for name, text in names.items():
            if hasattr(value, name):
                return text(value)
        owned = self.text_of({t.topic_id: t.partitions for t in value.assigned_partitions})
        revoking = self.text_of({t.topic_id: t.partitions for t in value.partitions_pending_revocation})
        state = ("stable", "unrevoked", "unreleased")[value.state]
        return f"epoch {value.member_epoch} {state} {owned}" + (f" - {revoking}" if revoking != "nothing" else "")
