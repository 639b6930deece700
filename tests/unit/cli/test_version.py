"""`tape version`, and the options that people try first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog import __version__
from tapelog.cli.app import run
from tapelog.cli.version import meaning


@pytest.mark.parametrize("option", ["--version", "-V", "-v"])
def test_the_version_is_one_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([option]) == 0
    assert capsys.readouterr().out == f"tapelog {__version__}\n"


def test_a_checkout_is_compiled_by_make(tmp_path: Path) -> None:
    package = tmp_path / "src" / "tapelog"
    package.mkdir(parents=True)
    (tmp_path / "Makefile").touch()
    for word in ("no", "stale"):
        assert "`make build` compiles it" in meaning(word, str(package))


def test_what_pip_installed_is_compiled_by_another_wheel(tmp_path: Path) -> None:
    for word in ("no", "stale"):
        told = meaning(word, str(tmp_path / "lib" / "site-packages" / "tapelog"))
        assert "make build" not in told and "install a platform wheel" in told and __version__ in told


def test_what_is_compiled_needs_no_advice(tmp_path: Path) -> None:
    assert meaning("yes", str(tmp_path)) == "the hot path runs compiled"
    assert "make" not in meaning("off", str(tmp_path))
