"""Turns a definition into the text of a Python module.

One class per struct. Its constructor takes the fields in the definition's order, tagged ones last, so that decoders
can pass them by position: half the price of keywords in interpreted Python. Everyone else writes keywords.

Per field the code for each version is computed, equal neighbours are merged, and what remains becomes conditions on
`version`: so every rule of the format is stated once, for one version, in `read` and `write`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from model import Definition, Field, Struct, Versions

C = TypeVar("C")
Segment = tuple[int, C]  # first version, code

PRIMITIVES = {
    "bool": ("boolean", "bool"),
    "int8": ("i8", "int"),
    "int16": ("i16", "int"),
    "uint16": ("u16", "int"),
    "int32": ("i32", "int"),
    "uint32": ("u32", "int"),
    "int64": ("i64", "int"),
    "float64": ("f64", "float"),
    "uuid": ("uuid", "bytes"),
}
SIZED = {"string": ("string", "str"), "bytes": ("bytestring", "bytes"), "records": ("records", "RecordBytes")}


def segments(versions: Versions, code: Callable[[int], C]) -> list[Segment[C]]:
    """The code per version, with equal neighbours merged; ascending."""
    found: list[Segment[C]] = []
    for version in versions:
        made = code(version)
        if not found or found[-1][1] != made:
            found.append((version, made))
    return found


def block(lines: list[str], depth: int = 1) -> list[str]:
    """The lines, indented."""
    return ["    " * depth + line for line in lines]


class FieldCode:
    """What one field contributes to its class."""

    def __init__(self, owner: Struct, field: Field) -> None:
        self.owner = owner
        self.field = field
        self.name = field.attribute
        single = field.struct is not None and not field.array
        self.absent_is_none = single and field.tag is not None and field.nullable.empty
        """A tagged struct that cannot be null: None stands for the default, which is not sent."""
        self.sentinel = single and not field.nullable.empty and field.default != "null"
        """A struct that may be null and is not null by default."""

    # -- types and defaults -----------------------------------------------------------------------------------

    @property
    def optional(self) -> bool:
        return not self.field.nullable.empty or self.absent_is_none

    @property
    def item_type(self) -> str:
        if self.field.struct is not None:
            return self.field.struct.name
        return (PRIMITIVES.get(self.field.type) or SIZED[self.field.type])[1]

    @property
    def type(self) -> str:
        base = f"list[{self.item_type}]" if self.field.array else self.item_type
        return f"{base} | None" if self.optional else base

    @property
    def default(self) -> str:
        """A fresh default value, as an expression."""
        field = self.field
        if self.absent_is_none or field.default == "null":
            return "None"
        if field.array:
            return "[]"
        if field.struct is not None:
            return f"{field.struct.name}()"
        if field.type == "records":
            return "None" if self.optional else 'b""'
        if field.type == "uuid":
            return "ZERO_UUID"
        if field.type == "bytes":
            return 'b""'
        if field.type == "string":
            return f'"{field.default or ""}"'
        if field.type == "bool":
            return "True" if field.default == "true" else "False"
        if field.type == "float64":
            return str(float(field.default or 0))
        return str(int(field.default or "0", 0))

    @property
    def parameter(self) -> str:
        if self.sentinel:
            return f"{self.name}: {self.type} = _DEFAULT_{self.name.upper()}"
        if self.default == "[]":
            return f"{self.name}: {self.type} = EMPTY"
        if self.default.endswith("()"):
            return f"{self.name}: {self.type} | None = None"
        return f"{self.name}: {self.type} = {self.default}"

    @property
    def assignment(self) -> str:
        name = self.name
        if self.sentinel:
            return f"self.{name}: {self.type} = {self.default} if {name} is _DEFAULT_{name.upper()} else {name}"
        if self.default == "[]":
            return f"self.{name}: {self.type} = [] if {name} is EMPTY else {name}"
        if self.default.endswith("()"):
            return f"self.{name}: {self.type} = {self.default} if {name} is None else {name}"
        return f"self.{name}: {self.type} = {name}"

    @property
    def is_set(self) -> str:
        """The condition that the value differs from the default."""
        value, default = f"self.{self.name}", self.default
        if default == "None":
            return f"{value} is not None"
        if self.sentinel:
            return f"{value} is None or {value} != {default}"
        if default == "[]":
            return f"{value} is None or {value}" if self.optional else value
        if default in ("True", "False"):
            return value if default == "False" else f"not {value}"
        return f"{value} != {default}"

    # -- one version -------------------------------------------------------------------------------------------

    def _item_size_min(self) -> int:
        return max(1, min(self.field.item_size_min(v) for v in self.field.versions))

    def _read_item(self, compact: bool) -> str:
        field = self.field
        if field.struct is not None:
            return f"{field.struct.name}.decode(r, version)"
        if field.type in PRIMITIVES:
            return f"r.{PRIMITIVES[field.type][0]}()"
        return f"r.{'compact_' if compact else ''}{SIZED[field.type][0]}()"

    def read(self, version: int) -> str:
        """The expression that reads the field in a version that has it."""
        field = self.field
        compact, nullable = version in field.flexible, version in field.nullable
        prefix = ("compact_" if compact else "") + ("nullable_" if nullable else "")
        if field.array:
            count = f"r.{prefix}array({self._item_size_min()})"
            if field.type == "int32":
                return f"None if (n := {count}) < 0 else r.i32_items(n)" if nullable else f"r.i32_items({count})"
            items = f"[{self._read_item(compact)} for _ in range({'n' if nullable else count})]"
            return f"None if (n := {count}) < 0 else {items}" if nullable else items
        if field.struct is not None:
            item = self._read_item(compact)
            there = "r.uvarint() > 0" if version in field.tagged else "r.present()"
            return f"{item} if {there} else None" if nullable else item
        if field.type == "records":
            item = self._read_item(compact)
            return item if nullable else f'not_null({item}, "{self.name}")'
        if field.type in SIZED:
            return f"r.{prefix}{SIZED[field.type][0]}()"
        return self._read_item(compact)

    def _write_item(self, w: str, value: str, compact: bool) -> str:
        field = self.field
        if field.struct is not None:
            return f"{value}.encode({w}, version)"
        if field.type in PRIMITIVES:
            return f"{w}.{PRIMITIVES[field.type][0]}({value})"
        return f"{w}.{'compact_' if compact else ''}{SIZED[field.type][0]}({value})"

    def write(self, version: int, w: str = "w", known: bool = False) -> list[str]:
        """The statements that write the field in a version that has it; known: it is known not to be None."""
        field, value = self.field, f"self.{self.name}"
        compact, nullable = version in field.flexible, version in field.nullable
        if self.absent_is_none and not known:
            raise AssertionError("a tagged struct is written only when it is there")
        checked = f'not_null({value}, "{self.name}")' if self.optional and not nullable and not known else value
        array = f"{w}.{'compact_' if compact else ''}array"
        if field.array:
            if field.type == "int32":
                loop = [f"{w}.i32_items({value})"]
            else:
                item = f"{self.name}_item"
                loop = [f"for {item} in {value}:", *block([self._write_item(w, item, compact)])]
            if nullable and not known:
                return [
                    f"if {value} is None:",
                    *block([f"{array}(-1)"]),
                    "else:",
                    *block([f"{array}(len({value}))", *loop]),
                ]
            if checked != value:
                loop = [line.replace(value, self.name) for line in loop]
                return [f"{self.name} = {checked}", f"{array}(len({self.name}))", *loop]
            return [f"{array}(len({value}))", *loop]
        if field.struct is not None:
            absent, there = (
                (f"{w}.uvarint(0)", f"{w}.uvarint(1)") if version in field.tagged else (f"{w}.i8(-1)", f"{w}.i8(1)")
            )
            written = [*([there] if nullable else []), self._write_item(w, checked, compact)]
            if nullable and not known:
                return [f"if {value} is None:", *block([absent]), "else:", *block(written)]
            return written
        if field.type in SIZED and field.type != "records":
            null = "nullable_" if nullable and not known else ""
            return [f"{w}.{'compact_' if compact else ''}{null}{SIZED[field.type][0]}({checked})"]
        return [self._write_item(w, checked, compact)]

    # -- over all versions -------------------------------------------------------------------------------------

    def read_all(self) -> str:
        """The expression for any version of the owner."""
        found = segments(self.owner.versions, lambda v: self.read(v) if v in self.field.versions else self.default)
        text = found[0][1]
        for first, code in found[1:]:
            text = f"{_ternary_safe(code)} if version >= {first} else {text}"
        return text

    def write_segments(self) -> list[Segment[list[str]]]:
        """The statements per version of the owner (tagged fields: only the complaint where they are missing)."""
        return segments(self.owner.versions, self._write_or_complain)

    def _write_or_complain(self, version: int) -> list[str]:
        if version in self.field.tagged:
            return []
        if version in self.field.versions:
            return self.write(version)
        if self.field.ignorable:
            return []
        return [f"if {self.is_set}:", *block([f'lost_field("{self.owner.name}.{self.name}", version)'])]


def _ternary_safe(code: str) -> str:
    return f"({code})" if " if " in code else code


def condition(version: Versions, within: Versions) -> str:
    """The condition that `version` is in the first range, given that it is in the second; '' if always."""
    low, high = version.low > within.low, version.high < within.high
    if low and high:
        return f"{version.low} <= version <= {version.high}"
    if low:
        return f"version >= {version.low}"
    return f"version <= {version.high}" if high else ""


def conditional(found: list[Segment[list[str]]]) -> list[str]:
    """Statements that choose by version."""
    if len(found) == 1:
        return found[0][1]
    if len(found) == 2 and not found[1][1]:
        return [f"if version < {found[1][0]}:", *block(found[0][1])]
    lines: list[str] = []
    for first, code in reversed(found[1:]):
        lines += [f"{'elif' if lines else 'if'} version >= {first}:", *block(code or ["pass"])]
    return lines + (["else:", *block(found[0][1])] if found[0][1] else [])


class StructCode:
    """The text of one class."""

    def __init__(self, struct: Struct, definition: Definition) -> None:
        self.struct = struct
        self.definition = definition
        self.root = struct is definition.root
        self.codes = [FieldCode(struct, f) for f in struct.fields if not f.versions.empty]
        self.untagged = [c for c in self.codes if c.field.tagged.empty]
        self.tagged = sorted((c for c in self.codes if not c.field.tagged.empty), key=lambda c: c.field.tag or 0)

    def lines(self) -> list[str]:
        """Sentinels the class needs, then the class."""
        made = []
        for code in self.codes:
            if code.sentinel:
                made += [f"_DEFAULT_{code.name.upper()}: Final = {code.default}", "", ""]
        made += [f"class {self.struct.name}(Message):", *block([self._docstring(), "", *self._constants(), ""])]
        return made + block(self._init()) + [""] + block(self._decode()) + [""] + block(self._encode())

    def _docstring(self) -> str:
        if not self.root:
            return f'"""Part of {self.definition.name}."""'
        low, high = self.struct.versions.low, self.struct.versions.high
        return f'"""Versions {low} to {high}."""' if low != high else f'"""Version {low}."""'

    def _constants(self) -> list[str]:
        made = []
        if self.root:
            d = self.definition
            if d.api_key is not None:
                made.append(f"API_KEY: ClassVar[int] = {d.api_key}")
            made += [
                f"MIN_VERSION: ClassVar[int] = {d.versions.low}",
                f"MAX_VERSION: ClassVar[int] = {d.versions.high}",
                f"STABLE_MAX: ClassVar[int] = {d.stable_max}",
            ]
            if not d.flexible.empty:
                made.append(f"FLEXIBLE_FROM: ClassVar[int] = {d.flexible.low}")
        names = "".join(f'"{c.name}", ' for c in self.codes)
        return [*made, f"FIELDS: ClassVar[tuple[str, ...]] = ({names})"]

    def _init(self) -> list[str]:
        if not self.codes:
            return ["def __init__(self) -> None:", *block(["pass"])]
        parameters = ", ".join(c.parameter for c in [*self.untagged, *self.tagged])
        return [f"def __init__(self, {parameters}) -> None:", *block([c.assignment for c in self.codes])]

    def _guard(self) -> list[str]:
        if not self.root:
            return []
        low, high = self.struct.versions.low, self.struct.versions.high
        test = f"version != {low}" if low == high else f"version < {low} or version > {high}"
        return [f"if {test}:", *block([f'bad_version("{self.struct.name}", version)'])]

    def _decode(self) -> list[str]:
        arguments = [f"{c.read_all()}," for c in self.untagged]
        make = [f"{self.struct.name}(", *block(arguments), ")"]
        head = ["@staticmethod", f"def decode(r: Reader, version: int) -> {self.struct.name}:", *block(self._guard())]
        if self.struct.flexible.empty:
            return [*head, *block([f"return {make[0]}", *make[1:]])]
        tags = self._read_tags()
        when = condition(self.struct.flexible, self.struct.versions)
        if when:
            tags = [f"if {when}:", *block(tags)]
        return [*head, *block([f"made = {make[0]}", *make[1:], *tags, "return made"])]

    def _read_tags(self) -> list[str]:
        if not self.tagged:
            return ["r.skip_tags()"]
        choose: list[str] = []
        for code in self.tagged:
            field = code.field
            when = condition(field.tagged, self.struct.flexible)
            test = f"tag == {field.tag}" + (f" and {when}" if when else "")
            choose += [
                f"{'elif' if choose else 'if'} {test}:",
                *block([f"made.{code.name} = {code.read(field.tagged.low)}"]),
            ]
        choose += ["else:", *block(["r.pos = stop"])]
        body = ["tag = r.uvarint()", "stop = r.tag_end()", *choose, "r.end_tag(stop)"]
        return ["for _ in range(r.uvarint()):", *block(body)]

    def _encode(self) -> list[str]:
        body = self._guard()
        group: list[Segment[list[str]]] = []
        for code in self.codes:
            found = code.write_segments()
            if group and [first for first, _ in group] == [first for first, _ in found]:
                group = [(first, old + new) for (first, old), (_, new) in zip(group, found, strict=True)]
            else:
                body += conditional(group) if group else []
                group = found
        body += conditional(group) if group else []
        if not self.struct.flexible.empty:
            tags = self._write_tags()
            when = condition(self.struct.flexible, self.struct.versions)
            body += [f"if {when}:", *block(tags)] if when else tags
        return ["def encode(self, w: Writer, version: int) -> None:", *block(body or ["pass"])]

    def _write_tags(self) -> list[str]:
        if not self.tagged:
            return ["w.uvarint(0)"]
        count, fields = ["tags = 0"], []
        for code in self.tagged:
            field = code.field
            when = condition(field.tagged, self.struct.flexible)
            is_set = f"({code.is_set})" if " or " in code.is_set and when else code.is_set
            test = f"if {when + ' and ' if when else ''}{is_set}:"
            known = code.default == "None"
            count += [test, *block(["tags += 1"])]
            write = ["field = Writer()", *code.write(field.tagged.low, "field", known), f"w.tagged({field.tag}, field)"]
            fields += [test, *block(write)]
        return [*count, "w.uvarint(tags)", "if tags > 0:", *block(fields)]


IMPORTS = {
    "message": ("EMPTY", "Message", "bad_version", "lost_field", "not_null"),
    "reader": ("Reader",),
    "values": ("ZERO_UUID", "RecordBytes"),
    "writer": ("Writer",),
}


def module(definition: Definition) -> str:
    """The whole module, before formatting."""
    body: list[str] = []
    for struct in definition.structs:
        body += ["", "", *StructCode(struct, definition).lines()]
    text = "\n".join(body)
    typing = [name for name in ("ClassVar", "Final") if f"{name}[" in text or f": {name} " in text]
    head = [
        f'"""{definition.name}. Written by codegen/generate.py: change the generator, not this file."""',
        "",
        "from __future__ import annotations",
        "",
        f"from typing import {', '.join(typing)}",
        "",
    ]
    for source, names in IMPORTS.items():
        used = [name for name in names if _uses(text, name)]
        head += [f"from tapelog.wire.{source} import {', '.join(used)}"] if used else []
    return "\n".join(head) + text + "\n"


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
