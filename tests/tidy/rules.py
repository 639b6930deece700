"""The house rules as plain functions from a directory to a list of complaints.

The tests beside this file run each rule on the repository, where it must be silent, and on a small tree with a planted
violation, where it must not be.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[2]
GENERATED = re.compile(r"\A.*(?:Written by|Generated:?(?: by)?) codegen", re.DOTALL)
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60
SKIPPED_DIRECTORIES = {".git", ".venv", ".tools", "build", "dist", "node_modules", "__pycache__"}

_INDEX_WORDS = (
    "py" + "pi.org",
    "python" + "hosted",
    "npm" + "js.org",
    "maven" + ".org",
    "proxy." + "golang",
    "--index" + "-url",
)
_OTHER_MACHINE = re.compile(r"(?<![\w./-])/(?:wo" + r"rk|ro" + r"ot|home/\w+)/")


@cache
def tracked(root: Path) -> tuple[str, ...]:
    """Files under version control and those about to be, relative to root; every file where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and (root / ".git").exists():
        return tuple(sorted(name for name in listed.stdout.splitlines() if (root / name).is_file()))
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return tuple(sorted(str(path) for path in files if not SKIPPED_DIRECTORIES & set(path.parts)))


def python_files(root: Path, under: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts of Python files that people write; what codegen wrote says so in its first lines."""
    for name in tracked(root):
        if name.endswith(".py") and name.startswith(under):
            text = (root / name).read_text(encoding="utf-8")
            if not GENERATED.match(text[:300]):
                yield name, text


def oversized(root: Path) -> dict[str, int]:
    """Files and functions longer than the house allows: `path` or `path::name`, with their number of lines."""
    found = {}
    for name, text in python_files(root):
        lines = text.count("\n")
        if lines > FILE_LINES_MAX:
            found[name] = lines
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    key = f"{name}::{node.name}"
                    found[key] = max(length, found.get(key, 0))
    return found


def ratchet(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """Complaints about what is longer than allowed, and about allowances that are larger than needed."""
    complaints = []
    for name in sorted(found.keys() | allowed.keys()):
        lines, limit = found.get(name), allowed.get(name)
        if limit is None:
            complaints.append(f"{name} has {lines} lines: split it by idea")
        elif lines is None:
            complaints.append(f"{name} is short now: remove it from sizes.json")
        elif lines > limit:
            complaints.append(f"{name} grew from {limit} to {lines} lines")
        elif lines < limit:
            complaints.append(f"{name} shrank from {limit} to {lines} lines: lower it in sizes.json")
    return complaints


def foreign_names(root: Path) -> list[str]:
    """Lines that name a package index, or a path of somebody's machine."""
    complaints = []
    for name in tracked(root):
        try:
            text = (root / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if any(word in line for word in _INDEX_WORDS) or _OTHER_MACHINE.search(line):
                complaints.append(f"{name}:{number}: {line.strip()[:100]}")
            elif "lock" in name and '"resolved": "http' in line:
                complaints.append(f"{name}:{number}: a lock file that says where from: {line.strip()[:80]}")
    return complaints


def undocumented(root: Path) -> list[str]:
    """Public modules, classes, functions and methods without a docstring."""
    complaints = []
    trees = {name: ast.parse(text) for name, text in python_files(root, "src/")}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    promised = _promised_by_ports(classes)
    for name, tree in trees.items():
        if not ast.get_docstring(tree):
            complaints.append(f"{name}: no module docstring")
        complaints += [f"{name}:{line}: {what} has no docstring" for line, what in _bare(tree, "", promised)]
    return complaints


def _promised_by_ports(classes: list[ast.ClassDef]) -> set[str]:
    """Methods that a Protocol or a base class has: whoever implements them need not tell their promise again."""
    bases = {_name(base) for node in classes for base in node.bases}
    ports = [c for c in classes if c.name in bases or any(_name(base) == "Protocol" for base in c.bases)]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {method.name for port in ports for method in port.body if isinstance(method, kinds)}


def _name(base: ast.expr) -> str:
    """`Protocol` for `Protocol` and for `Protocol[T]`."""
    return str(getattr(base.value if isinstance(base, ast.Subscript) else base, "id", ""))


def _bare(scope: ast.Module | ast.ClassDef, prefix: str, promised: set[str]) -> Iterator[tuple[int, str]]:
    for node in scope.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        implements = isinstance(scope, ast.ClassDef) and node.name in promised
        if not ast.get_docstring(node) and not implements and not _needs_none(node):
            yield node.lineno, prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _bare(node, f"{prefix}{node.name}.", promised)


def _needs_none(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Setters, overloads, overrides, and bodies that are only `...` are told elsewhere."""
    if isinstance(node, ast.ClassDef):
        return False
    told = {"setter", "overload", "override"}
    names = {getattr(d, "attr", getattr(d, "id", "")) for d in node.decorator_list}
    only = node.body[0]
    empty = isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...
    return bool(told & names) or (len(node.body) == 1 and empty)


def unpinned(root: Path) -> list[str]:
    """Requirements that are not pinned by version and hash, and index addresses in them."""
    complaints = []
    for path in sorted((root / "requirements").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if "://" in text:
            complaints.append(f"{path.name} names an address")
        for entry in re.split(r"\n(?=\S)", text.replace("\\\n", " ")):
            line = entry.strip()
            if (
                line
                and not line.startswith("#")
                and not re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+.*--hash=sha256:[0-9a-f]{64}", line)
            ):
                complaints.append(f"{path.name}: {line.split()[0]} is not pinned with a hash")
    return complaints


def native_integers(root: Path, modules: list[str]) -> list[str]:
    """Reads of fixed-width integers in compiled modules whose result meets other integers as it is.

    mypyc gives `read_i32_be(…)` the type i32, and `x < read_i32_be(…)` or `x + read_i32_be(…)` then squeezes x into 32
    bits: right when interpreted, an error or a wrapped number when compiled. Safe are `int(read_i32_be(…))`, an
    annotated `name: int = read_i32_be(…)`, returning it, passing it on, or comparing it with a small constant.
    """
    complaints = []
    for module in modules:
        name = f"src/tapelog/{module}"
        tree = ast.parse((root / name).read_text(encoding="utf-8"))
        plain = {ast.unparse(n.target) for n in ast.walk(tree) if isinstance(n, ast.AnnAssign)}
        for parent in ast.walk(tree):
            if not _is_safe(parent, plain):
                reads = [child for child in ast.iter_child_nodes(parent) if _is_read(child)]
                complaints += [f"{name}:{read.lineno}: {ast.unparse(parent)[:90]}" for read in reads]
    return complaints


def _is_safe(parent: ast.AST, plain: set[str]) -> bool:
    """Does this node give a read inside it a wide type, or meet it only with what fits?"""
    if isinstance(parent, ast.Assign):
        return all(ast.unparse(target) in plain for target in parent.targets)
    if isinstance(parent, ast.Compare):
        return all(_is_small(side) or _is_read(side) for side in [parent.left, *parent.comparators])
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.BitAnd) and (_is_small(parent.left) or _is_small(parent.right))
    return isinstance(parent, ast.Call | ast.AnnAssign | ast.Return | ast.Tuple | ast.List)


def _is_read(node: ast.AST) -> TypeGuard[ast.Call]:
    function = getattr(node, "func", None)
    return isinstance(node, ast.Call) and bool(re.fullmatch(r"read_[iu](8|16|32|64)_be", getattr(function, "id", "")))


def _is_small(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_small(node.operand)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def reused_error_names(root: Path, modules: list[str]) -> list[str]:
    """Functions of compiled modules that catch different exceptions under one name.

    mypyc gives a name one type per function: that of the first `except … as`. Catching another type under the same name
    raises a TypeError out of the handler; interpreted, all is well.
    """
    complaints = []
    for module in modules:
        name = f"src/tapelog/{module}"
        tree = ast.parse((root / name).read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                caught: dict[str, set[str]] = {}
                for node in ast.walk(function):
                    if isinstance(node, ast.ExceptHandler) and node.name and node.type:
                        caught.setdefault(node.name, set()).add(ast.unparse(node.type))
                mixed = [f"`{key}` is {' and '.join(sorted(types))}" for key, types in caught.items() if len(types) > 1]
                complaints += [f"{name}:{function.lineno}: in {function.name}, {what}" for what in mixed]
    return complaints


def nested_functions(root: Path, modules: list[str]) -> list[str]:
    """Named functions inside functions of compiled modules: methods, lambdas and classes do instead.

    mypyc keeps such a function in the environment that the function itself holds: a reference cycle for each call of
    the outer one, which waits for Python's collector.
    """
    complaints = []
    for module in modules:
        name = f"src/tapelog/{module}"
        for outer in ast.walk(ast.parse((root / name).read_text(encoding="utf-8"))):
            if isinstance(outer, ast.FunctionDef):
                inner = [node for node in ast.walk(outer) if isinstance(node, ast.FunctionDef) and node is not outer]
                complaints += [f"{name}:{node.lineno}: {node.name} in {outer.name}" for node in inner]
    return complaints


def undeclared_imports(root: Path, declared: set[str]) -> list[str]:
    """Imports in src of packages that are neither Python's own, nor ours, nor declared as dependencies."""
    known = set(sys.stdlib_module_names) | {"tapelog"} | declared
    complaints = []
    for name in tracked(root):
        if name.startswith("src/") and name.endswith(".py"):
            for node in ast.walk(ast.parse((root / name).read_text(encoding="utf-8"))):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level:
                    modules = [node.module or ""]
                complaints += [
                    f"{name} imports {module}" for module in modules if module.partition(".")[0] not in known
                ]
    return complaints
