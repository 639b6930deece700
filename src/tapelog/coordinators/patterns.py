"""Regular expressions that clients send: RE2, so that time is bounded whatever the expression, within bounds of ours.

Whoever takes an expression from a client calls `check`; `Matching` then holds expressions against names, a bounded
piece of work at a time. The library is loaded when the first expression comes. Where it is not installed, `check`
refuses every expression and says why; nothing else depends on it.
"""

from __future__ import annotations

from typing import Any, Final

from tapelog.wire.errors import ErrorCode, KafkaError

PATTERN_CHARS_MAX: Final = 16_384
"""The longest expression: some hundred topic names in full."""

PROGRAM_SIZE_MAX: Final = 5_000
"""The largest compiled expression, in instructions. An ordinary one has tens, one naming 300 topics has 3,300."""

MEMORY_BYTES_MAX: Final = 256 * 1024
"""What one compiled expression may use, the states that it remembers while matching included."""

WORK_PER_STEP: Final = 1_000
"""How much `Matching` does per call, in units that take 2 to 50 microseconds: a name against 16 instructions."""

INSTRUCTIONS_PER_WORK: Final = 16


def check(pattern: str) -> None:
    """INVALID_REGULAR_EXPRESSION, with the reason, if the expression cannot be used here."""
    _compiled(pattern)


class Matching:
    """Which names each expression matches, from the first character to the last. An unusable one matches none.

    UNSUPPORTED_VERSION when made where the library is missing: the answer is not known, which is not the same as none.
    """

    def __init__(self, patterns: list[str], names: list[str]) -> None:
        _library()
        self._names = names
        self._place = 0
        self._todo = sorted(set(patterns), reverse=True)
        self._current: Any = None
        self.found: dict[str, set[str]] = {pattern: set() for pattern in sorted(set(patterns))}

    def step(self, work: int = WORK_PER_STEP) -> bool:
        """Do a piece; True when all is done and `found` is complete."""
        while self._todo:
            pattern = self._todo[-1]
            if self._current is None:
                self._current = self._usable(pattern)
                self._place = 0
            if self._current is None:
                self._todo.pop()
                continue
            work = self._match(pattern, work)
            if self._place < len(self._names):
                return False
            self._todo.pop()
            self._current = None
        return True

    def _match(self, pattern: str, work: int) -> int:
        """Go on with one expression as far as the work allows, at least by one name. Returns the work left."""
        current, found = self._current, self.found[pattern]
        cost: int = 1 + current.programsize // INSTRUCTIONS_PER_WORK
        names = self._names[self._place : self._place + max(1, work // cost)]
        self._place += len(names)
        found.update([name for name in names if current.fullmatch(name) is not None])
        return max(0, work - cost * len(names))

    @staticmethod
    def _usable(pattern: str) -> Any:
        try:
            return _compiled(pattern)
        except KafkaError:
            return None


def _compiled(pattern: str) -> Any:
    if len(pattern) > PATTERN_CHARS_MAX:
        raise _refusal(f"it has {len(pattern)} characters, and {PATTERN_CHARS_MAX} are allowed")
    try:
        re2 = _library()
    except KafkaError as error:
        raise _refusal(error.message) from error
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MEMORY_BYTES_MAX
    try:
        compiled = re2.compile(pattern, options)
        re2.purge()  # the library would keep it; ours are compiled again when needed, which is quick
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise _refusal(said) from error
    if compiled.programsize > PROGRAM_SIZE_MAX:
        raise _refusal(f"it compiles to {compiled.programsize} instructions, and {PROGRAM_SIZE_MAX} are allowed")
    return compiled


def _refusal(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"The regular expression cannot be used: {reason}.")


def _library() -> Any:
    try:
        import re2
    except ImportError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "google-re2 is not installed on this broker") from error
    return re2
