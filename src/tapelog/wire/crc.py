"""CRC-32C, the checksum of record batches, at the speed of the processor's own instruction.

The `crc32c` package loads a third of what a node loads at start (its command line, its own version number), so its
extension module is loaded by itself. Where that is not to be found, the package is imported in the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Final, cast

Checksum = Callable[[bytes | bytearray | memoryview], int]


def _load() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    if package is not None and package.submodule_search_locations:
        spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = spec.loader.create_module(spec)
            if module is not None:
                spec.loader.exec_module(module)
                return cast(Checksum, module.crc32c)
    from crc32c import crc32c as ordinary

    return cast(Checksum, ordinary)


crc32c: Final[Checksum] = _load()
"""The checksum of some bytes, as an unsigned number of 32 bits."""
