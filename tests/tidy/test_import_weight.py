"""A node starts quickly because it loads little: what is heavy and not needed to serve stays outside."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "asyncio",
    "typer",
    "rich",
    "msgspec",
    "pydantic",
    "inspect",
    "confluent_kafka",
    "http",
    "email",
    "ssl",
    "urllib",
    "re2",
}


def loaded_by(statement: str) -> set[str]:
    """Top-level names of all modules present after the statement, beyond those of a bare interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_a_node_loads_nothing_heavy() -> None:
    assert not loaded_by("import tapelog.node.main") & HEAVY


def test_starting_a_node_by_command_loads_nothing_heavy() -> None:
    assert not loaded_by("import tapelog.cli.main, tapelog.cli.up") & HEAVY


@pytest.mark.parametrize("module", ["tapelog.testing", "tapelog.testing.plugin"])
def test_the_testing_plugin_adds_nothing_to_pytest_until_it_is_used(module: str) -> None:
    code = f"import pytest, sys; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in names if name.startswith("tapelog.") and not name.startswith("tapelog.testing")}
    assert ours <= {"tapelog._compiled"}
    assert not {name.partition(".")[0] for name in names} & HEAVY
