"""NodeConfig: what a node can run with, what it cannot and why, and node.toml."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.base.node_config import Listener, NodeConfig, NodeConfigError, parse_listeners

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"


def config(**changes: Any) -> NodeConfig:
    values: dict[str, Any] = {
        "node_id": 1,
        "cluster_id": CLUSTER,
        "listeners": [Listener.parse("PLAINTEXT://127.0.0.1:9092")],
        "controller_listener": Listener.parse("CONTROLLER://127.0.0.1:9093"),
        "log_dirs": ["data"],
    }
    return NodeConfig(**(values | changes))


@pytest.mark.parametrize(
    ("text", "name", "host", "port"),
    [
        ("PLAINTEXT://localhost:9092", "PLAINTEXT", "localhost", 9092),
        ("plaintext://localhost:0", "PLAINTEXT", "localhost", 0),
        ("MY_NAME://[::1]:1", "MY_NAME", "::1", 1),
        ("PLAINTEXT://:9092", "PLAINTEXT", "", 9092),
    ],
)
def test_listeners_are_read(text: str, name: str, host: str, port: int) -> None:
    listener = Listener.parse(text)
    assert (listener.name, listener.host, listener.port) == (name, host, port)
    assert Listener.parse(str(listener)) == listener


@pytest.mark.parametrize(
    "text", ["", "localhost:9092", "X://host", "X://host:x", "X://host:70000", "://h:1", "A B://h:1"]
)
def test_what_is_not_a_listener_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(NodeConfigError, match="NAME://host:port"):
        Listener.parse(text)


def test_a_listener_name_is_used_once() -> None:
    with pytest.raises(NodeConfigError, match="twice"):
        parse_listeners(["A://h:1", "A://h:2"])


@pytest.mark.parametrize("host", ["0.0.0.0", "", "[::]"])
def test_an_unadvertised_wildcard_is_refused_and_says_what_to_set(host: str) -> None:
    everywhere = [Listener.parse(f"PLAINTEXT://{host}:9092")]
    with pytest.raises(NodeConfigError, match=r"set advertised\.listeners=PLAINTEXT://<host name clients use>:9092"):
        config(listeners=everywhere)
    fine = config(listeners=everywhere, settings={"advertised.listeners": "PLAINTEXT://broker.example:9092"})
    assert [str(listener) for listener in fine.advertised()] == ["PLAINTEXT://broker.example:9092"]
    with pytest.raises(NodeConfigError, match="all interfaces"):
        config(listeners=everywhere, settings={"advertised.listeners": f"PLAINTEXT://{host}:9092"})


def test_a_controller_that_the_voters_do_not_name_says_where_it_is_reached() -> None:
    """It would tell them 127.0.0.1, and lead a quorum that cannot find it."""
    everywhere = Listener.parse("CONTROLLER://0.0.0.0:9093")
    voters = ["1@a.example:9093:AAECAwQFBgcICQoLDA0ODw"]
    assert config(controller_listener=everywhere).controller_listener == everywhere
    assert config(controller_listener=everywhere, voters=voters).voters
    with pytest.raises(NodeConfigError, match="controller_listener"):
        config(node_id=4, controller_listener=everywhere, voters=voters)


def test_advertising_a_listener_that_is_not_there_is_refused() -> None:
    with pytest.raises(NodeConfigError, match="OTHER"):
        config(settings={"advertised.listeners": "OTHER://h:1"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node_id": -1}, "node_id"),
        ({"cluster_id": "short"}, "cluster_id"),
        ({"roles": ()}, "roles"),
        ({"roles": ("king",)}, "roles"),
        ({"log_dirs": []}, "log_dirs"),
        ({"log_dirs": ["a", "a"]}, "log_dirs"),
        ({"listeners": []}, "a broker needs a listener"),
        ({"controller_listener": None}, "controller_listener"),
        ({"listeners": [Listener("SSL", "h", 1)]}, "SSL is not available"),
        ({"listeners": [Listener("OTHER", "h", 1)]}, "listener.security.protocol.map"),
        ({"settings": {"node.id": "3"}}, "node_id"),
        ({"settings": {"listeners": "PLAINTEXT://h:1"}}, "--listen"),
        ({"settings": {"log.dirs": "x"}}, "--data"),
        ({"settings": {"num.partition": "3"}}, "num.partitions"),
        ({"settings": {"num.partitions": "x"}}, "num.partitions"),
        ({"settings": {"authorizer.class.name": "a.B"}}, "ACLs are not available yet"),
        ({"settings": {"sasl.enabled.mechanisms": "PLAIN"}}, "SASL is not available yet"),
        ({"settings": {"listener.security.protocol.map": "PLAINTEXT:SSL"}}, "listener PLAINTEXT: SSL is not available"),
        ({"settings": {"listener.security.protocol.map": "OTHER:SSL"}}, "listener OTHER: SSL is not available"),
    ],
)
def test_what_no_node_can_run_with_is_refused_by_name(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        config(**changes)


def test_a_listener_may_have_any_name_that_is_mapped() -> None:
    named = config(
        listeners=[Listener("INSIDE", "h", 1)],
        settings={"listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"},
    )
    assert named.security_protocol("INSIDE") == "PLAINTEXT"


def test_broker_settings_have_everything_under_its_kafka_name() -> None:
    settings = config(settings={"num.partitions": "3"}).broker_settings()
    assert settings.whole("num.partitions") == 3
    assert settings.whole("node.id") == settings.whole("broker.id") == 1
    assert settings.string("listeners") == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert "controller.quorum.voters" not in settings.static, "a node alone takes no others: `tape format --join` asks"
    assert settings.string("controller.listener.names") == "CONTROLLER"
    assert settings.items("log.dirs") == ["data"]
    assert settings.items("process.roles") == ["broker", "controller"]


texts = st.text(max_size=20)


@given(st.lists(texts.filter(bool), min_size=1, max_size=3, unique=True), texts)
def test_node_toml_reads_back_whatever_the_names(dirs: list[str], rack: str) -> None:
    original = config(
        log_dirs=dirs,
        settings={"broker.rack": rack, "advertised.listeners": "PLAINTEXT://h:5", "tapelog.flush": "page-cache"},
    )
    again = NodeConfig.from_toml(original.to_toml())
    assert again == original
    assert (again.log_dirs, again.settings, again.advertised()) == (dirs, original.settings, original.advertised())


def test_numbers_and_truth_values_need_no_quotes_in_the_file() -> None:
    text = config().to_toml() + '"num.partitions" = 3\n"auto.create.topics.enable" = false\n'
    settings = NodeConfig.from_toml(text).broker_settings()
    assert settings.whole("num.partitions") == 3
    assert settings.flag("auto.create.topics.enable") is False


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("node_id = ", "not TOML"),
        ("", "node_id"),
        ('node_id = "1"', "node_id"),
        ("node_id = 1\n", "cluster_id"),
        ('node_id = 1\n"num.partitions" = "3"', "settings"),
        ("node_id = 1\nsettings = 3", "settings"),
        (f'node_id = 1\ncluster_id = "{CLUSTER}"\nlisteners = "x"', "listeners"),
        (f'node_id = 1\ncluster_id = "{CLUSTER}"\nlisteners = [3]', "listeners"),
        (f'node_id = 1\ncluster_id = "{CLUSTER}"\n[settings]\n"num.partitions" = []', "num.partitions"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(NodeConfigError, match=reason):
        NodeConfig.from_toml(text)


VOTERS = [f"{node}@10.0.0.{node}:9093:{CLUSTER}" for node in (1, 2, 3)]


def test_voters_and_roles_of_a_cluster_read_back() -> None:
    made = config(voters=VOTERS)
    assert NodeConfig.from_toml(made.to_toml()).voters == VOTERS
    assert (
        made.broker_settings().string("controller.quorum.voters") == "1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093"
    )
    assert made.is_broker
    assert made.is_controller


def test_a_broker_without_the_controller_role_has_no_controller_listener() -> None:
    made = config(node_id=4, roles=("broker",), controller_listener=None, voters=VOTERS)
    assert NodeConfig.from_toml(made.to_toml()) == made
    assert not made.is_controller


def test_a_controller_alone_has_no_listeners_for_clients() -> None:
    made = config(roles=("controller",), listeners=[], voters=VOTERS)
    assert NodeConfig.from_toml(made.to_toml()) == made
    assert not made.is_broker


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"voters": ["1@host:9093"]}, "is not a voter"),
        ({"voters": [f"x@host:9093:{CLUSTER}"]}, "is not a voter"),
        ({"voters": [f"1@host:0:{CLUSTER}"]}, "is not a voter"),
        ({"voters": [VOTERS[0], VOTERS[0]]}, "named twice"),
        ({"node_id": 4, "roles": ("broker",), "controller_listener": None}, "needs voters"),
        ({"roles": ("broker",), "controller_listener": None, "voters": VOTERS}, "must include controller"),
        ({"settings": {"inter.broker.listener.name": "INSIDE"}}, "INSIDE"),
        ({"settings": {"controller.quorum.voters": "1@h:1"}}, "change voters instead"),
    ],
)
def test_a_cluster_no_node_can_join_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        config(**changes)


def test_brokers_meet_on_the_listener_that_is_named_for_it() -> None:
    listeners = parse_listeners(["OUTSIDE://127.0.0.1:9092", "INSIDE://127.0.0.1:9094"])
    settings = {"listener.security.protocol.map": "OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT"}
    assert config(listeners=listeners, settings=settings).inter_broker_listener == "OUTSIDE"
    settings["inter.broker.listener.name"] = "INSIDE"
    assert config(listeners=listeners, settings=settings).inter_broker_listener == "INSIDE"
    assert config().inter_broker_listener == "PLAINTEXT"
