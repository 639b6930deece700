"""What the documents name exists: linked files, make targets, paths of the house."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.rules import ROOT, tracked

DOCUMENTS = [name for name in tracked(ROOT) if name.endswith(".md")]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    here = (ROOT / name).parent
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (here / link).exists()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_make_targets_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)
    assert not set(named) - TARGETS


def test_every_target_is_explained() -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    silent = [line for line in lines if re.match(r"[a-z-]+:", line) and "##" not in line]
    assert [line.partition(":")[0] for line in silent] == ["runtime"]


def test_decisions_are_numbered_once_and_tell_how_they_are_checked() -> None:
    records = sorted(path for path in (ROOT / "docs" / "adr").glob("*.md"))
    numbers = [path.name[:4] for path in records]
    assert len(set(numbers)) == len(numbers) and all(number.isdigit() for number in numbers)
    assert not [path.name for path in records if "## Decision" not in path.read_text(encoding="utf-8")]


def test_the_rooms_on_the_page_are_the_rooms_in_the_house() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([a-z]+)/`", page, re.MULTILINE))
    there = {Path(name).parts[2] for name in tracked(ROOT) if re.match(r"src/tapelog/[a-z]+/\w+\.py", name)}
    assert named == there
