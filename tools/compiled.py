"""`make build` and `make clean-build`: the compiled hot modules beside their sources.

`build` does nothing when what is there was compiled from these very sources; `clean` removes every trace;
`state` prints yes, no or stale.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
sys.path.insert(0, str(SOURCES / "tapelog"))

import _compiled  # noqa: E402  (the file itself: the package must not be loaded by the process that rebuilds it)


def state() -> str:
    """Are there compiled modules, do they match their sources, and are they those that pyproject.toml lists?"""
    found = _compiled.look(str(SOURCES / "tapelog"))
    return "stale" if found == "yes" and compiled() != listed() else found


def listed() -> set[str]:
    """What is to be compiled."""
    with (ROOT / "pyproject.toml").open("rb") as opened:
        return set(tomllib.load(opened)["tool"]["tapelog"]["compiled"])


def compiled() -> set[str]:
    """What was."""
    return {line.split()[0] for line in (SOURCES / "tapelog" / _compiled.MANIFEST).read_text().splitlines()}


def build() -> int:
    """Compile in place unless that has been done; returns an exit code."""
    if state() == "yes":
        print("compiled modules are up to date")
        return 0
    began = time.monotonic()
    remove_modules()
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--parallel", str(os.cpu_count() or 1)]
    code = subprocess.run(command, cwd=ROOT, env=os.environ | {"TAPELOG_COMPILE": "1"}, check=False).returncode
    if code == 0:
        print(f"compiled in {time.monotonic() - began:.0f} s; compiled modules: {state()}")
    return code


def remove_modules() -> None:
    """Take the compiled modules away: shims first, then the library they call, the manifest before both."""
    (SOURCES / "tapelog" / _compiled.MANIFEST).unlink(missing_ok=True)
    for pattern in ("tapelog/**/*.so", "tapelog__mypyc*.so"):
        for file in SOURCES.glob(pattern):
            file.unlink()


def clean() -> int:
    """Modules and everything the compiler left in build/."""
    remove_modules()
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    return 0


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted == "state":
        print(state())
    elif wanted in ("build", "clean"):
        sys.exit(build() if wanted == "build" else clean())
    else:
        sys.exit("usage: compiled.py build|clean|state")
