"""Which files below a table nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.spark.lake.store import Store
from tapelog.spark.lake.values import DATA

METADATA: Final = "metadata"
OURS: Final = (".avro", ".metadata.json")
"""Other files beside the metadata, such as hints of other catalogs, are left alone."""


def unneeded(store: Store, older_than_ms: int, needed: Callable[[], set[str]]) -> list[str]:
    """Files that are older than this moment and that no version of the table refers to.

    They are listed first and the table is asked afterwards: a file that is committed in between is found needed. A
    file that is written, but not committed yet, is young: whoever tidies gives writers time enough.
    """
    old = [path for path, _, at in store.listed(DATA) if at * 1000 < older_than_ms]
    old += [path for path, _, at in store.listed(METADATA) if at * 1000 < older_than_ms and path.endswith(OURS)]
    keep = needed() if old else set()
    return [path for path in old if path not in keep]
