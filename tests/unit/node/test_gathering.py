"""Errands to other nodes: what travels together, and what waits."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.node.gathering import ERRANDS_MAX, LANES, Gathering


class Letter:
    """An errand."""

    def __init__(self, key: str) -> None:
        self.key = key


class Post:
    """Remembers requests and brings them back when told."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str, list[str]]] = []
        self.backs: list[Callable[[], None]] = []
        self.gathering: Gathering[Letter] = Gathering("post", self._send)

    def _send(self, node_id: int, lane: str, letters: list[Letter], back: Callable[[], None]) -> None:
        self.sent.append((node_id, lane, [letter.key for letter in letters]))
        self.backs.append(back)

    def add(self, node_id: int, *keys: str) -> None:
        for key in keys:
            self.gathering.add(node_id, Letter(key))


def test_the_first_errands_leave_at_once_each_on_a_lane_of_its_own() -> None:
    post = Post()
    post.add(2, "a", "b")
    assert post.sent == [(2, "post-0", ["a"]), (2, "post-1", ["b"])]


def test_what_comes_while_all_lanes_are_busy_travels_together() -> None:
    post = Post()
    post.add(2, *"abcd")
    assert len(post.sent) == LANES
    post.add(2, "e", "f")
    assert len(post.sent) == LANES
    post.backs[1]()
    assert post.sent[-1] == (2, "post-1", ["e", "f"])


def test_two_errands_with_one_key_do_not_share_a_request() -> None:
    post = Post()
    post.add(2, *"abcd")
    post.add(2, "e", "e", "f")
    post.backs[0]()
    post.backs[1]()
    assert [keys for _, _, keys in post.sent[LANES:]] == [["e", "f"], ["e"]]


def test_destinations_do_not_wait_for_each_other() -> None:
    post = Post()
    post.add(2, *"abcd")
    post.add(3, "a")
    assert post.sent[-1] == (3, "post-0", ["a"])


def test_a_request_carries_a_bounded_number() -> None:
    post = Post()
    post.add(2, *(str(number) for number in range(LANES + ERRANDS_MAX + 5)))
    post.backs[0]()
    assert len(post.sent[-1][2]) == ERRANDS_MAX
    post.backs[1]()
    assert len(post.sent[-1][2]) == 5
