"""`make test-spark-versions`: tests/spark and a probe of features on every PySpark from 4.0 on, as a table.

Each version gets an environment of its own below .tools/spark-versions (half a gigabyte each, made once). Everything
but PySpark is pinned as in requirements/. Spark's own Kafka connector is fetched by Maven; without it tests are left
out, and the run has failed. VERSIONS="4.0 4.3" limits it; --probe leaves the tests out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".tools" / "spark-versions"
VERSIONS = ("4.0", "4.1", "4.2", "4.3")
FREE = ("pyspark", "py4j")
CONNECT = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
"""What Spark Connect needs beside PySpark."""
CONNECTOR = "spark-sql-kafka-0-10_2.13-"
NONE = "none"
WORKERS = 2
TESTS_S_MAX, PROBE_S_MAX = 1800, 600


def main() -> int:
    """Set up, run, tell; 1 if a test failed anywhere, or ran without Spark's own Kafka connector."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", help=f"default: {' '.join(VERSIONS)}")
    parser.add_argument("--probe", action="store_true", help="features only, not the tests")
    asked = parser.parse_args()
    rows: dict[str, dict[str, str]] = {}
    left_out: list[str] = []
    failed = False
    for version in asked.versions or VERSIONS:
        say(f"PySpark {version}: half a gigabyte, unless it is there already")
        python = environment(version)
        row = {"PySpark": said([str(python), "-c", "import pyspark; print(pyspark.__version__)"])}
        if not asked.probe:
            subprocess.run([str(python), "-m", "bench.spark.connector"], cwd=ROOT, env=settings(), check=False)
            row["connector"] = connector(row["PySpark"])
            row["tests/spark"], ok, missed = tests(python)
            left_out += [f"left out with PySpark {row['PySpark']}: {line}" for line in missed]
            failed |= not ok or row["connector"] == NONE
        row |= probe(python, [])
        row |= {f"connect: {name}": value for name, value in probe(python, ["connect"]).items() if name in CONNECTED}
        rows[version] = row
        say(f"PySpark {version}: {json.dumps(row)}")
    print(table(list(rows.values())))
    print("\n".join(left_out))
    without = [row["PySpark"] for row in rows.values() if row.get("connector") == NONE]
    if without:
        say(f"failed: without Spark's own Kafka connector on {', '.join(without)} (above: why Maven did not bring it)")
    return 1 if failed else 0


CONNECTED = ("batch", "available_now", "sink", "stream_sink")


def environment(version: str) -> Path:
    """The interpreter of that version's environment."""
    home = HOME / version
    python = home / "bin" / "python"
    ready = home / "ready"
    if ready.exists():
        return python
    home.parent.mkdir(parents=True, exist_ok=True)
    pins = HOME / "constraints.txt"
    pins.write_text("\n".join(constraints((ROOT / "requirements" / "dev.txt").read_text())) + "\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *extras["spark"], *extras["lake"], *extras["pipelines"]]
    wanted += [*extras["postgres"], *project["dependency-groups"]["test"], "pandas<3", "setuptools"]
    wanted += [*CONNECT, f"pyspark=={version}.*"]
    uv = shutil.which("uv")
    if uv:
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(pins), *wanted], check=True)
    ready.touch()
    return python


def constraints(pinned: str) -> list[str]:
    """Names and versions of a lock file, without hashes, and without what is to differ."""
    found = re.findall(r"^([\w.\[\],-]+==[^\s\\]+(?: *;[^\\\n]*)?)", pinned, re.MULTILINE)
    return [line.strip() for line in found if re.split(r"[=\[]", line)[0] not in FREE]


def connector(pyspark: str) -> str:
    """The version of Spark's own Kafka connector that tests/spark find for that PySpark; none: they are left out."""
    folder = Path(os.environ.get("TAPELOG_SPARK_KAFKA_JARS") or ROOT / ".tools" / "spark-kafka" / pyspark)
    found = sorted(path.stem for path in folder.glob(f"{CONNECTOR}*.jar"))
    return found[0].removeprefix(CONNECTOR) if found else NONE


def tests(python: Path) -> tuple[str, bool, list[str]]:
    """tests/spark with that PySpark: how many passed, whether all did, and what was left out and why."""
    report = HOME / "report.json"
    report.unlink(missing_ok=True)
    words = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "300"]
    words += ["-n", str(WORKERS), "--dist", "loadfile", "tests/spark"]
    env = settings() | {"TAPELOG_REPORT": str(report)}
    began = time.monotonic()
    code = subprocess.run(words, cwd=ROOT, env=env, timeout=TESTS_S_MAX, check=False).returncode
    told = json.loads(report.read_text()) if report.exists() else {"counts": {}, "left_out": []}
    words = [f"{count} {what}" for what, count in told["counts"].items() if count]
    missed = [f"{count} in {path}: {reason}" for count, path, reason in told["left_out"]]
    return f"{', '.join(words) or 'did not run'} in {time.monotonic() - began:.0f} s", code == 0, missed


def probe(python: Path, arguments: list[str]) -> dict[str, str]:
    """What tools/spark_probe.py answers there."""
    words = [str(python), str(ROOT / "tools" / "spark_probe.py"), *arguments]
    ran = subprocess.run(
        words, cwd=ROOT, env=settings(), capture_output=True, text=True, timeout=PROBE_S_MAX, check=False
    )
    for line in ran.stdout.splitlines():
        if line.startswith("answers "):
            found: dict[str, str] = json.loads(line.removeprefix("answers "))
            return found
    tail = (ran.stderr.strip().splitlines() or ["no answer"])[-1]
    return dict.fromkeys(CONNECTED if arguments else ("batch",), f"no: {tail[:160]}")


def settings() -> dict[str, str]:
    """The environment of what is run."""
    return os.environ | {"PYTHONPATH": str(ROOT / "src")}


def table(rows: list[dict[str, str]]) -> str:
    """Features down, versions across."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[name, *(row.get(name, "") for row in rows)] for name in names]
    lines.insert(1, ["---"] * (len(rows) + 1))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def said(words: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def say(line: str) -> None:
    """Progress."""
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
