"""How long a hook waits: `planc lint` and `planc fmt` on one small file and a thousand, beside linters people know.

A wheel is built and installed into an environment of its own, with byte-code, as a user has it. The commands take
turns, so that whatever else the machine does hits all of them alike; the medians of their wall times are compared.
"new" files are analysed, as with `--no-cache`; "unchanged" ones were linted before.

    python -m benchmarks.lint [RUNS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 41
MANY = 1000
TOOLS = ("yamllint==1.38.0", "check-jsonschema==0.39.0", "ruff==0.17.6")

_ROOT = Path(__file__).resolve().parents[1]
_EXAMPLE = _ROOT / "examples" / "finetune-8b.plan"

_YAML = """\
---
model: llama-3-8b
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8}
shard: {stage: 3}
batch: {global: 64, micro: 1, sequence_length: 8192}
precision: bf16
recompute: full
optimizer: {learning_rate: 2.0e-5, weight_decay: 0.1, clip: 1.0}
emit: [accelerate, deepspeed, torchrun]
"""
_PYTHON = """\
plan = {
    "model": "llama-3-8b",
    "cluster": {"gpu": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 8},
    "shard": {"stage": 3},
    "batch": {"global": 64, "micro": 1, "sequence_length": 8192},
    "optimizer": {"learning_rate": 2.0e-5, "weight_decay": 0.1, "clip": 1.0},
    "emit": ["accelerate", "deepspeed", "torchrun"],
}
"""
_SCHEMA = '{"type": "object", "properties": {"precision": {"enum": ["fp32", "bf16"]}}}\n'


def main(runs: int) -> None:
    """Prints the medians, and how many times as long `planc lint` on new files takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        binaries = _installed(folder)
        (folder / "small.plan").write_bytes(_EXAMPLE.read_bytes())
        (folder / "small.yaml").write_text(_YAML)
        (folder / "small.py").write_text(_PYTHON)
        (folder / "schema.json").write_text(_SCHEMA)
        print(f"Python {sys.version.split()[0]}, medians of alternating runs\n")
        one: dict[str, list[str | Path]] = {
            "planc lint, new": [binaries / "planc", "lint", "--no-cache", "small.plan"],
            "planc lint, unchanged": [binaries / "planc", "lint", "small.plan"],
            "planc fmt --check": [binaries / "planc", "fmt", "--check", "small.plan"],
            "planc --version": [binaries / "planc", "--version"],
            "python -c pass": [binaries / "python", "-c", "pass"],
            "yamllint": [binaries / "yamllint", "small.yaml"],
            "check-jsonschema": [binaries / "check-jsonschema", "--schemafile", "schema.json", "small.yaml"],
            "ruff check": [binaries / "ruff", "check", "--no-cache", "small.py"],
            "ruff format --check": [binaries / "ruff", "format", "--no-cache", "--check", "small.py"],
        }
        _show(f"one file, {runs} runs", _medians(one, folder, runs))
        _write_many(folder)
        many: dict[str, list[str | Path]] = {
            "planc lint, new": [binaries / "planc", "lint", "--no-cache", "plans"],
            "planc lint, unchanged": [binaries / "planc", "lint", "plans"],
            "planc fmt --check": [binaries / "planc", "fmt", "--check", "plans"],
            "yamllint": [binaries / "yamllint", "-d", "relaxed", "yaml"],
            "ruff check": [binaries / "ruff", "check", "--no-cache", "python"],
            "ruff format --check": [binaries / "ruff", "format", "--no-cache", "--check", "python"],
        }
        rounds = max(1, runs // 8)
        _show(f"{MANY} files of 1 KB, {rounds} runs", _medians(many, folder, rounds))


def _show(title: str, medians: dict[str, float]) -> None:
    print(f"{title:<34}{'ms':>9}{'planc lint, new takes':>24}")
    for command, seconds in medians.items():
        print(f"  {command:<32}{seconds * 1000:>9.1f}{medians['planc lint, new'] / seconds:>22.2f} x")
    print()


def _write_many(folder: Path) -> None:
    """A thousand plans and as many YAML and Python files that say the same, all of 1 KB and no two alike."""
    texts = (("plans", "plan", _EXAMPLE.read_text()), ("yaml", "yaml", _YAML), ("python", "py", _PYTHON))
    for name, ending, text in texts:
        (folder / name).mkdir()
        for number in range(MANY):
            numbered = text.replace("finetune", f"finetune_{number}")
            numbered = numbered.replace("llama-3-8b\n", f"llama-3-8b  # {number}\n")
            numbered = numbered.replace("plan = {", f"plan_{number} = {{")
            filler = "# a comment that fills the file up to a kilobyte\n"
            padding = filler * ((1024 - len(numbered)) // len(filler))
            (folder / name / f"f{number:04}.{ending}").write_text(numbered + padding)


def _installed(folder: Path) -> Path:
    """The folder of commands of a new environment that holds planc's wheel and the other linters."""
    _run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(_ROOT)])
    _run([sys.executable, "-m", "venv", str(folder / "venv")])
    binaries = folder / "venv" / "bin"
    wheel = next((folder / "dist").glob("*.whl"))
    _run([str(binaries / "python"), "-m", "pip", "install", "--quiet", "--compile", str(wheel), *TOOLS])
    return binaries


def _medians(commands: dict[str, list[str | Path]], folder: Path, runs: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):  # the first turn fills the caches and is not counted
        for name, command in commands.items():
            start = time.perf_counter()
            environment = _environment() | {"XDG_CACHE_HOME": str(folder / "cache")}
            subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def _run(command: list[str]) -> None:
    """Runs a command, and shows what it printed only if it fails."""
    outcome = subprocess.run(command, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if outcome.returncode:
        sys.exit(outcome.stdout.decode() + f"failed: {' '.join(command)}")


def _environment() -> dict[str, str]:
    """The caller's environment, with nothing that keeps Python from using byte-code or makes it start otherwise."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
