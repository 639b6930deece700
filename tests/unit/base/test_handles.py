"""Open files are bounded: what was used longest ago is given back, what must stay open stays open."""

from __future__ import annotations

from tapelog.base.handles import Handles


class Door:
    """A holder that only remembers."""

    def __init__(self, handles: Handles) -> None:
        self.handles = handles
        self.listed = self.used = self.pinned = self.open = False
        self.opened = 0

    def use(self) -> None:
        if not self.open:
            self.handles.opening(self)
            self.open = True
            self.opened += 1
        self.used = True

    def holds(self) -> bool:
        return self.open

    def release(self) -> None:
        self.open = False


def doors(handles: Handles, count: int) -> list[Door]:
    return [Door(handles) for _ in range(count)]


def test_no_more_are_held_than_allowed() -> None:
    handles = Handles(10)
    for door in doors(handles, 100):
        door.use()
        assert handles.held() <= 10


def test_what_is_used_again_and_again_stays_open() -> None:
    handles = Handles(10)
    busy, others = doors(handles, 3), doors(handles, 300)
    for door in others:
        door.use()
        for favourite in busy:
            favourite.use()
    assert [door.opened for door in busy] == [1, 1, 1]


def test_what_is_pinned_stays_open_even_if_that_is_too_many() -> None:
    handles = Handles(10)
    pinned = doors(handles, 15)
    for door in pinned:
        door.use()
        door.pinned = True
    for door in doors(handles, 50):
        door.use()
    assert all(door.open for door in pinned)
    assert handles.held() <= 16
    for door in pinned:
        door.pinned = False
    for door in doors(handles, 50):
        door.use()
    assert handles.held() <= 10


def test_those_that_closed_by_themselves_are_forgotten() -> None:
    handles = Handles(10)
    for _ in range(100):
        for door in doors(handles, 5):
            door.use()
            door.release()
    assert handles.held() == 0
    assert len(handles._queue) <= 10
