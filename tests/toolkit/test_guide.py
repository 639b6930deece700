"""The code in docs/guide/toolkit.md runs as it stands, on a real broker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.rules import ROOT
from tests.toolkit.cluster import Cluster

GUIDE = (ROOT / "docs" / "guide" / "toolkit.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
INPUTS = ("words", "orders")


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_code_in_the_guide_runs(
    number: int, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = BLOCKS[number].replace("localhost:9092", cluster.bootstrap)
    for name in INPUTS:
        cluster.fill(name, ["tea"])
    code = code.replace(".run()  #", ".run(until_empty=True)  #").replace(".run()", ".run(to_end=True)")
    names: dict[str, object] = {"__name__": "guide"}
    exec(compile(code, f"block {number} of toolkit.md", "exec"), names)
    for name, test in names.items():
        if name.startswith("test_") and callable(test):
            test()


def test_the_guide_shows_a_loop_a_store_an_outbox_and_a_test() -> None:
    assert [
        any(word in block for block in BLOCKS) for word in ("exactly_once(", "SQLiteStore", "Relay(", "def test_")
    ] == [True] * 4
