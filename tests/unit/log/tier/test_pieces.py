"""The cache of pieces: bounded, what is needed before what may be, failures waited out, nothing fetched twice."""

from __future__ import annotations

import pytest

from tapelog.log.tier.layout import LayoutError
from tapelog.log.tier.pieces import (
    BACKOFF_MS_MAX,
    KEPT_MS,
    READING_MS,
    RUN_BLOCKS_MAX,
    RUN_MS,
    TRY_EACH,
    WHOLE,
    NotHereError,
    UnreadableError,
)
from tests.unit.log.tier.shelf import BLOCK, Shelf, Waits


def test_what_is_not_here_comes_and_whoever_waits_is_told_once() -> None:
    shelf, waits, also = Shelf(), Waits(), Waits()
    assert shelf.get(3, waits) is None
    assert shelf.get(3, waits) is None
    assert shelf.get(3, also) is None
    shelf.pass_time()
    assert (waits.told, also.told) == (1, 1)
    assert shelf.get(3) == shelf.bucket.objects["a"][300:400]
    assert shelf.asked == ["a"]


def test_a_whole_object_is_converted_once() -> None:
    shelf, converted = Shelf(), []

    def convert(data: bytes) -> str:
        converted.append(data)
        return data.decode()

    with pytest.raises(NotHereError):
        shelf.pieces.get("b", 0, WHOLE, convert)
    shelf.pass_time()
    assert shelf.pieces.get("b", 0, WHOLE, convert) == shelf.pieces.get("b", 0, WHOLE, convert) == "small"
    assert converted == [b"small"]
    assert shelf.pieces.used == 5


def test_what_was_used_longest_ago_makes_room() -> None:
    shelf = Shelf()
    for number in range(12):
        shelf.get(number)
        shelf.pass_time()
        assert shelf.get(number) is not None
        assert shelf.get(0) is not None
        shelf.pieces.touch("a", 0)  # used all the time
        assert shelf.pieces.used <= 8 * BLOCK
    assert shelf.get(0) is not None
    assert shelf.get(11) is not None
    assert shelf.get(1) is None


def test_no_more_is_under_way_than_may_be() -> None:
    shelf, waits = Shelf(parallel=2), [Waits() for _ in range(6)]
    for number, one in enumerate(waits):
        shelf.get(number, one)
        assert shelf.pieces.under_way <= 2
    shelf.pass_time()
    assert [one.told for one in waits] == [1] * 6


def test_what_somebody_waits_for_overtakes_what_was_asked_for_in_advance() -> None:
    shelf, waits = Shelf(parallel=1), Waits()
    shelf.store.weather.delay_ms_max = 10
    for number in range(4):
        assert shelf.pieces.ahead("a", number * BLOCK, BLOCK)
    shelf.get(9, waits)
    loaded_before = 0
    while not waits.told:
        shelf.pass_time(1)
        loaded_before = sum(shelf.pieces.has("a", number * BLOCK) for number in range(4))
    assert loaded_before <= 1


def test_a_piece_asked_for_in_advance_is_promoted_when_somebody_needs_it() -> None:
    shelf, waits = Shelf(parallel=1), Waits()
    for number in range(4):
        shelf.pieces.ahead("a", number * BLOCK, BLOCK)
    shelf.get(3, waits)
    shelf.pass_time()
    assert shelf.store.calls_of_blocks == [(0, 1), (3, 1), (1, 2)]
    assert waits.told == 1


def test_blocks_that_wait_to_be_read_ahead_come_with_one_call_if_calls_are_quick() -> None:
    shelf = Shelf()
    shelf.read(20)
    assert shelf.pieces.blocks_ahead("a", 0, 8 * BLOCK) == 4 * BLOCK, "half the cache"
    shelf.pass_time()
    assert shelf.store.calls_of_blocks == [(20, 1), (0, RUN_BLOCKS_MAX)]
    assert [shelf.get(number) for number in range(4)] == [
        shelf.bucket.objects["a"][number * BLOCK : (number + 1) * BLOCK] for number in range(4)
    ]


def test_a_store_that_is_far_away_is_asked_for_each_block_by_itself_and_for_many_at_once() -> None:
    shelf = Shelf(parallel=4)
    shelf.store.block_ms = RUN_MS + 1
    shelf.read(20)
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    assert shelf.store.calls_of_blocks == [(20, 1), (0, 1), (1, 1), (2, 1), (3, 1)]
    assert shelf.pieces.under_way == 4
    shelf.pass_time(2 * RUN_MS)
    shelf.store.block_ms = RUN_MS // 2 - 1  # it has come nearer
    for number in range(10, 30):
        shelf.read(number)
    assert shelf.pieces.run_blocks() == 2


@pytest.mark.parametrize(("company_ms", "then"), [(2 * RUN_MS, 1), (RUN_MS // 2, RUN_BLOCKS_MAX)])
def test_a_slow_store_is_asked_for_several_blocks_once_in_a_while_and_again_if_it_is_the_call_that_takes_its_time(
    company_ms: int, then: int
) -> None:
    shelf = Shelf(parallel=4)
    shelf.store.block_ms = 2 * RUN_MS
    for number in range(40, 40 + TRY_EACH):
        assert shelf.pieces.run_blocks() == 1
        shelf.read(number)
    shelf.store.block_ms = company_ms
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    assert shelf.store.calls_of_blocks[-1] == (0, RUN_BLOCKS_MAX)
    shelf.pass_time(RUN_BLOCKS_MAX * company_ms)
    assert shelf.pieces.run_blocks() == then


def test_a_store_that_does_not_bring_several_blocks_with_one_call_is_asked_for_each_by_itself() -> None:
    shelf = Shelf(parallel=4)
    shelf.read(20)
    shelf.store.several = False
    shelf.pieces.blocks_ahead("a", 0, 3 * BLOCK)
    assert shelf.store.calls_of_blocks == [(20, 1), (0, 1), (1, 1), (2, 1)]
    assert shelf.pieces.under_way == 3
    shelf.pass_time()
    shelf.store.several = True
    for number in range(3):
        shelf.read(number)
    shelf.pieces.blocks_ahead("a", 3 * BLOCK, 6 * BLOCK)
    assert shelf.store.calls_of_blocks[4:] == [(3, 3)], "as soon as it does"


def test_each_block_of_a_call_can_be_read_as_soon_as_it_is_here() -> None:
    shelf, waits = Shelf(), [Waits() for _ in range(3)]
    shelf.read(20)
    shelf.store.block_ms = 10
    shelf.pieces.blocks_ahead("a", 0, 3 * BLOCK)
    for number, one in enumerate(waits):
        shelf.get(number, one)
    seen = []
    for _ in range(4):
        seen.append([one.told for one in waits])
        shelf.pass_time(10)
    assert seen == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_what_a_broken_call_still_owes_is_asked_for_again_if_somebody_waits_for_it() -> None:
    shelf, waits = Shelf(), Waits()
    shelf.read(20)
    shelf.store.breaks_after = 1
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    assert shelf.get(2, waits) is None
    shelf.pass_time(1)
    shelf.store.breaks_after = -1
    assert [shelf.pieces.knows("a", number * BLOCK) for number in range(4)] == [True, False, True, False]
    shelf.pass_time(1_000)
    assert shelf.get(0) == shelf.bucket.objects["a"][:BLOCK]
    assert (waits.told, shelf.get(2)) == (1, shelf.bucket.objects["a"][2 * BLOCK : 3 * BLOCK])
    assert shelf.store.calls_of_blocks == [(20, 1), (0, 4), (2, 1)]


def test_a_call_for_several_blocks_takes_no_more_than_the_quota_has() -> None:
    shelf = Shelf(parallel=1)
    shelf.read(20)
    shelf.clock.advance(10_000)
    shelf.pieces.quota.rate = lambda: 2 * BLOCK
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    assert shelf.store.calls_of_blocks[1:] == [(0, 3)], "a second is made up for, and one block may always come"


def test_the_tail_behind_the_last_block_comes_by_itself() -> None:
    for asked_first in (True, False):
        shelf = Shelf(parallel=1)
        shelf.read(20)
        shelf.get(30)  # the only call that may be under way
        if asked_first:
            assert shelf.pieces.ahead("a", 2 * BLOCK, BLOCK, bytes.hex)
            shelf.get(0)
        assert shelf.pieces.blocks_ahead("a", 0, 2 * BLOCK) == 2 * BLOCK
        assert shelf.pieces.ahead("a", 2 * BLOCK, BLOCK, bytes.hex)
        shelf.pass_time()
        assert shelf.store.calls_of_blocks == [(20, 1), (30, 1), (0, 2)]
        assert shelf.pieces.get("a", 2 * BLOCK, BLOCK, bytes.hex) == shelf.bucket.objects["a"][200:300].hex()
        assert shelf.get(1) == shelf.bucket.objects["a"][100:200]


def test_why_a_call_for_several_blocks_failed_is_told_once() -> None:
    shelf, said = Shelf(), []
    shelf.pieces.complain = said.append
    shelf.read(20)
    shelf.store.breaks_after = 1
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    shelf.get(3, Waits())
    shelf.pass_time(1)
    assert said == ["reading a from the tier failed: broken off"]
    assert shelf.pieces.failures == 3
    shelf.store.breaks_after = 0
    shelf.pass_time(150)
    assert len(said) == 2, "the next call is told of, too"


def test_who_reads_now_shares_what_may_be_here_in_advance() -> None:
    shelf = Shelf()
    assert [shelf.pieces.share(name) for name in ("p", "q", "p", "r", "s")] == [4, 2, 2, 1, 1]
    assert shelf.pieces.share("t") == 4, "not enough for all: whoever comes first"
    shelf.clock.advance(READING_MS + 1)
    assert shelf.pieces.share("q") == 4, "the others have gone"


def test_reading_ahead_takes_no_more_than_half_the_cache() -> None:
    shelf = Shelf()
    assert [shelf.pieces.ahead("a", number * BLOCK, BLOCK) for number in range(6)] == [True] * 4 + [False] * 2
    shelf.pass_time()
    assert not shelf.pieces.ahead("a", 5 * BLOCK, BLOCK)
    assert shelf.get(0) is not None
    assert shelf.pieces.ahead("a", 5 * BLOCK, BLOCK)


def test_what_nobody_has_read_yet_stays_a_while_even_if_there_is_no_room() -> None:
    shelf, waits = Shelf(parallel=1), [Waits() for _ in range(12)]
    for number, one in enumerate(waits):
        shelf.get(number, one)
    shelf.pass_time(KEPT_MS // 2)
    early = [number for number, one in enumerate(waits) if one.told]
    assert early == list(range(8))
    assert all(shelf.get(number) is not None for number in early)
    shelf.pass_time(KEPT_MS)
    assert all(one.told for one in waits)


def test_a_failing_call_is_repeated_later_each_time_while_somebody_waits() -> None:
    shelf, waits = Shelf(), Waits()
    shelf.store.weather.gone = True
    shelf.get(1, waits)
    shelf.pass_time(60_000)
    assert 60_000 // BACKOFF_MS_MAX <= len(shelf.asked) <= 25
    assert waits.told == 0
    shelf.store.weather.gone = False
    shelf.pass_time(BACKOFF_MS_MAX)
    assert waits.told == 1
    assert shelf.get(1) is not None


def test_a_failing_call_that_nobody_waits_for_any_more_is_given_up() -> None:
    shelf, waits = Shelf(), Waits()
    shelf.store.weather.gone = True
    with pytest.raises(NotHereError) as missing:
        shelf.pieces.get("a", 0, BLOCK)
    missing.value.piece.waiters[waits] = None
    shelf.pass_time(500)
    missing.value.piece.waiters.clear()
    shelf.pass_time(60_000)
    assert len(shelf.asked) < 6
    assert shelf.pieces.used == shelf.pieces.unread == 0


def test_a_missing_object_is_told_at_once_and_looked_for_again_only_after_a_while() -> None:
    shelf, waits = Shelf(), Waits()
    with pytest.raises(NotHereError) as missing:
        shelf.pieces.get("c", 0, BLOCK)
    missing.value.piece.waiters[waits] = None
    shelf.pass_time()
    assert waits.told == 1
    for _ in range(3):
        with pytest.raises(UnreadableError):
            shelf.pieces.get("c", 0, BLOCK)
    assert shelf.asked == ["c"]
    shelf.pass_time(KEPT_MS)
    shelf.bucket.put("c", bytes(BLOCK))
    with pytest.raises(NotHereError):
        shelf.pieces.get("c", 0, BLOCK)
    shelf.pass_time()
    assert bytes(shelf.pieces.get("c", 0, BLOCK).data) == bytes(BLOCK)


def test_a_damaged_piece_is_unreadable() -> None:
    shelf = Shelf()

    def convert(data: bytes) -> bytes:
        raise LayoutError("wrong")

    with pytest.raises(NotHereError):
        shelf.pieces.get("b", 0, 5, convert)
    shelf.pass_time()
    with pytest.raises(UnreadableError, match="wrong"):
        shelf.pieces.get("b", 0, 5, convert)


def test_what_was_asked_for_in_advance_outlives_what_was_read_however_slow_its_reader_is() -> None:
    shelf = Shelf()
    for number in range(4):
        assert shelf.pieces.ahead("a", number * BLOCK, BLOCK)
    shelf.pass_time(2 * KEPT_MS)
    for number in range(10, 20):  # somebody else reads on
        shelf.get(number)
        shelf.pass_time()
        assert shelf.get(number) is not None
    asked = len(shelf.asked)
    assert all(shelf.get(number) is not None for number in range(4))
    assert len(shelf.asked) == asked


def test_reading_ahead_never_throws_out_what_was_read_ahead_for_somebody_else() -> None:
    shelf = Shelf()
    for number in range(4):
        assert shelf.pieces.ahead("a", number * BLOCK, BLOCK)
    shelf.pass_time(2 * KEPT_MS)
    shelf.get(0), shelf.get(1)
    held = [shelf.pieces.get("a", number * BLOCK, BLOCK) for number in (0, 1)]
    for block in held:
        block.lend()
    for number in range(10, 20):
        shelf.pieces.ahead("a", number * BLOCK, BLOCK)
        shelf.pass_time(KEPT_MS)
    assert all(shelf.pieces.has("a", number * BLOCK) for number in range(4))
    assert shelf.pieces.unread + shelf.pieces.buffers.lent <= shelf.pieces.bytes_max // 4 * 3
    assert shelf.get(30) is None, "what somebody waits for finds room"
    shelf.pass_time()
    assert shelf.get(30) is not None


def test_a_block_that_was_read_to_its_end_goes_before_those_that_readers_are_in_the_middle_of() -> None:
    shelf = Shelf()
    for number in range(8):  # two readers, each of which has finished three blocks and is in its fourth
        shelf.get(number)
        shelf.pass_time()
        assert shelf.get(number) is not None
        shelf.pieces.touch("a", number * BLOCK)
        shelf.pieces.touch("a", 0), shelf.pieces.touch("a", 1 * BLOCK)
    for number in range(20, 26):
        shelf.get(number)
        shelf.pass_time()
        assert shelf.get(number) is not None
    assert shelf.get(0) is not None
    assert shelf.get(1) is not None


def test_no_more_is_read_in_a_second_than_the_quota_says_and_everything_comes() -> None:
    shelf, waits = Shelf(parallel=4), [Waits() for _ in range(8)]
    shelf.clock.advance(10_000)
    shelf.pieces.quota.rate = lambda: 2 * BLOCK
    for number, one in enumerate(waits):
        shelf.get(number, one)
    came = []
    for _ in range(6):
        came.append(sum(one.told for one in waits))
        shelf.pass_time(1000)
    assert came == [0, 5, 7, 8, 8, 8], "a second is made up for, then two blocks a second"


def test_the_quota_is_not_charged_for_what_never_came() -> None:
    shelf, waits = Shelf(), Waits()
    shelf.clock.advance(10_000)
    shelf.pieces.quota.rate = lambda: 2 * BLOCK
    shelf.store.weather.gone = True
    for number in range(4):
        shelf.pieces.ahead("a", number * BLOCK, BLOCK)
    shelf.get(9, waits)
    shelf.pass_time(2_000)
    shelf.store.weather.gone = False
    asked = len(shelf.asked)
    shelf.pass_time(3_000)
    assert waits.told and len(shelf.asked) == asked + 1
    assert shelf.pieces.quota.wait_ms() == 0


def test_damage_that_a_slow_store_sends_again_is_told() -> None:
    shelf, waits = Shelf(), Waits()
    shelf.get(0)
    shelf.pass_time()
    assert shelf.pieces.doubt("a", [0]) == [0]
    shelf.store.weather.gone = True
    assert shelf.get(0, waits) is None
    shelf.pass_time(3 * KEPT_MS)
    shelf.store.weather.gone = False
    while not waits.told:
        shelf.pass_time(10)
    assert shelf.pieces.doubt("a", [0]) == [], "it came after the doubt, and is no better"
    shelf.pass_time(KEPT_MS)
    assert shelf.pieces.doubt("a", [0]) == [0], "after a while it may have been mended"


def test_what_a_reader_has_come_for_is_not_thrown_out_while_it_looks_what_comes_next() -> None:
    shelf = Shelf(parallel=8)
    for number in range(8):
        shelf.get(number)
    shelf.pass_time(20)
    assert shelf.get(20, Waits()) is None, "no room for it as long as nobody has read the others"
    assert shelf.get(0) is not None
    assert shelf.pieces.ahead("a", BLOCK, BLOCK)
    assert shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK) == 4 * BLOCK
    assert shelf.get(0) is not None, "else readers of more than there is room for throw out each other's for ever"


def test_a_call_for_several_blocks_takes_nobody_elses_share() -> None:
    shelf = Shelf()
    shelf.read(20)
    shelf.pieces.share("p"), shelf.pieces.share("q")
    shelf.pieces.blocks_ahead("a", 0, 4 * BLOCK)
    assert shelf.store.calls_of_blocks == [(20, 1), (0, 2), (2, 2)]
