"""What the guide and the example promise, run as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tapelog.cli.app import run
from tapelog.cli.output import reset_consoles

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"


def shell_lines(page: str) -> list[str]:
    """Lines of the page's shell blocks, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (GUIDE / page).read_text(encoding="utf-8"), re.DOTALL)
    lines = [re.sub(r"\s+#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_the_quickstart_runs() -> None:
    command = [sys.executable, str(ROOT / "examples" / "quickstart.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "offset 2: {'order': 3, 'item': 'tape'}" in ran.stdout
    assert re.search(r"committed: orders-\w+\[0\] at 3", ran.stdout)


def test_getting_started_works_line_by_line(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAPELOG_BOOTSTRAP", bootstrap)
    run(["topic", "delete", "orders", "--yes", "--if-exists"])
    done = []
    for line in shell_lines("getting-started.md"):
        words = shlex.split(line)
        if words[0] != "tape" or words[1] in ("up", "node", "demo") or "--follow" in words:
            continue
        reset_consoles()
        assert run(words[1:]) == 0, (line, capsys.readouterr().err)
        done.append(words[1])
    reset_consoles()
    assert {"topic", "produce", "consume", "group"} <= set(done)
    assert "customer-7" in capsys.readouterr().out


OPERATE = ["bounds.md", "cluster.md", "compaction.md", "disks.md", "router.md", "tier.md", "tier-reads.md"]
PAGES = [
    "getting-started.md",
    "cli.md",
    "lag.md",
    "pipelines.md",
    "spark-install.md",
    *(f"../operate/{page}" for page in OPERATE),
]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_in_the_guide_exists(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each `tape …` in a shell block or in backticks names a command whose help knows the options beside it."""
    text = (GUIDE / page).read_text(encoding="utf-8")
    spoken = shell_lines(page) + re.findall(r"`(tape [^`]+)`", text)
    helps: dict[tuple[str, ...], str] = {}
    checked = 0
    for line in spoken:
        for part in re.split(r"\s\|\s", line):
            match = re.search(
                r"\btape ((?:topic|group|config|txn|cluster|broker|tier|spark|pipeline) [a-z-]+|[a-z]+)(?= |$)", part
            )
            if match is None:
                continue
            words = tuple(match[1].split())
            if words not in helps:
                assert run([*words, "--help"]) == 0, line
                helps[words] = capsys.readouterr().out
            for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", re.sub(r"'[^']*'", "", part)):
                if option in ("--install-completion", "--help"):
                    continue
                assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", helps[words]), (line, option)
                checked += 1
    few = page.endswith(
        ("compaction.md", "disks.md", "spark-install.md", "tier.md", "tier-reads.md")
    )  # commands, hardly any options
    assert helps and (few or checked >= 3), "no commands in it"
