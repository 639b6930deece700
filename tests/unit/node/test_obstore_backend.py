"""What obstore answers, and what the tier makes of it. Real servers: tests/clients/test_tier_stores.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.log.tier import scripts
from tapelog.log.tier.store import (
    ABSENT,
    LIST_PAGE_MAX,
    ConflictError,
    ObjectMissingError,
    RefusedError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.node.object_stores import ObstoreBackend


class PanicException(BaseException):
    """As obstore's, which is no Exception."""


class PreconditionError(Exception):
    """As obstore's."""


def backend(**calls: Any) -> ObstoreBackend:
    made = ObstoreBackend.__new__(ObstoreBackend)
    made._raw = None  # type: ignore[assignment]
    made._obstore = SimpleNamespace(**calls)  # type: ignore[assignment]
    return made


def failing(error: BaseException) -> Any:
    def call(*_: object, **__: object) -> object:
        raise error

    return call


def in_chunks(names: list[str]) -> Any:
    """A store that begins at its first object, whatever it is asked."""
    items = [{"path": name, "size": 1} for name in names]
    return lambda *_, chunk_size, **__: iter([items[at : at + chunk_size] for at in range(0, len(items), chunk_size)])


def test_listings_go_on_even_where_a_store_always_begins_anew() -> None:
    names = [f"t/{number:05d}" for number in range(LIST_PAGE_MAX * 2 + 5)]
    held = backend(list=in_chunks(names))
    found: list[str] = []
    more = True
    while more:
        listing = held.list("t/", found[-1] if found else "")
        assert len(listing.objects) <= LIST_PAGE_MAX
        found += [one.name for one in listing.objects]
        more = listing.more
    assert found == names


def test_a_store_that_lists_in_no_order_is_refused() -> None:
    with pytest.raises(RefusedError, match="order"):
        backend(list=in_chunks(["t/b", "t/a"])).list("t/")


@pytest.mark.parametrize("ranges", [[(100, 5)], [(100, 5), (0, 2)]])
@pytest.mark.parametrize(
    "error",
    [
        Exception("Server returned non-2xx status code: 416 Range Not Satisfiable: <xml>"),
        PanicException("range start must not be greater than end: 100 <= 50"),
    ],
)
def test_a_range_behind_an_objects_end_is_not_there_and_not_a_trouble_that_passes(
    ranges: list[tuple[int, int]], error: BaseException
) -> None:
    held = backend(get_range=failing(error), get_ranges=failing(error))
    with pytest.raises(ObjectMissingError, match="shorter"):
        held.get_ranges("x", ranges)


def test_a_store_that_does_not_understand_conditions_is_refused_and_one_that_fails_is_not() -> None:
    bad = backend(put=failing(Exception("status code: 400 Bad Request: invalid uploadType")))
    with pytest.raises(RefusedError, match="conditional put"):
        bad.put("x", b"1", ABSENT)
    with pytest.raises(UnavailableError):
        bad.put("x", b"1")
    with pytest.raises(UnavailableError):
        backend(put=failing(Exception("status code: 503"))).put("x", b"1", ABSENT)


def test_the_probe_uses_versions_that_every_store_can_compare() -> None:
    """S3 and Azure go by the etag, GCS by a number and refuses a version without one."""
    held: dict[str, tuple[bytes, int]] = {}

    def put(_: object, name: str, data: bytes, *, mode: Any, use_multipart: bool) -> dict[str, str]:
        there = held.get(name)
        if isinstance(mode, dict):
            if "version" not in mode:
                raise Exception("Generic GCS error: Version required for conditional update")
            if there is None or there[1] != int(mode["version"]):
                raise PreconditionError("412")
        elif mode == "create" and there is not None:
            raise PreconditionError("412")
        held[name] = data, (there[1] if there is not None else 1_700_000_000) + 1
        return {"e_tag": "x", "version": str(held[name][1])}

    store = backend(put=put)
    script = scripts.probe("token")
    step: Any = script.send(None)
    while isinstance(step, scripts.Put):
        try:
            result: Version | StoreError = store.put(step.name, step.data, step.condition)
        except StoreError as error:
            result = error
        step = script.throw(result) if isinstance(result, ConflictError) else script.send(result)
    assert isinstance(step, scripts.Delete), "accepted"
