"""The records of __transaction_state. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.records.transaction_log_key import TransactionLogKey
from tapelog.wire.records.transaction_log_value import TransactionLogValue

TRANSACTION_TYPES: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}
"""Record type (the number before the key) to the classes of key and value."""
