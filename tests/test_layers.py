"""The architecture as imports: they go down only, and only the commands touch the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "planc").rglob("*.py") if path.name != "_tables.py")

#: From the bottom to the top; what stands in one row may not import each other.
LAYERS = (
    ("planc.version",),
    ("planc.source",),
    ("planc.diagnostics",),
    ("planc.syntax",),
    ("planc.readers",),
    ("planc.native.faults",),
    ("planc.plan",),
    ("planc.facts",),
    ("planc.rules", "planc.targets", "planc.format"),
    ("planc.reporting",),
    ("planc.compiler", "planc.kinds", "planc.manifest", "planc.explanation", "planc.measuring", "planc.verifying"),
    ("planc.advice", "planc.editing", "planc.evidence", "planc.native", "planc.showing"),
    ("planc.commands",),
    ("planc.__main__",),
)

#: May be imported by any layer, and imports none but the tables that it finds.
LEAF = "planc.resources"

#: Imports that go up, with the reason.
UPWARD = {
    (
        "planc.resources",
        "planc.syntax",
    ): "it finds the parser's tables, which are data, and has them built if they are not there",
}

#: Modules and functions through which a program touches the world.
WORLD_MODULES = {
    "datetime", "getpass", "glob", "io", "locale", "multiprocessing", "os", "pathlib", "platform", "random", "secrets",
    "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
WORLD_FUNCTIONS = {"open", "print", "input", "breakpoint", "exit", "quit", "__import__", "eval", "exec", "compile"}

#: Files outside the commands that touch the world, with the reason.
WORLDLY = {
    "planc/__main__.py": "hands the exit status to the system",
    "planc/resources.py": "finds the data files that planc ships",
    "planc/rules/__init__.py": "lists its own folder, which is the list of rules",
    "planc/plan/target_names.py": "lists the folder of the targets, which is the list of their names",
    "planc/native/kinds/__init__.py": "lists its own folder, which is the list of kinds",
    "planc/syntax/build_tables.py": "runs when the package is built, and writes a file then",
}


def module_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports anywhere in it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            submodules = [f"{module}.{alias.name}" for alias in node.names]
            files = {module_of(file) for file in FILES}
            yield from (name if name in files else module for name in submodules)


def layer(module: str) -> tuple[int, str] | None:
    """Rank and name of the layer of a module; None for the leaf and for the package itself."""
    for rank, names in enumerate(LAYERS):
        for name in names:
            if module == name or module.startswith(name + "."):
                return rank, name
    assert module in ("planc", LEAF), f"{module} belongs to no layer"
    return None


def is_plugin(module: str) -> bool:
    """Whether a module is one rule or one target; helpers of theirs start with an underscore."""
    package, _, name = module.rpartition(".")
    shared = ("rule", "target")
    return package in ("planc.rules", "planc.targets") and name not in shared and not name.startswith("_")


def faults(path: Path) -> list[str]:
    """What is wrong with the imports of a file."""
    own, found = module_of(path), []
    own_layer = layer(own)
    for module in imports(path):
        if module.partition(".")[0] != "planc" or module == LEAF:
            continue
        other = layer(module)
        if other is None or (own, other[1]) in UPWARD:
            continue
        if own_layer is None or own_layer[0] < other[0]:
            found.append(f"{path} imports {module}, which lies above it")
        elif own_layer[0] == other[0] and own_layer[1] != other[1]:
            found.append(f"{path} imports {module}, which lies beside it")
        elif is_plugin(own) and is_plugin(module):
            found.append(f"{path} imports {module}: a rule or target knows no other")
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_down(path: Path) -> None:
    assert faults(path) == []


def test_source_imports_nothing_of_planc_and_the_plan_no_tree() -> None:
    assert not [name for name in imports(Path("planc/source.py")) if name.startswith("planc")]
    assert not [name for name in imports(Path("planc/plan/model.py")) if name.startswith("planc.syntax")]


def test_lark_is_known_to_one_file() -> None:
    users = [str(path) for path in FILES if any(name.partition(".")[0] == "lark" for name in imports(path))]
    assert users == ["planc/syntax/build_tables.py"]


def worldly(path: Path) -> set[str]:
    """Ways in which a file touches the world."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    called = (node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    modules = {name.partition(".")[0] for name in imports(path)}
    return (modules & WORLD_MODULES) | ({*called} & WORLD_FUNCTIONS)


@pytest.mark.parametrize("path", [path for path in FILES if path.parts[1] != "commands"], ids=str)
def test_only_commands_touch_the_world(path: Path) -> None:
    if path.as_posix() in WORLDLY:
        assert worldly(path), f"{path} needs no exception any more"
    else:
        assert worldly(path) == set()


def test_the_checks_themselves_see_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "planc" / "facts" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("import os.path\ndef f():\n    from planc.rules import all_rules\n    print(open('x'))\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = Path("planc/facts/bad.py")
    assert faults(path) == ["planc/facts/bad.py imports planc.rules, which lies above it"]
    assert worldly(path) == {"os", "print", "open"}
