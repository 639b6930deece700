"""Bit rot in a replica's files: in batches that recovery will look at, where it can be found out."""

from __future__ import annotations

from tapelog.log.checkpoints import parse_offsets
from tapelog.log.names import RECOVERY_POINTS
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import base_offset, batch_size


def rot(disk: SimDisk, directory: str, entropy: SimEntropy) -> str | None:
    """Flip a bit of a batch above its recovery point, in a log of a user's topic; says where, or None if none is."""
    points = _recovery_points(disk, directory)
    candidates: list[tuple[str, int, int]] = []
    for name in disk.listdir(directory):
        topic, dash, index = name.rpartition("-")
        if not dash or not index.isdigit() or topic.startswith("__cluster"):
            continue
        for file in disk.listdir(f"{directory}/{name}"):
            if file.endswith(".log"):
                path = f"{directory}/{name}/{file}"
                candidates += _batches(path, disk.read_file(path), points.get((topic, int(index)), 0))
    if not candidates:
        return None
    path, start, end = candidates[entropy.below(len(candidates))]
    disk.flip_bit(path, start + entropy.below(end - start), entropy.below(8))
    return path


def _recovery_points(disk: SimDisk, directory: str) -> dict[tuple[str, int], int]:
    path = f"{directory}/{RECOVERY_POINTS}"
    if not disk.exists(path):
        return {}
    try:
        return parse_offsets(disk.read_file(path), path)
    except ValueError:
        return {}


def _batches(path: str, data: bytes, above: int) -> list[tuple[str, int, int]]:
    found, position = [], 0
    while position + 61 <= len(data):
        size = batch_size(data, position)
        if size < 61 or position + size > len(data):
            break
        if base_offset(data, position) >= above:
            found.append((path, position + 17, position + size))
        position += size
    return found
