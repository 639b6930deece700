"""Write tests/unit/wire/kafka_records.txt: record types as Apache Kafka's own classes encode and print them.

Usage: PYTHONPATH=src:. python codegen/vectors.py DIRECTORY-WITH-KAFKA-JARS

Requests and responses have kio as a second opinion; the records of coordinators and of the metadata quorum have none
in Python. So values are encoded by us, decoded and encoded again by Kafka (KafkaVectors.java, which also prints them
as JSON), and kept. The test then needs no Java. With --messages, every request and response is checked as well,
and nothing is written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.properties.wire_values import DEFINITIONS, MESSAGES, RECORDS, message_trees, ours

HERE = Path(__file__).parent
TARGET = HERE.parent / "tests" / "unit" / "wire" / "kafka_records.txt"
EXAMPLES = 4


def examples(name: str) -> list[tuple[Any, ...]]:
    """A few values of a message, the same at every run."""
    found: list[tuple[Any, ...]] = []

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(message_trees(name))
    def collect(tree: tuple[Any, ...]) -> None:
        found.append(tree)

    collect()
    return found


def judged(lines: list[str], jars: str) -> list[str]:
    """What Kafka makes of our lines."""
    classpath = f"{Path(jars).expanduser()}/*"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, "-cp", classpath, HERE / "KafkaVectors.java"], check=True)
        command = ["java", "-Dstdout.encoding=UTF-8", "-cp", f"{folder}:{classpath}", "KafkaVectors"]
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [_plain(line) for line in done.stdout.removesuffix("\n").split("\n")]


def _plain(line: str) -> str:
    """The line with its JSON in ASCII."""
    *head, text = line.split(" ", 3)
    return line if head[-1] == "!" else " ".join([*head, json.dumps(json.loads(text))])


def main() -> None:
    """Encode, let Kafka judge, keep."""
    lines = []
    for name in MESSAGES if "--messages" in sys.argv else RECORDS:
        for tree in examples(name):
            for version in DEFINITIONS[name].versions:
                lines.append(f"{name} {version} {ours(name, tree, version).tobytes(version).hex()}")
    lines = list(dict.fromkeys(lines))
    answers = judged(lines, next(a for a in sys.argv[1:] if not a.startswith("--")))
    wrong = [answer for line, answer in zip(lines, answers, strict=True) if not answer.startswith(f"{line} ")]
    if wrong:
        raise SystemExit("Kafka disagrees:\n" + "\n".join(wrong))
    if "--messages" not in sys.argv:
        TARGET.write_text("\n".join(answers) + "\n")
    print(f"{len(answers)} encoded values, all as Kafka has them")


if __name__ == "__main__":
    main()
