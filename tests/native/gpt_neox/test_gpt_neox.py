"""gpt-neox's YAML: recognised, said as a plan, laid over each other, and judged as its argument classes do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from planc.commands.native import jobs
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.job import Beside, judge
from planc.native.kind import Recognised
from planc.native.kinds._gpt_neox_model import Widths, widths
from planc.native.tree import Map
from tests.native.judging import (
    corpus,
    found_in,
    is_known_good,
    loud,
    plan_text,
    recognised,
    with_other_values,
)

FOLDER = Path(__file__).parent

#: Errors on recipes of the corpus, with the reason for which they stand.
ERRORS = {
    "configs_gmlp_small.yml: `optimizer.params.eps` is a number, not a text": "it is `1.0e_8`, which is a text",
    "configs_mistral_7B.yml: an MLP of 4779 columns into 4778 rows": "two thirds of 14336 are odd: ParallelMLP makes a"
    " first matrix of 9558 columns, two halves of 4779, and a second one of 4778 rows",
}

MODEL = "pipe_parallel_size: 1\nmodel_parallel_size: 1\nnum_layers: 12\nhidden_size: 768\nnum_attention_heads: 12\n"


def file(name: str, text: str) -> Recognised:
    """A file of gpt-neox."""
    found = recognised(name, text)
    assert isinstance(found, Recognised), found
    assert found.kind.name == "gpt-neox"
    return found


def together(*texts: str) -> tuple[Diagnostic, ...]:
    """What is wrong with files of one run."""
    files = [file(f"{at}.yml", text) for at, text in enumerate(texts)]
    return loud(judge(files, lambda name, importer: "none").diagnostics)


def test_the_corpus_is_read_and_what_is_said_of_good_files_has_a_reason() -> None:
    found: Counter[str] = Counter()
    for row, content in corpus("gpt-neox"):
        for each in judge([file(row["file"], content)], lambda name, importer: "none").diagnostics:
            if each.severity is not Severity.INFO and is_known_good(row):
                found[f"{row['file'].rpartition('--')[2]}: {each.message}"] += 1
    assert set(found) == set(ERRORS)


def test_a_file_is_said_with_what_is_deepspeeds() -> None:
    content = (FOLDER / "ok_model_and_training.yaml").read_text(encoding="utf-8")
    said = plan_text("a.yml", content).split("\n")
    for line in (
        "tensor = 2", "pipeline = 1", "layers = 12", "ffn = 2048", "gated = true", "positions = rope", "norm = rmsnorm",
        "tied = false", "bias = all", "norms = 2", "precision = fp16", "stage = 1", "bucket = 500000000", "micro = 4",
        "optimizer = adamw {", "learning_rate = 0.0006", "weight_decay = 0.1", "clip = 1", "recompute = full {",
        "schedule = cosine {", "warmup = 0.01", "total = 320000 steps", "minimum = 6e-5", "every = 10000 steps",
    ):  # fmt: skip
        assert line in said, (line, said)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("precision: bfloat16", "precision = bf16"),
        ("bf16: {enabled: true}", "precision = bf16"),
        ("data_types: {grad_accum_dtype: fp32}\nprecision: bfloat16", "gradients = fp32"),
        ("gpt_j_residual: true\ngpt_j_tied: true", "norms = 1"),
        ("use_bias_in_mlp: false", "bias = attention"),
        ("num_kv_heads: 4", "kv_heads = 4"),
        ("attention_config: [[[flash], 12]]\nsliding_window_width: 512", "attention = sliding {"),
        ("checkpoint_activations: true\ncheckpoint_in_cpu: true", "activations = true"),
        ("optimizer: {type: CPU_Adam, params: {lr: 0.1}}", "optimizer = adamw {"),
        ("num_nodes: 2\nnum_gpus: 8", "gpus_per_node = 8"),
        ("train_epochs: 2", "duration = 2 epochs"),
        ("pack_impl: unpacked", "packed = false"),
        ("use_wandb: true", "to = [wandb]"),
        ("profile: true\nprofile_step_start: 10\nprofile_step_stop: 12", "length = 2 steps"),
    ],
    ids=str,
)
def test_what_keys_say(lines: str, said: str) -> None:
    assert said in plan_text("a.yml", f"{MODEL}{lines}\n").split("\n")


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ("attention_config: [[[mamba], 12]]", "heads"), ("moe_num_experts: 8", "ffn"), ("pos_emb: rpe", "positions"),
        ("norm: scalenorm", "norm"), ("num_gpus: -1", "gpus_per_node"), ("lr_decay_style: exponential", "schedule"),
        ("te_layernorm_mlp: true", "ffn"), ("expansion_factor: 2.0", "ffn"), ("checkpoint_scale: log", "every"),
        ("optimizer: {type: sm3, params: {}}", "optimizer"), ("checkpoint_factor: x", "every"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_told_is_not_said(lines: str, field: str) -> None:
    content = f"{MODEL}{lines}\ncheckpoint_factor: 10\n" if "scale" in lines else f"{MODEL}{lines}\n"
    said = plan_text("a.yml", content).split("\n")
    assert not [line for line in said if line.startswith(f"{field} ")], said


def test_a_file_without_the_model_says_nothing_of_it() -> None:
    said = plan_text("local.yml", "data_path: a\nvocab_file: b\nmerge_file: c\n").split("\n")
    assert said == ["dataset {", 'path = "a"', "}"]


def test_dashes_and_underscores_are_the_same() -> None:
    dashed = MODEL.replace("_", "-")
    assert plan_text("a.yml", dashed) == plan_text("a.yml", MODEL)
    assert found_in("a.yml", dashed) == ()


def test_files_are_laid_over_each_other() -> None:
    """KV heads of one file over the tensor ranks of the other."""
    assert together(MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\n") == ()
    split = "model_parallel_size: 5\nvocab_file: b\nmerge_file: c\n"
    found = together(f"pos_emb: rotary\n{MODEL}".replace("model_parallel_size: 1\n", ""), split)
    assert [(each.code, each.primary.span.source.name) for each in found] == [("PLN075", "1.yml")]
    assert [label.span.source.name for label in found[0].related] == ["0.yml"]


def test_no_key_may_stand_in_two_files() -> None:
    found = together(MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\nhidden_size: 768\n")
    assert [(each.code, each.message) for each in found] == [("PLN064", "`hidden_size` stands in two files")]
    assert (found[0].primary.span.source.name, found[0].primary.span.line) == ("1.yml", 4)
    assert [label.span.source.name for label in found[0].related] == ["0.yml"]


@pytest.mark.parametrize(
    ("texts", "outright", "number"),
    [
        ([MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\n"], True, 1),
        ([MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\n"], False, 1),
        ([MODEL, MODEL], True, 2),  # alternatives, such as `configs/*.yml`
        (
            [MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\nhidden_size: 1\n"],
            True,
            1,
        ),  # and a key in both is a fault
        ([MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\nhidden_size: 1\n"], False, 2),
        (
            [MODEL, "data_path: a\nvocab_file: b\nmerge_file: c\n", "data_path: d\nvocab_file: e\nmerge_file: f\n"],
            False,
            3,
        ),
    ],
)
def test_which_files_are_one_run(texts: list[str], outright: bool, number: int) -> None:
    files = [file(f"{at}.yml", text) for at, text in enumerate(texts)]
    named = [each.tree.source.name for each in files] if outright else []
    assert len(jobs(files, {}, named)) == number


def test_the_world_is_judged() -> None:
    """8 ranks do not divide into 3 tensor ranks (B72); the batch is no product of its factors on 4 replicas (B01)."""
    split = file("a.yml", MODEL.replace("model_parallel_size: 1", "model_parallel_size: 3"))
    found = judge([split], lambda name, importer: "none", Beside(world=8)).diagnostics
    assert [(each.code, each.primary.span.line) for each in loud(found)] == [("PLN101", 2)]
    batch = "train_batch_size: 64\ntrain_micro_batch_size_per_gpu: 4\ngradient_accumulation_steps: 8\n"
    found = judge([file("a.yml", MODEL + batch)], lambda name, importer: "none", Beside(world=4)).diagnostics
    assert [each.code for each in loud(found)] == ["PLN201"]


@pytest.mark.parametrize("activation", ["swiglu", "gelu"])
@pytest.mark.parametrize("step", [1, 3, 64, 256, 14336])
@pytest.mark.parametrize("asked", [1, 2, 3, 5, 6, 768, 10922, 14336, 16384, 32768, 41472, 43008, 65536])
def test_widths_are_those_of_the_layer(activation: str, step: int, asked: int) -> None:
    """The arithmetic of ParallelMLP, in floats as there."""
    both = int(asked * 2 / 3) if activation == "swiglu" else asked
    half = both // 2 if activation == "swiglu" else both
    first = int(2 * step * ((both + 2 * step - 1) // (2 * step)))
    second = int(step * ((half + step - 1) // step))
    columns = first // 2 if activation == "swiglu" else first
    text = f"{MODEL}activation: {activation}\nintermediate_size: {asked}\nmlp_multiple_of: {step}\n"
    tree = file("a.yml", text).tree
    assert isinstance(tree.root, Map)
    assert widths(tree.root) == Widths(columns, second)
    codes = [each.code for each in found_in("a.yml", text)]
    assert ("PLN063" in codes) == (columns != second)


def test_the_help_names_widths_that_fit() -> None:
    found = found_in("a.yml", f"{MODEL}activation: swiglu\nintermediate_size: 14336\n")
    assert found[0].help == ("use 14334 or 14337",)
    for width in (14334, 14337):
        assert found_in("a.yml", f"{MODEL}activation: swiglu\nintermediate_size: {width}\n") == ()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (MODEL, "gpt-neox"),
        ("data_path: a\nvocab_file: b\nmerge_file: c\nsave: d\n", "gpt-neox"),
        ("train_batch_size: 8\nzero_optimization: {stage: 2}\nfp16: {enabled: true}\n", "deepspeed"),
        ("MODEL_ARGS:\n  --num-layers: 2\n", "megatron"),
        ("num_layers: 2\n", None),
        ("model_type: gpt_neox\nhidden_size: 2\nvocab_size: 3\n", None),
    ],
)
def test_files_are_recognised_by_what_they_hold(content: str, kind: str | None) -> None:
    found = recognised("x.yml", content)
    assert (found.kind.name if isinstance(found, Recognised) else None) == kind


def test_a_hostfile_is_looked_for_where_it_may_be() -> None:
    found = file("a.yml", f"{MODEL}hostfile: hosts\n")
    references = found.kind.read(found.tree, Beside().options).references
    assert [(each.path, each.kind) for each in references] == [("hosts", "hostfile")]
    absolute = file("a.yml", f"{MODEL}hostfile: /job/hostfile\n")
    assert absolute.kind.read(absolute.tree, Beside().options).references == ()


@pytest.mark.parametrize("name", ["err_texts.yaml", "ok_overlay.yaml", "err_settings.yaml"])
def test_no_value_stops_it(name: str) -> None:
    content = (FOLDER / name).read_text(encoding="utf-8")
    for what, changed in with_other_values(name, content):
        assert isinstance(found_in(name, changed, "gpt-neox"), tuple), what


@pytest.mark.parametrize(
    "content", ["", "[]", "3", "a: b", "{}", "num_layers: *a", "\tnum_layers: 2", "num_layers: {1: 2}", "? [a]\n: b"]
)
def test_odd_files_are_answered(content: str) -> None:
    assert isinstance(found_in("x.yml", content, "gpt-neox"), tuple)


def test_the_help_writes_numbers_that_yaml_reads_as_such() -> None:
    content = (FOLDER / "err_texts.yaml").read_text(encoding="utf-8")
    found = found_in("a.yml", content)
    assert [each.help[0] for each in found] == [
        "write `1.0e-5`", "write `0.1`", "write `1000`", "write `1.0e-4`",
    ]  # fmt: skip
    edits = [edit for each in found for fix in each.fixes for edit in fix.edits]
    for edit in reversed(edits):
        content = f"{content[: edit.span.start]}{edit.text}{content[edit.span.end :]}"
    assert found_in("a.yml", content) == ()
