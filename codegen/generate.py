"""Write wire/messages, wire/records and wire/api_keys.py from codegen/definitions, with codegen/additions.

Usage: python codegen/generate.py [--check]

--check writes nothing and fails if what is committed differs from what would be written. Needs ruff, for the layout.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from emit import module
from model import Definition, load_all, snake
from tables import api_keys, record_tables

HERE = Path(__file__).parent
WIRE = HERE.parent / "src" / "tapelog" / "wire"
MARK = "Written by codegen/generate.py"
RUFF = ("format", "--isolated", "--quiet", "--line-length", "120", "--target-version", "py311")


def file_of(definition: Definition) -> str:
    """Where the module of a definition goes, below wire/."""
    folder = "messages" if definition.kind in ("request", "response", "header") else "records"
    return f"{folder}/{snake(definition.name)}.py"


def texts() -> dict[str, str]:
    """Every generated file, formatted, by path below wire/."""
    definitions = load_all(HERE / "definitions", HERE / "additions")
    made = {file_of(d): module(d) for d in definitions}
    made["api_keys.py"] = api_keys(HERE / "definitions")
    made |= record_tables(definitions)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in made.items():
            target = Path(folder) / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
        subprocess.run([sys.executable, "-m", "ruff", *RUFF, folder], check=True)
        return {path: (Path(folder) / path).read_text() for path in made}


def committed() -> dict[str, str]:
    """Every file below wire/ that carries the generator's mark."""
    found = {str(p.relative_to(WIRE)): p.read_text() for p in sorted(WIRE.rglob("*.py"))}
    return {path: text for path, text in found.items() if MARK in text.partition("\n")[0]}


def main() -> None:
    """Write or check."""
    new, old = texts(), committed()
    stale = sorted(old.keys() - new.keys())
    changed = [path for path, text in new.items() if old.get(path) != text]
    if "--check" in sys.argv[1:]:
        if stale or changed:
            raise SystemExit(f"generated code differs from codegen/definitions: {', '.join(stale + changed)}")
        return
    for path in stale:
        (WIRE / path).unlink()
    for path in changed:
        (WIRE / path).parent.mkdir(exist_ok=True)
        (WIRE / path).write_text(new[path])
    print(f"{len(new)} files, {len(changed)} changed, {len(stale)} removed")


if __name__ == "__main__":
    main()
