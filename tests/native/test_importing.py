"""Imported plans: planc's own lint takes them, but for what the import itself marks as missing."""

from __future__ import annotations

import re

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.importing import Plan, plan_of
from planc.native.job import ALONE, Job
from planc.native.job import read as read_job
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.source import Source
from tests.compiling import analysed, errors, load
from tests.native.judging import corpus, is_known_good, judged
from tests.native.test_cases import FOLDER, OK
from tests.native.test_round_trip import CASES, jobs

#: Errors of a plan that lacks a field, but for those of fields that every plan needs: the fields.
LACKING = {
    "PLN116": ("model.experts",),
    "PLN121": ("parallel.sequence",),
    "PLN901": ("launch.script",),
    "PLN921": ("emit.deepspeed-launcher.hosts",),
    "PLN935": ("schedule.warmup",),
    "PLN965": ("checkpoint.directory",),
    "PLN978": ("dataset.path",),
    "PLN984": (
        "batch.sequence_length", "checkpoint.directory", "checkpoint.every", "optimizer.learning_rate",
        "train.duration",
    ),
    "PLN986": ("launch.kubernetes.image",),
}  # fmt: skip

_LACKS = re.compile(r"`[^`]+` lacks `(\w+)`")

#: The files of jobs that people have, one below the other.
TOGETHER = {
    "trainer and DeepSpeed": {
        "args.yaml": "output_dir: out\ndeepspeed: ds.json\nper_device_train_batch_size: 2\nmax_steps: 9\nbf16: true\n",
        "ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}',
    },
    "accelerate and DeepSpeed": {
        "accelerate.yaml": "distributed_type: DEEPSPEED\nnum_machines: 2\nnum_processes: 16\nmain_process_ip: a\n"
        "deepspeed_config: {deepspeed_config_file: ds.json, zero3_init_flag: true}\n",
        "ds.json": '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, '
        '"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}',
    },
    "trainer, accelerate and DeepSpeed": {
        "accelerate.yaml": "distributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n"
        "deepspeed_config: {zero_stage: 2}\n",
        "args.yaml": "output_dir: out\nper_device_train_batch_size: 2\nmax_steps: 100\nbf16: true\n",
    },
    "hostfile and DeepSpeed": {
        "hostfile": "n1 slots=8\nn2 slots=8\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}',
    },
    "a model and DeepSpeed": {
        "config.json": '{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256, '
        '"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8}',
        "ds.json": '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 0, "reduce_bucket_size": 5}}',
    },
}


def job_of(files: dict[str, str]) -> Job:
    """The job of some texts."""
    found = [recognise(Source(name, text), None, True) for name, text in files.items()]
    known = [each for each in found if isinstance(each, Recognised)]
    assert len(known) == len(files), found
    return read_job(known, load)


def unmarked(plan: Plan) -> list[tuple[str, str]]:
    """The errors of an imported plan for which no missing field stands in it."""
    assert plan.text is not None
    analysis = analysed(plan.text)
    assert len(analysis.plans) == 1, plan.text
    missing = {each.path for each in plan.missing}
    leaves = {path.rpartition(".")[2] for path in missing}
    left = []
    for each in errors(analysis):
        lacks = _LACKS.fullmatch(each.message)
        is_marked = lacks[1] in leaves if lacks is not None else missing.intersection(LACKING.get(each.code, ()))
        if not is_marked:
            left.append((each.code, each.message))
    return left


def is_faulty(job: Job) -> bool:
    """Whether files give no plan."""
    return any(each.severity is Severity.ERROR for each in job.diagnostics)


@pytest.mark.parametrize("name", OK)
def test_a_plan_of_a_good_file_is_clean(name: str) -> None:
    job = job_of({name: (FOLDER / name).read_text(encoding="utf-8")})
    assert unmarked(plan_of(job, "imported", load)) == []


@pytest.mark.parametrize("case", CASES)
def test_a_plan_of_an_emitted_file_is_clean(case: str) -> None:
    for plan, job in jobs(case):
        assert unmarked(plan_of(job, "imported", load)) == [], plan.name


@pytest.mark.parametrize("name", TOGETHER)
def test_a_plan_of_files_together_is_clean(name: str) -> None:
    job = job_of(TOGETHER[name])
    assert not is_faulty(job), job.diagnostics
    assert unmarked(plan_of(job, "imported", load)) == []


def test_a_plan_of_a_file_of_the_corpus_is_clean() -> None:
    found = {}
    for row, text in corpus(""):
        file = recognise(Source(row["file"], text), None, True)
        if not is_known_good(row) or not isinstance(file, Recognised):
            continue
        job = read_job([file], load, ALONE)
        known = {each.code for each in judged(row["file"], text).diagnostics}
        if not is_faulty(job):
            left = [each for each in unmarked(plan_of(job, "imported", load)) if each[0] not in known]
            found.update({row["file"]: left} if left else {})
    assert found == {}


def test_an_error_that_is_not_marked_is_noticed() -> None:
    plan = plan_of(job_of({"ds.json": '{"zero_optimization": {"stage": 2}}'}), "imported", load)
    assert unmarked(plan) == []
    assert unmarked(plan._replace(missing=())) != []


def test_what_a_target_cannot_write_is_told() -> None:
    name = "torchtitan/ok_sharded.toml"
    plan = plan_of(job_of({name: (FOLDER / name).read_text(encoding="utf-8")}), "imported", load)
    assert plan.text is not None
    assert [target for target, _ in plan.refused] == ["torchtitan"]
    assert "emit" not in plan.text.partition("\n}\n")[0]
    assert "# Not in `emit`, since it cannot write this plan:\n#   torchtitan: torchtitan is not told " in plan.text
    assert "gradients = fp32  # as torchtitan has it" in plan.text


def test_a_section_that_lacks_several_fields_is_one_line() -> None:
    job = job_of({"neox.yml": (FOLDER / "gpt_neox" / "ok_overlay.yaml").read_text(encoding="utf-8")})
    text = plan_of(job, "imported", load).text or ""
    assert "# batch { global = ...  sequence_length = ... }  # no file says it; gpt-neox needs it" in text
    assert "# optimizer = ... { learning_rate = ... }  # no file says it; `adamw` if it is left out; gpt-neox" in text


def test_a_word_that_lacks_its_fields_says_in_place_of_what() -> None:
    trainer = (
        "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\nlr_scheduler_type: cosine\ndeepspeed: ds.json\n"
    )
    text = plan_of(
        job_of({"args.yaml": trainer, "ds.json": '{"zero_optimization": {"stage": 2}}'}), "imported", load
    ).text
    mark = (
        "# schedule = cosine { warmup = ... }  # in place of `schedule = cosine`; no file says it; deepspeed needs it"
    )
    assert mark in (text or "") and "  schedule = cosine\n" in (text or "")


def test_the_hosts_of_a_hostfile_are_those_of_its_launcher() -> None:
    text = plan_of(job_of({"hostfile": "n1 slots=8\nn2 slots=8\n"}), "imported", load).text or ""
    assert 'emit = [deepspeed-launcher { hosts = ["n1", "n2"] }]' in text


def test_the_world_is_told_where_nobody_names_a_cluster() -> None:
    job = job_of({"ds.json": '{"zero_optimization": {"stage": 2}}'})
    text = plan_of(job, "imported", load, ALONE._replace(world=16)).text or ""
    assert "# cluster = ...  # no file says it; `nodes` x `gpus_per_node` is 16" in text


def test_who_reads_a_deepspeed_file_is_told() -> None:
    text = plan_of(job_of(TOGETHER["trainer and DeepSpeed"]), "imported", load).text or ""
    assert "emit = [transformers { backend = deepspeed }, deepspeed { trainer = hf }]" in text


def test_what_a_job_of_kubernetes_says_otherwise_is_not_listed() -> None:
    name = "kubernetes/ok_pytorchjob.yaml"
    plan = plan_of(job_of({name: (FOLDER / name).read_text(encoding="utf-8")}), "imported", load)
    keys = {each.key for each in plan.left}
    assert not {"apiVersion", "kind", "metadata.name", "spec.nprocPerNode"} & keys
    assert not [key for key in keys if key.endswith(("nvidia.com/gpu", "env[0].name"))]


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("nanotron/ok_llama.yaml", "optimizer.optimizer_factory.adam_beta2"),
        ("nanotron/ok_llama.yaml", "optimizer.learning_rate_scheduler.lr_decay_starting_step"),
    ],
)
def test_a_key_that_a_field_holds_as_well_is_not_listed(name: str, used: str) -> None:
    plan = plan_of(job_of({name: (FOLDER / name).read_text(encoding="utf-8")}), "imported", load)
    assert used not in {each.key for each in plan.left}
    assert plan.left
