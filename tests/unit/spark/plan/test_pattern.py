"""subscribePattern means what it means to Spark: Java's expressions, found anywhere in a name."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.pattern import PATTERN_CHARS_MAX, compile_pattern

NAMES = ("orders", "my-orders", "orders.v2", "clicks", "CLICKS", "a1", "a.b")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("orders", "orders my-orders orders.v2"),
        ("^orders$", "orders"),
        (r"^\Qa.b\E\z", "a.b"),
        (r"\Qa.", "a.b"),
        ("(?i)clicks", "clicks CLICKS"),
        (r"\p{Upper}{3}", "CLICKS"),
        (r"[\p{Digit}x]", "orders.v2 a1"),
        (r"^\P{Lower}", "CLICKS"),
        (r"(?<first>c)l.*\k<first>", "clicks"),
        (r"(?<=my-)orders", "my-orders"),
        (r"^a++1$", "a1"),
        ("orders|clicks", "orders my-orders orders.v2 clicks"),
        (r"[^a-zA-Z\-]", "orders.v2 a1 a.b"),
        (r"[\[\].]", "orders.v2 a.b"),
        (r"\d", "orders.v2 a1"),
    ],
)
def test_what_java_finds_is_found(pattern: str, found: str) -> None:
    search = compile_pattern(pattern).search
    assert " ".join(name for name in NAMES if search(name)) == found


@pytest.mark.parametrize("pattern", ["(", "[a", "[a&&b]", "[a[b]]", r"\p{Greek}", r"[\P{Lower}]", "a{2,1}", "[]"])
def test_what_cannot_be_used_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="subscribePattern"):
        compile_pattern(pattern)


def test_a_pattern_has_a_bound() -> None:
    with pytest.raises(OptionError, match=str(PATTERN_CHARS_MAX)):
        compile_pattern("a" * (PATTERN_CHARS_MAX + 1))
