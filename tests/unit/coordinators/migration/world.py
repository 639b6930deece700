"""A group whose members speak both protocols, on a bench; and its stories as text.

A story's commands: `classic NAME… [eager|cooperative] [topics= instance= version=]` and `consumer NAME… [topics=
instance=]` make clients, `act NAME…` lets each do one thing, `run` lets all of them go on until nothing happens any
more, `live MS` for a time, `beat NAME…` sends a heartbeat without heeding the answer; `leave`, `crash`, `pause` end
them; `advance MS`, `topic NAME COUNT`, `restart` (the
coordinator), `hold`, `release` and `refuse` happen to the node; `group` and `log`
show.
"""

from __future__ import annotations

from typing import Any

from tapelog.coordinators.records import decode_record
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.record_batch import batches, records_of
from tests.unit.coordinators.bench import Bench
from tests.unit.coordinators.migration.clients import GROUP, SESSION_MS, ClassicClient, Client, ConsumerClient, Place

ROUNDS_MAX = 60
ROUND_MS = 500


class World:
    """The bench, the clients, and what happened since it was last told."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.settings = settings or {}
        self.bench = Bench(self.settings)
        self.boots = 0
        self.clients: dict[str, Client] = {}
        self.told: list[str] = []
        self.logged = 0

    # -- clients

    def add(self, client: Client) -> Client:
        self.clients[client.name] = client
        client.heard_ms = self.bench.clock.now_ms
        return client

    def classic(self, name: str, *, cooperative: bool = False, instance: str | None = None, **more: Any) -> Client:
        topics = more.pop("topics", ["orders"])
        return self.add(ClassicClient(self, name, topics, instance, cooperative=cooperative, **more))

    def consumer(self, name: str, *, instance: str | None = None, topics: list[str] | None = None) -> Client:
        return self.add(ConsumerClient(self, name, topics or ["orders"], instance))

    def changed(self, client: Client) -> None:
        """A client heard what it owns."""
        client.tell(f"owns {_named(client.owned)}")
        self.check()

    def run(self) -> None:
        """Everybody goes on, as time does, until a few rounds brought nothing new."""
        quiet = 0
        for _ in range(ROUNDS_MAX):
            said = len(self.told)
            for client in list(self.clients.values()):
                client.act()
            self.bench.advance(ROUND_MS)
            self.check()
            quiet = quiet + 1 if len(self.told) == said else 0
            if quiet == 6:
                return
        raise AssertionError(f"no rest after {ROUNDS_MAX} rounds: {self.told[-20:]}")

    def restart(self) -> None:
        """The coordinator fails over: what is not in the log is lost."""
        self.bench.coordinator.runtime.on_resigned(0)
        self.bench.settle()
        self.bench.coordinator.runtime.on_elected(0, 2)
        self.bench.settle()

    def reboot(self, *, keep: bool) -> None:
        """The node dies and starts again; what was not committed may be in the log or not. Nobody is answered."""
        log = self.bench.log
        if not keep:
            log.truncate(0, log.committed.get(0, 0))
        self.boots += 1
        now_ms = self.bench.clock.now_ms + 100
        self.bench = Bench(self.settings, seed=self.boots, log=log, topics=self.bench.topics, now_ms=now_ms)
        for client in self.clients.values():
            client.busy = False

    # -- what must hold

    def check(self) -> None:
        """No partition has two owners among those who may own one, and the machine is sound."""
        owners: dict[Place, str] = {}
        for client in self.clients.values():
            if self.bench.clock.now_ms - client.heard_ms >= SESSION_MS:
                continue  # long silent: the group may have gone on without it
            for place in client.owned:
                assert place not in owners, f"{place} is owned by {owners[place]} and by {client.name}"
                owners[place] = client.name
        if self.bench.coordinator.runtime.machine(0) is not None:
            self.bench.machine.invariants()

    def all_owned(self, topics: list[str]) -> bool:
        """Every partition of these topics has an owner."""
        owned = {place for client in self.clients.values() for place in client.owned}
        return owned == {(topic, p) for topic in topics for p in range(self.bench.topics.counts[topic])}

    # -- stories

    def command(self, line: str) -> None:
        words = line.split()
        plain = [word for word in words[1:] if "=" not in word]
        named = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        getattr(self, "do_" + words[0])(plain, named)

    def output(self) -> str:
        lines, self.told = self.told, []
        waiting = [client.name for client in self.clients.values() if client.busy]
        if waiting:
            lines.append("waiting: " + ", ".join(waiting))
        return "\n".join(lines) or "ok"

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        self.settings = self.settings | named
        self.bench = Bench(self.settings)

    def do_classic(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            if name not in ("eager", "cooperative"):
                self.classic(
                    name,
                    cooperative="cooperative" in plain,
                    instance=named.get("instance"),
                    topics=named.get("topics", "orders").split(","),
                    version=int(named.get("version", "3")),
                )

    def do_consumer(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            self.consumer(name, instance=named.get("instance"), topics=named.get("topics", "orders").split(","))

    def do_act(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            self.clients[name].act()

    def do_run(self, plain: list[str], named: dict[str, str]) -> None:
        self.run()

    def do_live(self, plain: list[str], named: dict[str, str]) -> None:
        """Everybody goes on for so many milliseconds."""
        for _ in range(0, int(plain[0]), 3_000):
            for client in list(self.clients.values()):
                client.act()
            self.bench.advance(3_000)
            self.check()

    def do_beat(self, plain: list[str], named: dict[str, str]) -> None:
        """A classic member sends a heartbeat and does not care for the answer."""
        for name in plain:
            client = self.clients[name]
            request = HeartbeatRequest(group_id=GROUP, generation_id=client.epoch, member_id=client.member_id)
            answers = self.bench.ask("heartbeat", request, 4)
            client.heard_ms = self.bench.clock.now_ms
            client.tell(f"heartbeat: {ErrorCode(answers[0].error_code).name}")

    def do_leave(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            self.clients.pop(name).leave()

    def do_pause(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            client = self.clients.pop(name)
            assert isinstance(client, ConsumerClient)
            client.pause()

    def do_crash(self, plain: list[str], named: dict[str, str]) -> None:
        for name in plain:
            self.clients.pop(name).life += 1

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        self.bench.advance(int(plain[0]))

    def do_topic(self, plain: list[str], named: dict[str, str]) -> None:
        """A topic has so many partitions from now on."""
        self.bench.topics.create(plain[0], int(plain[1]))
        self.bench.coordinator.on_topics_changed([plain[0]])

    def do_restart(self, plain: list[str], named: dict[str, str]) -> None:
        self.restart()

    def do_hold(self, plain: list[str], named: dict[str, str]) -> None:
        self.bench.log.held = True

    def do_release(self, plain: list[str], named: dict[str, str]) -> None:
        self.bench.log.held = False
        self.bench.release()

    def do_refuse(self, plain: list[str], named: dict[str, str]) -> None:
        self.bench.log.refusal = ErrorCode[plain[0]] if plain else None

    def do_group(self, plain: list[str], named: dict[str, str]) -> None:
        machine = self.bench.machine
        group = machine.consumer.find(GROUP)
        if group is not None:
            members = sorted(group.metadata.items())
            kinds = [f"{m.client_id} {'consumer' if m.classic is None else 'classic'}" for _, m in members]
            self.told.append(
                f"consumer group, {group.state(False)}, epoch {group.epoch}: {', '.join(kinds) or 'nobody'}"
            )
            return
        classic = machine.classic.find(GROUP)
        names = [member.client_id for member in classic.members.values()]
        self.told.append(
            f"classic group, {classic.state}, generation {classic.generation}: {', '.join(names) or 'nobody'}"
        )

    def do_log(self, plain: list[str], named: dict[str, str]) -> None:
        """The kinds of records since the last look."""
        kinds: list[str] = []
        for base, _, batch in self.bench.log.batches.get(0, []):
            for header in batches(batch, 0, len(batch)):
                for record in records_of(batch, header):
                    if base + record.offset - header.base_offset >= self.logged and record.key is not None:
                        decoded = decode_record(record.key, record.value)
                        assert decoded is not None
                        kinds.append(("-" if record.value is None else "+") + type(decoded.key).__name__[:-3])
        self.logged = self.bench.log.end_offset(0)
        self.told.extend(kinds)


def _named(places: set[Place]) -> str:
    return " ".join(f"{topic}-{partition}" for topic, partition in sorted(places)) or "nothing"
