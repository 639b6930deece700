"""Extract the message definitions from Apache Kafka's jars and keep only their facts.

Usage: python codegen/fetch.py DIRECTORY-WITH-KAFKA-JARS

The directory is the `libs` of a Kafka distribution, or any place with the jars of org.apache.kafka from a Maven
repository: kafka-clients, kafka-group-coordinator, kafka-transaction-coordinator, kafka-share-coordinator,
kafka-metadata, kafka-raft, kafka-storage. Comments and descriptions are dropped; names, types, versions, defaults
and tags are written to codegen/definitions, from which generate.py works without network.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

DEFINITIONS = Path(__file__).parent / "definitions"
JARS = {
    "clients": "common/message/",
    "group-coordinator": "common/message/",
    "transaction-coordinator": "common/message/",
    "share-coordinator": "common/message/",
    "metadata": "common/metadata/",
    "raft": "common/message/",
    "storage": "message/",
}
KEPT = (
    "apiKey",
    "type",
    "name",
    "validVersions",
    "flexibleVersions",
    "latestVersionUnstable",
    "listeners",
    "versions",
    "nullableVersions",
    "taggedVersions",
    "tag",
    "default",
    "ignorable",
    "fields",
    "commonStructs",
)


def facts(node: dict[str, Any]) -> dict[str, Any]:
    """The parts of a definition that decide bytes, in one order."""
    kept: dict[str, Any] = {}
    for key in KEPT:
        if key not in node or node[key] is None:
            continue  # an explicit JSON null default means no default, as in Kafka's own generator
        if key in ("fields", "commonStructs"):
            kept[key] = [facts(child) for child in node[key]]
        else:
            kept[key] = node[key]
    return kept


def without_comments(text: str) -> str:
    """JSON as Kafka writes it, with whole-line // comments removed."""
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)


def lines(node: dict[str, Any], indent: str = "") -> str:
    """JSON with one field to a line: short, and good to compare."""
    parts = []
    for key, value in node.items():
        if key in ("fields", "commonStructs"):
            inner = ",\n".join(f"{indent}  {lines(child, indent + '  ')}" for child in value)
            parts.append(f'"{key}": [\n{inner}\n{indent}]' if value else f'"{key}": []')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{" + ", ".join(parts) + "}"


def find_jar(directory: Path, name: str) -> Path:
    """The one jar of that module, whatever its version."""
    found = [
        p for p in sorted(directory.glob(f"kafka-{name}-*.jar")) if re.fullmatch(rf"kafka-{name}-[\d.]+\.jar", p.name)
    ]
    if len(found) != 1:
        raise SystemExit(f"{directory}: expected one kafka-{name}-VERSION.jar, found {len(found)}")
    return found[0]


def main() -> None:
    """Rewrite codegen/definitions from the jars."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    directory = Path(sys.argv[1]).expanduser()
    written: set[str] = set()
    for name, prefix in JARS.items():
        with zipfile.ZipFile(find_jar(directory, name)) as jar:
            for entry in sorted(jar.namelist()):
                if not entry.startswith(prefix) or not entry.endswith(".json"):
                    continue
                definition = {"module": name} | facts(json.loads(without_comments(jar.read(entry).decode())))
                path = DEFINITIONS / f"{definition['name']}.json"
                path.write_text(lines(definition) + "\n")
                written.add(path.name)
    for path in sorted(DEFINITIONS.glob("*.json")):
        if path.name not in written:
            path.unlink()
    print(f"{len(written)} definitions")


if __name__ == "__main__":
    main()
