"""Imports go downwards only, machines have no I/O: import-linter says so, and notices when they do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.rules import ROOT

LINT = Path(sys.executable).parent / "lint-imports"


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the tree at root."""
    env = os.environ | {"PYTHONPATH": str(root / "src")}
    command = [str(LINT), "--no-logo", "--no-cache", "--config", str(root / "pyproject.toml")]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources, to be spoilt. Generated messages stay behind, save for what makes them a package."""
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*_request.py", "*_response.py")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_rooms_keep_their_layers() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("room", "planted", "contract"),
    [
        ("wire", "import tapelog.log", "Imports go downwards only"),
        ("log", "def later() -> None:\n    import tapelog.server.connection", "Imports go downwards only"),
        ("log", "import time", "Machines have no"),
        ("coordinators", "from random import random", "Machines have no"),
        ("metadata", "import asyncio", "Machines have no"),
        ("raft", "import time", "Machines have no"),
        ("raft", "import tapelog.log.log", "Imports go downwards only"),
        ("testing", "import tapelog.node", "Testing starts a broker"),
        ("toolkit", "import tapelog.wire.crc", "The toolkit is for any cluster"),
        ("toolkit", "from tapelog.node import core", "The toolkit is for any cluster"),
        ("toolkit", "def later() -> None:\n    import tapelog.log.log", "The toolkit is for any cluster"),
        ("node", "import tapelog.toolkit", "Imports go downwards only"),
        ("spark/plan", "import time", "Plans for Spark are pure"),
        ("spark", "import tapelog.log.log", "The pipeline on Spark is for any cluster"),
        ("node", "import tapelog.sim", "Nothing real is built on the simulation"),
    ],
)
def test_a_planted_import_is_caught(copy: Path, room: str, planted: str, contract: str) -> None:
    (copy / "src" / "tapelog" / room / "planted.py").write_text(planted + "\n")
    result = lint(copy)
    assert result.returncode == 1
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    assert len(broken) == 1 and broken[0].startswith(contract), result.stdout
    assert "planted" in result.stdout
