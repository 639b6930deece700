"""The repository keeps the house rules, and each rule bites when something is planted."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

from tests.tidy import rules

SIZES = rules.ROOT / "tests" / "tidy" / "sizes.json"


def plant(root: Path, name: str, text: str) -> Path:
    """A file in a small tree of its own."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return root


def test_files_and_functions_stay_short_and_what_shrank_stays_shrunk() -> None:
    assert not rules.ratchet(rules.oversized(rules.ROOT), json.loads(SIZES.read_text()))


def test_the_list_of_exceptions_only_shrinks() -> None:
    command = ["git", "show", "HEAD:tests/tidy/sizes.json"]
    before = subprocess.run(command, cwd=rules.ROOT, capture_output=True, text=True, check=False)
    if before.returncode == 0:
        earlier, now = json.loads(before.stdout), json.loads(SIZES.read_text())
        assert not {name: lines for name, lines in now.items() if lines > earlier.get(name, 0)}


def test_a_long_file_and_a_long_function_are_noticed(tmp_path: Path) -> None:
    body = "".join(f"    x{number} = {number}\n" for number in range(rules.FUNCTION_LINES_MAX))
    plant(tmp_path, "src/long.py", "\n" * (rules.FILE_LINES_MAX + 1))
    plant(tmp_path, "src/deep.py", f"def deep() -> None:\n{body}")
    found = rules.oversized(tmp_path)
    assert found == {"src/long.py": rules.FILE_LINES_MAX + 1, "src/deep.py::deep": rules.FUNCTION_LINES_MAX + 1}
    assert len(rules.ratchet(found, {})) == 2
    assert not rules.ratchet(found, found)
    assert rules.ratchet({}, found) and rules.ratchet({"src/long.py": 502}, {"src/long.py": 503})


def test_generated_files_may_be_long(tmp_path: Path) -> None:
    plant(tmp_path, "src/long.py", '"""Facts. Written by codegen/x.py: change that."""\n' + "\n" * 600)
    assert not rules.oversized(tmp_path)


def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    assert not rules.foreign_names(rules.ROOT)


def test_an_index_and_a_machine_path_are_noticed(tmp_path: Path) -> None:
    plant(tmp_path, "a.txt", "--index" + "-url=somewhere\n")
    plant(tmp_path, "b.sh", "cd /ro" + "ot/project\n")
    plant(tmp_path, "package-lock.json", '"resolved": "http' + 's://example/x.tgz"\n')
    plant(tmp_path, "fine.md", "a network/work/relative path, and ./root/here\n")
    assert [line.split(":")[0] for line in rules.foreign_names(tmp_path)] == ["a.txt", "b.sh", "package-lock.json"]


def test_public_names_say_what_they_promise() -> None:
    assert not rules.undocumented(rules.ROOT)


def test_a_public_name_without_a_docstring_is_noticed(tmp_path: Path) -> None:
    plant(tmp_path, "src/bare.py", "class Bare:\n    def method(self): return 1\n\ndef _private(): pass\n")
    port = '"""M."""\nclass Port(Protocol):\n    """P."""\n    def told(self): "It is told."\n'
    plant(tmp_path, "src/port.py", port + 'class Real:\n    """R."""\n    def told(self): return 1\n')
    complaints = rules.undocumented(tmp_path)
    assert [line.rpartition(": ")[2] for line in complaints] == [
        "no module docstring",
        "Bare has no docstring",
        "Bare.method has no docstring",
    ]


def test_every_requirement_is_pinned_with_hashes() -> None:
    assert len(list((rules.ROOT / "requirements").glob("*.txt"))) >= 4
    assert not rules.unpinned(rules.ROOT)


def test_a_requirement_without_a_hash_is_noticed(tmp_path: Path) -> None:
    fine = "fine==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n    # via this\n"
    plant(tmp_path, "requirements/x.txt", fine + "loose>=2\nbare==1.0\n")
    assert len(rules.unpinned(tmp_path)) == 2
    plant(tmp_path, "requirements/x.txt", fine)
    assert not rules.unpinned(tmp_path)


IMPORTED_AS = {"google_re2": "re2"}
"""Packages whose modules have another name."""


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((rules.ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[^\w-]", need)[0].replace("-", "_") for need in project["dependencies"]}
    declared |= {IMPORTED_AS[name] for name in declared & IMPORTED_AS.keys()}
    complaints = rules.undeclared_imports(rules.ROOT, declared)
    extras = r"src/tapelog/(testing/.* imports pytest|toolkit/.* imports (psycopg|redis\.exceptions))$"
    extras += r"|src/(tapelog/spark|pyspark_tapelog)/.* imports (pyarrow|pyspark)[\w.]*$"
    extras += r"|src/tapelog/spark/pipeline/.* imports (psycopg|yaml)[\w.]*$"
    extras += r"|src/tapelog/spark/lake/.* imports (deltalake|pyiceberg)[\w.]*$"
    extras += r"|src/tapelog/client/tls\.py imports cryptography[\w.]*$"
    assert not [line for line in complaints if not re.match(extras, line)]


def test_an_undeclared_import_is_noticed(tmp_path: Path) -> None:
    plant(tmp_path, "src/greedy.py", "import os\nimport numpy.linalg\nfrom attrs import define\nfrom . import here\n")
    found = rules.undeclared_imports(tmp_path, {"attrs"})
    assert found == ["src/greedy.py imports numpy.linalg"]
