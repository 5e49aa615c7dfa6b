"""The package as it is shipped: source archive and wheel, installed into an empty environment, run from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from planc.version import VERSION

ROOT = Path(__file__).parents[1]

#: Modules that cost more to import than all of `planc lint`, or nearly, and that a clean file needs none of.
HEAVY = (
    "dataclasses", "difflib", "importlib.metadata", "importlib.resources", "inspect", "jinja2", "json",
    "jsonschema", "lark", "pathlib", "subprocess", "tempfile", "unicodedata", "yaml",
)  # fmt: skip

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that knows nothing of this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    kept["XDG_CACHE_HOME"] = str(cwd / "cache")
    outcome = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, timeout=600, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was made from it."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def binaries(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The commands of an environment that holds the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    wheel = next(built.glob("*.whl"))
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    yield folder / "bin"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder with nothing but the example."""
    (tmp_path / "finetune-8b.plan").write_bytes((ROOT / "examples" / "finetune-8b.plan").read_bytes())
    return tmp_path


def test_the_wheel_holds_the_package_its_data_and_nothing_else(built: Path) -> None:
    names = zipfile.ZipFile(next(built.glob("*.whl"))).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"planc", f"planc-{VERSION}.dist-info"}
    assert {
        "planc/syntax/_tables.py",
        "planc/grammar/plan.lark",
        "planc/schemas/diagnostics.schema.json",
        "planc/docs/rules/pln101-indivisible-world-size.md",
        "planc/templates/torchrun/torchrun.sh.j2",
        "planc/catalogue/gpus.plan",
        "planc/policies/recommended.plan",
        f"planc-{VERSION}.dist-info/licenses/LICENSE",
    } <= set(names)
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]
    code = {str(path.relative_to(ROOT)) for path in (ROOT / "planc").rglob("*.py")}
    assert code - set(names) == set()


def test_the_source_archive_can_be_tested(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    for name in (
        "Makefile", "README.md", "LICENSE", "tests/test_wheel.py", "examples/broken.plan", "hatch_build.py",
        ".pre-commit-hooks.yaml",
    ):  # fmt: skip
        assert f"planc-{VERSION}/{name}" in names


def test_it_lints_and_compiles(binaries: Path, elsewhere: Path) -> None:
    assert run(binaries / "planc", "--version", cwd=elsewhere) == f"planc {VERSION}\n"
    assert run(binaries / "planc", "lint", cwd=elsewhere) == "Found no faults in 1 file.\n"
    assert run(binaries / "python", "-m", "planc", "lint", "finetune-8b.plan", cwd=elsewhere)
    assert "PLN101" in run(binaries / "planc", "rule", cwd=elsewhere)
    assert "torchrun" in run(binaries / "planc", "targets", cwd=elsewhere)
    assert "1 x 8 h100-sxm-80gb, 8 ranks" in run(binaries / "planc", "explain", "finetune-8b.plan", cwd=elsewhere)
    run(binaries / "planc", "compile", "finetune-8b.plan", "-o", "out", cwd=elsewhere)
    assert {"torchrun.sh", "ds_config.json", "planc.manifest.json"} <= set(os.listdir(elsewhere / "out" / "finetune"))


def test_it_is_not_the_checkout_that_runs(binaries: Path, elsewhere: Path) -> None:
    place = run(binaries / "python", "-c", "import planc; print(planc.__file__)", cwd=elsewhere)
    assert place.startswith(str(binaries.parent))


@pytest.mark.parametrize(
    ("arguments", "unwanted"), [(["--no-cache"], HEAVY), ([], ("argparse", "planc.compiler", "lark", "jinja2"))]
)
def test_a_start_imports_nothing_that_a_clean_file_needs_not(
    binaries: Path, elsewhere: Path, arguments: list[str], unwanted: tuple[str, ...]
) -> None:
    """A new file needs the compiler, and none of the libraries; a file that was linted before not even that."""
    call = ["lint", *arguments, "finetune-8b.plan"]
    run(binaries / "planc", *call, cwd=elsewhere)
    code = (
        f"import sys; from planc.commands.main import main; assert main({call!r}) == 0\n"
        f"print([name for name in {unwanted!r} if name in sys.modules])"
    )
    # -S leaves out what the environment itself imports at every start.
    site = run(binaries / "python", "-c", "import site; print(site.getsitepackages()[0])", cwd=elsewhere).strip()
    code = f"import sys; sys.path.append({site!r})\n{code}"
    assert run(binaries / "python", "-S", "-c", code, cwd=elsewhere).splitlines()[-1] == "[]"


def test_an_editable_install_uses_the_checkout(binaries: Path, elsewhere: Path) -> None:
    run(binaries / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT, cwd=elsewhere)
    place = run(binaries / "python", "-c", "import planc; print(planc.__file__)", cwd=elsewhere)
    assert place.startswith(str(ROOT))
    assert run(binaries / "planc", "lint", cwd=elsewhere) == "Found no faults in 1 file.\n"
    run(binaries / "planc", "compile", "finetune-8b.plan", "-o", "out", cwd=elsewhere)
    site = run(binaries / "python", "-c", "import site; print(site.getsitepackages()[0])", cwd=elsewhere).strip()
    assert not (Path(site) / "planc").exists()
