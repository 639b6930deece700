"""What a message definition says, as values: messages, structs, fields, version ranges.

Reads the JSON in codegen/definitions (see fetch.py) with the fields that codegen/additions adds, and resolves what the
JSON leaves implicit: inherited version ranges, defaults, shared structs, least encoded sizes. emit.py turns the result
into Python.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAST = 32767
TAGS_OF_OURS = 10_000
"""Tagged fields that Kafka does not have begin here (codegen/additions): far from where its own will ever be."""
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


@dataclass(frozen=True)
class Versions:
    """An inclusive range of versions; empty when low > high."""

    low: int
    high: int

    @staticmethod
    def parse(text: str | None) -> Versions:
        """Kafka's notation: none, 3, 3-7, 3+."""
        if text is None or text == "none":
            return Versions(0, -1)
        if text.endswith("+"):
            return Versions(int(text[:-1]), LAST)
        low, _, high = text.partition("-")
        return Versions(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Any:
        return iter(range(self.low, self.high + 1))

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.low, other.low), min(self.high, other.high))

    @property
    def empty(self) -> bool:
        """No version at all."""
        return self.low > self.high


@dataclass
class Struct:
    """A message or a struct inside one: a class to generate."""

    name: str
    versions: Versions
    flexible: Versions
    fields: list[Field] = field(default_factory=list)

    def size_min(self, version: int) -> int:
        """The fewest bytes one can take in that version."""
        total = sum(f.size_min(version) for f in self.fields if version in f.versions and version not in f.tagged)
        return total + (1 if version in self.flexible else 0)


@dataclass
class Field:
    """One field of a struct."""

    name: str
    type: str  # without the array brackets
    array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    flexible: Versions
    tag: int | None
    ignorable: bool
    default: str | None
    struct: Struct | None

    @property
    def attribute(self) -> str:
        """The name in Python."""
        return snake(self.name)

    def size_min(self, version: int) -> int:
        """The fewest bytes the field can take in that version."""
        compact = version in self.flexible
        if self.array or self.type in ("bytes", "records"):
            return 1 if compact else 4
        return self.item_size_min(version, nullable=version in self.nullable)

    def item_size_min(self, version: int, *, nullable: bool = False) -> int:
        """The fewest bytes one value of the type (an item, for arrays) can take in that version."""
        compact = version in self.flexible
        if self.struct is not None:
            return 1 if nullable else self.struct.size_min(version)
        if self.type == "string":
            return 1 if compact else 2
        if self.type in ("bytes", "records"):
            return 1 if compact else 4
        return FIXED_SIZES[self.type]


@dataclass
class Definition:
    """One definition file."""

    name: str
    kind: str  # request, response, header, data, metadata, coordinator-key, coordinator-value
    module: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    stable_max: int
    listeners: tuple[str, ...]
    root: Struct
    structs: list[Struct]  # inner ones first, root last


def snake(name: str) -> str:
    """CamelCase to snake_case: KRaftVersion → kraft_version, ISRNodes → isr_nodes."""
    name = name.replace("KRaft", "Kraft")
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


class _Loader:
    """Builds the structs of one definition, inner ones first."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.versions = Versions.parse(data["validVersions"])
        self.flexible = Versions.parse(data.get("flexibleVersions")) & self.versions
        self.common = {c["name"]: c for c in data.get("commonStructs", [])}
        self.structs: dict[str, Struct] = {}

    def struct(self, name: str, fields: list[dict[str, Any]], versions: Versions) -> Struct:
        made = Struct(name, versions, self.flexible & versions)
        made.fields = [self.field(f, versions) for f in fields]
        if name in self.structs:
            raise ValueError(f"{name} is defined twice")
        self.structs[name] = made
        return made

    def field(self, data: dict[str, Any], parent: Versions) -> Field:
        tagged = Versions.parse(data.get("taggedVersions"))
        versions = tagged if "versions" not in data else Versions.parse(data["versions"])
        if not tagged.empty and tagged != versions:
            raise ValueError(f"{data['name']}: tagged in some versions only")
        versions = versions & parent
        flexible = self.flexible & versions
        if "flexibleVersions" in data:
            flexible = Versions.parse(data["flexibleVersions"]) & versions
        bare = data["type"].removeprefix("[]")
        default = data.get("default")
        return Field(
            name=data["name"][0].upper() + data["name"][1:],
            type=bare,
            array=data["type"].startswith("[]"),
            versions=versions,
            nullable=Versions.parse(data.get("nullableVersions")) & versions,
            tagged=tagged & versions,
            flexible=flexible,
            tag=data.get("tag"),
            ignorable=bool(data.get("ignorable", False)),
            default=None if default is None else str(default).lower() if isinstance(default, bool) else str(default),
            struct=self.struct_of(bare, data, versions) if bare[0].isupper() else None,
        )

    def struct_of(self, name: str, data: dict[str, Any], versions: Versions) -> Struct:
        if "fields" in data:
            return self.struct(name, data["fields"], versions)
        if name not in self.structs:
            common = self.common[name]
            self.struct(name, common["fields"], Versions.parse(common["versions"]) & self.versions)
        return self.structs[name]


def load(path: Path, additions: Path | None = None) -> Definition:
    """Read one definition file, with the fields of our own that a file of that name among the additions has."""
    data = json.loads(path.read_text())
    if additions is not None and (additions / path.name).exists():
        _add(data, data["name"], json.loads((additions / path.name).read_text()))
    loader = _Loader(data)
    root = loader.struct(data["name"], data.get("fields", []), loader.versions)
    unstable = bool(data.get("latestVersionUnstable", False))
    return Definition(
        name=data["name"],
        kind=data["type"],
        module=data["module"],
        api_key=data.get("apiKey"),
        versions=loader.versions,
        flexible=loader.flexible,
        stable_max=loader.versions.high - (1 if unstable else 0),
        listeners=tuple(data.get("listeners", ())),
        root=root,
        structs=list(loader.structs.values()),
    )


def _add(data: dict[str, Any], name: str, added: dict[str, list[dict[str, Any]]]) -> None:
    """Append our fields to the struct of that name, and to those inside it; they are tagged, so others skip them."""
    for field_data in data["fields"]:
        if "fields" in field_data:
            _add(field_data, field_data["type"].removeprefix("[]"), added)
    if any(one.get("tag", -1) < TAGS_OF_OURS for one in added.get(name, ())):
        raise ValueError(f"{name}: fields of our own have tags from {TAGS_OF_OURS}")
    tags = [one.get("tag") for one in added.get(name, ())]
    if len(set(tags)) < len(tags):
        raise ValueError(f"{name}: two fields of our own have the same tag")
    data["fields"] += added.get(name, [])


def load_all(directory: Path, additions: Path | None = None) -> list[Definition]:
    """All definitions that have at least one version, by name."""
    loaded = [load(path, additions) for path in sorted(directory.glob("*.json"))]
    return [d for d in loaded if not d.versions.empty]
