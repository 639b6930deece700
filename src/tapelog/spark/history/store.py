"""Reading objects of a tier, blocking: S3, GCS and Azure by obstore, a directory without it. Nothing is ever written.

Errors are the client's kind: three lines that name the option. A store is opened once per process and settings; obstore
is loaded where a URL needs it, and never before a fork (its threads would stay with the parent).
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, Protocol

from tapelog.client.errors import ClientError
from tapelog.spark.plan.tier import TierSettings

CONNECT_S: Final = 5
REQUEST_S: Final = 60
RETRIES: Final = 4
OPEN_MAX: Final = 16
"""Stores that a process keeps open."""
_MARK: Final = ".tapelog/tier-id"
_LINE_MAX: Final = 240


class StoreError(ClientError):
    """A store cannot be read: credentials, bucket, network, or damage."""


class MissingObjectError(StoreError):
    """There is no such object, or it is shorter than it should be."""


class Objects(Protocol):
    """What is asked of a store; names are below the tier's URL."""

    def get(self, name: str) -> bytes:
        """A whole, small object."""
        ...

    def read(self, name: str, position: int, size: int) -> bytes:
        """Exactly so many bytes of it."""
        ...


def open_objects(settings: TierSettings) -> Objects:
    """The store of a tier, kept for the next one who asks in this process."""
    return _opened(settings, os.getpid())


@lru_cache(OPEN_MAX)
def _opened(settings: TierSettings, process: int) -> Objects:
    if settings.scheme == "file":
        return _Directory("/" + settings.url.partition("://")[2].strip("/"))
    try:
        return _Bucket(settings)
    except ImportError as error:
        raise StoreError(
            f"history in {settings.url} needs the package obstore, which is not installed here: {error}",
            "option tier.url",
            "install tapelog[spark] on driver and executors (tape spark pack), or leave tier.url out",
        ) from None
    except StoreError:
        raise
    except Exception as error:
        raise _explained(error, "", settings) from None


class _Bucket:
    def __init__(self, settings: TierSettings) -> None:
        import obstore
        from obstore.store import AzureStore, GCSStore, S3Store

        client: Any = {"connect_timeout": timedelta(seconds=CONNECT_S), "timeout": timedelta(seconds=REQUEST_S)}
        retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=REQUEST_S)}
        config: Any = {name: value.text() for name, value in settings.keys}
        if settings.endpoint:
            config["base_url" if settings.scheme == "gs" else "endpoint"] = settings.endpoint
            client["allow_http"] = settings.endpoint.startswith("http://")
        kind: Any = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}[settings.scheme]
        self._raw: Any = kind.from_url(settings.url, config=config, client_options=client, retry_config=retry)
        self._obstore: Any = obstore
        self._settings = settings

    def get(self, name: str) -> bytes:
        try:
            found: bytes = self._obstore.get(self._raw, name).bytes().to_bytes()
            return found
        except Exception as error:
            raise _explained(error, name, self._settings) from None

    def read(self, name: str, position: int, size: int) -> bytes:
        try:
            found: bytes = self._obstore.get_range(self._raw, name, start=position, length=size).to_bytes()
        except Exception as error:
            raise _explained(error, name, self._settings) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # obstore's way to say that the object ends before a range
                raise
            raise _short(name, self._settings.url) from None
        if len(found) != size:
            raise _short(name, self._settings.url)
        return found


class _Directory:
    """file:///directory, which all executors must see."""

    def __init__(self, root: str) -> None:
        self._root = root
        if not os.path.exists(f"{root}/{_MARK}"):
            raise StoreError(
                f"{root} is no tier, or its file system is not mounted on {os.uname().nodename}",
                "option tier.url",
                "set it to what the brokers have as tapelog.tier.url; driver and executors must see that directory",
            )

    def get(self, name: str) -> bytes:
        try:
            with open(f"{self._root}/{name}", "rb") as file:
                return file.read()
        except OSError as error:
            raise self._explained(error, name) from None

    def read(self, name: str, position: int, size: int) -> bytes:
        try:
            with open(f"{self._root}/{name}", "rb", buffering=0) as file:
                found = os.pread(file.fileno(), size, position)
        except OSError as error:
            raise self._explained(error, name) from None
        if len(found) != size:
            raise _short(name, self._root)
        return found

    def _explained(self, error: OSError, name: str) -> StoreError:
        if isinstance(error, FileNotFoundError) and os.path.exists(f"{self._root}/{_MARK}"):
            return MissingObjectError(f"there is no {name}", f"tier {self._root}", "see tape tier verify")
        return StoreError(f"{self._root} cannot be read: {error.strerror or error}", "option tier.url", "check access")


def _short(name: str, url: str) -> MissingObjectError:
    return MissingObjectError(f"{name} is shorter than it should be", f"tier {url}", "see tape tier verify")


def _explained(error: Exception, name: str, settings: TierSettings) -> StoreError:
    kind, text = type(error).__name__, str(error)
    line = " ".join(text.split())[:_LINE_MAX]
    which = f"option tier.url: {settings.url}" + (f" at {settings.endpoint}" if settings.endpoint else "")
    if "NoSuchBucket" in text or "ContainerNotFound" in text:
        return StoreError(
            "the tier's bucket does not exist", which, "set tier.url to what the brokers have as tapelog.tier.url"
        )
    if isinstance(error, FileNotFoundError) or "status code: 416" in text:
        return MissingObjectError(f"there is no {name}", which, "see tape tier verify")
    if kind in ("PermissionDeniedError", "UnauthenticatedError") or " 403 " in text or " 401 " in text:
        return StoreError(
            f"the store refuses our credentials ({kind})",
            which,
            "set tier.accessKeyId and tier.secretAccessKey (or what the store wants), or the environment's",
        )
    return StoreError(f"the store does not answer: {kind}: {line}", which, "check tier.endpoint and the network")
