"""tools/interrupted.py: what an installation left behind in part is forgotten, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tidy.rules import ROOT

PROGRAM = "import sys, interrupted, pathlib; print(*interrupted.forget_partial(pathlib.Path(sys.argv[1])))"


def package(packages: Path, name: str, *, record: bool = True, whole: bool = True) -> None:
    """A package as pip leaves it: its module, then its metadata, then the record of both."""
    metadata = packages / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    if whole:
        (packages / f"{name}.py").write_text("")
    if record:
        (metadata / "RECORD").write_text(f"{name}.py,,\n{metadata.name}/METADATA,,\n{metadata.name}/RECORD,,\n")


def test_a_package_without_its_record_or_a_file_of_it_is_forgotten(tmp_path: Path) -> None:
    package(tmp_path, "whole")
    package(tmp_path, "cut", record=False)
    package(tmp_path, "lost", whole=False)
    words = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(words, cwd=ROOT / "tools", capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["cut-1.0.dist-info", "lost-1.0.dist-info"]
    assert [path.name for path in tmp_path.glob("*.dist-info")] == ["whole-1.0.dist-info"]
