"""A worker's Python with our startup directory on its path, beside zips as Spark puts them there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tapelog.spark import startup

OURS = Path(startup.__file__).parent
NAMES = {"pyspark.zip": "pyspark", "py4j-0.10.9.9-src.zip": "py4j"}
LIBRARY = Path("files", "pyspark", "python", "lib")
TELL = "import pyspark, py4j; print(pyspark.WHERE, py4j.WHERE)"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A PySpark and a py4j as files, and their zips where pip puts them."""
    for package in NAMES.values():
        (tmp_path / "files" / package).mkdir(parents=True)
        (tmp_path / "files" / package / "__init__.py").write_text("WHERE = 'files'\n")
    zips(tmp_path / LIBRARY, "zip")
    return tmp_path


def zips(place: Path, where: str) -> list[Path]:
    place.mkdir(parents=True, exist_ok=True)
    for name, package in NAMES.items():
        with zipfile.ZipFile(place / name, "w") as file:
            file.writestr(f"{package}/__init__.py", f"WHERE = {where!r}\n")
    return [place / name for name in NAMES]


def run(world: Path, code: str, *path: Path, place: Path | None, first: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own = [(first or world / LIBRARY) / name for name in NAMES]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [*own, OURS, *path]))
    if place is not None:
        environment["TAPELOG_PYSPARK"] = "" if place == Path() else str(place)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_pyspark_comes_from_the_drivers_files(world: Path) -> None:
    assert run(world, TELL, world / "files", place=world / "files") == "files files"


def test_nothing_changes_where_nobody_asks(world: Path) -> None:
    assert run(world, TELL, world / "files", place=None) == "zip zip"


def test_a_place_that_is_not_on_the_path_changes_nothing(world: Path) -> None:
    assert run(world, TELL, place=world / "files") == "zip zip"


def test_a_third_pyspark_on_the_path_does_not_come_before_the_drivers(world: Path) -> None:
    (world / "third" / "pyspark").mkdir(parents=True)
    (world / "third" / "pyspark" / "__init__.py").write_text("WHERE = 'third'\n")
    assert run(world, TELL, world / "third", world / "files", place=world / "files") == "zip zip"
    assert run(world, TELL, world / "files", world / "third", place=world / "files") == "files files"


def test_a_distributions_zips_lie_elsewhere_and_perhaps_behind_a_link(world: Path) -> None:
    (world / "spark").mkdir()
    (world / "files").rename(world / "spark" / "python")
    place = world / "spark" / "python"
    zips(place / "lib", "zip")
    (world / "link").symlink_to(world / "spark")
    assert run(world, TELL, place, place=place, first=world / "link" / "python" / "lib") == "files files"


def test_another_sparks_zips_stay_and_keep_their_turn(world: Path) -> None:
    zips(world / "another", "another")
    assert run(world, TELL, world / "files", place=world / "files", first=world / "another") == "another another"
    theirs = [world / "another" / name for name in NAMES]
    assert run(world, TELL, *theirs, world / "files", place=world / "files") == "zip zip"
    assert run(world, TELL, world / "files", *theirs, place=world / "files") == "files files"


def test_a_place_that_is_empty_is_none(world: Path) -> None:
    code = "import sys; print(sum(entry.endswith('.zip') and 'files' in entry for entry in sys.path))"
    assert run(world, code, world / "files", place=Path()) == run(world, code, world / "files", place=None) == "2"


def test_a_place_without_py4j_keeps_the_zip_of_that(world: Path) -> None:
    (world / "files" / "py4j" / "__init__.py").unlink()
    assert run(world, TELL, world / "files", place=world / "files") == "files zip"


def test_somebody_elses_sitecustomize_runs_as_well(world: Path) -> None:
    (world / "other").mkdir()
    (world / "other" / "sitecustomize.py").write_text("import sys\nsys.SEEN = True\n")
    code = "import sys, sitecustomize; print(sys.SEEN, sitecustomize.__file__)"
    assert run(world, code, world / "other", place=None) == f"True {world / 'other' / 'sitecustomize.py'}"


def test_older_pythons_can_read_it() -> None:
    tree = ast.parse((OURS / "sitecustomize.py").read_text(), feature_version=(3, 6))
    hints = [
        note
        for made in ast.walk(tree)
        if isinstance(made, ast.FunctionDef)
        for note in (made.returns, *(one.annotation for one in made.args.args))
    ]
    assert not [note for note in hints if isinstance(note, ast.Subscript)], "list[str] is an error before Python 3.9"


def test_a_sitecustomize_that_fails_fails_as_it_would_without_us(world: Path) -> None:
    (world / "other").mkdir()
    (world / "other" / "sitecustomize.py").write_text("import there_is_no_such_module\n")
    with pytest.raises(AssertionError, match="there_is_no_such_module"):
        run(world, "pass", world / "other", place=None)
