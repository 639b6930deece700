"""Every command explains itself and offers JSON; errors say what to do next."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tapelog.cli.app import run

COMMANDS = [
    *(
        ["up"],
        ["node"],
        ["format"],
        ["router"],
        ["demo"],
        ["produce"],
        ["consume"],
        ["dump"],
        ["capacity"],
        ["version"],
    ),
    *(["cluster", name] for name in ("describe", "add-voter", "elect")),
    ["rebalance"],
    *(["broker", name] for name in ("list", "drain", "restore", "remove")),
    *(["topic", name] for name in ("create", "list", "describe", "alter", "delete", "skew", "usage")),
    *(
        ["group", name]
        for name in ("list", "describe", "members", "lag", "check", "reset", "export", "delete", "delete-offsets")
    ),
    *(["txn", name] for name in ("list", "describe", "producers", "hanging", "abort")),
    *(["config", name] for name in ("list", "describe", "set", "unset")),
    *(["pipeline", name] for name in ("plan", "run", "list", "status", "stop", "init")),
    *(["pipeline", "job", name] for name in ("archive", "replay", "dedupe", "skew", "usage", "cdc-apply")),
    ["spark", "pack"],
]


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nothing listens, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_an_example_and_the_json_option(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Example: tape {words[0]}" in text
    assert "--json" in text


def test_without_arguments_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    run([])
    text = capsys.readouterr().out
    for words in COMMANDS:
        assert words[0] in text


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tpoic", "list"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["topic", "list"],
        ["topic", "create", "t"],
        ["group", "describe", "g"],
        ["group", "check", "g"],
        ["txn", "list"],
        ["config", "list"],
        ["produce", "t", "v"],
        ["consume", "t"],
    ],
    ids=" ".join,
)
def test_no_broker_is_told_at_once_with_what_to_do(
    words: list[str], nobody: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--bootstrap", nobody]) == 3
    told = capsys.readouterr().err
    assert "no broker answers" in told and f"tape up --listen {nobody}" in told
    assert "`tape node DIR/node-N`" in told, "a new broker on the port of a node that is down would be empty"


def test_errors_are_json_too(nobody: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic", "list", "--json", "-b", nobody]) == 3
    document = json.loads(capsys.readouterr().err)
    assert document["exit_code"] == 3 and document["hint"]


def test_the_bootstrap_comes_from_the_environment(
    nobody: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPELOG_BOOTSTRAP", nobody)
    assert run(["topic", "list"]) == 3
    assert nobody in capsys.readouterr().err


@pytest.mark.parametrize("bad", ["", "host:port", ":9092", "h:99999"])
def test_a_bad_address_is_a_usage_error(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic", "list", "-b", bad]) == 2


def test_a_broken_client_property_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert run(["topic", "list", "-b", address, "-X", "no.such.property=1"]) == 2
        assert "no.such.property" in capsys.readouterr().err
        assert run(["topic", "list", "-b", address, "-X", "nonsense"]) == 2


def test_version_tells_whether_the_hot_path_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["compiled"] in ("yes", "no", "stale", "off")
    assert document["librdkafka"] and document["python"]


def test_contradictions_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consume", "t", "--offset", "1", "--since", "1h"]) == 2
    assert run(["consume", "t", "--group", "g", "--since", "1h"]) == 2
    assert run(["group", "reset", "g"]) == 2
    assert run(["group", "reset", "g", "--to-earliest", "--to-latest"]) == 2
    assert run(["group", "reset", "g", "--to-current", "--shift", "1"]) == 2
    assert run(["group", "check", "--window", "long"]) == 2
    assert run(["group", "reset", "g", "--to-time", "1h", "--by-duration", "1h"]) == 2
    assert run(["topic", "alter", "t"]) == 2
    assert run(["produce", "t", "--tombstone"]) == 2
