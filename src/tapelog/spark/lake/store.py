"""The file system of a lake table, for driver and executors alike: obstore, so S3, GCS, Azure or a local directory.

Paths are relative to the table's URL. A put is atomic; `create` fails where the object exists, also between machines.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from tapelog.spark.lake.errors import LakeError, missing_package
from tapelog.spark.lake.spec import Table, revealed

PART_BYTES: Final = 8 * 1024 * 1024
"""A file is sent in parts of this size while it is written."""

DELETED_AT_ONCE: Final = 1000

_STAGED: Final = re.compile(r".+#\d+")


ALLOW_HTTP: Final = ("aws_allow_http", "allow_http")
"""What deltalake must be told for a store without TLS; we see it from the endpoint."""


def plain_http(table: Table) -> bool:
    """Whether the store is spoken to without TLS."""
    return any(value.startswith("http://") for value in revealed(table.storage).values())


class Store:
    """One table's objects."""

    def __init__(self, table: Table) -> None:
        try:
            import obstore
            from obstore.store import LocalStore, from_url
        except ImportError:
            raise missing_package("obstore") from None
        self._obstore: Any = obstore
        self._local = table.directory if table.scheme == "file" else ""
        self._raw: Any
        if self._local:
            os.makedirs(self._local, exist_ok=True)
            self._raw = LocalStore(self._local)
        else:
            options: Any = {name: value for name, value in revealed(table.storage).items() if name not in ALLOW_HTTP}
            extra: Any = {"client_options": {"allow_http": True}} if plain_http(table) else {}
            try:
                self._raw = from_url(table.url, config=options or None, **extra)
            except Exception as error:
                raise LakeError(
                    f"{table.url} cannot be opened: {str(error).strip().splitlines()[0]}",
                    "Check the URL and storage= (aws_endpoint, aws_access_key_id, aws_secret_access_key, …).",
                ) from None

    def create(self, path: str, content: bytes) -> bool:
        """Write an object that must not exist yet. False: it does."""
        from obstore.exceptions import AlreadyExistsError

        try:
            self._obstore.put(self._raw, path, content, mode="create")
        except AlreadyExistsError:
            return False
        return True

    def put(self, path: str, content: bytes) -> None:
        """Write an object, or replace it."""
        self._obstore.put(self._raw, path, content)

    def read(self, path: str) -> bytes | None:
        """An object's content, None where there is none."""
        try:
            return bytes(self._obstore.get(self._raw, path).bytes())
        except FileNotFoundError:
            return None

    def read_json(self, path: str) -> Any:
        """An object that holds JSON; None where there is none."""
        content = self.read(path)
        return None if content is None else json.loads(content)

    def listed(self, prefix: str, *, after: str = "") -> Iterator[tuple[str, int, float]]:
        """Path, bytes and time of change (seconds since 1970) of everything below a directory; `after`: only paths
        that sort behind this one."""
        for chunk in self._obstore.list(self._raw, prefix=prefix, offset=after or None):
            for found in chunk:
                yield str(found["path"]), int(found["size"]), found["last_modified"].timestamp()

    def delete(self, paths: list[str]) -> None:
        """Remove objects; those that are gone already do not matter."""
        if not self._local:
            for first in range(0, len(paths), DELETED_AT_ONCE):
                self._obstore.delete(self._raw, paths[first : first + DELETED_AT_ONCE])
            return
        for path in paths:
            with suppress(FileNotFoundError):
                self._obstore.delete(self._raw, path)

    def writer(self, path: str) -> Upload:
        """A file to write into: it appears under its name when it is closed."""
        return Upload(self._obstore.open_writer(self._raw, path, buffer_size=PART_BYTES))

    def reader(self, path: str) -> Download:
        """A file to read from, seekable."""
        return Download(self._obstore.open_reader(self._raw, path))

    def unfinished(self, older_than_s: float) -> int:
        """Remove what killed writers left of unfinished files on a local disk, where nothing lists them. Other stores
        forget unfinished uploads by a rule of the bucket. How many there were."""
        count = 0
        for directory, _, names in os.walk(self._local) if self._local else ():
            for name in names:
                path = os.path.join(directory, name)
                with suppress(FileNotFoundError):
                    if _STAGED.fullmatch(name) and time.time() - os.stat(path).st_mtime >= older_than_s:
                        os.unlink(path)
                        count += 1
        return count


class Upload:
    """What pyarrow writes a file into; counts its bytes."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.bytes = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Add to the file."""
        length = len(data)
        self._raw.write(bytes(data))
        self.bytes += length
        return length

    def writable(self) -> bool:
        """Always."""
        return True

    def readable(self) -> bool:
        """Never."""
        return False

    def flush(self) -> None:
        """Nothing to do before it is closed."""

    def close(self) -> None:
        """The file is complete and has its name."""
        if not self.closed:
            self.closed = True
            self._raw.close()


class Download:
    """What pyarrow reads a file from."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all that are left."""
        return bytes(self._raw.read(None if size is None or size < 0 else size))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go there; where that is."""
        return int(self._raw.seek(offset, whence))

    def tell(self) -> int:
        """Where it is."""
        return int(self._raw.tell())

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """No more of it."""
        self.closed = True
