"""`make dist`: sdist, pure wheel and platform wheel in dist/, each proved in an empty environment without a compiler.

The wheels are built from the unpacked sdist, so that what is missing there is missed here. Every environment gets the
pinned runtime dependencies, then the artifact alone, with no compiler to be found; then `tape version` must tell the
truth about compilation, and a broker started from it must take a record and give it back (tools/smoke.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """Build and prove all three; 0 if every one of them works."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        artifacts = build(Path(scratch))
        failures = [a.name for a, compiled in artifacts if not prove(a, compiled, Path(scratch))]
    for artifact, _ in artifacts:
        verdict = "FAILED" if artifact.name in failures else "ok"
        print(f"{verdict:<7}{artifact.stat().st_size / 1e6:6.2f} MB  dist/{artifact.name}")
    return 1 if failures else 0


def build(scratch: Path) -> list[tuple[Path, str]]:
    """The artifacts, each with what `tape version` must say about compilation once it is installed."""
    sdist = run_build(ROOT, "--sdist", "0", set())
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(scratch / "unpacked")
    source = next((scratch / "unpacked").iterdir())
    pure = run_build(source, "--wheel", "0", {sdist})
    shutil.rmtree(source / "build", ignore_errors=True)
    platform = run_build(source, "--wheel", "1", {sdist, pure})
    assert pure.name.endswith("-py3-none-any.whl") and not platform.name.endswith("-any.whl")
    return [(sdist, "no"), (pure, "no"), (platform, "yes")]


def run_build(source: Path, what: str, compile_: str, before: set[Path]) -> Path:
    """Run the build backend of the development environment; returns the file that is new in dist/."""
    print(f"== build {what[2:]}, TAPELOG_COMPILE={compile_}", flush=True)
    command = [sys.executable, "-m", "build", "--no-isolation", what, "--outdir", str(DIST), str(source)]
    env = os.environ | {"TAPELOG_COMPILE": compile_}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout)
    (new,) = set(DIST.iterdir()) - before
    return new


def prove(artifact: Path, compiled: str, scratch: Path) -> bool:
    """Install it where there is nothing else, and smoke-test it."""
    print(f"== prove {artifact.name}", flush=True)
    venv = scratch / f"venv-{artifact.name}"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pins = [f"--requirement={ROOT / 'requirements' / name}" for name in ("installer.txt", "runtime.txt")]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TAPELOG", "PYTHON", "VIRTUAL"))}
    bare = env | {"PATH": str(venv / "bin"), "CC": "/bin/false"}
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    steps = [
        ([*pip, "install", "--require-hashes", *pins], env),
        ([*pip, "install", "--no-deps", "--no-build-isolation", str(artifact)], bare),
        ([*pip, "check"], bare),
        ([str(venv / "bin" / "python"), str(ROOT / "tools" / "smoke.py"), compiled], bare),
    ]
    return all(subprocess.run(command, env=env_, cwd=scratch, check=False).returncode == 0 for command, env_ in steps)


if __name__ == "__main__":
    sys.exit(main())
