"""What pyproject.toml cannot express: compiling the hot modules with mypyc, and a description without relative links.

TAPELOG_COMPILE=0     never: the result is pure Python (py3-none-any)
TAPELOG_COMPILE=1     always: fail where that is impossible
TAPELOG_COMPILE=auto  (default) if a C compiler and Python's headers are here, else pure Python

The modules are listed in pyproject.toml under [tool.tapelog]; how staleness is noticed is told in tapelog/_compiled.py.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
PACKAGE = Path("src/tapelog")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES: list[str] = PROJECT["tool"]["tapelog"]["compiled"]

_spec = importlib.util.spec_from_file_location("_compiled", ROOT / PACKAGE / "_compiled.py")
assert _spec is not None and _spec.loader is not None
_compiled = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_compiled)


def compiler_works() -> bool:
    """Can this machine build an extension module at all? Tried, not guessed."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    include = sysconfig.get_path("include")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_MAJOR_VERSION; }\n")
        command = [*compiler, "-fPIC", f"-I{include}", "-c", str(source), "-o", str(source.with_suffix(".o"))]
        try:
            return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
        except OSError:
            return False


def decide() -> bool:
    """Whether this build compiles."""
    mode = os.environ.get("TAPELOG_COMPILE", "auto")
    if mode not in ("auto", "0", "1"):
        sys.exit(f"TAPELOG_COMPILE={mode}: expected auto, 0 or 1")
    if mode == "0" or not MODULES:
        return False
    if mode == "1" and not compiler_works():
        sys.exit("TAPELOG_COMPILE=1, but there is no working C compiler with Python's headers (gcc, python3-dev)")
    return mode == "1" or compiler_works()


COMPILE = decide()


class HotDistribution(Distribution):
    """Claims extension modules before they are generated, so that the wheel gets a platform tag."""

    def has_ext_modules(self) -> bool:
        """True exactly when this build compiles."""
        return COMPILE


class BuildHotModules(build_ext):
    """mypyc, then the C compiler, then the manifest that makes staleness visible."""

    def finalize_options(self) -> None:
        """Translate to C; only now, since mypyc is not there yet while build requirements are being asked for."""
        if COMPILE and not self.distribution.ext_modules:
            from mypyc.build import mypycify

            sources = [str(PACKAGE / path) for path in MODULES]
            self.distribution.ext_modules = mypycify(
                ["--follow-imports=silent", "--config-file", "pyproject.toml", *sources],
                opt_level="3",
                debug_level="0",
                group_name="tapelog",
                target_dir=str(Path("build", "mypyc")),
            )
            if sys.platform == "linux":  # lets the C compiler inline calls between our own functions: 5 to 8 %
                for extension in self.distribution.ext_modules:
                    extension.extra_compile_args.append("-fno-semantic-interposition")
        super().finalize_options()

    def run(self) -> None:
        """Build; the manifest goes first and comes back last, so that an interrupted build counts as stale."""
        target = ROOT / PACKAGE if self.inplace else Path(self.build_lib, "tapelog")
        (target / _compiled.MANIFEST).unlink(missing_ok=True)
        super().run()
        if COMPILE:
            target.mkdir(parents=True, exist_ok=True)
            _compiled.write_manifest(str(ROOT / PACKAGE), MODULES, str(target / _compiled.MANIFEST))


def long_description() -> str:
    """README.md for people who have no checkout: links and pictures that lie beside it become words or go."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^]]*\]\((?!\w+:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^]]+)\]\((?!\w+:|#)[^)]*\)", r"\1", text)


# What an isolated build must fetch besides setuptools: mypyc, and only where it is going to be used.
MISSING = PROJECT["dependency-groups"]["build"] if COMPILE and importlib.util.find_spec("mypyc") is None else []

setup(
    distclass=HotDistribution,
    cmdclass={"build_ext": BuildHotModules},
    setup_requires=MISSING,
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
