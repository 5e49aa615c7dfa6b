"""Flags of torchtitan's trainer on a command line: what they say, alone and over the TOML file of a release before."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.native.tables import load_table
from tests.commands.cli import planc
from tests.compiling import ROOT
from tests.native.judging import found_in, plan_text

START = "#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 1 -m torchtitan.train"
NEW = f"{START} --module llama3 --config llama3_8b"


def said(line: str) -> list[str]:
    """The lines of the plan that a script makes."""
    return plan_text("train.sh", f"{line}\n").split("\n")


def test_flags_say_what_they_set() -> None:
    lines = said(
        f"{NEW} --training.local_batch_size 2 --parallelism.pipeline_parallel_degree 1 --training.seq_len 4096"
        " --parallelism.data_parallel_shard_degree 8 --parallelism.data_parallel_replicate_degree 1"
        " --parallelism.fsdp_reshard_after_forward never --training.mixed_precision_param bfloat16"
        " --optimizer.param_groups.0.optimizer_kwargs.lr 3e-4"
        " --optimizer.param_groups.0.optimizer_kwargs.betas 0.9 0.95 --checkpoint.enable"
        " --checkpoint.interval 100 activation-checkpoint:selective"
    )
    assert {
        "micro = 2", "sequence_length = 4096", "data = 8", "shard {", "stage = 2", "precision = bf16",
        "learning_rate = 0.0003", "betas = [0.9, 0.95]", "every = 100 steps", "recompute = selective", "layers = 32",
    } <= set(lines)  # fmt: skip


@pytest.mark.parametrize(
    "flags",
    [
        "--training.local_batch_size 2",  # what a micro batch is depends on the pipeline
        "--parallelism.data_parallel_shard_degree -1",
        "--optimizer.param_groups.0.optimizer_kwargs.lr '$LR'",
        "--training.max_norm inf",
        "--checkpoint.interval 100",  # nothing is saved
    ],
)
def test_what_a_flag_alone_does_not_tell_is_not_said(flags: str) -> None:
    assert set(said(f"{NEW} {flags}")) == set(said(NEW))


def test_sizes_of_a_function_that_is_the_users_own_are_unknown() -> None:
    assert not any(line.startswith("layers") for line in said(f"{START} --module my_models --config llama3_8b"))
    assert found_in("a.sh", f"{START} --module my_models --config small --training.own_key 3\n") == ()
    (found,) = found_in("a.sh", f"{START} --module my_models --config small --training.step 3\n")
    assert (found.code, found.severity.value) == ("PLN062", "warning")


def test_a_module_needs_a_function_of_it() -> None:
    (found,) = found_in("a.sh", f"{START} --module llama3 --training.steps 3\n")
    assert (found.code, found.primary.span.text) == ("PLN070", "--module")
    assert found_in("a.sh", f"{START} --module llama3 --training.steps 3 $MORE\n") == ()


def test_flags_win_over_a_file(tmp_path: Path) -> None:
    toml = (
        '[job]\ndump_folder = "out"\n[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\n'
        "tensor_parallel_degree = 1\ndata_parallel_shard_degree = -1\n"
        "[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\nseq_len = 8192\n"
    )
    file = tmp_path / "a.toml"
    file.write_text(toml, encoding="utf-8")

    def lint(flags: str) -> str:
        (tmp_path / "train.sh").write_text(f"{START} --job.config_file a.toml {flags}\n", encoding="utf-8")
        return planc("lint", "train.sh", "--output-format", "concise", cwd=tmp_path).stdout

    assert lint("") == ""
    assert lint("--training.global_batch_size 32 --training.local_batch_size 4") == ""
    assert lint("--training.global_batch_size 30").startswith("train.sh:2:85: error[PLN201]")
    file.write_text(toml.replace("= 64", "= 30"), encoding="utf-8")
    assert lint("").startswith("a.toml:11:1: error[PLN201]")
    assert lint("--training.global_batch_size $BATCH") == ""
    assert lint("--training.local_batch_size 3") == ""  # whether that is a micro batch depends on the file
    file.unlink()
    assert "warning[PLN073]" in lint("")


def test_the_table_has_every_flag_of_a_configuration() -> None:
    held = load_table("torchtitan-flags")
    listed = (ROOT / "tests" / "targets" / "torchtitan" / "flags.txt").read_text(encoding="utf-8").split("\n")[1:]
    assert 100 < len(listed)
    for name in filter(None, listed):
        keys, unknown = held.keys, held.unknown
        for part in name.split("."):
            if part not in keys and unknown == "open":
                break
            assert part in keys, name
            keys, unknown = keys[part].get("keys", {}), keys[part].get("unknown", "")
