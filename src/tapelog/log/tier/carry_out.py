"""Carrying out what a tier machine asks for, on an ObjectStore and a log; and what the machine is shown of the log.

Called by the node for every led partition, and by tests. No state of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tapelog.base.ports import DiskError
from tapelog.log.log import Log
from tapelog.log.tier import layout
from tapelog.log.tier.content import open_content
from tapelog.log.tier.manifest import Manifest
from tapelog.log.tier.operations import (
    CopySegment,
    DeleteObjects,
    ListObjects,
    Operation,
    ReadHead,
    ReadPage,
    Result,
    Sealed,
    View,
    WriteHead,
    WritePage,
)
from tapelog.log.tier.store import ObjectStore, StoreError, Version

SEALED_SHOWN_MAX: Final = 4


def view(log: Log, manifest: Manifest | None, high_watermark: int, wall_ms: int) -> View:
    """What the machine needs to know of the log now."""
    config, items = log.config, log.segments.items
    tiered = 0 if manifest is None else manifest.end_offset
    # durable, too: of a page-cache topic a power cut may take back what is committed, and the tier would know better
    stable = min(log.durable_end, log.last_stable_offset(high_watermark))
    sealed: list[Sealed] = []
    untiered = 0
    for number in range(max(0, log.segments.floor(tiered)), len(items)):
        segment = items[number]
        last = number + 1 == len(items)
        end = log.written_end if last else items[number + 1].base_offset
        if end <= tiered:
            continue
        untiered += segment.size
        if not last and segment.size and end <= stable and len(sealed) < SEALED_SHOWN_MAX:
            sealed.append(Sealed(segment.base_offset, end, segment.size))
    return View(
        wall_ms,
        log.start_offset,
        log.written_end,
        items[0].base_offset == log.written_end,
        tuple(log.leader_epoch_cache.entries()),
        tuple(sealed),
        untiered,
        config.retention_ms,
        config.retention_bytes,
        config.file_delete_delay_ms,
        config.hold,
        config.remote_copy,
        log.local_start_offset,
    )


def without_copying(shown: View) -> View:
    """The same, with nothing to copy: it is somebody else's turn."""
    return replace(shown, copying=False)


def carry_out(
    operation: Operation,
    store: ObjectStore,
    prefix: str,
    log: Log,
    done: Callable[[Result], None],
    verify: bool = True,
) -> None:
    """Do it; done gets the result later (or at once, where the store answers at once)."""
    match operation:
        case ReadHead():
            store.get(prefix + layout.MANIFEST, done)
        case WriteHead(manifest, condition):
            store.put(prefix + layout.MANIFEST, manifest.encode(), condition, done)
        case ReadPage(name):
            store.get(prefix + name, done)
        case WritePage(name, data):
            store.put(prefix + name, data, None, done)
        case ListObjects(directory, after):
            store.list(prefix + directory, after, done)
        case DeleteObjects(names):
            store.delete([prefix + name for name in names], done)
        case CopySegment():
            _copy(operation, store, prefix, log, done, verify)


def _copy(
    operation: CopySegment,
    store: ObjectStore,
    prefix: str,
    log: Log,
    done: Callable[[Result], None],
    verify: bool,
) -> None:
    try:
        content = open_content(log, operation.segment.base_offset)
    except DiskError as error:
        done(StoreError(str(error)))
        return
    if content is None or content.end_offset != operation.segment.end_offset:
        if content is not None:
            content.close()
        done(StoreError(f"the segment at {operation.segment.base_offset} is not there any more"))
        return
    whole = content

    def uploaded(result: Version | StoreError) -> None:
        whole.close()
        if isinstance(result, StoreError):
            done(result)
        elif verify:
            store.checksum(prefix + operation.name, whole.object_size, compared)
        else:
            done(whole.entry(operation.name, operation.first_offset))

    def compared(result: int | StoreError) -> None:
        if isinstance(result, StoreError):
            done(result)
        elif result != whole.crc:
            done(StoreError(f"{operation.name} arrived damaged: its checksum is {result:08x}, not {whole.crc:08x}"))
        else:
            done(whole.entry(operation.name, operation.first_offset))

    store.upload(prefix + operation.name, whole.pieces, uploaded)
