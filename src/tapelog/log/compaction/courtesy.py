"""How much of the time a cleaner may work so that writers hardly feel it: pure, fed with how long flush rounds took.

Now and then the cleaner rests for a moment, and the rounds of that moment say what the slowest hundredth of them takes
without it; of several such moments the middle one counts, so that a hiccup of the disk is not taken for its nature.
While the cleaner works, rounds are slow that take longer than so many times that. Slow rounds come by themselves, too:
those beside which the cleaner was between two steps say how many. It begins with a small part of the time. Do slow
rounds that are its fault keep more than four requests in a thousand waiting, it works less, by a third; are they hardly
any, a little more (much as congestion is avoided in networks). After each slow round beside it, it pauses at once for a
tick or two: slow rounds rarely come alone. It works two fifths of the time at most, since requests wait for cores as
well as for rounds, and hardly less than a tenth, so a log is always clean some day; where nobody has written for a
second, it works all of the time.

Used by `node/cleaner_courtesy`, one for each disk: writers wait for the flush rounds of the disk they write to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

SHARE_FIRST: Final = 0.2
SHARE_LEAST: Final = 0.1
SHARE_MOST: Final = 0.4
"""Beside writers: requests wait for cores, too, which flush rounds hardly tell."""
ROUNDS_PART: Final = 0.6
"""Of the slowdown that requests may feel, so much is left to flush rounds, for the same reason."""
LESS: Final = 0.7
"""Times this when too many requests met slow rounds."""
MORE: Final = 1.1
"""Times this when hardly any did."""
SLOW_MOST: Final = 0.004
"""Of the requests; with a hundredth the 99th percentile would be just what it may be, and those come on top that are
slow by themselves."""
SLOW_FEW: Final = 0.5
"""Of that: hardly any."""
EXCUSE_MOST: Final = 0.02
"""Of the requests beside it, as slow by themselves."""
QUIET_ROUNDS: Final = 50
"""So many rounds without a cleaner make a moment; fewer wait for those of the next rest."""
QUIET_ROUNDS_MAX: Final = 10_000
QUIET_MOMENTS: Final = 9
"""So many are remembered."""
QUIET_MS_MAX: Final = 20_000
"""Without a rest for so long they are of another time, once there are others."""
REST_MS: Final = 250
REST_MS_MAX: Final = 1_000
REST_ROUNDS: Final = 60
"""A rest takes so long, or longer until so many rounds were seen."""
SETTLE_MS: Final = 100
"""Rounds at the beginning of a rest do not count: the cleaner ends its step first, and the disk what it was asked."""
JUDGE_MS: Final = 1_000
JUDGE_MS_MAX: Final = 4_000
JUDGE_ROUNDS: Final = 400
"""Work is judged after so long and so many rounds, or after a longer while."""
JUDGE_MS_MIN: Final = 500
"""Or after so long, if there is too much already for all those rounds."""
ROUNDS_LEAST: Final = 10
"""In that while: with fewer, hardly anybody writes."""
WORK_MS: Final = 5_000
"""From one rest to the next."""
IDLE_MS: Final = 1_000
"""Without a round for so long, there is nobody to heed."""
MEMORY: Final = 0.7
"""Of what was judged before, so much counts the next time."""
PAUSE_TICKS: Final = 2
"""Up to which tick it pauses after a slow round, and for how many it does not pause again."""


Steps = tuple[int, int]
"""How many of a cleaner's steps have begun and ended, at some moment, modulo something."""


class Courtesy:
    """See the module. `begin`, then `tick` every few dozen milliseconds, `end`; `seen` with every flush round."""

    def __init__(self, slowdown: float) -> None:
        self.slowdown = slowdown
        """How many times longer the slowest hundredth of requests may take beside a cleaner."""
        self.share = SHARE_FIRST
        """Of the time, beside writers."""
        self.resting = False
        self.idle = False
        """Nobody writes."""
        self._working = False
        self._moments: deque[int] = deque(maxlen=QUIET_MOMENTS)
        """What the slowest hundredth took in each."""
        self._quiet: list[int] = []
        """Rounds of the moment that is not complete."""
        self._fresh = 0
        self._rested_ms = -QUIET_MS_MAX
        self._since_ms = 0
        self._settled = False
        self._judged_ms = 0
        self._beside = Count()
        """Since the last judgement, rounds beside which the cleaner worked."""
        self._alone = Count()
        self._beside_before = Sum()
        self._alone_before = Sum()
        self._limit_us = 0
        """Rounds that take longer are slow; 0: nobody knows."""
        self._written_ms = 0
        self._written = False
        self._pause = 0
        """Ticks of a pause to come, and then of the time without another: PAUSE_TICKS of each."""

    def begin(self, now_ms: int) -> None:
        """A cleaner is about to work: first see how it is without."""
        self._working = True
        self._pause = 0
        self._written_ms = self._judged_ms = now_ms
        self._beside, self._alone = Count(), Count()
        self._rest(now_ms)

    def end(self) -> None:
        """It has stopped."""
        self._working = self.resting = False

    def seen(self, took_us: int, beside: bool = True) -> bool:
        """A flush round has ended; beside: the cleaner was at work meanwhile. True: it was slow, and the cleaner should
        pause at once, up to some tick to come."""
        self._written = True
        if self.resting:
            if self._settled and len(self._quiet) < QUIET_ROUNDS_MAX:
                self._quiet.append(took_us)
                self._fresh += 1
                self._alone.add(took_us, self._limit_us)
        elif self._working:
            count = self._beside if beside else self._alone
            if count.add(took_us, self._limit_us) and beside and not self._pause:
                self._pause = 2 * PAUSE_TICKS
                return True
        return False

    def heard(self) -> None:
        """A flush round is under way: somebody writes, however long that takes."""
        self._written = True

    def tick(self, now_ms: int, worked: bool) -> float:
        """Which part of the time the cleaner may work from now on; 0: it rests. worked: whether it has done anything
        since the last judgement (`judging` says when that matters)."""
        if self._written:
            self._written, self._written_ms = False, now_ms
        self.idle = now_ms - self._written_ms >= IDLE_MS
        if self.resting:
            self._settled = self._settled or now_ms - self._since_ms >= SETTLE_MS
            rested = now_ms - self._since_ms
            enough = self._fresh >= REST_ROUNDS or now_ms - self._written_ms >= min(rested, IDLE_MS)
            if rested >= REST_MS_MAX or (rested >= REST_MS and enough):
                self._go_on(now_ms)
        elif self._working:
            if self.judging(now_ms):
                self._judge(now_ms, worked)
            if now_ms - self._since_ms >= WORK_MS:
                self._rest(now_ms)
        if self._pause:
            self._pause -= 1
        if self.resting or self._pause > PAUSE_TICKS:
            return 0.0
        return self.part

    @property
    def part(self) -> float:
        """Of the time that is neither a rest nor a pause, as things are."""
        return 1.0 if self.idle else self.share

    def judging(self, now_ms: int) -> bool:
        """Whether the next tick judges the work so far."""
        passed = now_ms - self._judged_ms
        rounds = self._beside.rounds + self._alone.rounds
        enough = rounds >= JUDGE_ROUNDS and passed >= JUDGE_MS
        if passed >= JUDGE_MS_MIN and self._fault(passed) > SLOW_MOST * max(JUDGE_ROUNDS, rounds):
            enough = True
        return self._working and not self.resting and (enough or passed >= JUDGE_MS_MAX)

    def _fault(self, passed_ms: int) -> float:
        """How many requests met slow rounds for which the cleaner is to blame, since the last judgement."""
        rate = (self._beside.rounds + self._alone.rounds) / max(1, passed_ms)
        alone = self._alone_before.with_(self._alone, rate)
        by_itself = min(EXCUSE_MOST, alone.slow / alone.rounds) if alone.rounds >= QUIET_ROUNDS else 0.0
        return self._beside.hits(rate) - by_itself * self._beside.rounds

    def _rest(self, now_ms: int) -> None:
        self.resting, self._settled = True, False
        self._since_ms = now_ms
        self._fresh = 0

    def _go_on(self, now_ms: int) -> None:
        """A rest is over: what is a slow round, from now on?"""
        if self._fresh:
            if now_ms - self._rested_ms > QUIET_MS_MAX:
                self._moments.clear()
                self._quiet = self._quiet[-self._fresh :]
            self._rested_ms = now_ms
        if len(self._quiet) >= QUIET_ROUNDS:
            self._moments.append(slowest(self._quiet))
            self._quiet = []
        factor = 1 + (self.slowdown - 1) * ROUNDS_PART
        self._limit_us = int(factor * middle(self._moments)) if self._moments else 0
        self.resting = False
        self._judged_ms += now_ms - self._since_ms  # a rest is not judged
        self._since_ms = now_ms

    def _judge(self, now_ms: int, worked: bool) -> None:
        passed = now_ms - self._judged_ms
        rounds = self._beside.rounds + self._alone.rounds
        known = self._beside_before
        total, fault = known.rounds + rounds, known.slow + self._fault(passed)
        few = rounds < ROUNDS_LEAST or not self._limit_us  # too few to say anything, and to mind
        self._alone_before = self._alone_before.with_(self._alone, rounds / max(1, passed)).faded()
        self._beside_before = Sum(total, max(0.0, fault)).faded()
        self._beside, self._alone = Count(), Count()
        self._judged_ms = now_ms
        if not worked or not rounds:
            self._beside_before = Sum()
        elif few or fault <= SLOW_MOST * SLOW_FEW * total:
            self.share = min(SHARE_MOST, self.share * MORE)
        elif fault > SLOW_MOST * total:
            self.share = max(SHARE_LEAST, self.share * LESS)
            self._beside_before = Sum()


class Count:
    """Rounds, slow ones among them, and for how long requests could come that would wait too long for one of those."""

    __slots__ = ("excess_us", "rounds", "slow")

    def __init__(self) -> None:
        self.rounds = 0
        self.slow = 0
        self.excess_us = 0

    def add(self, took_us: int, limit_us: int) -> bool:
        """One more; whether it was slow."""
        self.rounds += 1
        if not limit_us or took_us <= limit_us:
            return False
        self.slow += 1
        self.excess_us += took_us - limit_us
        return True

    def hits(self, rate: float) -> float:
        """How many requests met slow rounds if so many came in a millisecond, each round for one and the others while
        it was under way."""
        return self.slow + self.excess_us / 1000 * rate


class Sum(NamedTuple):
    """What was judged before, less of it each time."""

    rounds: float = 0.0
    slow: float = 0.0

    def with_(self, count: Count, rate: float) -> Sum:
        """And what was counted since."""
        return Sum(self.rounds + count.rounds, self.slow + count.hits(rate))

    def faded(self) -> Sum:
        """As it counts the next time."""
        return Sum(self.rounds * MEMORY, self.slow * MEMORY)


def worked_between(before: Steps, after: Steps) -> bool:
    """Whether a cleaner was at work at that moment, or began to before this one."""
    return before[0] != before[1] or before[0] != after[0]


def slowest(rounds: Iterable[int]) -> int:
    """What all but a hundredth of them stay below."""
    order = sorted(rounds)
    return order[min(len(order) - 1, len(order) * 99 // 100)]


def middle(moments: Iterable[int]) -> int:
    """What half of them stay below; of two in the middle the lesser."""
    order = sorted(moments)
    return order[(len(order) - 1) // 2]
