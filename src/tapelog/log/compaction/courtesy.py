"""How much of the time a cleaner may work so that writers hardly feel it: pure, fed with how long flush rounds took.

Now and then the cleaner rests for a moment, and the rounds of that moment say what the slowest hundredth of them takes
without it. While it works, rounds are counted that take longer than so many times that. Are they more than one in a
hundred, it works less of the time, by a third; are they hardly any, a little more (much as congestion is
avoided in networks). It never works less than a tenth of the time, so a log is always clean some day.

Used by `node/cleaner_courtesy`, one for each disk: writers wait for the flush rounds of the disk they write to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

SHARE_FIRST: Final = 0.5
SHARE_LEAST: Final = 0.1
LESS: Final = 0.7
"""Times this when too many rounds were slow."""
MORE: Final = 1.1
"""Times this when hardly any was."""
SLOW_MOST: Final = 0.01
"""Of the rounds: what makes the 99th percentile."""
SLOW_FEW: Final = 0.7
"""Of that: hardly any."""
QUIET_MOST: Final = 600
"""So many rounds without a cleaner are remembered."""
QUIET_LEAST: Final = 50
"""Fewer say nothing."""
QUIET_MS_MAX: Final = 20_000
"""Older ones are of another time, once there are others."""
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
ROUNDS_LEAST: Final = 10
"""In that while: with fewer, nobody writes."""
WORK_MS: Final = 5_000
"""From one rest to the next."""
NOTHING: Final = (0, 0.0)


class Courtesy:
    """See the module. `begin`, then `tick` every few dozen milliseconds, `end`; `seen` with every flush round."""

    def __init__(self, slowdown: float) -> None:
        self.slowdown = slowdown
        """How many times longer the slowest hundredth of rounds may take beside a cleaner."""
        self.share = SHARE_FIRST
        """Of the time that is not a rest."""
        self.resting = False
        self._working = False
        self._quiet: deque[int] = deque(maxlen=QUIET_MOST)
        self._fresh = 0
        self._rested_ms = -QUIET_MS_MAX
        self._since_ms = 0
        self._settled = False
        self._judged_ms = 0
        self._rounds = 0
        self._slow = 0
        self._before = NOTHING
        """Half of what was judged before: rounds, and slow ones."""
        self._limit_us = 0
        """Rounds that take longer are slow; 0: nobody knows."""

    def begin(self, now_ms: int) -> None:
        """A cleaner is about to work: first see how it is without."""
        self._working = True
        self._rest(now_ms)

    def end(self) -> None:
        """It has stopped."""
        self._working = self.resting = False

    def seen(self, took_us: int) -> None:
        """A flush round has ended."""
        if self.resting:
            if self._settled:
                self._quiet.append(took_us)
                self._fresh += 1
        elif self._working:
            self._rounds += 1
            if self._limit_us and took_us > self._limit_us:
                self._slow += 1

    def tick(self, now_ms: int, worked: bool) -> float:
        """Which part of the time the cleaner may work from now on; 0: it rests. worked: whether it has done anything
        since the last judgement (`judging` says when that matters)."""
        if self.resting:
            self._settled = self._settled or now_ms - self._since_ms >= SETTLE_MS
            rested = now_ms - self._since_ms
            if rested >= REST_MS_MAX or (rested >= REST_MS and self._fresh >= REST_ROUNDS):
                self._go_on(now_ms)
        elif self._working:
            if self.judging(now_ms):
                self._judge(now_ms, worked)
            if now_ms - self._since_ms >= WORK_MS:
                self._rest(now_ms)
        return 0.0 if self.resting else self.share

    def judging(self, now_ms: int) -> bool:
        """Whether the next tick judges the work so far."""
        passed = now_ms - self._judged_ms
        enough = self._rounds >= JUDGE_ROUNDS and passed >= JUDGE_MS
        return self._working and not self.resting and (enough or passed >= JUDGE_MS_MAX)

    def _rest(self, now_ms: int) -> None:
        self.resting, self._settled = True, False
        self._since_ms = now_ms
        self._fresh = 0

    def _go_on(self, now_ms: int) -> None:
        """A rest is over: what is a slow round, from now on?"""
        if self._fresh and now_ms - self._rested_ms > QUIET_MS_MAX:
            self._quiet = deque(list(self._quiet)[-self._fresh :], maxlen=QUIET_MOST)
        if self._fresh:
            self._rested_ms = now_ms
        self._limit_us = int(self.slowdown * slowest(self._quiet)) if len(self._quiet) >= QUIET_LEAST else 0
        self.resting = False
        self._since_ms = self._judged_ms = now_ms
        self._rounds = self._slow = 0

    def _judge(self, now_ms: int, worked: bool) -> None:
        rounds, slow = self._rounds + self._before[0], self._slow + self._before[1]
        few = self._rounds < ROUNDS_LEAST or not self._limit_us
        self._judged_ms = now_ms
        self._rounds = self._slow = 0
        self._before = (rounds // 2, slow / 2)
        if not worked:
            self._before = NOTHING
        elif few or slow <= SLOW_MOST * SLOW_FEW * rounds:
            self.share = min(1.0, self.share * MORE)
        elif slow > SLOW_MOST * rounds:
            self.share = max(SHARE_LEAST, self.share * LESS)
            self._before = NOTHING


def slowest(rounds: Iterable[int]) -> int:
    """What all but a hundredth of them stay below."""
    order = sorted(rounds)
    return order[min(len(order) - 1, len(order) * 99 // 100)]
