"""Layouts that ran, or were published as recipes: no rule may call one an error.

The table (shared/facts/layouts.csv) states dimensions, sizes, batch and GPUs of 525 of them. What it leaves out is
filled with values that nothing can object to; memory is not judged, as neither cards nor ZeRO settings are in it.
"""

from __future__ import annotations

import csv

from planc.diagnostics.diagnostic import Severity
from tests.analysis import analysis_of
from tests.shared import shared

#: Broken at their source, by the end of their path: (code, reason).
BROKEN = {
    "examples/bert/train_bert_340m_distributed.sh": ("PLN101 PLN106", "8 GPUs stand there for `adjust this`"),
    "examples/gpt3/train_gpt3_175b_distributed.sh": ("PLN101", "8 GPUs stand there for `adjust this`"),
    "auto_configurator/base_configs/qwen2_72b.yaml": ("PLN101", "a base that the configurator scales up"),
    "hf_mixtral/convert_mixtral_8x22b_nemo.yaml": ("PLN101 PLN106 PLN111", "converts a checkpoint on one GPU"),
    "hf_mixtral/convert_mixtral_nemo.yaml": ("PLN101", "converts a checkpoint on one GPU"),
    "conf/training/falcon/falcon_7b.yaml": ("PLN201", "32 samples on 128 GPUs"),
    "examples/pretrain_gpt_multilingual.sh": ("PLN201", "8 samples on 8 GPUs with micro batches of 4"),
    "PR-MoE64or128_MoS.sh": ("PLN115", "its layers have 64 and 128 experts, and the table has one number"),
    "PR-MoE32or64.sh": ("PLN115", "its layers have 32 and 64 experts, and the table has one number"),
    "PR-MoE32or64_MoS.sh": ("PLN115", "its layers have 32 and 64 experts, and the table has one number"),
    "tr3n-1B3-pile-fancy.slurm": ("PLN206", "begins with 32 samples for 16 replicas and micro batches of 8"),
    "resume_torch_dist_tunable_overlap/model_config.yaml": ("PLN202", "its group of micro batches is not in the table"),
}

PRECISIONS = {"bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "fp8": "fp8", "nvfp4": "fp4", "fp32": "fp32"}

#: Pipelines of Megatron-DeepSpeed are DeepSpeed's, which spread uneven layers by themselves.
DEEPSPEED = ("bigscience-workshop/bigscience", "deepspeedai/Megatron-DeepSpeed")


def rows() -> list[dict[str, str]]:
    with shared("facts/layouts.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def plan_text(row: dict[str, str]) -> str:
    """The layout as a plan."""

    def number(name: str, default: int) -> int:
        return int(row[name] or default)

    hidden, heads, tensor = number("hidden", 0), number("heads", 0), number("tp", 1)
    gpus = number("gpus_per_node", min(8, number("gpus_total", 8)))
    nodes = max(1, number("gpus_total", gpus) // gpus)
    domain = 72 if gpus == 4 and 4 < tensor else gpus  # four-GPU nodes with larger groups are NVL72 racks
    model = {
        "layers": row["layers"], "hidden": hidden, "heads": heads, "kv_heads": row["kv_heads"],
        "head_dim": "" if hidden % heads == 0 else 64, "ffn": row["ffn"] or 4 * hidden, "vocab": row["vocab"] or 50304,
    }  # fmt: skip
    count = row["experts"] or (row["ep"] if 1 < number("ep", 1) else "")
    experts = f"experts {{ count = {count}  top_k = 1  ffn = {row['ffn'] or 4 * hidden} }}" if count else ""
    start, increment, over = row["rampup"].split() or ("", "", "")
    ramp = f"linear {{ start = {start}  increment = {increment}  over = {over} samples }}" if start else ""
    parallel = {
        "tensor": tensor, "pipeline": row["pp"], "context": row["cp"], "expert": row["ep"],
        "sequence": "true" if row["sp"] == "1" or (not row["sp"] and count and 1 < tensor) else "",
    }  # fmt: skip
    counted = row["embed_split"].startswith("embedding")
    in_code = row["pp_layout"] or "layout" in row["embed_split"]
    pipeline = {
        "chunks": row["vpp"] if 1 < number("vpp", 1) else "",
        "first_stage_layers": row["pp_first"], "last_stage_layers": row["pp_last"],
        "layout": layout(number("layers", 0), number("pp", 1) * number("vpp", 1)) if in_code else "",
        "embedding_as_layer": "true" if counted else "", "loss_as_layer": "true" if counted else "",
    }  # fmt: skip
    batch = {
        "global": row["global_batch"], "micro": row["micro_batch"], "sequence_length": row["seq"],
        "accumulation": "" if row["micro_batch"] else row["gas"], "ramp": ramp,
    }  # fmt: skip
    trainer = "nanotron" if "nanotron" in row["kind"] else "gpt-neox" if row["repo"] in DEEPSPEED else "megatron"
    return f"""\
gpu card {{ memory = 100 TiB }}
cluster c {{ gpu = card  nodes = {nodes}  gpus_per_node = {gpus}  domain = {domain} }}
model m {{ {fields(model)}  {experts} }}
plan run {{
  model     = m
  cluster   = c
  parallel  {{ {fields(parallel)} }}
  pipeline  = {"interleaved" if pipeline["chunks"] else "1f1b"} {{ {fields(pipeline)} }}
  batch     {{ {fields(batch)} }}
  precision = {PRECISIONS.get(row["precision"].partition("+")[0], "bf16")}
  emit      = [{trainer}]
  {"resume { }" if "continuation" in row["path"] else ""}
}}
"""


def layout(layers: int, chunks: int) -> str:
    """A layout string of as even chunks as there are; the table does not hold those that stand in code."""
    short, longer = divmod(layers, chunks)
    return f'"E{"|".join("t" * (short + (chunk < longer)) for chunk in range(chunks))}L"'


def fields(values: dict[str, object]) -> str:
    return "  ".join(f"{name} = {value}" for name, value in values.items() if value != "")


def errors(row: dict[str, str]) -> list[tuple[str, str]]:
    """What is wrong with the layout; a target may miss what the table does not hold, such as a learning rate."""
    found = [one for one in analysis_of(plan_text(row)).diagnostics if not one.code.startswith("PLN9")]
    return [(diagnostic.code, diagnostic.message) for diagnostic in found if diagnostic.severity is Severity.ERROR]


def broken(row: dict[str, str]) -> str:
    return next((codes for path, (codes, _) in BROKEN.items() if row["path"].endswith(path)), "")


def test_no_known_good_layout_is_an_error() -> None:
    judged = [row for row in rows() if row["global_batch"] and not broken(row)]
    assert 500 <= len(judged)
    found = {(row["repo"], row["path"], row["variant"]): errors(row) for row in judged}
    assert {key: value for key, value in found.items() if value} == {}


def test_layouts_that_are_broken_at_their_source_are_errors() -> None:
    for row in rows():
        if broken(row):
            assert {code for code, _ in errors(row)} == set(broken(row).split()), row["path"]
