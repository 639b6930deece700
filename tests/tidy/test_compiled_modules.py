"""A compiled module beside a newer source is noticed and never run; compiled and interpreted are never mixed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tapelog import _compiled
from tests.tidy.rules import ROOT, native_integers, nested_functions, reused_error_names

MODULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["tapelog"]["compiled"]
SUFFIX = EXTENSION_SUFFIXES[0]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A package with one hot module that looks compiled: the extension files are there, though empty."""
    package = tmp_path / "tapelog"
    (package / "wire").mkdir(parents=True)
    (package / "_compiled.py").write_text((ROOT / "src/tapelog/_compiled.py").read_text())
    (package / "__init__.py").write_text((ROOT / "src/tapelog/__init__.py").read_text())
    (package / "wire" / "__init__.py").touch()
    (package / "wire" / "hot.py").write_text("ANSWER = 42\n")
    (package / "wire" / f"hot{SUFFIX}").touch()
    (tmp_path / f"{_compiled.LIBRARY}{SUFFIX}").touch()
    _compiled.write_manifest(str(package), ["wire/hot.py"], str(package / _compiled.MANIFEST))
    return tmp_path


def load(house: Path, hot: str = "") -> subprocess.CompletedProcess[str]:
    """Import the hot module in a new process and say what happened."""
    code = "import tapelog, tapelog.wire.hot as hot; print(tapelog.COMPILED, hot.__file__.rpartition('hot')[2])"
    env = {key: value for key, value in os.environ.items() if not key.startswith("TAPELOG")}
    env |= {"PYTHONPATH": str(house)} | ({"TAPELOG_HOT": hot} if hot else {})
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_fresh_compiled_modules_are_used(house: Path) -> None:
    assert _compiled.look(str(house / "tapelog")) == "yes"
    assert "ImportError" in load(house).stderr  # an empty file is no extension module: so it was the one chosen


def test_an_edited_source_is_run_instead_of_its_compiled_module(house: Path) -> None:
    (house / "tapelog" / "wire" / "hot.py").write_text("ANSWER = 43\n")
    assert load(house).stdout == "stale .py\n"


def test_an_interrupted_build_counts_as_stale(house: Path) -> None:
    (house / "tapelog" / _compiled.MANIFEST).unlink()
    assert load(house).stdout == "stale .py\n"


def test_a_touched_source_stays_fresh(house: Path) -> None:
    os.utime(house / "tapelog" / "wire" / "hot.py")
    assert _compiled.look(str(house / "tapelog")) == "yes"


def test_without_a_library_for_this_python_nothing_is_compiled(house: Path) -> None:
    (house / f"{_compiled.LIBRARY}{SUFFIX}").unlink()
    assert _compiled.look(str(house / "tapelog")) == "no"


def test_the_interpreted_way_can_be_asked_for(house: Path) -> None:
    assert load(house, "interpreted").stdout == "off .py\n"


def test_interpreted_stays_interpreted_when_a_build_ends_meanwhile(house: Path) -> None:
    (house / f"{_compiled.LIBRARY}{SUFFIX}").unlink()  # not there yet when the package is loaded; the modules are
    assert load(house, "interpreted").stdout == "no .py\n"


def test_the_compiled_way_can_be_insisted_on(house: Path) -> None:
    (house / "tapelog" / "wire" / "hot.py").write_text("ANSWER = 43\n")
    assert "TAPELOG_HOT=compiled, but compiled modules: stale" in load(house, "compiled").stderr


def test_compiled_modules_exist() -> None:
    assert not [module for module in MODULES if not (ROOT / "src" / "tapelog" / module).is_file()]


HOT = "Hot: compiled"
"""What the docstring of a module says that is written to be compiled."""


def claiming(root: Path) -> set[str]:
    """The modules that say so."""
    package = root / "src" / "tapelog"
    found = (file for file in package.rglob("*.py") if HOT in file.read_text(encoding="utf-8"))
    return {file.relative_to(package).as_posix() for file in found}


def test_what_calls_itself_compiled_is_in_the_list() -> None:
    assert claiming(ROOT) <= set(MODULES)  # forgotten, the decoder of Avro took five times as long


def test_a_module_that_was_forgotten_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "tapelog" / "forgotten.py"
    source.parent.mkdir(parents=True)
    source.write_text(f'"""Reads. {HOT} with mypyc where possible."""\n')
    assert claiming(tmp_path) - set(MODULES) == {"forgotten.py"}


def test_fixed_width_integers_never_squeeze_others() -> None:
    assert not native_integers(ROOT, MODULES)


def test_a_squeezed_integer_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "tapelog" / "hot.py"
    source.parent.mkdir(parents=True)
    safe = [
        "x: int = read_i32_be(b, 0)",
        "x = int(read_i32_be(b, 0))",
        "f(read_i32_be(b, 0))",
        "read_i64_be(b, 0) >= 0",
    ]
    unsafe = [
        "base + read_i32_be(b, 0)",
        "12 + read_i32_be(b, 0)",
        "n = read_i16_be(b, 0)",
        "read_i32_be(b, 0) != size",
    ]
    source.write_text("\n".join(safe + unsafe))
    assert sorted(line.rpartition(": ")[2] for line in native_integers(tmp_path, ["hot.py"])) == sorted(unsafe)


def test_an_error_name_stands_for_one_type_of_error() -> None:
    assert not reused_error_names(ROOT, MODULES)


def test_an_error_name_used_for_two_types_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "tapelog" / "hot.py"
    source.parent.mkdir(parents=True)
    body = "    try: g()\n    except ValueError as error: h(error)\n    except {} as {}: h(0)\n"
    source.write_text("def f():\n" + body.format("KeyError", "other"))
    assert not reused_error_names(tmp_path, ["hot.py"])
    source.write_text("def f():\n" + body.format("KeyError", "error"))
    assert reused_error_names(tmp_path, ["hot.py"]) == [
        "src/tapelog/hot.py:1: in f, `error` is KeyError and ValueError"
    ]


def test_compiled_functions_hold_no_named_functions() -> None:
    assert not nested_functions(ROOT, MODULES)


def test_a_nested_function_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "tapelog" / "hot.py"
    source.parent.mkdir(parents=True)
    source.write_text("def f(x):\n    return lambda: x\n")
    assert not nested_functions(tmp_path, ["hot.py"])
    source.write_text("def f(x):\n    def g():\n        return x\n    return g\n")
    assert nested_functions(tmp_path, ["hot.py"]) == ["src/tapelog/hot.py:2: g in f"]
