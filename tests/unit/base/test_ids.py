"""Ids and their text form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.base import ids
from tests.unit.metadata.harness import SeededEntropy


@given(st.binary(min_size=16, max_size=16))
def test_text_reads_back(id: bytes) -> None:
    text = ids.to_text(id)
    assert len(text) == ids.TEXT_LENGTH
    assert ids.from_text(text) == id


def test_kafkas_own_forms() -> None:
    assert ids.to_text(bytes(16)) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert ids.to_text(ids.METADATA_TOPIC) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert ids.from_text("97weIAi2QiqRD2LiJ5SM6w").hex() == "f7bc1e2008b6422a910f62e227948ceb"


@pytest.mark.parametrize("text", ["", "short", "A" * 23, "A" * 21 + "=", "A" * 21 + "+", "A" * 21 + "/", "é" * 22])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ids.from_text(text)


def test_spare_bits_of_the_last_character_do_not_count() -> None:
    assert ids.from_text("MkU3OEVBNTcwNTJENDM2Qk") == ids.from_text("MkU3OEVBNTcwNTJENDM2Qg")


def test_new_ids_are_version_4_and_never_look_like_an_option() -> None:
    entropy = SeededEntropy()
    made = [ids.new_id(entropy) for _ in range(2000)]
    assert len(set(made)) == 2000
    assert all(id[6] >> 4 == 4 and id[8] >> 6 == 2 for id in made)
    assert not any(ids.to_text(id).startswith("-") for id in made)
