"""Expressions from clients: what is refused, what matches, and that evil ones cost little."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.coordinators import patterns
from tapelog.coordinators.patterns import Matching, check
from tapelog.wire.errors import ErrorCode, KafkaError

EVIL = {
    "unclosed": "(abc",
    "a look-ahead": "(?=a)b",
    "a back-reference": r"(a)\1",
    "too many repetitions": "a{5000}",
    "repetitions of repetitions": "((a{1,100}){1,100}){1,100}",
    "large classes repeated": r"(\pL\pN){200}",
    "a large program": "[^a]{1000}",
    "half a surrogate pair": "a\ud800",
    "too long": "a" * 20_000,
}

SLOW = {
    "backtracking bomb": "(x+x+)+y",
    "optional parts": "(?:(?:a|b)?){1000}",
    "many states": "(a|b)*a(a|b){230}",
    "more states": "((a|b)*a(a|b){200}|(a|b)*b(a|b){100}c)*",
}


def matches(expressions: list[str], names: list[str]) -> dict[str, set[str]]:
    matching = Matching(expressions, names)
    while not matching.step():
        pass
    return matching.found


@pytest.mark.parametrize("name", EVIL)
def test_an_expression_that_cannot_be_used_is_refused_quickly_and_with_a_reason(name: str) -> None:
    check("a")
    tracemalloc.start()
    start_s = time.thread_time()
    with pytest.raises(KafkaError, match=r"The regular expression cannot be used: .+\.") as refused:
        check(EVIL[name])
    assert refused.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert time.thread_time() - start_s < 1
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("name", SLOW)
def test_an_expression_that_takes_long_is_worked_off_in_short_pieces(name: str) -> None:
    check(SLOW[name])
    names = [f"{number:0249b}".replace("0", "a").replace("1", "b") for number in range(100)]
    matching = Matching([SLOW[name]], names)
    longest_s, done = 0.0, False
    while not done:
        start_s = time.thread_time()
        done = matching.step()
        longest_s = max(longest_s, time.thread_time() - start_s)
    assert longest_s < 0.5, "of CPU time; some 50 ms"


def test_the_whole_name_must_match() -> None:
    names = ["orders", "orders-eu", "reorders", "events"]
    assert matches(["orders", "orders.*", ".*s", "^orders$", "e|o"], names) == {
        "orders": {"orders"},
        "orders.*": {"orders", "orders-eu"},
        ".*s": {"orders", "reorders", "events"},
        "^orders$": {"orders"},
        "e|o": set(),
    }


def test_three_hundred_topics_may_be_named_in_full() -> None:
    names = [f"a-topic-with-a-long-name-{number:04}" for number in range(300)]
    check("|".join(names))
    assert matches(["|".join(names)], [*names, "another"])["|".join(names)] == set(names)


def test_an_expression_that_became_unusable_matches_nothing_and_spares_the_others() -> None:
    assert matches(["(", "a"], ["a", "("]) == {"(": set(), "a": {"a"}}


def test_the_pieces_of_a_large_resolution_are_short() -> None:
    names = [f"topic-{number}" for number in range(20_000)]
    matching = Matching(["topic-.*", ".*7", "nothing"], names)
    steps, longest_s, done = 0, 0.0, False
    while not done:
        start_s = time.thread_time()
        done = matching.step()
        longest_s = max(longest_s, time.thread_time() - start_s)
        steps += 1
    assert steps >= 60
    assert longest_s < 0.5, "of CPU time; some 3 ms"
    assert {pattern: len(found) for pattern, found in matching.found.items()} == {
        "topic-.*": 20_000,
        ".*7": 2_000,
        "nothing": 0,
    }


@settings(max_examples=200, deadline=None)
@given(pattern=st.text(max_size=60) | st.text(alphabet="ab(){}[]|*+?.^$\\1,0pL-", max_size=40))
def test_any_text_is_usable_or_refused(pattern: str) -> None:
    try:
        check(pattern)
    except KafkaError as error:
        assert error.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    else:
        assert matches([pattern], ["orders", "a" * 249])[pattern] <= {"orders", "a" * 249}


def test_nothing_compiled_is_left_in_the_library() -> None:
    import re2

    check("abc")
    assert re2._Regexp._make.cache_info().currsize == 0


def test_without_the_library_a_broker_starts_and_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['re2'] = None\n"
        "import tapelog.node.main\n"
        "from tapelog.coordinators.patterns import Matching, check\n"
        "for ask in (lambda: check('a.*'), lambda: Matching(['a.*'], [])):\n"
        "    try: ask()\n"
        "    except Exception as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        "INVALID_REGULAR_EXPRESSION: "
        "The regular expression cannot be used: google-re2 is not installed on this broker.",
        "UNSUPPORTED_VERSION: google-re2 is not installed on this broker",
    ]


def test_the_library_is_loaded_when_the_first_expression_comes() -> None:
    code = "import sys, tapelog.node.main; print('re2' in sys.modules); "
    code += "from tapelog.coordinators.patterns import check; check('a'); print('re2' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["False", "True"]


def test_bounds_are_what_the_guide_says() -> None:
    assert (patterns.PATTERN_CHARS_MAX, patterns.PROGRAM_SIZE_MAX) == (16_384, 5_000)
