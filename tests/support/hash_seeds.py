"""The same seed gives the same history under any PYTHONHASHSEED: asked of two processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def told_under_two_hash_seeds(module: str, seed: int = 7) -> list[str]:
    """What `tell_history(seed)` of that module says in two processes that hash differently."""
    program = f"from {module} import tell_history; print(tell_history({seed}))"
    return [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
