"""The preflight names everything missing at once, in one line to paste, and calls apt only as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.rules import ROOT

NO_VENV = f'case "$2" in *ensurepip*|*Python.h*) exit 1;; esac\nexec {sys.executable} "$@"\n'


class Machine:
    """A machine that has exactly the programs it is given."""

    def __init__(self, bin_: Path) -> None:
        self.bin = bin_
        bin_.mkdir()
        for program in ("sh", "cat", "env"):
            (bin_ / program).symlink_to(shutil.which(program) or "")
        self.has("id", "echo ${FAKE_UID:-1000}\n")
        self.has("apt-get", f'echo "apt-get $*" >>{bin_}/apt.log\n')

    def has(self, program: str, script: str = "exit 0\n") -> None:
        """Give it a program."""
        (self.bin / program).write_text(f"#!/bin/sh\n{script}")
        (self.bin / program).chmod(0o755)

    def preflight(self, level: str, uid: int = 1000, **more: str) -> subprocess.CompletedProcess[str]:
        """Run it there."""
        env = {"PATH": str(self.bin), "FAKE_UID": str(uid), **more}
        command = [str(self.bin / "sh"), str(ROOT / "tools" / "preflight"), level]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    @property
    def apt_calls(self) -> list[str]:
        """What apt-get was asked for."""
        log = self.bin / "apt.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A bare machine: not even Python."""
    return Machine(tmp_path / "bin")


def test_a_bare_machine_is_told_everything_in_one_line(machine: Machine) -> None:
    result = machine.preflight("build")
    assert result.returncode == 1
    assert "\n    apt install python3 python3-venv gcc python3-dev\n" in result.stderr
    assert not machine.apt_calls


def test_python_without_venv_compiler_and_headers(machine: Machine) -> None:
    machine.has("python3", NO_VENV)
    assert "apt install python3-venv gcc python3-dev\n" in machine.preflight("build").stderr
    assert "apt install python3-venv\n" in machine.preflight("run").stderr


def test_running_needs_no_compiler(machine: Machine) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    result = machine.preflight("run")
    assert (result.returncode, result.stdout) == (0, "python3\n")


def test_an_old_python_is_not_enough(machine: Machine) -> None:
    machine.has("python3", "exit 1\n")
    assert "apt install python3 python3-venv\n" in machine.preflight("run").stderr
    machine.has("python3.12", f'exec {sys.executable} "$@"\n')
    assert machine.preflight("run").stdout == "python3.12\n"


def old(version: str) -> str:
    """A python3 that says it is this, and is not enough."""
    return f'case "$2" in *print*) echo {version};; *) exit 1;; esac\n'


def offers(**packages: str) -> str:
    """An apt-cache that knows these packages in these versions."""
    known = "".join(
        f'"show {name}") printf "Package: {name}\\nVersion: {version}\\n";;\n' for name, version in packages.items()
    )
    return f'case "$*" in\n{known}*) exit 100;;\nesac\n'


def test_the_version_found_is_named_and_the_package_that_is_new_enough(machine: Machine) -> None:
    """Ubuntu 22.04: python3 is 3.10, and python3.11 is there, too."""
    machine.has("python3", old("3.10.12"))
    machine.has("apt-cache", offers(**{"python3": "3.10.6-1~22.04", "python3.11": "3.11.0~rc1-1~22.04"}))
    told = machine.preflight("build").stderr
    assert "python3.11: Python 3.11 or newer (python3 here is 3.10.12)\n" in told
    assert "apt install python3.11 python3.11-venv gcc python3.11-dev\n" in told


def test_where_apt_has_only_old_ones_uv_is_named_and_nothing_is_installed(machine: Machine) -> None:
    """Debian 11."""
    machine.has("python3", old("3.9.2"))
    machine.has("apt-cache", offers(python3="3.9.2-3"))
    result = machine.preflight("run", uid=0)
    assert result.returncode == 1 and not machine.apt_calls
    assert "python3 here is 3.9.2, and apt has no newer one" in result.stderr
    assert "\n    uv python install 3.11\n" in result.stderr


def test_what_uv_has_brought_is_found(machine: Machine, tmp_path: Path) -> None:
    machine.has("python3", old("3.9.2"))
    brought = tmp_path / "python3.13"
    brought.symlink_to(sys.executable)
    machine.has("uv", f'test "$*" = "python find >=3.11" && echo {brought}\n')
    assert machine.preflight("run").stdout == f"{brought}\n"


def test_root_without_lists_of_packages_asks_apt_for_them_first(machine: Machine) -> None:
    """A container of Debian 11: what apt has is known only after an update."""
    listed = machine.bin / "listed"
    machine.has("apt-get", f'echo "apt-get $*" >>{machine.bin}/apt.log\n: >{listed}\n')
    machine.has("apt-cache", f"[ -e {listed} ] || exit 100\n{offers(python3='3.9.2-3')}")
    result = machine.preflight("run", uid=0)
    assert machine.apt_calls == ["apt-get update -q"] and "uv python install" in result.stderr


def test_a_python_of_another_name_gets_the_venv_of_that_name(machine: Machine) -> None:
    machine.has("python3", old("3.10.12"))
    machine.has("python3.12", NO_VENV)
    assert "apt install python3.12-venv\n" in machine.preflight("run").stderr


def test_clients_name_their_programs_too(machine: Machine) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    machine.has("cc")
    machine.has("java")
    machine.has("javac")
    machine.has("initdb")
    assert "apt install maven golang nodejs npm kcat redis-server\n" in machine.preflight("clients").stderr


def test_root_gets_it_installed_and_nobody_meets_sudo(machine: Machine) -> None:
    machine.has("python3", NO_VENV)
    machine.has("sudo", f"echo sudo >>{machine.bin}/apt.log\n")
    result = machine.preflight("run", uid=0)
    assert machine.apt_calls == ["apt-get update -q", "apt-get install -q -y --no-install-recommends python3-venv"]
    assert result.returncode == 1 and "still missing" in result.stderr


def test_without_apt_the_names_are_still_told(machine: Machine) -> None:
    os.unlink(machine.bin / "apt-get")
    result = machine.preflight("run", uid=0)
    assert result.returncode == 1
    assert "python3-venv" in result.stderr and "package manager" in result.stderr


JAVA = "echo 'openjdk version \"{}\" 2025-04-15' >&2\n"


def test_spark_asks_for_java_and_for_no_compiler(machine: Machine) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    result = machine.preflight("spark")
    assert result.returncode == 1 and "apt install openjdk-17-jdk-headless\n" in result.stderr
    machine.has("java", JAVA.format("17.0.15"))
    assert machine.preflight("spark").stdout == "python3\n"


@pytest.mark.parametrize(
    ("version", "enough"), [("1.8.0_402", False), ("11.0.2", False), ("21", True), ("25-ea", True)]
)
def test_an_old_java_is_not_enough(machine: Machine, version: str, enough: bool) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    machine.has("java", JAVA.format(version))
    assert (machine.preflight("spark").returncode == 0) == enough


def test_java_home_comes_before_the_path_and_is_named_when_it_is_wrong(machine: Machine, tmp_path: Path) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    machine.has("java", JAVA.format("17.0.15"))
    home = tmp_path / "jdk"
    result = machine.preflight("spark", uid=0, JAVA_HOME=str(home))
    assert result.returncode == 1 and f"JAVA_HOME={home} is not Java 17" in result.stderr
    assert not machine.apt_calls, "installing another one would not help"


def test_the_java_that_apt_knows_is_taken(machine: Machine) -> None:
    machine.has("python3", f'exec {sys.executable} "$@"\n')
    machine.has("apt-cache", 'case "$2" in openjdk-21*) exit 0;; esac\nexit 1\n')
    assert "apt install openjdk-21-jdk-headless\n" in machine.preflight("spark").stderr


def test_looking_for_java_installs_nothing(machine: Machine) -> None:
    result = machine.preflight("java", uid=0)
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "without the pipeline" in result.stderr
    assert not machine.apt_calls
    machine.has("java", JAVA.format("21.0.1"))
    assert machine.preflight("java").returncode == 0
