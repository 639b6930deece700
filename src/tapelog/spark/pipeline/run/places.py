"""Paths of a pipeline: relative ones are relative to its file, and reach Spark as what they are."""

from __future__ import annotations

import re
from pathlib import Path


def resolved(path: str, base: Path) -> str:
    """A path with a scheme or from the root stays; others lie beside the pipeline's file."""
    if re.match(r"[A-Za-z][\w+.-]*:", path) or path.startswith("/"):
        return path
    return (base / path).resolve().as_uri()
