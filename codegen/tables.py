"""The tables that span messages: API keys, and which record type is which class."""

from __future__ import annotations

import json
from pathlib import Path

from model import LAST, Definition, Versions, load, snake

API_KEYS_HEAD = '''"""API keys and header versions. Written by codegen/generate.py: change the generator, not this file.

`VERSIONS` holds what Apache Kafka supports, stable versions only; what this broker serves is in its routes table.
"""

from __future__ import annotations

from typing import Final

_NEVER: Final = 32767


class ApiKey:
    """The number of each API."""

'''

API_KEYS_TAIL = '''

def request_header_version(api_key: int, version: int) -> int:
    """The version of the header before such a request; 1 for APIs nobody knows."""
    return 2 if version >= FLEXIBLE_FROM.get(api_key, _NEVER) else 1


def response_header_version(api_key: int, version: int) -> int:
    """The version of the header before such a response. ApiVersions always has 0: who asks knows no versions yet."""
    if api_key == 18:
        return 0
    return 1 if version >= FLEXIBLE_FROM.get(api_key, _NEVER) else 0
'''


def api_keys(directory: Path) -> str:
    """The text of wire/api_keys.py, removed APIs included."""
    requests = [load(p) for p in sorted(directory.glob("*Request.json"))]
    requests.sort(key=lambda d: d.api_key or 0)
    names = [(d.api_key, d.name.removesuffix("Request")) for d in requests]
    live = [d for d in requests if not d.versions.empty]
    text = API_KEYS_HEAD
    text += "".join(f"    {snake(name).upper()}: Final = {key}\n" for key, name in names)
    text += "\n\nNAMES: Final[dict[int, str]] = {\n"
    text += "".join(f'    {key}: "{name}",\n' for key, name in names)
    text += '}\n"""The name of each API, as in its message classes, without Request or Response."""\n'
    text += "\nVERSIONS: Final[dict[int, tuple[int, int]]] = {\n"
    text += "".join(f"    {d.api_key}: ({d.versions.low}, {d.stable_max}),\n" for d in live)
    text += '}\n"""The least and greatest stable version of each API that still exists."""\n'
    text += "\nFLEXIBLE_FROM: Final[dict[int, int]] = {\n"
    for d in live:
        raw = Versions.parse(json.loads((directory / f"{d.name}.json").read_text()).get("flexibleVersions"))
        text += "" if raw.empty else f"    {d.api_key}: {min(raw.low, LAST)},\n"
    text += '}\n"""The first flexible version of each API that has one."""\n'
    for listener in ("broker", "controller"):
        keys = ", ".join(str(d.api_key) for d in live if listener in d.listeners)
        text += f"\n{listener.upper()}_APIS: Final[tuple[int, ...]] = ({keys})\n"
        text += f'"""What a {listener} listener serves in Kafka."""\n'
    return text + API_KEYS_TAIL


RECORDS_HEAD = '''"""{title}. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
'''


def _imports(definitions: list[Definition]) -> str:
    return "".join(sorted(f"from tapelog.wire.records.{snake(d.name)} import {d.name}\n" for d in definitions))


def _pairs(definitions: list[Definition], name: str, title: str, doc: str) -> str:
    keys = {d.api_key: d for d in definitions if d.kind == "coordinator-key"}
    values = {d.api_key: d for d in definitions if d.kind == "coordinator-value"}
    if keys.keys() != values.keys():
        raise ValueError("record keys and values do not match")
    ordered = [d for number in sorted(keys, key=lambda k: k or 0) for d in (keys[number], values[number])]
    text = RECORDS_HEAD.format(title=title) + _imports(ordered)
    text += f"\n{name}: Final[dict[int, tuple[type[Message], type[Message]]]] = {{\n"
    text += "".join(f"    {k}: ({keys[k].name}, {values[k].name}),\n" for k in sorted(keys, key=lambda k: k or 0))
    return text + f'}}\n"""{doc}"""\n'


def _single(definitions: list[Definition], name: str, title: str, doc: str) -> str:
    ordered = sorted(definitions, key=lambda d: d.api_key or 0)
    text = RECORDS_HEAD.format(title=title) + _imports(ordered)
    text += f"\n{name}: Final[dict[int, type[Message]]] = {{\n"
    text += "".join(f"    {d.api_key}: {d.name},\n" for d in ordered)
    return text + f'}}\n"""{doc}"""\n'


def record_tables(definitions: list[Definition]) -> dict[str, str]:
    """The texts of the tables in wire/records, by path below wire/."""
    made = {}
    for module, topic in (
        ("group-coordinator", "__consumer_offsets"),
        ("transaction-coordinator", "__transaction_state"),
        ("share-coordinator", "__share_group_state"),
    ):
        name = f"{module.replace('-', '_').removesuffix('_coordinator')}_types"
        mine = [d for d in definitions if d.module == module]
        doc = "Record type (the number before the key) to the classes of key and value."
        made[f"records/{name}.py"] = _pairs(mine, name.upper(), f"The records of {topic}", doc)
    doc = "Record type to class."
    metadata = [d for d in definitions if d.module == "metadata"]
    made["records/metadata_types.py"] = _single(metadata, "METADATA_TYPES", "The records of __cluster_metadata", doc)
    remote = [d for d in definitions if d.module == "storage" and d.kind == "metadata"]
    made["records/remote_log_types.py"] = _single(
        remote, "REMOTE_LOG_TYPES", "The records of __remote_log_metadata", doc
    )
    return made
