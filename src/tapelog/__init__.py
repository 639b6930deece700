"""Tapelog: a message queue that speaks the Kafka wire protocol."""

from tapelog._compiled import choose as _choose

__version__ = "0.1.0"

COMPILED = _choose(__name__, __file__)
"""Does the hot path run compiled? `yes`, `no`, `stale` (sources changed since: interpreted), `off` (TAPELOG_HOT)."""
