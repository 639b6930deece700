"""What the `tape txn` commands share: connections, durations, selections of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_USAGE, CliError
from tapelog.cli.reset import parse_selection
from tapelog.cli.units import parse_duration_ms

if TYPE_CHECKING:
    from tapelog.cli.raw import Wire


def open_wire(bootstrap: str, properties: list[str] | None, timeout: float) -> Wire:
    """Connections to brokers; the codec is loaded only by who needs it."""
    from tapelog.cli.raw import Wire

    return Wire(Connection(bootstrap, properties, timeout))


def older_ms(text: str | None) -> int:
    """A duration; -1 for none, as the protocol has it."""
    try:
        return -1 if text is None else parse_duration_ms(text)
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None


def selected(texts: list[str]) -> dict[str, set[int]]:
    """Topic → partitions; none means all of them."""
    found: dict[str, set[int]] = {}
    try:
        for name, numbers in map(parse_selection, texts):
            found[name] = found.get(name, set()) | set(numbers)
    except ValueError as error:
        raise CliError(str(error), "orders, or orders:0,1", EXIT_USAGE) from None
    return found
