"""Putting a cleaned segment in the place of those it was made from, so that a crash at any moment leaves either.

1. `prepare`: the indexes of the new segment, durable already, are renamed from `.cleaned` to `.swap`, durably; `begin`
   renames the batches. Once that is durable the new segment counts, and `complete` finishes the rest at a start.
2. `finish`: the old segments are renamed to `.deleted`,
3. and the new one gets its plain names, the batches last.

`prepare` is done by whoever cleans, wherever that is; `begin` and `finish` by the owner of the log, who syncs the
directory in between. Until `finish` the log remembers what is staged, and takes it back (`withdraw`) before it gives up
segments by itself.

At a start `.cleaned` and `.deleted` are thrown away. `.log.swap` there means: step 1 was over. An index that has no
`.swap` beside it then has its plain name already — for which reason each of the three is always written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import Disk, File
from tapelog.log import names
from tapelog.log.compaction.output import SUFFIXES
from tapelog.log.segment import Segment
from tapelog.wire.record_batch import HEADER_SIZE

if TYPE_CHECKING:
    from tapelog.log.compaction.cleaning import Cleaned
    from tapelog.log.log import Log
    from tapelog.log.stored import StoredLog

INDEXES = SUFFIXES[:-1]


class StaleCleaningError(Exception):
    """The log has changed since the cleaning began: what it wrote is thrown away."""


def prepare(disk: Disk, directory: str, base: int) -> None:
    """Step 1 without the batches: a start still forgets it. Blocks."""
    for suffix in INDEXES:
        path = f"{directory}/{names.offset_name(base, suffix)}"
        disk.rename(path + names.CLEANED, path + names.SWAP)
    disk.sync_dir(directory)


def begin(log: Log, cleaned: Cleaned) -> None:
    """Stage the batches of a prepared segment: once the directory is synced, a start completes the swap.

    StaleCleaningError, and the log as it was, if it was truncated or closed, or if segments of the group are gone."""
    assert log.staged < 0, "one swap at a time"
    base = cleaned.replaced[0].base_offset
    path = log.path_of(base, names.LOG)
    if _replaced(log, cleaned) is None or _size(log.disk, path + names.CLEANED) != cleaned.size:
        discard(log.disk, log.directory, base)
        raise _stale(cleaned)
    log.disk.rename(path + names.CLEANED, path + names.SWAP)
    log.staged = base


def finish(log: Log, cleaned: Cleaned, removed: Callable[[Exception | None], None] | None = None) -> Segment:
    """Replace the segments of a group whose staging is durable. Readers that hold regions of the old files go on.

    StaleCleaningError, and the log as it was, if it changed meanwhile. The new names are durable with the log's next
    flush; if they are lost, a start gives them anew. removed: told when the old files are gone."""
    old = _replaced(log, cleaned)
    base = cleaned.replaced[0].base_offset
    if old is None or log.staged != base:
        withdraw(log)
        raise _stale(cleaned)
    disk, directory = log.disk, log.directory
    log.staged = -1
    renamed: list[str] = []
    for segment in old:
        renamed.extend(segment.mark_deleted())
    for suffix in SUFFIXES:
        path = f"{directory}/{names.offset_name(base, suffix)}"
        disk.rename(path + names.SWAP, path)
    aborted = disk.file_size(log.path_of(base, names.TXN_INDEX)) > 0  # else nobody need open it to find nothing
    new = Segment(disk, directory, base, cleaned.size, aborted)
    log.replace_segments(log.segments.floor(base), old, new)
    for source in cleaned.replaced[1:]:
        if source.base_offset != log.checkpointed_end:  # else that is what the recovery point relies on
            renamed.append(log.path_of(source.base_offset, names.SNAPSHOT))

    def remove() -> None:
        disk.sync_dir(directory)  # nothing of the old goes before the new has its names
        for path in renamed:
            disk.remove(path)

    disk.start_job(remove, removed or _ignore)
    return new


def install(log: Log, cleaned: Cleaned) -> Segment:
    """All of it at once. Blocks for the syncs."""
    if _replaced(log, cleaned) is not None:
        prepare(log.disk, cleaned.directory, cleaned.replaced[0].base_offset)
    begin(log, cleaned)
    log.disk.sync_dir(log.directory)
    return finish(log, cleaned)


def withdraw(log: StoredLog) -> None:
    """Before a log cuts or gives up segments: a swap that is staged comes to nothing, whatever happens. Blocks for a
    sync if there is one; that is rare."""
    base, log.staged = log.staged, -1
    if base >= 0 and not log.closed:
        log.disk.remove(log.path_of(base, names.LOG) + names.SWAP)
        log.disk.sync_dir(log.directory)
        discard(log.disk, log.directory, base)


def _replaced(log: Log, cleaned: Cleaned) -> list[Segment] | None:
    """The segments that a group takes the place of; None if they are not what was cleaned."""
    bases = [source.base_offset for source in cleaned.replaced]
    number = log.segments.floor(bases[0])
    if log.closed or cleaned.generation != log.generation or number < 0:
        return None
    old = log.segments.items[number : number + len(bases)]
    sizes = [source.size for source in cleaned.replaced]
    same = [segment.base_offset for segment in old] == bases and [segment.size for segment in old] == sizes
    return old if same and log.active not in old else None


def _size(disk: Disk, path: str) -> int:
    try:
        return disk.file_size(path)
    except FileNotFoundError:
        return -1


def _stale(cleaned: Cleaned) -> StaleCleaningError:
    base = cleaned.replaced[0].base_offset
    return StaleCleaningError(f"{cleaned.directory}: the segments from {base} on are not those that were cleaned")


def stage(disk: Disk, directory: str, base: int) -> None:
    """Step 1, whole: from here on a start completes the swap. Blocks."""
    prepare(disk, directory, base)
    path = f"{directory}/{names.offset_name(base, names.LOG)}"
    disk.rename(path + names.CLEANED, path + names.SWAP)
    disk.sync_dir(directory)


def discard(disk: Disk, directory: str, base: int) -> None:
    """Throw a cleaned segment away that is not staged."""
    for suffix in SUFFIXES:
        path = f"{directory}/{names.offset_name(base, suffix)}"
        disk.remove(path + names.CLEANED)
        if suffix != names.LOG:
            disk.remove(path + names.SWAP)


def complete(disk: Disk, directory: str, listing: list[str]) -> list[str]:
    """At a start, `.cleaned` and `.deleted` being gone: finish every swap that was staged, forget those that were not.
    Returns the names that are there afterwards."""
    if not any(name.endswith(names.SWAP) for name in listing):
        return listing
    present = set(listing)
    for name in listing:
        base = names.offset_of(name, names.LOG + names.SWAP)
        if base is not None:
            _complete(disk, directory, base, present)
    for name in listing:
        if name.endswith(names.SWAP) and name in present:
            disk.remove(f"{directory}/{name}")
    disk.sync_dir(directory)
    return disk.listdir(directory)


def _complete(disk: Disk, directory: str, base: int, present: set[str]) -> None:
    end = _end_of(disk, directory, base, present)
    for name in sorted(present):
        for suffix in SUFFIXES:
            other = names.offset_of(name, suffix)
            if other is not None and base < other < end:
                disk.remove(f"{directory}/{name}")
    for suffix in SUFFIXES:
        name = names.offset_name(base, suffix)
        if name + names.SWAP in present:
            disk.rename(f"{directory}/{name}{names.SWAP}", f"{directory}/{name}")
            present.discard(name + names.SWAP)
    disk.sync_dir(directory)


def _end_of(disk: Disk, directory: str, base: int, present: set[str]) -> int:
    """The offset behind the last batch of a staged segment; found from the last entry of its index on."""
    index = names.offset_name(base, names.INDEX)
    index = index + names.SWAP if index + names.SWAP in present else index
    file = disk.open(f"{directory}/{names.offset_name(base, names.LOG)}{names.SWAP}")
    try:
        position = 0
        if index in present or index.removesuffix(names.SWAP) in present:
            entries = disk.open(f"{directory}/{index}")
            size = entries.size() // 8 * 8
            position = int(read_i32_be(entries.read(size - 4, 4), 0)) if size else 0
            entries.close()
        return _walk(file, position, base)
    finally:
        file.close()


def _walk(file: File, position: int, end: int) -> int:
    size = file.size()
    while position + HEADER_SIZE <= size:
        head = file.read(position, HEADER_SIZE)
        end = int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) + 1
        position += 12 + int(read_i32_be(head, 8))
    return end


def _ignore(failure: Exception | None) -> None:
    """What could not be removed is removed at the next start."""
