"""`tape up` and `tape node`: arguments, files, refusals, and a real start and stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapelog.base.node_config import NodeConfig, NodeConfigError
from tapelog.cli import node_files, up
from tapelog.cli.holder import holder
from tapelog.cli.main import is_quick, main
from tapelog.cli.starting import UpError, parse, parse_address, parse_settings


@pytest.fixture
def taken() -> Iterator[int]:
    """A port somebody listens on: this process."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


class Started:
    """A `tape` process and its ready line."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "tapelog", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@pytest.fixture
def started() -> Iterator[list[Started]]:
    running: list[Started] = []
    yield running
    for one in running:
        one.process.kill()
        one.process.communicate()


def run_failing(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tapelog", *words], capture_output=True, text=True, timeout=30)


def test_the_quick_road_is_for_running_nodes_only() -> None:
    assert is_quick(["up", "--listen", "h:1"], {})
    assert is_quick(["node", "d"], {})
    assert not is_quick(["up", "--help"], {})
    assert not is_quick(["topic", "list"], {})
    assert not is_quick([], {})
    assert not is_quick(["up"], {"_TAPE_COMPLETE": "complete_bash"})


def test_the_quick_road_loads_no_framework_and_no_client() -> None:
    code = (
        "import sys; from tapelog.cli.main import main; main(['up', '--nodes', '0']);"
        "import tapelog.node.main;"
        "slow = ('typer', 'click', 'rich', 'confluent_kafka', 'argparse', 'asyncio');"
        "print([name for name in slow if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout.strip() == "[]"


def test_options_have_values_after_a_space_or_an_equals_sign() -> None:
    options, rest = parse(["--set", "a=b", "--set=c=d", "--bare", "x"], valued=("--set",), flags=("--bare",))
    assert options == {"--set": ["a=b", "c=d"], "--bare": [""]}
    assert rest == ["x"]


@pytest.mark.parametrize("words", [["--nonsense"], ["--set"], ["-x", "1"]])
def test_unknown_options_and_missing_values_are_refused(words: list[str]) -> None:
    with pytest.raises(UpError) as caught:
        parse(words, valued=("--set",))
    assert caught.value.exit_code == 2


def test_addresses() -> None:
    assert parse_address("127.0.0.1:9092") == ("127.0.0.1", 9092)
    assert parse_address("[::1]:0") == ("::1", 0)
    for bad in ("9092", "host", "host:", ":1", "h:70000", "h:x"):
        with pytest.raises(UpError):
            parse_address(bad)


def test_settings() -> None:
    assert parse_settings(["a=1", "b=x=y", "a=2"]) == {"a": "2", "b": "x=y"}
    with pytest.raises(UpError):
        parse_settings(["nonsense"])


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["up", "--nodes", "0"], 2, "makes no sense"),
        (["up", "--nodes", "3", "--listen", "127.0.0.1:65534"], 2, "lower port"),
        (["up", "--nodes", "3", "--set", "advertised.listeners=PLAINTEXT://h:1"], 2, "several nodes"),
        (["up", "--nodes", "x"], 2, "not a number"),
        (["up", "stray"], 2, "stray"),
        (["up", "--listen", "nowhere"], 2, "HOST:PORT"),
        (["up", "--set", "nonsense"], 2, "name=value"),
        (["node"], 2, "which node"),
        (["node", "/no/such/directory"], 4, "node.toml"),
    ],
)
def test_bad_command_lines_say_what_to_do(
    words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == code
    assert told in capsys.readouterr().err


def test_a_port_alone_and_the_directory_above_are_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--listen", "9099"]) == 2
    assert "--listen 127.0.0.1:9099" in capsys.readouterr().err
    (tmp_path / "node-1").mkdir()
    (tmp_path / "node-1" / "node.toml").write_text("")
    assert main(["node", str(tmp_path)]) == 4
    assert f"did you mean `tape node {tmp_path / 'node-1'}`?" in capsys.readouterr().err


def test_errors_are_json_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--nodes", "0", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["exit_code"] == 2


def test_a_taken_port_names_its_holder(taken: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--listen", f"127.0.0.1:{taken}", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert f"port {taken} is taken" in told
    if Path("/proc/net/tcp").exists():
        assert f"pid {os.getpid()}" in told
    assert not (tmp_path / "node-1").exists(), "a refused start leaves nothing behind"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_the_holder_of_a_port_is_found_by_pid_and_command(taken: int) -> None:
    assert holder(taken).startswith(f"pid {os.getpid()} (")


def test_nobody_holds_a_free_port() -> None:
    assert holder(node_files.free_port()) == ""


@pytest.mark.parametrize(
    "setting", ["no.such.config=1", "num.partitions=many", "log.dirs=/elsewhere", "listeners=PLAINTEXT://h:1"]
)
def test_settings_no_node_can_run_with_are_refused(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--set", setting]) == 2
    assert setting.split("=")[0] in capsys.readouterr().err


def test_all_interfaces_need_an_advertised_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--listen", "0.0.0.0:0", "--data", str(tmp_path)]) == 2
    assert "advertised.listeners" in capsys.readouterr().err


def test_a_new_configuration_has_ids_a_controller_port_and_the_settings(tmp_path: Path) -> None:
    directory = str(tmp_path / "node-1")
    config = node_files.configured(directory, "127.0.0.1", 9099, {"num.partitions": "3"})
    assert config.settings == {**node_files.DEFAULTS, "num.partitions": "3"}
    assert config.controller_listener is not None and config.controller_listener.port > 0
    node_files.save(config, directory)
    again = node_files.configured(directory, "127.0.0.1", 9098, {})
    assert again.cluster_id == config.cluster_id
    assert again.controller_listener == config.controller_listener
    assert again.settings == node_files.DEFAULTS, "the command line says it all, but for the ids"


def test_a_setting_may_overrule_what_up_sets(tmp_path: Path) -> None:
    config = node_files.configured(str(tmp_path), "127.0.0.1", 9099, {"group.initial.rebalance.delay.ms": "3000"})
    assert config.settings["group.initial.rebalance.delay.ms"] == "3000"


def test_a_data_directory_can_be_moved(tmp_path: Path) -> None:
    before, after = tmp_path / "a" / "node-1", tmp_path / "b" / "node-1"
    node_files.save(node_files.configured(str(before), "127.0.0.1", 9099, {}), str(before))
    assert node_files.load(str(before)).log_dirs == [str(before / "logs")]
    (tmp_path / "a").rename(tmp_path / "b")
    assert node_files.load(str(after)).log_dirs == [str(after / "logs")]


def test_a_node_tells_its_directories_as_they_are_named_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[NodeConfig] = []
    monkeypatch.setattr("tapelog.node.main.run", lambda config, on_ready: ran.append(config) or 0)
    monkeypatch.chdir(tmp_path)
    given = ["--set", "metadata.log.dir=d/node-1/meta", "--set", "cordoned.log.dirs=d/node-1/logs"]
    assert main(["up", "--data", "d", "--listen", "127.0.0.1:0", *given]) == 0
    assert main(["node", "d/node-1"]) == 0
    for config in ran:
        assert config.log_dirs == [str(tmp_path / "d/node-1/logs")]
        assert config.metadata_log_dir == str(tmp_path / "d/node-1/meta")
        assert config.settings["cordoned.log.dirs"] == str(tmp_path / "d/node-1/logs")
    assert len(ran) == 2 and 'log_dirs = ["logs"]' in (tmp_path / "d/node-1/node.toml").read_text()


def test_a_node_with_the_address_of_another_machine_is_told_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node_files.save(node_files.configured(str(tmp_path), "192.0.2.1", 9099, {}), str(tmp_path))
    assert main(["node", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "cannot listen on 192.0.2.1:9099" in told and "`listeners` in node.toml" in told


@pytest.mark.parametrize("nodes", [[], ["--nodes", "3"]])
def test_what_an_earlier_version_accepted_is_named_with_its_file(
    nodes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "node-1"
    node_files.save(node_files.configured(str(directory), "127.0.0.1", 0, {}), str(directory))
    path = directory / "node.toml"
    path.write_text(path.read_text().replace("[settings]", '[settings]\n"metric.reporters" = "a.B"'))
    assert "metric.reporters" in path.read_text()
    assert main(["up", "--data", str(tmp_path), "--listen", "127.0.0.1:0", *nodes]) == 2
    told = capsys.readouterr().err
    assert f"{path}: metric.reporters" in told and "change it there" in told and "--set" not in told


def test_a_broken_node_toml_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "node.toml").write_text("node_id = 'one'\n")
    assert main(["node", str(tmp_path)]) == 2
    assert "node.toml" in capsys.readouterr().err
    with pytest.raises(NodeConfigError):
        NodeConfig.from_toml("node_id = 'one'\n")


def test_the_pid_file_of_a_dead_process_is_no_hindrance(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    (tmp_path / "pid").write_text(f"{dead.pid}\n")
    assert node_files.live_pid(str(tmp_path)) is None
    (tmp_path / "pid").write_text("nonsense")
    assert node_files.live_pid(str(tmp_path)) is None
    node_files.write_pid(str(tmp_path))
    assert node_files.live_pid(str(tmp_path)) is None, "our own pid does not count"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_up_serves_until_told_to_stop_and_node_serves_again(
    tmp_path: Path, started: list[Started], number: signal.Signals
) -> None:
    started.append(Started("up", "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--bare"))
    word, _, address = started[0].ready.partition(" ")
    assert word == "ready"
    host, port = parse_address(address)
    socket.create_connection((host, port), timeout=30).close()
    directory = tmp_path / "node-1"
    assert int((directory / "pid").read_text()) == started[0].process.pid
    assert f":{port}" in (directory / "node.toml").read_text(), "a chosen port is kept"
    assert started[0].stop(number) == 0
    assert not (directory / "pid").exists()
    started.append(Started("node", str(directory)))
    assert started[1].ready == f"ready {address}"
    assert started[1].stop(number) == 0


def test_a_directory_in_use_is_refused_and_its_user_named(tmp_path: Path, started: list[Started]) -> None:
    started.append(Started("up", "--listen", "127.0.0.1:0", "--data", str(tmp_path)))
    for words in (["up", "--listen", "127.0.0.1:0", "--data", str(tmp_path)], ["node", str(tmp_path / "node-1")]):
        refused = run_failing(*words)
        assert refused.returncode == 1
        assert f"in use by pid {started[0].process.pid}" in refused.stderr
    (tmp_path / "node-1" / "pid").unlink()
    refused = run_failing("up", "--listen", "127.0.0.1:0", "--data", str(tmp_path))
    assert refused.returncode == 1 and "in use" in refused.stderr, "the lock holds without the pid file"
    assert started[0].stop() == 0


def test_files_of_another_cluster_are_refused(tmp_path: Path, started: list[Started]) -> None:
    started.append(Started("up", "--listen", "127.0.0.1:0", "--data", str(tmp_path)))
    assert started[0].stop() == 0
    path = tmp_path / "node-1" / "node.toml"
    config = node_files.load(str(tmp_path / "node-1"))
    path.write_text(path.read_text().replace(config.cluster_id, node_files.new_cluster_id()))
    refused = run_failing("node", str(tmp_path / "node-1"))
    assert refused.returncode == 1
    assert "cluster.id" in refused.stderr and "  try: " in refused.stderr


def test_ready_as_json(tmp_path: Path, started: list[Started]) -> None:
    started.append(Started("up", "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--json"))
    assert parse_address(json.loads(started[0].ready)["ready"])[1] > 0


def test_a_controller_port_taken_in_the_meantime_is_replaced(taken: int, tmp_path: Path) -> None:
    directory = str(tmp_path)
    config = node_files.configured(directory, "127.0.0.1", node_files.free_port(), {})
    assert config.controller_listener is not None
    config.controller_listener.port = taken
    up._after_listen_failure(config, directory, OSError(98, "Address already in use"), last=False)
    assert config.controller_listener.port != taken
    assert node_files.load(directory).controller_listener == config.controller_listener
