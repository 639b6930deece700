"""Random requests, from a seed: every API and version, from plausible to absurd, whole or damaged.

The fields and their types come from the definitions in codegen/; values come from a pool that reaches deep into the
handlers (topics and groups that exist, edge numbers), and then the bytes may be damaged.
"""

from __future__ import annotations

import random
import struct
from typing import Any

from codegen.model import Field, Struct
from tapelog.wire.primitives import Writer
from tests.properties.wire_values import DEFINITIONS, ours
from tests.support.raw import batch, header, record, simple_batch

TOPICS = ["fuzz-a", "fuzz-b", "absent", "", "no such name", "x" * 300, "__consumer_offsets", "é", ".."]
GROUPS = ["group-a", "group-b", "", "g" * 200]
TEXTS = ["", "range", "consumer", "a", "retention.ms", "segment.bytes", "12345", "-1", "x" * 1000, "\u0000", "日本"]
NUMBERS = [0, 1, 2, 3, -1, -2, -3, 10, 100, 1000, 65535, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
BOUNDS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}
WAITS = ("MaxWaitMs", "TimeoutMs", "timeoutMs", "RebalanceTimeoutMs")
SERVED = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 29, 32, 33, 35, 37, 42, 44, 46, 47, 48]
SERVED += [55, 60, 74, 75]
REQUESTS = {d.api_key: d for d in DEFINITIONS.values() if d.kind == "request" and d.api_key in SERVED}


class Requests:
    """An endless supply."""

    def __init__(self, seed: int, topic_ids: list[bytes] | None = None) -> None:
        self.chance = random.Random(seed)
        self.topic_ids = topic_ids or [bytes(15) + b"\x01"]

    def value(self, field: Field) -> Any:
        """A value for one field."""
        chance = self.chance
        if not field.nullable.empty and chance.random() < 0.15:
            return None
        if field.array:
            count = chance.choice([0, 1, 1, 1, 2, 3, 30 if chance.random() < 0.1 else 1])
            return [self.item(field) for _ in range(count)]
        return self.item(field)

    def item(self, field: Field) -> Any:
        """A value of the field's own type."""
        chance = self.chance
        if field.struct is not None:
            return self.tree(field.struct)
        if field.name in WAITS:
            return chance.choice([0, 1, 50, -1, 200])
        if field.type in BOUNDS:
            bits = BOUNDS[field.type]
            low, high = (0, 2**bits - 1) if field.type.startswith("u") else (-(2**bits), 2**bits - 1)
            number = chance.choice(NUMBERS) if chance.random() < 0.8 else chance.getrandbits(bits)
            return max(low, min(high, number))
        match field.type:
            case "bool":
                return chance.random() < 0.5
            case "float64":
                return chance.choice([0.0, -1.0, float("inf"), float("nan"), 1e300])
            case "uuid":
                return chance.choice([bytes(16), chance.randbytes(16), *self.topic_ids, *self.topic_ids])
            case "string":
                return self.text(field.name)
            case "bytes":
                return chance.choice([b"", chance.randbytes(chance.randrange(60)), b"\x00\x03\x00\x00\x00\x00"])
            case "records":
                return self.records()
        raise AssertionError(f"no values for {field.type}")

    def text(self, name: str) -> str:
        """A string that suits the field's name, mostly."""
        if self.chance.random() < 0.1:
            return self.chance.choice(TEXTS)
        if name in ("Topic", "Name", "TopicName", "ResourceName", "TopicNames"):
            return self.chance.choice(TOPICS[:3] if self.chance.random() < 0.7 else TOPICS)
        if "Group" in name or name == "Key":
            return self.chance.choice(GROUPS)
        return self.chance.choice(TEXTS)

    def records(self) -> bytes:
        """A batch, sound or not quite."""
        chance = self.chance
        made = chance.choice(
            [
                simple_batch([b"a", b"b"]),
                batch(record(b"v", key=b"k"), 1),
                batch(record(b"v"), 1, producer=(chance.choice([0, 1, 77]), 0, chance.choice([0, 1, 5]))),
                batch(chance.randbytes(30), chance.choice([1, 2, 1000]), attributes=chance.getrandbits(16) - 32768),
                chance.randbytes(chance.randrange(100)),
            ]
        )
        return damaged(made, chance) if chance.random() < 0.3 else made

    def tree(self, struct: Struct) -> tuple[Any, ...]:
        """Values for all fields of a struct."""
        return tuple(self.value(field) for field in struct.fields)

    def next(self) -> bytes:
        """The bytes of one frame, its length in front."""
        chance = self.chance
        definition = REQUESTS[chance.choice(SERVED)]
        assert definition.api_key is not None
        version = chance.randint(definition.versions.low, definition.versions.high)
        writer = Writer()
        ours(definition.name, self.tree(definition.root), version).encode(writer, version)
        tags = b"\x00" if version in definition.flexible else b""
        if chance.random() < 0.02:
            version = chance.choice([-1, 0, 1, 50, 127, 32767])
        payload = header(definition.api_key, version, chance.getrandbits(31), "fuzz") + tags + writer.tobytes()
        if chance.random() < 0.4:
            payload = damaged(payload, chance)
        length = len(payload)
        if chance.random() < 0.05:
            length = chance.choice([length - 1, length + 1, length + 1000, 0, -1, 2**31 - 1])
        return struct.pack(">i", length) + payload


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to three things wrong with them."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out)) if out else 0
        match chance.randrange(6):
            case 0:
                del out[at:]
            case 1:
                out[at : at + 1] = bytes([chance.getrandbits(8)])
            case 2:
                out[at : at + 4] = chance.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"])
            case 3:
                out[at:at] = chance.randbytes(chance.randint(1, 20))
            case 4:
                del out[at : at + chance.randint(1, 8)]
            case _:
                out[at : at + 5] = b"\xff\xff\xff\xff\x0f"
    return bytes(out)
