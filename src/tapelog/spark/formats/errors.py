"""What goes wrong with formats: a schema that cannot be used, a record that cannot be decoded. Three lines each."""

from __future__ import annotations

from tapelog.spark.plan.errors import PlanError


class SchemaError(Exception):
    """A schema cannot be read or used; the text says why, for whoever knows where it came from."""


class FormatError(PlanError):
    """A schema is missing, cannot be read, or does not fit what was asked for."""


class CorruptRecordError(PlanError):
    """A record cannot be decoded, and onCorrupt=fail."""

    def __init__(self, topic: str, partition: int, offset: int, column: str, reason: str) -> None:
        super().__init__(
            f'Cannot decode the {column} of topic "{topic}", partition {partition}, offset {offset}:',
            f"{reason}.",
            "Set onCorrupt=column to see such records, onCorrupt=deadLetter to put them aside, or mend the schema.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return PlanError, tuple(str(self).splitlines())
