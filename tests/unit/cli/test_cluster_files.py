"""A local cluster's directories: who votes, where everybody listens, what is kept and what is refused."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from tapelog.base.node_config import PORTS, Listener, NodeConfig
from tapelog.cli import node_files, up_cluster
from tapelog.cli.cluster_files import PlanError, directory_of, planned, present, replication_settings, write
from tapelog.cli.main import main
from tapelog.log.checkpoints import parse_meta_properties


def made(data: Path, nodes: int, port: int = 0, **settings: str) -> list[NodeConfig]:
    """The cluster written, as `tape up` would before it starts nodes."""
    plan = planned(str(data), "127.0.0.1", port, nodes, settings)
    write(plan)
    return [node.config for node in plan]


def directory_id(data: Path, number: int) -> str:
    return parse_meta_properties((data / f"node-{number}/logs/meta.properties").read_bytes())["directory.id"]


def test_three_voters_at_most_and_all_nodes_know_them_by_their_directories(tmp_path: Path) -> None:
    configs = made(tmp_path, 5)
    voters = configs[0].voters
    assert [voter.split("@")[0] for voter in voters] == ["1", "2", "3"]
    assert [voter.rpartition(":")[2] for voter in voters] == [directory_id(tmp_path, i) for i in (1, 2, 3)]
    assert all(config.voters == voters for config in configs)
    assert [config.roles for config in configs] == [("broker", "controller")] * 3 + [("broker",)] * 2
    assert [config.controller_listener is None for config in configs] == [False] * 3 + [True] * 2
    for config, voter in zip(configs, voters, strict=False):
        assert config.controller_listener is not None
        assert voter.split("@")[1].split(":")[1] == str(config.controller_listener.port)
    assert len({config.cluster_id for config in configs}) == 1


def test_what_is_written_is_what_a_node_reads(tmp_path: Path) -> None:
    configs = made(tmp_path, 3, **{"num.partitions": "6"})
    assert [node_files.load(directory_of(str(tmp_path), i)) for i in (1, 2, 3)] == configs
    assert configs[1].settings["num.partitions"] == "6"


def test_two_nodes_have_one_voter_because_two_would_both_be_needed(tmp_path: Path) -> None:
    assert [voter.split("@")[0] for voter in made(tmp_path, 2)[1].voters] == ["1"]


def test_node_i_listens_on_the_port_i_minus_1_further(tmp_path: Path) -> None:
    assert [config.listeners[0].port for config in made(tmp_path, 3, 19092)] == [19092, 19093, 19094]


def test_port_zero_gives_each_node_another_free_port_outside_of_outgoing_connections(tmp_path: Path) -> None:
    configs = made(tmp_path, 4)
    ports = [config.listeners[0].port for config in configs]
    ports += [config.controller_listener.port for config in configs if config.controller_listener]
    assert len(set(ports)) == 7 and all(PORTS[0] <= port < PORTS[1] for port in ports)


@pytest.mark.parametrize(("nodes", "copies", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (9, "3", "2")])
def test_topics_survive_the_loss_of_one_node_where_that_is_possible(nodes: int, copies: str, in_sync: str) -> None:
    found = replication_settings(nodes)
    assert {found[name] for name in found if name.endswith("replication.factor")} == {copies}
    assert {found[name] for name in found if "min.isr" in name or "min.insync" in name} == {in_sync}


def test_settings_overrule_them(tmp_path: Path) -> None:
    assert made(tmp_path, 3, **{"default.replication.factor": "1"})[0].settings["default.replication.factor"] == "1"


def test_a_second_start_keeps_ids_voters_and_ports_and_takes_new_settings(tmp_path: Path) -> None:
    first = made(tmp_path, 3, **{"num.partitions": "6"})
    again = made(tmp_path, 3)
    assert [config.cluster_id for config in again] == [config.cluster_id for config in first]
    assert again[0].voters == first[0].voters
    assert [config.listeners for config in again] == [config.listeners for config in first]
    assert "num.partitions" not in again[0].settings


def test_a_smaller_number_is_refused_with_what_to_do(tmp_path: Path) -> None:
    made(tmp_path, 3)
    with pytest.raises(PlanError, match="holds a cluster of 3 nodes") as caught:
        planned(str(tmp_path), "127.0.0.1", 0, 2, {})
    assert "--nodes 3" in caught.value.hint and "tape broker remove 3" in caught.value.hint


def test_a_larger_number_adds_brokers(tmp_path: Path) -> None:
    first = made(tmp_path, 3)
    more = made(tmp_path, 5)
    assert more[4].roles == ("broker",) and more[4].voters == first[0].voters
    assert more[4].cluster_id == first[0].cluster_id
    assert present(str(tmp_path)) == [1, 2, 3, 4, 5]


def test_a_node_alone_becomes_the_voter_of_its_cluster(tmp_path: Path) -> None:
    directory = str(tmp_path / "node-1")
    alone = node_files.configured(directory, "127.0.0.1", 9099, {})
    node_files.save(alone, directory)
    with pytest.raises(PlanError, match="never run"):
        planned(str(tmp_path), "127.0.0.1", 0, 3, {})
    (tmp_path / "node-1/logs").mkdir()
    (tmp_path / "node-1/logs/meta.properties").write_text("directory.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
    configs = made(tmp_path, 3)
    assert alone.controller_listener is not None
    assert configs[2].voters == [f"1@127.0.0.1:{alone.controller_listener.port}:AAAAAAAAAAAAAAAAAAAAAQ"]
    assert [config.roles for config in configs] == [("broker", "controller"), ("broker",), ("broker",)]


def test_a_node_that_was_made_a_voter_later_stays_a_controller(tmp_path: Path) -> None:
    made(tmp_path, 2)
    second = directory_of(str(tmp_path), 2)
    config = node_files.load(second)
    config.roles, config.controller_listener = ("broker", "controller"), Listener("CONTROLLER", "127.0.0.1", 19999)
    node_files.save(config, second)
    again = made(tmp_path, 3)
    assert [one.is_controller for one in again] == [True, True, False]
    assert str(again[1].controller_listener) == "CONTROLLER://127.0.0.1:19999"


def test_a_lost_directory_is_made_anew_and_is_not_the_voter_it_was(tmp_path: Path) -> None:
    first = made(tmp_path, 3)
    shutil.rmtree(tmp_path / "node-2")
    again = made(tmp_path, 3)
    assert again[1].voters == first[1].voters
    assert directory_id(tmp_path, 2) not in again[1].voters[1]
    assert again[1].controller_listener == first[1].controller_listener


def test_files_without_a_configuration_keep_their_directory_id(tmp_path: Path) -> None:
    made(tmp_path, 3)
    before = directory_id(tmp_path, 2)
    (tmp_path / "node-2/node.toml").unlink()
    made(tmp_path, 3)
    assert directory_id(tmp_path, 2) == before


def test_nodes_of_two_clusters_in_one_place_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "a", 3)
    made(tmp_path / "b", 3)
    shutil.rmtree(tmp_path / "a/node-3")
    (tmp_path / "b/node-3").rename(tmp_path / "a/node-3")
    with pytest.raises(PlanError, match="different clusters"):
        planned(str(tmp_path / "a"), "127.0.0.1", 0, 3, {})


def test_without_a_number_it_is_as_many_as_there_are(tmp_path: Path) -> None:
    assert up_cluster.size(str(tmp_path), None) is None, "one node alone"
    assert up_cluster.size(str(tmp_path), 3) == 3
    made(tmp_path, 3)
    assert up_cluster.size(str(tmp_path), None) == 3
    assert up_cluster.size(str(tmp_path), 1) == 1, "which is refused later, in words"


def taken_after_a_free_one() -> tuple[socket.socket, int]:
    """A socket that listens, and the port before its own, which nobody uses."""
    for _ in range(100):
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1] - 1
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            server.close()
        else:
            return server, port
    raise AssertionError("no two ports beside each other are free")


def test_a_taken_port_is_told_and_nothing_is_left_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    server, first = taken_after_a_free_one()
    with server:
        assert main(["up", "--nodes", "3", "--listen", f"127.0.0.1:{first}", "--data", str(data)]) == 1
    assert f"port {first + 1} is taken" in capsys.readouterr().err
    assert not data.exists()


def test_format_makes_directories_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["format", "--nodes", "3", "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--json"]
    assert main(words) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["directory"] for entry in listed] == [str(tmp_path / f"node-{i}") for i in (1, 2, 3)]
    assert present(str(tmp_path)) == [1, 2, 3]
    assert not list(tmp_path.glob("*/pid"))


def test_nodes_on_several_machines_know_each_other_by_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = ["--on", "a.example:9092", "--on", "b.example:9092", "--on", "c.example:9092"]
    assert main(["format", "--data", str(tmp_path), *hosts]) == 0
    configs = [node_files.load(directory_of(str(tmp_path), i)) for i in (1, 2, 3)]
    assert [str(config.listeners[0]) for config in configs] == [f"PLAINTEXT://{one}.example:9092" for one in "abc"]
    assert [voter.rpartition(":")[0] for voter in configs[2].voters] == [
        f"{i}@{one}.example:9093" for i, one in enumerate("abc", 1)
    ]
    assert [voter.rpartition(":")[2] for voter in configs[0].voters] == [directory_id(tmp_path, i) for i in (1, 2, 3)]
    assert "(on b.example)" in capsys.readouterr().out
    assert main(["format", "--data", str(tmp_path), *hosts]) == 2
    assert "holds nodes already" in capsys.readouterr().err


def test_every_node_gets_a_log_directory_in_each_place_and_keeps_it(tmp_path: Path) -> None:
    data, places = str(tmp_path / "data"), [str(tmp_path / "b"), str(tmp_path / "c")]
    plan = planned(data, "127.0.0.1", 0, 2, {}, places)
    for number, node in enumerate(plan, 1):
        assert node.config.log_dirs == [
            str(tmp_path / "data" / f"node-{number}" / "logs"),
            str(tmp_path / "b" / f"node-{number}"),
            str(tmp_path / "c" / f"node-{number}"),
        ]
    write(plan)
    again = planned(data, "127.0.0.1", 0, 2, {})
    assert [node.config.log_dirs for node in again] == [node.config.log_dirs for node in plan]


def test_the_metadata_directory_moves_with_the_node(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    config = node_files.configured(str(here), "127.0.0.1", 1, {"metadata.log.dir": str(here / "meta")})
    node_files.save(config, str(here))
    assert config.metadata_log_dir == str(here / "meta")
    here.rename(there)
    assert node_files.load(str(there)).metadata_log_dir == str(there / "meta")
