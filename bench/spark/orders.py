"""Orders as Avro: the schema, and values of it."""

from __future__ import annotations

import io
import json
import random

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "order", "type": "long"},
            {"name": "customer", "type": "string"},
            {"name": "item", "type": "string"},
            {"name": "quantity", "type": "int"},
            {"name": "amount", "type": "double"},
            {"name": "country", "type": ["null", "string"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
SPARK_SCHEMA = (
    "order bigint, customer string, item string, quantity int, amount double, country string, tags array<string>"
)


def values(count: int, seed: int = 1) -> list[bytes]:
    """So many orders, each as one Avro datum without a header."""
    import fastavro

    schema, chance, out = fastavro.parse_schema(json.loads(SCHEMA)), random.Random(seed), []
    for number in range(count):
        order = {
            "order": number * 7919,
            "customer": f"customer-{chance.randrange(100_000)}",
            "item": chance.choice(("gramophone", "record player needle", "tape", "loudspeaker cable, 2 m")),
            "quantity": chance.randrange(1, 20),
            "amount": chance.randrange(100, 90_000) / 100,
            "country": chance.choice((None, "AT", "BE", "CZ", "DE", "DK")),
            "tags": [chance.choice(("new", "gift", "express")) for _ in range(chance.randrange(3))],
        }
        target = io.BytesIO()
        fastavro.schemaless_writer(target, schema, order)
        out.append(target.getvalue())
    return out
