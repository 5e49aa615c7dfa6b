"""Arguments of Megatron-LM in YAML: recognised, said as a plan, and judged as its parser and validate_args do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.job import Beside, judge
from planc.native.kind import Recognised
from planc.native.megatron.patterns import pattern
from tests.native.judging import (
    corpus,
    found_in,
    is_known_good,
    plan_text,
    recognised,
    with_other_values,
)

FOLDER = Path(__file__).parent

#: Errors on files of the corpus that Megatron's own tests run, with the reason for which they stand.
ERRORS = {
    ("PLN064", "`--init-method-std` stands twice"): "with 0.0198 and 0.014, of which the second counts",
}


def text(*lines: str) -> str:
    """A file of Megatron's tests with these flags."""
    return "MODEL_ARGS:\n" + "".join(f"  --{line}\n" for line in lines)


def plan(*lines: str) -> list[str]:
    """The lines of the plan that flags make."""
    return plan_text("model_config.yaml", text(*lines)).split("\n")


def test_the_corpus_is_read_and_what_is_said_of_good_files_has_a_reason() -> None:
    errors, warnings, good = Counter[tuple[str, str]](), Counter[str](), 0
    for row, content in corpus("megatron"):
        file = recognised(row["file"], content)
        assert isinstance(file, Recognised), row["file"]
        assert file.kind.name == "megatron"
        if not is_known_good(row):
            continue
        good += 1
        for each in judge([file], lambda name, importer: "none").diagnostics:
            if each.severity is Severity.ERROR:
                errors[each.code, each.message] += 1
            elif each.severity is Severity.WARNING:
                warnings[each.code] += 1
    assert set(errors) == set(ERRORS)
    assert good > 100
    assert warnings.total() < good / 4, warnings


def test_defaults_that_are_certain_are_said() -> None:
    said = plan("num-layers: 12", "hidden-size: 512", "num-attention-heads: 8", "train-iters: 10", "bf16: true")
    for line in (
        "tensor = 1", "ffn = 2048", "gated = false", "bias = all", "tied = true", "dropout = 0.1", "norm = layernorm",
        "positions = learned", "precision = bf16", "optimizer = adamw {", "clip = 1", "weight_decay = 0.01",
        "schedule = linear", "seed = 1234", "timeout = 10 min", "duration = 10 steps",
    ):  # fmt: skip
        assert line in said, (line, said)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["swiglu: true", "hidden-size: 512"], "ffn = 1344"),
        (["tensor-model-parallel-size: 4", "num-experts: 8", "disable-bias-linear: true"], "expert_tensor = 4"),
        (["disable-bias-linear: true", "add-qkv-bias: true"], "bias = qkv"),
        (["use-rotary-position-embeddings: true"], "positions = rope"),
        (["group-query-attention: true"], "kv_heads = 1"),
        (["window-size: 127,0", "window-attn-skip-freq: 2"], "attention = sliding {"),
        (["fp16: true"], "gradients = fp16"),
        (["bf16: true", "fp8-format: hybrid"], "recipe = delayed"),
        (["use-megatron-fsdp: true", "data-parallel-sharding-strategy: optim_grads"], "stage = 2"),
        (["use-megatron-fsdp: true"], "stage = 0"),
        (["rampup-batch-size: 32 32 1000", "train-samples: 10"], "over = 1000 samples"),
        (["lr-warmup-samples: 10", "seq-length: 512", "train-samples: 10"], "warmup = 5120 tokens"),
        (["recompute-activations: true"], "recompute = selective"),
        (["moe-layer-freq: ([0]*3+[1]*9)", "num-experts: 8", "num-layers: 12"], "dense_layers = 3"),
        (["moe-shared-expert-intermediate-size: 64", "num-experts: 8"], "shared_ffn = 64"),
        (["context-parallel-size: 2", "cp-comm-type: a2a"], "context = ulysses"),
        (["distributed-timeout-minutes: 60"], "timeout = 60 min"),
        (["optimizer: muon", "train-iters: 1"], "optimizer = muon {"),
        (["optimizer-cpu-offload: true", "use-precision-aware-optimizer: true"], "optimizer = cpu"),
    ],
    ids=str,
)
def test_what_flags_say(lines: list[str], said: str) -> None:
    assert said in plan(*lines)


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        (["use-checkpoint-args: true"], "gated"),
        (["hybrid-layer-pattern: M-M*", "num-layers: 4"], "layers"),
        (["experimental-attention-variant: gated_delta_net"], "attention"),
        (["moe-layer-freq: ([0,1]*6)", "num-experts: 8", "num-layers: 12"], "dense_layers"),
        (["tensor-model-parallel-size: ${TP}"], "tensor"),
        (["optimizer: soap", "train-iters: 1"], "optimizer"),
        (["fp16: true", "bf16: true"], "precision"),
        (["hidden-dropout: 0.2"], "dropout"),
        (["num-experts: 0"], "experts"),
        (["num-tokens-to-generate: 30"], "optimizer"),
    ],
    ids=str,
)
def test_what_cannot_be_told_is_not_said(lines: list[str], field: str) -> None:
    assert not [line for line in plan(*lines) if line.startswith(f"{field} ")]


def test_what_is_not_told_has_no_default() -> None:
    """30 layers would not divide into 4 stages, 7 heads not into 2 tensor ranks: neither number is known."""
    found = found_in("m.yaml", text("num-layers: 30", "pipeline-model-parallel-size: ${PP}", "num-attention-heads: 7"))
    assert found == ()
    assert found_in("m.yaml", text("num-layers: 30", "pipeline-model-parallel-size: 4"))


def test_the_world_is_asked_for_and_judged() -> None:
    """100 samples do not divide into micro batches of 4 on 8 replicas (B06); 8 ranks not into 3 tensor ranks (B72)."""
    files = recognised("m.yaml", text("micro-batch-size: 4", "global-batch-size: 100", "train-iters: 10"))
    assert isinstance(files, Recognised)
    found = judge([files], lambda name, importer: "none", Beside(world=8)).diagnostics
    assert [(each.code, each.primary.span.line) for each in found if each.severity is Severity.ERROR] == [("PLN201", 3)]
    files = recognised("m.yaml", text("tensor-model-parallel-size: 3", "train-iters: 10"))
    assert isinstance(files, Recognised)
    found = judge([files], lambda name, importer: "none", Beside(world=8)).diagnostics
    assert [(each.code, each.primary.span.line) for each in found if each.severity is Severity.ERROR] == [("PLN101", 2)]


def test_flags_that_every_release_stops_at_are_errors() -> None:
    found = found_in("m.yaml", text("batch-size: 4", "use-legacy-models: true"))
    assert [(each.code, each.severity) for each in found] == [
        ("PLN066", Severity.ERROR), ("PLN066", Severity.WARNING),
    ]  # fmt: skip
    assert found[0].help == ("write `--micro-batch-size`",)


def test_only_what_a_flat_file_sets_is_said() -> None:
    said = plan_text(
        "args.yaml", "tensor_model_parallel_size: 4\npipeline_model_parallel_size: 2\nglobal_batch_size: 64\n"
    )
    assert said.split("\n") == ["parallel {", "tensor = 4", "pipeline = 2", "}", "batch {", "global = 64", "}"]


def test_a_file_of_nemo_says_its_cluster() -> None:
    content = "MODEL_ARGS:\n  trainer.num_nodes: 2\n  trainer.devices: 8\n  data.micro_batch_size: 4\n"
    said = plan_text("model_config.yaml", content).split("\n")
    assert said == ["batch {", "micro = 4", "}", "cluster {", "nodes = 2", "gpus_per_node = 8", "}"]


def test_variables_are_those_of_the_run() -> None:
    content = "ENV_VARS:\n  A: 1\n  B: ${C}\n  D: true\n  E: 0\n" + text("num-layers: 2")
    said = plan_text("model_config.yaml", content).split("\n")
    assert [line for line in said if '= "' in line] == ['A = "1"', 'D = "true"', 'E = "0"']


@pytest.mark.parametrize(
    ("content", "known"),
    [
        ("MODEL_ARGS:\n  --num-layers: 2\n", True),
        ("--tensor-model-parallel-size: 2\n--micro-batch-size: 1\n", True),
        ("language_model: {num_layers: 2}\nmodel_parallel: {tensor_model_parallel_size: 2}\n", True),
        ("num_layers: 2\nhidden_size: 512\n", False),
        ("micro_batch_size: 2\nbase_model: x\n", False),
        ("- MODEL_ARGS\n", False),
        ("model_parallel_size: 2\npipe_parallel_size: 1\nnum_layers: 12\nhidden_size: 64\n", False),
    ],
)
def test_files_are_recognised_by_what_they_hold(content: str, known: bool) -> None:
    found = recognised("x.yaml", content)
    assert (isinstance(found, Recognised) and found.kind.name == "megatron") == known


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        ("([0]*3+[1]*2)", [0, 0, 0, 1, 1]), ("[1,0,1]", [1, 0, 1]), ("([0]+[1]*2)*2", [0, 1, 1, 0, 1, 1]),
        ("2*[0]*2", [0, 0, 0, 0]), ("[]+[1]", [1]), ("3", None), ("[1", None), ("[1]*[1]", None), ("[1]+2", None),
        ("[1]*9999*9999", None), ("__import__('os')", None), ("(" * 150 + "[1]" + ")" * 40, None), ("", None),
        ("[1]*9**9", None), ("[0]*-1", None), ("[1,]", [1]), ("+".join(["[1]*2000"] * 3), None),
    ],
)  # fmt: skip
def test_patterns_are_read_and_never_evaluated(given: str, layers: list[int] | None) -> None:
    assert pattern(given) == layers


@pytest.mark.parametrize("name", ["err_fsdp.yaml", "err_lacking.yaml", "ok_yaml_cfg.yaml"])
def test_no_value_stops_it(name: str) -> None:
    content = (FOLDER / name).read_text(encoding="utf-8")
    for what, changed in with_other_values(name, content):
        assert isinstance(found_in(name, changed, "megatron"), tuple), what


@pytest.mark.parametrize(
    "content",
    ["", "MODEL_ARGS:\n", "MODEL_ARGS: 3\n", "MODEL_ARGS: [1]\n", "MODEL_ARGS: {}\nENV_VARS: []\n", "[]", "3", "a: b",
     "MODEL_ARGS:\n  --num-layers: 2\n  --num-layers: [1, {a: b}]\n", "language_model: {}\nmodel_parallel: {}\n",
     "MODEL_ARGS:\n\t--num-layers: 2\n", "MODEL_ARGS: {--num-layers: &a [*a]}\n",
     "MODEL_ARGS: {1: 2, null: 3, ~: 4}\n"],
)  # fmt: skip
def test_odd_files_are_answered(content: str) -> None:
    assert isinstance(found_in("x.yaml", content, "megatron"), tuple)
