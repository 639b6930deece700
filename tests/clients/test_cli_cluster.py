"""The cluster commands on a real cluster: what is wrong is shown, brokers are emptied and taken out, load is seen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from tapelog.cli.output import reset_consoles
from tapelog.cli.raw import Wire
from tapelog.testing import Cluster
from tests.clients.cluster_clients import QUIET, whole
from tests.support.names import Fresh
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_describe_shows_who_is_missing_and_the_exit_code_says_so(
    cluster: Cluster, replicated: str, on_cluster: Tape
) -> None:
    healthy = on_cluster.json("cluster", "describe", "--check")
    assert [one["state"] for one in healthy["brokers"]] == ["up"] * 3
    assert len(healthy["quorum"]["voters"]) == 3 and healthy["offline"] == healthy["under_replicated"] == []
    cluster.node(2).kill()
    until(
        lambda: any(one["state"] == "fenced" for one in on_cluster.json("cluster", "describe")["brokers"]),
        "node 2 fenced",
    )

    def missing() -> set[tuple[int, ...]]:
        shown = on_cluster.json("cluster", "describe", "--check", code=(0, 5))["under_replicated"]
        return {tuple(one["missing"]) for one in shown}

    until(lambda: missing() == {(2,)}, "whichever node is asked knows what lacks a replica")
    on_cluster("cluster", "describe", "--check", code=5)
    assert "under-replicated" in on_cluster("cluster", "describe")
    cluster.node(2).start()
    whole(cluster, replicated)


def test_a_lost_quorum_is_told_in_time_and_nothing_is_said_to_be_well(
    fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(nodes=4, settings={"offsets.topic.num.partitions": 1}) as four:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", four.bootstrap)
        tape = Tape(capsys, monkeypatch)
        tape("topic", "create", fresh(), "-p", "4", "-r", "1")
        tape("cluster", "describe", "--check")
        four.node(2).kill()
        four.node(3).kill()
        until(lambda: tape.json("cluster", "describe", "--timeout", "2")["quorum"] is None, "no controller answers")
        shares: set[float | None] = set()

        def patience_s(wire: Wire, tries: int = 1) -> float:
            shares.add(wire._deadline)
            return patience_of(wire, tries)

        patience_of = Wire._patience_s
        with monkeypatch.context() as patched:
            patched.setattr(Wire, "_patience_s", patience_s)
            shown = tape("cluster", "describe", "--check", "--timeout", "6", code=6)
        assert len(shares) == 1 and None not in shares, "one timeout for all who are silent"
        assert "✔" not in shown and "2 of 4 brokers up" in shown
        assert "the metadata quorum does not answer (no controller answered within 6 s)" in shown.splitlines()[1]
        assert "`tape node DIR/node-3`" in shown
        for words in (("rebalance", "--plan"), ("broker", "drain", "4", "--plan")):
            tape(*words, "--timeout", "2", code=1)
            assert "the metadata quorum does not answer" in tape.err
    reset_consoles()


def test_preferred_leaders_are_planned_and_asked_for_before_they_lead_again(
    fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leads_now() -> int:
        found: int = tape.json("broker", "list")[1]["leaders"]
        return found

    with Cluster(nodes=3, settings={"offsets.topic.num.partitions": 1}) as three:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", three.bootstrap)
        tape = Tape(capsys, monkeypatch)
        tape("topic", "create", fresh(), "-p", "6", "-r", "3")
        tape("rebalance", "--apply", "--yes")
        assert "nothing to do" in tape("rebalance", "--plan")
        three.node(2).restart()
        until(lambda: not tape.json("cluster", "describe")["under_replicated"], "all in sync again")
        assert leads_now() == 0
        assert "2 partitions go back to their preferred leaders" in tape("rebalance", "--plan")
        tape("rebalance", "--apply", code=2)
        assert "this needs a yes" in tape.err and leads_now() == 0
        assert tape.json("rebalance", "--apply", "--yes")["applied"] is True
        until(lambda: leads_now() == 2, "the preferred replica leads")
    reset_consoles()


def test_the_recipe_of_a_rolling_restart_ends_with_the_leaders_back(
    fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/operate/cluster.md, "Restarting"."""

    def well() -> bool:
        described: dict[str, Any] = tape.json("cluster", "describe", "--check", code=(0, 5, 6))
        return not (described["offline"] or described["under_replicated"])

    with Cluster(nodes=3, settings={"offsets.topic.num.partitions": 3}) as three:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", three.bootstrap)
        tape, name = Tape(capsys, monkeypatch), fresh()
        tape("topic", "create", name, "-p", "6", "-r", "3")
        tape("rebalance", "--apply", "--yes")
        tape("produce", name, "a")
        tape("consume", name, "--group", fresh())  # makes __consumer_offsets
        for number in (1, 2, 3):
            three.node(number).restart()
            until(well, f"all in sync after node {number}")
            tape("cluster", "describe", "--check")
        assert tape.json("broker", "list")[2]["leaders"] == 0, "nobody gives back what the last one handed over"
        tape("cluster", "elect", code=2)
        assert "this needs a yes" in tape.err
        assert tape.json("cluster", "elect", name, "--yes")["elected"][0]["topic"] == name
        assert "leads" in tape("cluster", "elect", "--yes"), "those of internal topics as well"
        until(lambda: tape.json("cluster", "describe")["not_preferred"] == 0, "the preferred replicas lead")
        assert sorted(part["leader"] for part in tape.json("topic", "describe", name)["partitions"]) == [
            1,
            1,
            2,
            2,
            3,
            3,
        ]
        assert "every partition is led by its preferred replica" in tape("cluster", "elect", "--yes")
        tape("cluster", "elect", "nosuch", "--yes", code=4)
    reset_consoles()


def test_partitions_that_refuse_writes_are_shown_and_unclean_elections_are_counted(
    cluster: Cluster, replicated: str, fresh: Fresh, on_cluster: Tape
) -> None:
    def described() -> dict[str, Any]:
        found: dict[str, Any] = on_cluster.json("cluster", "describe")
        return found

    strict, careless = fresh(), fresh()
    on_cluster("topic", "create", strict, "-p", "1", "-r", "3", "--set", "min.insync.replicas=3")
    on_cluster(
        *("topic", "create", careless, "-p", "6", "-r", "2"),
        *("--set", "min.insync.replicas=1", "--set", "unclean.leader.election.enable=true"),
    )
    assert described()["unclean_elections"] == 0
    pairs = {part["partition"]: part for part in on_cluster.json("topic", "describe", careless)["partitions"]}
    shared = [index for index, part in pairs.items() if sorted(part["replicas"]) == [2, 3]]
    cluster.node(2).kill()
    until(lambda: [one["topic"] for one in described()["below_min_isr"]] == [strict], "too few in sync")
    assert "writes with acks=all are refused" in on_cluster("cluster", "describe")
    on_cluster("cluster", "describe", "--check", code=6)
    on_cluster("produce", careless, stdin="\n".join(map(str, range(100))))
    cluster.node(3).kill()
    cluster.node(2).start()
    until(lambda: described()["unclean_elections"] == len(shared) > 0, "node 2 leads what only node 3 had")
    assert "acknowledged records may be gone" in on_cluster("cluster", "describe")
    cluster.node(3).start()
    on_cluster("topic", "delete", strict, "--yes")
    whole(cluster, replicated)


def test_what_cannot_be_is_refused_in_words(replicated: str, on_cluster: Tape) -> None:
    assert "replicas, and without broker 3 only 2 brokers are left" in _refusal(
        on_cluster, "broker", "drain", "3", "-y"
    )
    assert "still holds" in _refusal(on_cluster, "broker", "remove", "3", "-y")
    on_cluster("broker", "drain", "9", "-y", code=4)
    assert "there are 1, 2, 3" in on_cluster.err


def test_a_broker_is_drained_gets_nothing_new_is_restored_and_taken_out(
    fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_node_4(topic: str) -> int:
        return sum(4 in part["replicas"] for part in tape.json("topic", "describe", topic)["partitions"])

    with Cluster(nodes=4, settings={"offsets.topic.num.partitions": 1}) as four:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", four.node(1).bootstrap)
        tape = Tape(capsys, monkeypatch)
        first, second, third = fresh(), fresh(), fresh()
        tape("topic", "create", first, "-p", "8", "-r", "3")
        tape("produce", first, stdin="\n".join(map(str, range(800))))
        assert on_node_4(first) > 0
        tape("broker", "drain", "4", "--plan")
        assert "`tape broker drain 4` does it" in tape.err
        tape("broker", "drain", "4", code=2)
        assert not any(one["cordoned"] for one in tape.json("broker", "list")), "without a yes nothing has changed"
        tape("broker", "drain", "4", "--yes")
        assert "gets nothing new" in tape.err
        assert on_node_4(first) == 0
        assert not any(4 in move["after"] for move in tape.json("rebalance")["moves"]), "nor does it get anything back"
        tape("topic", "create", second, "-p", "8", "-r", "3")
        assert on_node_4(second) == 0
        tape("broker", "restore", "4")
        until(lambda: _takes_part(tape, on_node_4, third), "node 4 gets replicas again")
        tape("broker", "drain", "4", "--yes")
        four.node(4).stop()
        assert tape.json("broker", "remove", "4", "--yes") == {"removed": 4, "left_quorum": False}
        until(lambda: [one["id"] for one in tape.json("broker", "list")] == [1, 2, 3], "nobody lists it")
        assert len(tape("consume", first, "--values").split()) == 800
    reset_consoles()


def test_a_node_with_a_new_disk_copies_its_data_and_votes_again(
    cluster: Cluster, replicated: str, on_cluster: Tape
) -> None:
    on_cluster("produce", replicated, stdin="\n".join(map(str, range(300))))
    node = cluster.node(3)
    node.stop()
    shutil.rmtree(node.directory / "logs")
    node.start()
    whole(cluster, replicated)
    quorum = on_cluster.json("cluster", "describe")["quorum"]
    assert 3 in [one["id"] for one in quorum["observers"]], "it has another directory id, so it only observes"
    assert on_cluster.json("cluster", "add-voter", str(node.directory), "--yes")["replaced"] is True
    voters = on_cluster.json("cluster", "describe")["quorum"]["voters"]
    assert sorted(one["id"] for one in voters) == [1, 2, 3]
    assert "is a voter already" in _refusal(on_cluster, "cluster", "add-voter", str(node.directory), "--yes")
    assert len(on_cluster("consume", replicated, "--values").split()) == 300


def _takes_part(tape: Tape, on_node_4: Callable[[str], int], topic: str) -> bool:
    """Whether a new topic gets replicas there; the broker's word reaches the controller with a heartbeat."""
    tape("topic", "create", topic, "-p", "8", "-r", "3")
    if on_node_4(topic):
        return True
    tape("topic", "delete", topic, "--yes")
    return False


def _refusal(tape: Tape, *words: str) -> str:
    tape(*words, code=1)
    return tape.err


def test_leaders_follow_the_load(cluster: Cluster, replicated: str, on_cluster: Tape) -> None:
    leaders = {
        part["partition"]: part["leader"] for part in on_cluster.json("topic", "describe", replicated)["partitions"]
    }
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **QUIET})
    for number in range(3000):
        key = b"heavy" if number % 2 else str(number).encode()
        producer.produce(replicated, b"x" * 100, key, partition=0 if number % 2 else 1)
    producer.flush(20)
    shown = on_cluster.json("topic", "skew", replicated, "--window", "200ms", "--sample", "3000")
    assert shown["keys"][0]["key"] == "heavy" and shown["keys"][0]["share"] == pytest.approx(0.5, abs=0.01)
    assert "heavy#0" in shown["advice"][0]
    plan = on_cluster.json("rebalance", "--by", "load", "--window", "200ms")
    assert plan["applied"] is False and all(sorted(m["before"]) == sorted(m["after"]) for m in plan["moves"])
    after = on_cluster.json("topic", "describe", replicated)["partitions"]
    assert {part["partition"]: part["leader"] for part in after} == leaders, "a plan changes nothing"


def test_replicas_move_with_throttle_and_progress(cluster: Cluster, on_cluster: Tape, fresh: Fresh) -> None:
    name = fresh()
    on_cluster("topic", "create", name, "-p", "6", "-r", "1")
    on_cluster("produce", name, stdin="\n".join(map(str, range(500))))
    moved = on_cluster.json("rebalance", "--apply", "--yes", "--throttle", "100MiB")
    held = [one["replicas_after"] for one in moved["brokers"]]
    assert max(held) - min(held) <= 1
    assert on_cluster.json("rebalance")["moves"] == []
    described = on_cluster.json("topic", "describe", name)
    assert sum(part["records"] for part in described["partitions"]) == 500
    assert not any("throttled" in config for config in described["configs"]), "the throttle is gone"
