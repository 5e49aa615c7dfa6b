"""torchtitan's files: keys that it knows, the same numbers in both forms, and what the script starts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.plan.model import Plan
from tests.compiling import ROOT, analysed, errors, file_of, files_of, plan_of, read, written_out
from tests.targets.stubs import Stubs
from tests.targets.truth.torchtitan import flag_settings, toml_settings, values

HERE = Path(__file__).parent / "torchtitan"
KEYS = {line for line in (HERE / "flags.txt").read_text().splitlines() if not line.startswith("#")}
OWN = 'module = "my_models"  flavor = "small"'

PLAN = """
gpu card { memory = 180 GiB  bf16 = true }
model own { layers = LAYERS  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan run {
  model = own
  cluster { gpu = card  nodes = NODES  gpus_per_node = 8  inter_node = 50 GB/s }
  batch { global = 64  micro = 1  sequence_length = 2048 }
  precision = bf16
  shard { stage = 2 }
  REST
  emit = [torchtitan { FORM  module = "my_models"  flavor = "small" }]
}
"""


def text(rest: str = "", form: str = "config = flags", *, layers: int = 8, nodes: int = 1) -> str:
    """A plan for a model of one's own."""
    filled = PLAN.replace("LAYERS", str(layers)).replace("NODES", str(nodes)).replace("FORM", form)
    return filled.replace("REST", rest)


def plan(rest: str = "", form: str = "config = flags", **sizes: int) -> Plan:
    """The plan of a text without an error."""
    analysis = analysed(text(rest, form, **sizes))
    assert errors(analysis) == []
    return analysis.plans[0]


def plans_of(name: str) -> list[Any]:
    """The plans of a case, as test parameters."""
    return [pytest.param(plan, id=plan.name) for plan in read(HERE / name).plans]


@pytest.mark.parametrize("plan", [*plans_of("ok_layouts.plan"), *plans_of("ok_rest.plan")])
def test_every_flag_is_one_of_torchtitan(plan: Plan) -> None:
    said = set(flag_settings(file_of(plan, "torchtitan.sh")))
    assert {"module", "config"} < said
    assert said - {"module", "config", "hf_assets_path"} <= KEYS


@pytest.mark.parametrize("plan", plans_of("ok_toml.plan"))
def test_the_toml_file_follows_its_schema(plan: Plan) -> None:
    schema = json.loads((ROOT / "schemas" / "torchtitan.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    data = tomllib.loads(file_of(plan, "torchtitan.toml"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(data)] == []


@pytest.mark.parametrize(
    "rest",
    [
        "optimizer { learning_rate = 3e-4  clip = 0.5 }  schedule = linear { warmup = 5 steps  total = 50 steps }",
        "parallel { tensor = 2  sequence = true }",
        "parallel { pipeline = 2 }  pipeline = interleaved { chunks = 2 }",
        "parallel { context = 2 }  context = all-gather",
    ],
)
def test_both_forms_say_the_same(rest: str) -> None:
    new, old = plan(rest), plan(rest, "config = toml")
    script, data = file_of(new, "torchtitan.sh"), file_of(old, "torchtitan.toml")
    assert values({"torchtitan.sh": script}) == values(
        {"torchtitan.sh": file_of(old, "torchtitan.sh"), "torchtitan.toml": data}
    )
    both, other = flag_settings(script), toml_settings(data)
    shared = both.keys() & other.keys()
    assert 15 < len(shared)
    assert {key: both[key] for key in shared} == {key: other[key] for key in shared}


def test_the_version_of_the_plan_chooses_the_form() -> None:
    assert "torchtitan.toml" not in _files(plan('versions { torchtitan = "0.3.1" }', ""))
    assert "torchtitan.toml" in _files(plan('versions { torchtitan = "0.2.2" }', ""))


def _files(plan: Plan) -> set[str]:
    return {file.path for file in files_of(plan)}


def found(rest: str, form: str = "config = flags", **sizes: int) -> list[Diagnostic]:
    """What is said of a plan by torchtitan's target."""
    return [one for one in analysed(text(rest, form, **sizes)).diagnostics if one.code.startswith("PLN97")]


def test_chunks_that_no_number_of_layers_makes() -> None:
    rest = "parallel { pipeline = 2 }  pipeline = interleaved { chunks = 3 }"
    (one,) = found(rest)
    assert one.message == "torchtitan makes 4 chunks of 8 layers, not 6"
    assert found(rest, layers=12) == []
    assert flag_settings(file_of(plan(rest, layers=12), "torchtitan.sh"))[
        "parallelism.pipeline_parallel_layers_per_stage"
    ] == 2  # fmt: skip


def test_what_is_left_to_the_configuration() -> None:
    rest = (
        'dataset { name = "pile"  path = "p"  shards = 16 }  profile { start = 5 steps  length = 2 steps  ranks = [0] }'
    )
    (new,) = found(rest)
    assert new.severity is Severity.INFO
    assert new.notes == ("the program sets `dataset.name`, `dataset.shards`, `profile.ranks`",)
    (old,) = found(rest, "config = toml")
    assert "`profile.start`, `profile.length`, `profile.ranks`" in old.notes[0]


HOSTILE = (
    '"; touch x; "',
    "$(touch x)",
    "back\\slash",
    "line\nbreak\ttab",
    "'",
    "--flag=",
    "--",
    "\u00fc\U0001f600",
    "[a]=b,c",
)


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("form", ["flags", "toml"])
def test_text_arrives_as_it_is_written(path: str, form: str, tmp_path: Path) -> None:
    quoted = '"' + "".join({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(one, one) for one in path) + '"'
    made = plan(f"dataset {{ path = {quoted} }}  launch {{ args = [{quoted}] }}", f"config = {form}")
    folder = written_out(made, tmp_path / "out")
    (call,) = Stubs(tmp_path / "stubs").run(folder / "torchtitan.sh", "--last", cwd=tmp_path).of("torchrun")
    program = call.argv[call.argv.index("-m") :]
    assert program[:3] == ["-m", "--", "torchtitan.train"]
    if form == "toml":
        assert program[3:] == ["--job.config_file", str(folder / "torchtitan.toml"), path, "--last"]
        assert tomllib.loads((folder / "torchtitan.toml").read_text())["training"]["dataset_path"] == path
    else:
        assert f"--dataloader.dataset_path={path}" in program
        assert program[-3:] == [path, "--last", "activation-checkpoint:none"]
    assert not (tmp_path / "x").exists()


def test_a_script_of_ones_own_gets_the_flags(tmp_path: Path) -> None:
    folder = written_out(plan('launch { script = "-my train.py"  restarts = 2 }', nodes=2), tmp_path / "out")
    outcome = Stubs(tmp_path / "stubs").run(folder / "torchtitan.sh", cwd=tmp_path, MASTER_ADDR="n1")
    (call,) = outcome.of("torchrun")
    at = call.argv.index("./-my train.py")
    assert call.argv[at - 1] == "--"
    assert {"--nnodes=2", "--nproc-per-node=8", "--max-restarts=2", "--rdzv-backend=c10d"} <= set(call.argv[:at])
    assert call.argv[at + 1 : at + 5] == ["--module", "my_models", "--config", "small"]


def test_the_flavor_follows_from_sizes_that_nothing_changes() -> None:
    plan = plan_of(HERE / "ok_layouts.plan", "experts")
    said = flag_settings(file_of(plan, "torchtitan.sh"))
    assert (said["module"], said["config"]) == ("qwen3", "qwen3_30b_a3b")
    changed = (HERE / "ok_layouts.plan").read_text().replace("ffn = 14_336", "ffn = 14_848")
    assert {one.code for one in errors(analysed(changed))} == {"PLN972"}
