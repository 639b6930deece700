"""`tape spark pack`: executors get what they need, nothing else, and the same bytes every time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tapelog.cli.app import run
from tapelog.cli.spark_pack import NEEDED, USEFUL, contents, write

ROOT = Path(__file__).resolve().parents[3]
LIGHT = [word for name in ("pyarrow", "obstore", *USEFUL) for word in ("--leave-out", name)]
"""What takes seconds to pack is left out here; tests/spark packs all of it."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that nobody works in, with times of its own."""
    copy = tmp_path_factory.mktemp("sources") / "src"
    return Path(shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture(scope="module")
def archive(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pack") / "env.tar"
    write(contents((), LIGHT[1::2], sources), target, lambda count: None)
    return target


def test_an_interpreter_without_packages_reads_record_batches_with_what_was_packed(
    archive: Path, tmp_path: Path
) -> None:
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        tar.extractall(tmp_path)
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from tapelog.wire.record_batch import Record, build_batch\n"
        "from tapelog.spark.decode import aborted, scan, walk\n"
        "import tapelog.spark.plan, tapelog.client, cramjam, crc32c\n"
        "print(len(build_batch([Record(0, 5, b'k', b'v')])))"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 60


def test_the_same_environment_gives_the_same_bytes(archive: Path, sources: Path, tmp_path: Path) -> None:
    moved, again = tmp_path / "elsewhere", tmp_path / "again.tar"
    shutil.copytree(sources, moved, copy_function=shutil.copyfile)
    (moved / "tapelog" / "__init__.py").chmod(0o600)
    write(contents((), LIGHT[1::2], moved), again, lambda count: None)
    assert again.read_bytes() == archive.read_bytes()


def test_no_bytecode_no_tests_and_no_absolute_path_is_packed(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    assert names == sorted(names)
    assert not [name for name in names if name.startswith(("/", "..")) or name.endswith(".pyc") or "/tests/" in name]
    assert "tapelog/spark/__init__.py" in names and "pyspark_tapelog/__init__.py" in names


def test_progress_adds_up_to_the_size(sources: Path, tmp_path: Path) -> None:
    packed, told = contents((), [*NEEDED, *USEFUL], sources), list[int]()
    write(packed, tmp_path / "x.tar.gz", told.append)
    assert sum(told) == packed.size > 0


def test_what_is_packed_is_what_the_extra_for_spark_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    names = {re.split(r"[^\w-]", need)[0] for need in declared}
    assert names - set(NEEDED) == {"confluent-kafka", "rich", "typer"}, "the command line's own, and nothing else"
    assert set(NEEDED) <= names


def test_json_says_what_was_made_and_how_to_use_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "env.tar"
    assert run(["spark", "pack", "--json", "-o", str(target), *LIGHT]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == target.stat().st_size
    assert told["arguments"] == ["--archives", f"{target}#env", "--conf", "spark.executorEnv.PYTHONPATH=env"]
    assert told["environment"]["PYSPARK_PYTHON"] == f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert "cramjam" in told["packages"] and "pyarrow" not in told["packages"]


def test_people_are_told_the_command_and_what_executors_must_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["spark", "pack", "-o", str(tmp_path / "env.tar"), *LIGHT]) == 0
    text = capsys.readouterr().out
    assert "spark-submit --archives" in text
    assert f"Python {sys.version_info.major}.{sys.version_info.minor} on" in text


def test_a_package_that_is_not_installed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "env.tar"
    assert run(["spark", "pack", "-o", str(target), "--add", "no-such-thing", *LIGHT]) == 4
    assert "no-such-thing is not installed here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()), "nothing half made is left"


def test_a_place_that_cannot_be_written_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spark", "pack", "-o", str(tmp_path / "no" / "env.tar"), *LIGHT]) == 1
    assert "--output" in capsys.readouterr().err


def test_an_ending_that_spark_does_not_unpack_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spark", "pack", "-o", "env.rar"]) == 2
    assert ".tar.gz" in capsys.readouterr().err
