"""Write src/tapelog/base/kafka_configs.py from the facts that ConfigFacts.java prints.

    java -cp "$TAPELOG_KAFKA_LIB/*" codegen/configs/ConfigFacts.java | python codegen/configs/generate.py

Run it when the Kafka version changes; the build needs neither Java nor this script.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "src" / "tapelog" / "base" / "kafka_configs.py"

# Our own names, beside Kafka's: (scope, name, type, default, importance, bounds).
OWN = [
    ("topic", "tapelog.acks", "STRING", "all", "MEDIUM", "in:all,quorum"),
    ("topic", "tapelog.flush", "STRING", "fsync", "HIGH", "in:fsync,page-cache"),
    ("broker", "tapelog.acks", "STRING", "all", "MEDIUM", "in:all,quorum"),
    ("broker", "tapelog.flush", "STRING", "fsync", "HIGH", "in:fsync,page-cache"),
]
OWN_SYNONYMS = [("tapelog.acks", "tapelog.acks", 1), ("tapelog.flush", "tapelog.flush", 1)]
OWN_DYNAMIC = {"tapelog.acks": "cluster-wide", "tapelog.flush": "cluster-wide"}

TYPES = ["", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
IMPORTANCES = ["HIGH", "MEDIUM", "LOW"]

HEADER = '''"""Every configuration name of Apache Kafka {version} and Tapelog, as facts. Generated: codegen/configs.

A row is (name, type, default or None, importance, bounds). Types are the wire numbers of DescribeConfigs.
Bounds, read by config_values.py: "" anything; "0.." and "1..9" ranges, "1..9|-1" or one more value; "in:a,b" one of;
"ci:a,b" one of, in any case; "list:a,b" a list of these; "nonempty", "nonempty-items", "replicas", "reset".
"""

from __future__ import annotations

from typing import Final

Row = tuple[str, int, "str | None", int, str]

METADATA_VERSION: Final = {level}
METADATA_VERSION_NAME: Final = "{level_name}"
'''


def unescape(text: str) -> str | None:
    if text in ("\\N", "\\R"):
        return None
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")


def bounds(kind: str, validator: str) -> str:
    """Kafka's description of a validator, in the small notation of the table."""
    if validator == "":
        return ""
    if found := re.fullmatch(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?", validator):
        low, high, other = found.groups()
        return f"{low}..{high or ''}" + (f"|{other}" if other else "")
    if found := re.fullmatch(r"(\(case insensitive\) )?\[([\w, ]+)\]", validator):
        names = ",".join(name.strip() for name in found.group(2).split(","))
        return ("ci:" if found.group(1) else "list:" if kind == "LIST" else "in:") + names
    known = {"non-empty string": "nonempty", "non-empty list": "nonempty-items", "non-null string": ""}
    if validator in known:
        return known[validator]
    if validator.startswith("[partitionId]"):
        return "replicas"
    if "by_duration" in validator:
        return "reset"
    raise ValueError(f"unknown validator {validator!r}")


def main() -> None:
    """Read facts on stdin, write the table."""
    rows: dict[str, list[tuple[str, str, str | None, str, str, bool]]] = {}
    modes: dict[str, str] = dict(OWN_DYNAMIC)
    topic_synonyms: dict[str, list[tuple[str, int]]] = {}
    group_synonyms: list[tuple[str, str]] = []
    broker_synonyms: list[tuple[str, str]] = []
    version, level, level_name = "4.3", "", ""
    for line in sys.stdin.read().splitlines():
        scope, *rest = line.split("\t")
        if scope in ("topic", "broker", "quota-broker", "group", "client-metrics"):
            name, kind, default, importance, visibility, validator = rest
            limit = bounds(kind, unescape(validator) or "")
            rows.setdefault(scope, []).append(
                (name, kind, unescape(default), importance, limit, visibility == "internal")
            )
        elif scope == "mode":
            modes[rest[0]] = rest[1]
        elif scope == "topic-synonym":
            topic_synonyms.setdefault(rest[0], []).append((rest[1], int(rest[2])))
        elif scope == "group-synonym":
            group_synonyms.append((rest[0], rest[1]))
        elif scope == "broker-synonym" and rest[0] != rest[1]:
            broker_synonyms.append((rest[0], rest[1]))
        elif scope == "metadata-version":
            level, level_name = rest
    for scope, name, kind, own_default, importance, limit in OWN:
        rows[scope].append((name, kind, own_default, importance, limit, False))
    for topic_name, broker_name, factor in OWN_SYNONYMS:
        topic_synonyms.setdefault(topic_name, []).append((broker_name, factor))
    out = [HEADER.format(version=version, level=level, level_name=level_name)]
    for scope, variable in (
        ("topic", "TOPIC"),
        ("broker", "BROKER"),
        ("quota-broker", "BROKER_QUOTA"),
        ("group", "GROUP"),
        ("client-metrics", "CLIENT_METRICS"),
    ):
        out.append(f"\n{variable}: Final[tuple[Row, ...]] = (")
        for name, kind, text, importance, limit, _ in sorted(rows[scope]):
            out.append(f"    ({name!r}, {TYPES.index(kind)}, {text!r}, {IMPORTANCES.index(importance)}, {limit!r}),")
        out.append(")")
    internal = sorted({name for scope in rows for name, *_, hidden in rows[scope] if hidden})
    out.append("\n# Accepted but never shown.")
    out.append(f"INTERNAL: Final[frozenset[str]] = frozenset(\n    {internal!r}\n)")
    out.append("\n# Broker names that may change without a restart: True where only broker by broker.")
    out.append("PER_BROKER_ONLY: Final[dict[str, bool]] = {")
    out.extend(f"    {name!r}: {modes[name] == 'per-broker'}," for name in sorted(modes))
    out.append("}")
    out.append("\n# Topic name -> the broker names that stand behind it, with the factor from their unit to ours.")
    out.append("TOPIC_SYNONYMS: Final[dict[str, tuple[tuple[str, int], ...]]] = {")
    out.extend(f"    {name!r}: {tuple(topic_synonyms[name])!r}," for name in sorted(topic_synonyms))
    out.append("}")
    out.append("\n# Broker names that stand for one another, in order of precedence.")
    out.append("BROKER_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {")
    out.extend(f"    {name!r}: {tuple(others.split(','))!r}," for name, others in broker_synonyms)
    out.append("}")
    out.append("\n# Group name -> the broker name that gives its default.")
    out.append("GROUP_SYNONYMS: Final[dict[str, str]] = {")
    out.extend(f"    {name!r}: {other!r}," for name, other in group_synonyms if other)
    out.append("}\n")
    TARGET.write_text("\n".join(out).replace("'", '"'))


if __name__ == "__main__":
    main()
