"""Object stores as blocking calls: S3, GCS and Azure through obstore, a plain directory without it.

`open_backend` makes one from a URL. Errors are the tier's (`log/tier/store`), and say what to do. Calls may come from
any thread. obstore is loaded only where a URL needs it; it releases the interpreter's lock while it waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol

from tapelog.base.node_config import NodeConfig, NodeConfigError
from tapelog.log.tier.content import extend_crc32c
from tapelog.log.tier.store import (
    LIST_PAGE_MAX,
    Absent,
    Condition,
    ConflictError,
    Got,
    Listing,
    ObjectInfo,
    ObjectMissingError,
    RefusedError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.node.ranged_reads import SIGNED_S, RangedReads

if TYPE_CHECKING:
    from obstore import Bytes
    from obstore.store import ObjectStore as Raw

    from tapelog.node.directory_mark import Memory

PART_BYTES: Final = 5 << 20
PARTS_AT_ONCE: Final = 2
"""Of one upload; so much memory it may take, and one part more."""
CHECK_BYTES: Final = 4 << 20
CONNECT_S: Final = 5
REQUEST_S: Final = 60
RETRIES: Final = 2
NOT_UNDERSTOOD: Final = ("status code: 400", "status code: 501", "Version required for conditional")
SCHEMES: Final = ("file", "s3", "gs", "az")
DEFAULT_DIRECTORY: Final = "tier"
"""Of a node alone that was not told where its tier is: beside its logs."""


class Backend(Protocol):
    """What `log/tier/store.ObjectStore` promises, as blocking calls that raise StoreError."""

    def get(self, name: str) -> Got: ...

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]: ...

    def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> None: ...

    def put(self, name: str, data: bytes, condition: Condition | None = None) -> Version: ...

    def upload(self, name: str, pieces: Iterator[bytes]) -> Version: ...

    def checksum(self, name: str, size: int) -> int: ...

    def list(self, prefix: str, after: str = "") -> Listing: ...

    def delete(self, names: Sequence[str]) -> None: ...


def tier_url(config: NodeConfig) -> str:
    """Where a node's tier is: tapelog.tier.url, or a directory of its own for a node alone. NodeConfigError where
    several nodes do not say where they meet, or for a URL that is none."""
    url = config.broker_settings().string("tapelog.tier.url")
    if not url:
        if config.voters:
            raise NodeConfigError(
                "remote.log.storage.system.enable: in a cluster all nodes share one tier; set tapelog.tier.url, as "
                "s3://bucket/prefix or file:///directory/that/all/nodes/see"
            )
        url = f"file://{os.path.abspath(config.metadata_log_dir)}/{DEFAULT_DIRECTORY}"
    try:
        check_url(url)
    except RefusedError as error:
        raise NodeConfigError(str(error)) from None
    return url


def check_url(url: str) -> str:
    """Its scheme; RefusedError for a URL that is none."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES or not rest.strip("/"):
        raise RefusedError(
            f"tapelog.tier.url={url!r} is no place for a tier: write file:///directory, s3://bucket/prefix, "
            "gs://bucket/prefix or az://container/prefix"
        )
    return scheme


def open_backend(
    url: str,
    endpoint: str = "",
    memory: Memory | None = None,
    complain: Callable[[str], None] | None = None,
) -> Backend:
    """The store behind a URL: file:///directory, s3://bucket/prefix, gs://…, az://container/prefix. Credentials come
    from the environment, as their vendors' tools read them; endpoint is where to find it if not at the vendor's;
    memory what a node knows of a directory; complain takes lines for the log, on any thread. RefusedError for a URL
    that is none."""
    scheme = check_url(url)
    if scheme == "file":
        from tapelog.node.directory_store import DirectoryBackend

        return DirectoryBackend("/" + url.partition("://")[2].lstrip("/"), memory)
    try:
        plain = scheme == "s3" and endpoint.startswith("http://")
        return ObstoreBackend(_raw(scheme, url, endpoint), plain=plain, complain=complain)
    except ImportError as error:
        raise RefusedError(f"{url} needs the package obstore: pip install obstore ({error})") from error
    except StoreError:
        raise
    except Exception as error:
        raise RefusedError(f"{url}: {_first_line(error)}") from error


def _raw(scheme: str, url: str, endpoint: str) -> Raw:
    from obstore.store import AzureStore, GCSStore, S3Store

    client: Any = {
        "connect_timeout": timedelta(seconds=CONNECT_S),
        "timeout": timedelta(seconds=REQUEST_S),
    }
    retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=REQUEST_S)}
    config: Any = {}
    if endpoint:
        config["base_url" if scheme == "gs" else "endpoint"] = endpoint
        client["allow_http"] = endpoint.startswith("http://")
    kind: Any = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}[scheme]
    store: Raw = kind.from_url(url, config=config, client_options=client, retry_config=retry)
    return store


class ObstoreBackend:
    """S3, GCS, Azure. plain: ranges may be read without encryption, and then are received where they stay; complain is
    told where that fails."""

    _direct: RangedReads | None = None

    def __init__(self, raw: Raw, *, plain: bool = False, complain: Callable[[str], None] | None = None) -> None:
        import obstore

        self._raw = raw
        self._obstore = obstore
        if plain:
            self._direct = RangedReads(self._signed, complain)

    def _signed(self, name: str) -> str:
        raw: Any = self._raw
        return self._obstore.sign(raw, "GET", name, timedelta(seconds=SIGNED_S))

    def get(self, name: str) -> Got:
        try:
            found = self._obstore.get(self._raw, name)
            data = found.bytes().to_bytes()
        except Exception as error:
            raise translated(error, name) from error
        return Got(data, Version(found.meta["e_tag"], found.meta["version"]))

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return [piece.to_bytes() for piece in self._ranges(name, ranges)]

    def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> None:
        good = self._direct.read_into(name, position, into, filled) if self._direct is not None else 0
        position += sum(map(len, into[:good]))
        for piece in into[good:]:
            piece[:] = memoryview(self._ranges(name, [(position, len(piece))])[0])
            position += len(piece)
            filled()

    def brings_several(self) -> bool:
        """Only where ranges are received where they stay: obstore is asked for each, and has a copy of it meanwhile."""
        return self._direct is not None and self._direct.brings_several()

    def _ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> Sequence[Bytes]:
        if not ranges:
            return []
        starts, lengths = [start for start, _ in ranges], [size for _, size in ranges]
        try:
            if len(ranges) == 1:
                found = [self._obstore.get_range(self._raw, name, start=starts[0], length=lengths[0])]
            else:
                found = list(self._obstore.get_ranges(self._raw, name, starts=starts, lengths=lengths))
        except Exception as error:
            raise translated(error, name) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # obstore's way to say that the object ends before a range
                raise
            raise ObjectMissingError(f"{name} is shorter than it should be") from error
        if [len(piece) for piece in found] != lengths:
            raise ObjectMissingError(f"{name} is shorter than it should be")
        return found

    def put(self, name: str, data: bytes, condition: Condition | None = None) -> Version:
        mode: Any = "overwrite"
        if isinstance(condition, Absent):
            mode = "create"
        elif condition is not None:
            given = {"e_tag": condition.etag, "version": condition.version}
            mode = {key: value for key, value in given.items() if value is not None}
        try:
            stored = self._obstore.put(self._raw, name, data, mode=mode, use_multipart=False)
        except FileNotFoundError as error:
            if isinstance(condition, Version):
                raise ConflictError(f"{name} is not there any more") from error
            raise RefusedError(f"cannot write {name}: no such bucket? {_first_line(error)}") from error
        except Exception as error:
            if condition is not None and any(word in str(error) for word in NOT_UNDERSTOOD):
                raise RefusedError(f"the store does not take a conditional put: {_first_line(error)}") from error
            raise translated(error, name) from error
        return Version(stored["e_tag"], stored["version"])

    def upload(self, name: str, pieces: Iterator[bytes]) -> Version:
        first: list[bytes] = []
        size = 0
        for piece in pieces:
            first.append(piece)
            size += len(piece)
            if size >= PART_BYTES:
                break
        else:
            return self.put(name, b"".join(first))
        try:
            stored = self._obstore.put(
                self._raw,
                name,
                chain(first, pieces),
                use_multipart=True,
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )
        except FileNotFoundError as error:
            raise RefusedError(f"cannot write {name}: no such bucket? {_first_line(error)}") from error
        except Exception as error:
            raise translated(error, name) from error
        return Version(stored["e_tag"], stored["version"])

    def checksum(self, name: str, size: int) -> int:
        try:
            found = self._obstore.head(self._raw, name)["size"]
        except Exception as error:
            raise translated(error, name) from error
        return checksum(self, name, size, found)

    def list(self, prefix: str, after: str = "") -> Listing:
        try:
            stream = self._obstore.list(
                self._raw, prefix.rstrip("/"), offset=after or None, chunk_size=LIST_PAGE_MAX, return_arrow=False
            )
            found: list[ObjectInfo] = []
            for chunk in stream:  # some stores begin anew, whatever the offset
                found += [ObjectInfo(item["path"], item["size"]) for item in chunk if item["path"] > after]
                if len(found) >= LIST_PAGE_MAX:
                    break
        except Exception as error:
            raise translated(error, prefix) from error
        if any(one.name >= two.name for one, two in pairwise(found)):
            raise RefusedError("the store lists objects in no order (a directory bucket?): use one that does")
        return Listing(tuple(found[:LIST_PAGE_MAX]), len(found) >= LIST_PAGE_MAX)

    def delete(self, names: Sequence[str]) -> None:
        try:
            if names:
                self._obstore.delete(self._raw, [*names])
        except FileNotFoundError:
            for name in names if len(names) > 1 else ():
                self.delete([name])
        except Exception as error:
            raise translated(error, names[0]) from error


def checksum(backend: Backend, name: str, size: int, found: int) -> int:
    """The CRC-32C of an object, read piece by piece."""
    if found != size:
        raise UnavailableError(f"{name} has {found} bytes instead of {size}")
    crc = 0
    for position in range(0, size, CHECK_BYTES):
        crc = extend_crc32c(backend.get_ranges(name, [(position, min(CHECK_BYTES, size - position))])[0], crc)
    return crc


def translated(error: Exception, name: str) -> StoreError:
    """What the tier calls it."""
    if isinstance(error, StoreError):
        return error
    kind, text = type(error).__name__, _first_line(error)
    if "NoSuchBucket" in str(error):
        return RefusedError(f"there is no such bucket: create it, or change tapelog.tier.url ({text})")
    if isinstance(error, FileNotFoundError):
        return ObjectMissingError(f"there is no {name}")
    if "status code: 416" in str(error):
        return ObjectMissingError(f"{name} is shorter than it should be")
    if kind in ("AlreadyExistsError", "PreconditionError"):
        return ConflictError(f"{name} was changed by somebody else")
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        return RefusedError(f"the store refuses our credentials: {text}")
    if kind in ("NotSupportedError", "InvalidPathError", "UnknownConfigurationKeyError"):
        return RefusedError(f"the store cannot do this: {text}")
    return UnavailableError(f"{kind}: {text}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
