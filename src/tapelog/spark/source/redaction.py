"""Secrets among the options of a write, which Spark itself prints in a query's plan: in errors and in the event log.

Spark hides options whose name or value looks like a password, a token or a URL. A private key as PEM and a registry's
`user:password` do not. `register(spark)` adds them to what the session hides; a source in Python cannot do it itself.
"""

from __future__ import annotations

from typing import Any, Final

SETTING: Final = "spark.sql.redaction.options.regex"
WORDING: Final = r"(?i)jaas\.config|keystore\.key|user\.info|accountkey|credentials|PRIVATE KEY"


def hide_secrets(spark: Any) -> None:
    """Let this session hide our secrets, besides what it hides already; asked twice, it is done once."""
    before = spark.conf.get(SETTING, "")
    if WORDING not in before:
        spark.conf.set(SETTING, f"{before}|{WORDING}" if before else WORDING)
