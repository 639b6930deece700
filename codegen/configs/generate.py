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
    ("topic", "tapelog.max.bytes", "LONG", "-1", "MEDIUM", "-1.."),
    ("topic", "tapelog.max.bytes.policy", "STRING", "reject", "MEDIUM", "in:reject,drop-oldest"),
    ("topic", "tapelog.tier.hold", "BOOLEAN", "false", "MEDIUM", ""),
    ("topic", "tapelog.tier.restore", "STRING", "", "LOW", ""),
    ("broker", "tapelog.acks", "STRING", "all", "MEDIUM", "in:all,quorum"),
    ("broker", "tapelog.cleaner.flush.slowdown.max", "DOUBLE", "1.5", "MEDIUM", "0.."),
    ("broker", "tapelog.disk.low.bytes", "LONG", "-1", "MEDIUM", "-1.."),
    ("broker", "tapelog.disk.reserve.bytes", "LONG", "-1", "MEDIUM", "-1.."),
    ("broker", "tapelog.flush", "STRING", "fsync", "HIGH", "in:fsync,page-cache"),
    ("broker", "tapelog.max.bytes", "LONG", "-1", "MEDIUM", "-1.."),
    ("broker", "tapelog.max.bytes.policy", "STRING", "reject", "MEDIUM", "in:reject,drop-oldest"),
    ("broker", "tapelog.max.bytes.prefixes", "LIST", "", "MEDIUM", "quotas"),
    ("broker", "tapelog.open.files.max", "INT", "-1", "LOW", "64..|-1"),
    ("broker", "tapelog.scrub.bytes.per.second", "LONG", "2097152", "MEDIUM", "0.."),
    ("broker", "tapelog.scrub.interval.ms", "LONG", "604800000", "MEDIUM", "0.."),
    ("broker", "tapelog.tier.cache.bytes", "LONG", "134217728", "MEDIUM", "1.."),
    ("broker", "tapelog.tier.endpoint", "STRING", None, "MEDIUM", ""),
    ("broker", "tapelog.tier.orphan.check.interval.ms", "LONG", "3600000", "LOW", "1000.."),
    ("broker", "tapelog.tier.url", "STRING", None, "MEDIUM", ""),
    ("broker", "tapelog.tier.verify.uploads", "BOOLEAN", "true", "LOW", ""),
    ("broker", "tapelog.unflushed.max.bytes", "LONG", "268435456", "LOW", "1048576.."),
    ("broker", "tapelog.unsent.max.bytes", "LONG", "268435456", "LOW", "1048576.."),
]
DYNAMIC_NAMES = (
    "tapelog.acks",
    "tapelog.cleaner.flush.slowdown.max",
    "tapelog.disk.low.bytes",
    "tapelog.disk.reserve.bytes",
    "tapelog.flush",
    "tapelog.max.bytes",
    "tapelog.max.bytes.policy",
    "tapelog.max.bytes.prefixes",
    "tapelog.scrub.bytes.per.second",
    "tapelog.scrub.interval.ms",
    "tapelog.unflushed.max.bytes",
)
OWN_SYNONYMS = [
    (name, name, 1) for scope, name, *_ in OWN if scope == "topic" and any(row[:2] == ("broker", name) for row in OWN)
]
OWN_DYNAMIC = dict.fromkeys(DYNAMIC_NAMES, "cluster-wide")

SCOPES = {
    "topic": "TOPIC",
    "broker": "BROKER",
    "quota-broker": "BROKER_QUOTA",
    "group": "GROUP",
    "client-metrics": "CLIENT_METRICS",
}
TYPES = ["", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
IMPORTANCES = ["HIGH", "MEDIUM", "LOW"]

HEADER = '''"""Every configuration name of Apache Kafka {version} and Tapelog, as facts. Generated: codegen/configs.

A row is (name, type, default or None, importance, bounds). Types are the wire numbers of DescribeConfigs.
Bounds, read by config_values.py: "" anything; "0.." and "1..9" ranges, "1..9|-1" or one more value; "in:a,b" one of;
"ci:a,b" one of, in any case; "list:a,b" a list of these; "nonempty", "nonempty-items", "quotas", "replicas", "reset".
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


class Facts:
    """What the dump says, plus our own names."""

    def __init__(self, lines: list[str]) -> None:
        self.rows: dict[str, list[tuple[str, str, str | None, str, str, bool]]] = {}
        self.modes: dict[str, str] = dict(OWN_DYNAMIC)
        self.topic_synonyms: dict[str, list[tuple[str, int]]] = {}
        self.group_synonyms: list[tuple[str, str]] = []
        self.broker_synonyms: list[tuple[str, str]] = []
        self.level, self.level_name = "", ""
        for line in lines:
            self._read(*line.split("\t"))
        for scope, name, kind, default, importance, limit in OWN:
            self.rows[scope].append((name, kind, default, importance, limit, False))
        for topic_name, broker_name, factor in OWN_SYNONYMS:
            self.topic_synonyms.setdefault(topic_name, []).append((broker_name, factor))

    def _read(self, scope: str, *rest: str) -> None:
        if scope in SCOPES:
            name, kind, default, importance, visibility, validator = rest
            limit = bounds(kind, unescape(validator) or "")
            self.rows.setdefault(scope, []).append(
                (name, kind, unescape(default), importance, limit, visibility == "internal")
            )
        elif scope == "mode":
            self.modes[rest[0]] = rest[1]
        elif scope == "topic-synonym":
            self.topic_synonyms.setdefault(rest[0], []).append((rest[1], int(rest[2])))
        elif scope == "group-synonym":
            self.group_synonyms.append((rest[0], rest[1]))
        elif scope == "broker-synonym" and rest[0] != rest[1]:
            self.broker_synonyms.append((rest[0], rest[1]))
        elif scope == "metadata-version":
            self.level, self.level_name = rest

    def internal(self) -> list[str]:
        """Names that are accepted but never shown."""
        return sorted({name for rows in self.rows.values() for name, *_, hidden in rows if hidden})


def table(variable: str, rows: list[tuple[str, str, str | None, str, str, bool]]) -> list[str]:
    """One tuple of rows."""
    lines = [f"\n{variable}: Final[tuple[Row, ...]] = ("]
    for name, kind, text, importance, limit, _ in sorted(rows):
        lines.append(f"    ({name!r}, {TYPES.index(kind)}, {text!r}, {IMPORTANCES.index(importance)}, {limit!r}),")
    return [*lines, ")"]


def mapping(comment: str, variable: str, kind: str, items: list[tuple[str, object]]) -> list[str]:
    """One dictionary."""
    entries = [f"    {name!r}: {value!r}," for name, value in items]
    return [f"\n# {comment}", f"{variable}: Final[{kind}] = {{", *entries, "}"]


def render(lines: list[str]) -> str:
    """The module, given the dump."""
    facts = Facts(lines)
    out = [HEADER.format(version="4.3", level=facts.level, level_name=facts.level_name)]
    for scope, variable in SCOPES.items():
        out += table(variable, facts.rows[scope])
    out.append("\n# Accepted but never shown.")
    out.append(f"INTERNAL: Final[frozenset[str]] = frozenset(\n    {facts.internal()!r}\n)")
    out += mapping(
        "Broker names that may change without a restart: True where only broker by broker.",
        "PER_BROKER_ONLY",
        "dict[str, bool]",
        [(name, facts.modes[name] == "per-broker") for name in sorted(facts.modes)],
    )
    out += mapping(
        "Topic name -> the broker names that stand behind it, with the factor from their unit to ours.",
        "TOPIC_SYNONYMS",
        "dict[str, tuple[tuple[str, int], ...]]",
        [(name, tuple(facts.topic_synonyms[name])) for name in sorted(facts.topic_synonyms)],
    )
    out += mapping(
        "Broker names that stand for one another, in order of precedence.",
        "BROKER_SYNONYMS",
        "dict[str, tuple[str, ...]]",
        [(name, tuple(others.split(","))) for name, others in facts.broker_synonyms],
    )
    out += mapping(
        "Group name -> the broker name that gives its default.",
        "GROUP_SYNONYMS",
        "dict[str, str]",
        [(name, other) for name, other in facts.group_synonyms if other],
    )
    return "\n".join([*out, ""]).replace("'", '"')


def main() -> None:
    """Read facts on stdin, write the table."""
    TARGET.write_text(render(sys.stdin.read().splitlines()))


if __name__ == "__main__":
    main()
