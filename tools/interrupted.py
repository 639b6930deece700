"""After an interrupted installation: forget packages of this environment that are there only in part.

pip takes a package for installed when it finds its metadata, whatever else is missing. tools/setup runs this with the
environment's Python before it installs again, so that what was cut off is installed anew.
"""

from __future__ import annotations

import shutil
import sysconfig
from importlib.metadata import Distribution
from pathlib import Path


def is_whole(metadata: Path) -> bool:
    """Whether every file of its record is there; pip writes the record last."""
    files = Distribution.at(metadata).files
    return bool(files) and all((metadata.parent / file).exists() for file in files or ())


def forget_partial(packages: Path) -> list[str]:
    """Take away the metadata of what is there only in part; its names."""
    partial = [metadata for metadata in sorted(packages.glob("*.dist-info")) if not is_whole(metadata)]
    for metadata in partial:
        shutil.rmtree(metadata)
    return [metadata.name for metadata in partial]


if __name__ == "__main__":
    for name in forget_partial(Path(sysconfig.get_path("purelib"))):
        print(f"{name} was installed in part: it is installed again")
