"""Spark's own Kafka connector, fetched by Maven: of Spark's version where there is one, else of the nearest older one.

Nothing here says where Maven looks: that is its own configuration. `python -m bench.spark.connector` fetches it for the
PySpark of this environment, for tests/spark; where it cannot be had, it says so, and those tests are left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from bench.sides import REPOSITORY, Missing

FOLDER = REPOSITORY / ".tools" / "spark-kafka"
OLDER = ("4.3.0", "4.2.1", "4.2.0", "4.1.1", "4.1.0", "4.0.1", "4.0.0")
SPARK, SUFFIX = "org.apache.spark", "_2.13"
BESIDE = {"org.apache.kafka:kafka-clients": "3.9.1", "org.apache.commons:commons-pool2": "2.12.1"}
"""What the connector of Spark 4 was built with."""
_NO_SUCH = re.compile(r"Could not find artifact|was not found in")
"""What Maven says of a version that does not exist, as against one that it could not ask for."""


@dataclass(frozen=True, slots=True)
class Connector:
    """The jars, and which versions of the connector and of Avro they hold (none: not to be had)."""

    jars: list[Path]
    version: str
    avro: str


def find(spark: str, tell: Callable[[str], None], *, avro: bool = False) -> Connector:
    """Fetched before, or fetched now; Missing says what to do where that fails. `avro`: with Spark's Avro functions."""
    folder = FOLDER / spark
    folder.mkdir(parents=True, exist_ok=True)
    candidates = [spark, *(version for version in OLDER if _key(version) < _key(spark))]
    version = _first(folder, "spark-sql-kafka-0-10", candidates, tell)
    others = [version, OLDER[-1], *candidates]  # it only brings tokens for Kerberos: any version will do
    if not version or not _first(folder, "spark-token-provider-kafka-0-10", others, tell):
        raise Missing('Maven has no Kafka connector for this Spark: without it only format("tapelog") is measured')
    for name, wanted in BESIDE.items():
        if not _fetched(folder, name, wanted):
            raise Missing(f"Maven did not bring {name} {wanted}, which Spark's connector needs")
    found = _first(folder, "spark-avro", candidates, tell) if avro else ""
    return Connector(sorted(folder.glob("*.jar")), version, found)


def _first(folder: Path, artifact: str, versions: list[str], tell: Callable[[str], None]) -> str:
    """The first of these versions that there is; that there is none is remembered. Missing if Maven cannot be asked."""
    for there in folder.glob(f"{artifact}{SUFFIX}-*.jar"):
        return re.sub(r".*_2\.13-|\.jar$", "", there.name)
    if (folder / f"no-{artifact}").exists():
        return ""
    for version in dict.fromkeys(versions):
        tell(f"asking Maven for {artifact} {version}")
        if _fetched(folder, f"{SPARK}:{artifact}{SUFFIX}", version):
            return version
    (folder / f"no-{artifact}").touch()
    return ""


def _fetched(folder: Path, name: str, version: str) -> bool:
    group, artifact = name.split(":")
    jar = f"{artifact}-{version}.jar"
    if (folder / jar).exists():
        return True
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Spark's own connector is fetched by Maven: apt install maven")
    words = [
        maven,
        "-q",
        "-B",
        "dependency:copy",
        f"-Dartifact={group}:{artifact}:{version}",
        f"-DoutputDirectory={folder}",
    ]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    if not (folder / jar).exists() and not _NO_SUCH.search(ran.stdout + ran.stderr):
        raise Missing(f"Maven was asked for {artifact} {version} in vain: run mvn -B dependency:copy to see why")
    return (folder / jar).exists()


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def main() -> None:
    """Fetch it, or say why not."""
    try:
        found = find(metadata.version("pyspark"), print)
        print(f"Spark's Kafka connector {found.version} in {found.jars[0].parent}")
    except (Missing, metadata.PackageNotFoundError, subprocess.TimeoutExpired) as error:
        print(f"without Spark's own Kafka connector: {error}")


if __name__ == "__main__":
    main()
