"""Text scenarios of the group coordinator: commands in, what happened out.

A scenario file is a list of steps separated by blank lines. A step is one or more command lines, a line `----`, and
the expected output. `tests/scenarios/groups_*.txt` are run by test_scenarios.py; TAPELOG_REWRITE=1 writes what happened
into them instead of comparing. Member ids are shown as the name they start with (the client's, or its instance id) and
a number: the first such id, the second, ...
"""

from __future__ import annotations

import shlex
from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.records import decode_record
from tapelog.wire.control_records import COMMIT, control_kind
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.delete_groups_request import DeleteGroupsRequest
from tapelog.wire.messages.describe_groups_request import DescribeGroupsRequest
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.list_groups_request import ListGroupsRequest
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.primitives import Writer
from tapelog.wire.record_batch import batches, records_of
from tests.unit.coordinators.bench import Bench
from tests.unit.coordinators.story_offsets import Client, OffsetVerbs


def subscription(topics: list[str]) -> bytes:
    """Consumer protocol metadata, version 0."""
    w = Writer()
    w.i16(0)
    w.array(len(topics))
    for topic in topics:
        w.string(topic)
    w.nullable_bytestring(None)
    return w.tobytes()


class Story(OffsetVerbs):
    """Runs commands against a bench and tells what happened."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.clients: dict[str, Client] = {}
        self.aliases: dict[str, str] = {}
        self.told: list[str] = []
        self.waiting: list[str] = []
        self.logged = 0

    def run(self, line: str) -> None:
        """One command."""
        words = shlex.split(line)
        command, rest = words[0], words[1:]
        plain = [word for word in rest if "=" not in word or "/" in word.split("=")[0]]
        named = dict(word.split("=", 1) for word in rest if word not in plain)
        getattr(self, "do_" + command.replace("-", "_"))(plain, named)
        if self.bench.coordinator.runtime.machine(0) is not None:
            self.bench.machine.invariants()

    def output(self) -> str:
        """What was told since the last call, and who still waits."""
        lines, self.told = self.told, []
        if self.waiting:
            lines.append("waiting: " + ", ".join(self.waiting))
        return "\n".join(lines) or "ok"

    # -- requests

    def client(self, name: str, named: dict[str, str]) -> Client:
        client = self.clients.setdefault(name, Client(name))
        client.group = named.get("group", client.group)
        client.instance = named.get("instance", client.instance)
        if "topics" in named:
            client.topics = named["topics"].split(",")
        if "protocols" in named:
            client.protocols = named["protocols"].split(",")
        return client

    def ask(self, label: str, api: str, request: Any, version: int, tell: Any, client: str = "admin") -> None:
        self.waiting.append(label)

        def done(response: Any) -> None:
            self.waiting.remove(label)
            self.told.append(f"{label}: {tell(response)}")

        getattr(self.bench.coordinator, api)(Caller(client, "/127.0.0.1", version), request, done)
        self.bench.settle()

    def do_join(self, plain: list[str], named: dict[str, str]) -> None:
        """join CLIENT [group= instance= topics= protocols= session= rebalance= version= member=]"""
        client = self.client(plain[0], named)
        client.member_id = named.get("member", client.member_id)
        metadata = subscription(client.topics)
        request = JoinGroupRequest(
            group_id=client.group,
            session_timeout_ms=int(named.get("session", "10000")),
            rebalance_timeout_ms=int(named.get("rebalance", "60000")),
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type=named.get("type", "consumer"),
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in client.protocols],
        )

        def tell(response: Any) -> str:
            code = ErrorCode(response.error_code)
            if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                client.member_id = response.member_id
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                client.member_id = ""
            if code != ErrorCode.NONE:
                return f"{code.name} {self.name(response.member_id)}".rstrip()
            client.generation, client.protocol = response.generation_id, response.protocol_name
            text = f"generation {response.generation_id} as {self.name(response.member_id)}"
            text += f", leader {self.name(response.leader)}, protocol {response.protocol_name}"
            if response.members:
                text += ", members " + " ".join(self.name(member.member_id) for member in response.members)
            return text + (", skip assignment" if response.skip_assignment else "")

        self.ask(f"{client.name} join", "join_group", request, int(named.get("version", "9")), tell, client.name)

    def do_enter(self, plain: list[str], named: dict[str, str]) -> None:
        """join, and again with the id given: enter CLIENT... [as for join]"""
        for name in plain:
            self.do_join([name], named)
            if self.told and "MEMBER_ID_REQUIRED" in self.told[-1]:
                self.told.pop()
                self.do_join([name], named)

    def do_sync(self, plain: list[str], named: dict[str, str]) -> None:
        """sync CLIENT [assign=CLIENT:TEXT,...]"""
        client = self.client(plain[0], named)
        shares = [pair.split(":") for pair in named.get("assign", "").split(",") if pair]
        request = SyncGroupRequest(
            group_id=client.group,
            generation_id=int(named.get("generation", client.generation)),
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type="consumer",
            protocol_name=client.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=self.clients[name].member_id, assignment=share.encode())
                for name, share in shares
            ],
        )

        def tell(response: Any) -> str:
            code = ErrorCode(response.error_code)
            return f"assigned '{response.assignment.decode()}'" if code == ErrorCode.NONE else code.name

        self.ask(f"{client.name} sync", "sync_group", request, 5, tell, client.name)

    def do_heartbeat(self, plain: list[str], named: dict[str, str]) -> None:
        """heartbeat CLIENT... [generation=]"""
        for name in plain:
            client = self.client(name, named)
            request = HeartbeatRequest(
                group_id=client.group,
                generation_id=int(named.get("generation", client.generation)),
                member_id=client.member_id,
                group_instance_id=client.instance,
            )
            self.ask(f"{name} heartbeat", "heartbeat", request, 4, _code, name)

    def do_leave(self, plain: list[str], named: dict[str, str]) -> None:
        """leave CLIENT... [instance=, version=]"""
        client = self.client(plain[0], {})
        if "instance" in named:
            members = [MemberIdentity(group_instance_id=named["instance"])]
        else:
            known = [self.clients.get(name, Client(name)) for name in plain]
            members = [
                MemberIdentity(member_id=who.member_id or who.name, group_instance_id=who.instance) for who in known
            ]
        version = int(named.get("version", "5"))
        request = LeaveGroupRequest(group_id=client.group, members=members)
        if version < 3:
            request = LeaveGroupRequest(group_id=client.group, member_id=client.member_id)

        def tell(response: Any) -> str:
            codes = [ErrorCode(member.error_code).name for member in response.members]
            for name in plain:
                self.client(name, {}).member_id = ""
            return " ".join([ErrorCode(response.error_code).name, *codes])

        self.ask(f"{' '.join(plain)} leave", "leave_group", request, version, tell)

    def do_describe(self, plain: list[str], named: dict[str, str]) -> None:
        """describe GROUP... [version=]"""
        request = DescribeGroupsRequest(groups=plain)

        def tell(response: Any) -> str:
            lines = []
            for group in response.groups:
                code = "" if group.error_code == 0 else f" {ErrorCode(group.error_code).name}"
                kind = f"{group.protocol_type}/{group.protocol_data}".rstrip("/")
                lines.append(f"{group.group_id} {group.group_state} {kind}".rstrip() + code)
                for member in group.members:
                    static = f" instance {member.group_instance_id}" if member.group_instance_id else ""
                    share = member.member_assignment.decode()
                    lines.append(f"  {self.name(member.member_id)}{static} '{share}'")
            return "\n".join(lines)

        self.ask("describe", "describe_groups", request, int(named.get("version", "6")), tell)

    def do_list(self, plain: list[str], named: dict[str, str]) -> None:
        """list [states=A,B] [types=A,B]"""
        request = ListGroupsRequest(
            states_filter=[s for s in named.get("states", "").split(",") if s],
            types_filter=[s for s in named.get("types", "").split(",") if s],
        )

        def tell(response: Any) -> str:
            if response.error_code:
                return ErrorCode(response.error_code).name
            groups = [f"{g.group_id} {g.group_state} {g.group_type} '{g.protocol_type}'" for g in response.groups]
            return "; ".join(groups) or "nothing"

        self.ask("list", "list_groups", request, 5, tell)

    def do_delete(self, plain: list[str], named: dict[str, str]) -> None:
        """delete GROUP..."""

        def tell(response: Any) -> str:
            return " ".join(f"{r.group_id} {ErrorCode(r.error_code).name}" for r in response.results)

        self.ask("delete", "delete_groups", DeleteGroupsRequest(groups_names=plain), 2, tell)

    # -- the world

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        """config NAME=VALUE...: start over with these broker settings"""
        self.bench = Bench(named)
        self.logged = 0

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        """advance 300ms|5s|30m|2h"""
        self.bench.advance(_milliseconds(plain[0]))

    def do_keep(self, plain: list[str], named: dict[str, str]) -> None:
        """keep CLIENT 2h: time passes, and the client sends its heartbeats; tells only what is out of the ordinary"""
        for _ in range(_milliseconds(plain[1]) // 5000):
            self.bench.advance(5000)
            self.do_heartbeat(plain[:1], {})
            if self.told[-1].endswith("heartbeat: NONE"):
                self.told.pop()

    def do_hold(self, plain: list[str], named: dict[str, str]) -> None:
        """appends are not committed until `release`"""
        self.bench.log.held = True

    def do_release(self, plain: list[str], named: dict[str, str]) -> None:
        """the high watermark catches up"""
        self.bench.log.held = False
        self.bench.release()

    def do_refuse(self, plain: list[str], named: dict[str, str]) -> None:
        """refuse CODE: appends fail from now on"""
        self.bench.log.refusal = ErrorCode[plain[0]]

    def do_accept(self, plain: list[str], named: dict[str, str]) -> None:
        """appends succeed again"""
        self.bench.log.refusal = None

    def do_take_back(self, plain: list[str], named: dict[str, str]) -> None:
        """take-back CODE: everything not committed is removed from the log"""
        end = self.bench.log.committed.get(0, 0)
        self.bench.log.truncate(0, end)
        self.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode[plain[0]])
        self.bench.settle()

    def do_resign(self, plain: list[str], named: dict[str, str]) -> None:
        """the node loses the partition"""
        self.bench.coordinator.runtime.on_resigned(0)
        self.bench.settle()

    def do_elect(self, plain: list[str], named: dict[str, str]) -> None:
        """the node leads the partition (again)"""
        self.bench.coordinator.runtime.on_elected(0, 2)
        self.bench.settle()

    def do_delete_topic(self, plain: list[str], named: dict[str, str]) -> None:
        """delete-topic NAME"""
        self.bench.topics.delete(plain[0])
        self.bench.coordinator.on_topics_deleted(plain)
        self.bench.settle()

    def do_log(self, plain: list[str], named: dict[str, str]) -> None:
        """the records appended since the last `log`"""
        for base, end, batch in self.bench.log.batches.get(0, []):
            if end <= self.logged:
                continue
            header = next(batches(batch, 0, len(batch)))
            prefix = f"producer {header.producer_id}: " if header.is_transactional else ""
            texts = [
                ("commit" if control_kind(record.key) == COMMIT else "abort")
                if header.is_control
                else self._record(record.key or b"", record.value)
                for record in records_of(batch, header)
            ]
            self.told.append(f"log {base}: {prefix}" + "; ".join(texts))
            self.logged = end

    def _record(self, key: bytes, value: bytes | None) -> str:
        record = decode_record(key, value)
        assert record is not None
        found: Any = record.key
        image: Any = record.value
        if hasattr(found, "topic"):
            what = f"offset {found.group} {found.topic}/{found.partition}"
            return f"{what} = {image.offset}" if image is not None else f"{what} gone"
        if image is None:
            return f"group {found.group} gone"
        members = " ".join(f"{self.name(m.member_id)}:'{m.assignment.decode()}'" for m in image.members)
        return f"group {found.group} generation {image.generation} [{members}]"

    # -- names

    def name(self, member_id: str) -> str:
        """A short, stable name for a random id."""
        if member_id and member_id not in self.aliases:
            prefix = member_id[:-37] if len(member_id) > 37 else member_id
            count = sum(1 for known in self.aliases.values() if known.split("#")[0] == prefix)
            self.aliases[member_id] = f"{prefix}#{count + 1}"
        return self.aliases.get(member_id, "")


def _code(response: Any) -> str:
    return ErrorCode(response.error_code).name


def _milliseconds(text: str) -> int:
    for unit, scale in (("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * scale
    raise ValueError(text)
