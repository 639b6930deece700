"""What a package index shows of this project: README.md without links that lead nowhere there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path

from tests.tidy.rules import ROOT

NEEDED = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src/tapelog/__init__.py", "src/tapelog/_compiled.py")
BUILD = "from setuptools import build_meta; print(build_meta.prepare_metadata_for_build_wheel('out'))"


def described(tree: Path, readme: str) -> str:
    """The description of a wheel with this README."""
    for name in NEEDED:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    (tree / "README.md").write_text(readme)
    (tree / "out").mkdir()
    env = {**os.environ, "TAPELOG_COMPILE": "0"}
    subprocess.run([sys.executable, "-c", BUILD], cwd=tree, env=env, capture_output=True, check=True)
    (metadata,) = tree.glob("out/*.dist-info/METADATA")
    told = message_from_string(metadata.read_text(encoding="utf-8"))
    assert told["Description-Content-Type"] == "text/markdown"
    return str(told.get_payload())


def test_links_to_files_beside_the_readme_become_words_and_their_pictures_go(tmp_path: Path) -> None:
    readme = (
        "# T\n\n![a](docs/a.svg)\n![b](docs/b.svg)\n\nSee [the guide](docs/g.md#x), [A](https://a.example), [h](#h).\n"
    )
    assert described(tmp_path, readme).strip() == "# T\n\nSee the guide, [A](https://a.example), [h](#h)."


def test_the_description_of_this_project_has_no_relative_link(tmp_path: Path) -> None:
    text = described(tmp_path, (ROOT / "README.md").read_text(encoding="utf-8"))
    assert "# Tapelog" in text and "make run" in text
    assert not re.findall(r"\]\((?!https?:|#).*?\)", text)
