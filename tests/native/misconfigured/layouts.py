"""Kinds that show in the split of a model: arguments of Megatron, configurations of torchtitan and gpt-neox."""

from __future__ import annotations

from tests.native.misconfigured.case import Case

#: Arguments of Megatron for 8 ranks, with gaps for what is changed.
MEGATRON = """\
MODEL_ARGS:
  --num-layers: 32
  --hidden-size: 4096
  --ffn-hidden-size: 16384
  --num-attention-heads: 32
  --seq-length: 4096
  --max-position-embeddings: 4096
  --micro-batch-size: 1
  --global-batch-size: 64
  --train-iters: 1000
  --lr: 3e-4
  --bf16: true
"""

TORCHTITAN = """\
[job]
dump_folder = "out"

[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 4
seq_len = 8192
steps = 1000
"""


def megatron(*lines: str, **changed: str) -> dict[str, str]:
    """Arguments of Megatron with further lines, and some of the values changed."""
    text = MEGATRON + "".join(f"  {line}\n" for line in lines)
    for name, value in changed.items():
        head, _, rest = text.partition(f"--{name.replace('_', '-')}: ")
        text = f"{head}--{name.replace('_', '-')}: {value}\n{rest.partition(chr(10))[2]}"
    return {"args.yaml": text}


EIGHT = "gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8"
SIXTEEN = "gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8"
EXPERTS = ("--num-experts: 8", "--moe-router-topk: 2", "--disable-bias-linear: true")

CASES = (
    Case("B06", "PLN201", "args.yaml: --global-batch-size: 100",
         megatron(global_batch_size="100", micro_batch_size="4"),
         (("batch-size: 100", "batch-size: 96"),), world=8),
    Case("B54", "PLN103", "args.yaml: --tensor-model-parallel-size: 8",
         megatron("--tensor-model-parallel-size: 8", num_attention_heads="52", hidden_size="6656"),
         (("parallel-size: 8", "parallel-size: 4"),)),
    Case("B56", "PLN106", "args.yaml: --pipeline-model-parallel-size: 4",
         megatron("--pipeline-model-parallel-size: 4", num_layers="30"), (("num-layers: 30", "num-layers: 32"),)),
    Case("B57", "PLN063", "args.yaml: 2",
         megatron("--pipeline-model-parallel-size: 16", "--num-layers-per-virtual-pipeline-stage: 2", num_layers="80"),
         (("pipeline-stage: 2", "pipeline-stage: 1"),)),
    Case("B58", "PLN120", "args.yaml: --num-layers-per-virtual-pipeline-stage: 16",
         megatron("--pipeline-model-parallel-size: 1", "--num-layers-per-virtual-pipeline-stage: 16"),
         (("parallel-size: 1", "parallel-size: 4"), ("stage: 16", "stage: 4"))),
    Case("B60", "PLN202", "args.yaml: --pipeline-model-parallel-size: 8",
         megatron("--pipeline-model-parallel-size: 8", global_batch_size="4"),
         (("batch-size: 4", "batch-size: 64"),), world=8),
    Case("B60", "PLN203", "args.yaml: --pipeline-model-parallel-size: 8",
         megatron("--pipeline-model-parallel-size: 8", global_batch_size="12"),
         (("batch-size: 12", "batch-size: 64"),), world=8),
    Case("B61", "PLN068", "args.yaml: --sequence-parallel",
         megatron("--tensor-model-parallel-size: 1", "--sequence-parallel: true"),
         (("parallel-size: 1", "parallel-size: 2"),)),
    Case("B62", "PLN121", "args.yaml: MODEL_ARGS", megatron(*EXPERTS, "--tensor-model-parallel-size: 2",
                                                   "--expert-model-parallel-size: 4"),
         (("tensor-model-parallel-size: 2", "tensor-model-parallel-size: 2\n  --sequence-parallel: true"),)),
    Case("B67", "PLN115", "args.yaml: --expert-model-parallel-size: 8",
         megatron("--num-experts: 60", *EXPERTS[1:], "--expert-model-parallel-size: 8"),
         (("experts: 60", "experts: 64"),)),
    Case("B67", "PLN122", "args.yaml: --expert-model-parallel-size: 3",
         megatron("--num-experts: 60", *EXPERTS[1:], "--expert-model-parallel-size: 3"),
         (("parallel-size: 3", "parallel-size: 4"),), world=8),
    Case("B69", "PLN128", "args.yaml: --tensor-model-parallel-size: 4",
         megatron("--tensor-model-parallel-size: 4", "--vocab-size: 151669"), (("151669", "152064"),)),
    Case("B71", "PLN501", "args.yaml: --tensor-model-parallel-size: 16", megatron("--tensor-model-parallel-size: 16"),
         (("parallel-size: 16", "parallel-size: 8"),), cluster=SIXTEEN),
    Case("B72", "PLN101", "args.yaml: --tensor-model-parallel-size: 3",
         megatron("--tensor-model-parallel-size: 3", num_attention_heads="48",
                                                   hidden_size="6144"),
         (("parallel-size: 3", "parallel-size: 4"),), world=8),
    Case("B73", "PLN612", "args.yaml: CUDA_DEVICE_MAX_CONNECTIONS: 8", {
        "args.yaml": "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 8\n"
        + megatron("--tensor-model-parallel-size: 2")["args.yaml"]},
         (("CONNECTIONS: 8", "CONNECTIONS: 1"),), cluster=EIGHT),
    Case("B74", "PLN401", "args.yaml: --fp8-format: hybrid",
         megatron("--fp8-format: hybrid"), (("  --fp8-format: hybrid\n", ""),),
         cluster="gpu = a100-sxm-80gb  nodes = 1  gpus_per_node = 8"),
    Case("B75", "PLN402", "args.yaml: --fp8-recipe: mxfp8", megatron("--fp8-format: e4m3", "--fp8-recipe: mxfp8"),
         (("mxfp8", "tensorwise"),), cluster=EIGHT),
    Case("B76", "PLN403", "args.yaml: --ffn-hidden-size: 1368",
         megatron("--tensor-model-parallel-size: 8", "--fp8-format: hybrid", ffn_hidden_size="1368"),
         (("1368", "16384"),), cluster=EIGHT),
    Case("B82", "PLN066", "args.yaml: --model-parallel-size", megatron("--model-parallel-size: 2"),
         (("--model-", "--tensor-model-"),)),
    Case("L14", "PLN614", "args.yaml: NCCL_IB_HCA: rdma0",
         {"args.yaml": f"ENV_VARS:\n  NCCL_IB_HCA: rdma0\n{MEGATRON}"}, (("rdma0", "mlx5_0"),),
         cluster=f'{EIGHT}  nics {{ names = ["mlx5_0"] }}'),
    Case("L38", "PLN610", "args.yaml: NCCL_ASYNC_ERROR_HANDLING: 1",
         {"args.yaml": f"ENV_VARS:\n  NCCL_ASYNC_ERROR_HANDLING: 1\n{MEGATRON}"},
         (("NCCL_ASYNC", "TORCH_NCCL_ASYNC"),), settings=('versions.torch="2.13"',)),
    Case("B08", "PLN063", "run.toml: 6",
         {"run.toml": TORCHTITAN.replace("size = 4", "size = 6")
          + "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 4\n"},
         (("local_batch_size = 6", "local_batch_size = 8"),)),
    Case("B08", "PLN202", "run.toml: pipeline_parallel_degree = 8",
         {"run.toml": TORCHTITAN + "[parallelism]\npipeline_parallel_degree = 8\n"
          'pipeline_parallel_schedule = "1F1B"\n'},
         (("local_batch_size = 4", "local_batch_size = 16"),)),
    Case("B64", "PLN204", "run.toml: seq_len = 8193",
         {"run.toml": TORCHTITAN.replace("8192", "8193") + "[parallelism]\ntensor_parallel_degree = 2\n"},
         (("8193", "8192"),)),
    Case("B65", "PLN102", "run.toml: data_parallel_shard_degree = 8",
         {"run.toml": TORCHTITAN
          + "[parallelism]\ndata_parallel_shard_degree = 8\ncontext_parallel_degree = 8\n"},
         (("shard_degree = 8", "shard_degree = 1"),), world=8),
    Case("B48", "PLN102", "run.toml: data_parallel_shard_degree = 8",
         {"run.toml": TORCHTITAN
          + "[parallelism]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 8\n"},
         (("replicate_degree = 1", "replicate_degree = 2"),), world=16),
    Case("B70", "PLN125", "run.toml: pipeline_parallel_degree = 2",
         {"run.toml": TORCHTITAN.replace("llama3", "qwen3").replace("8B", "0.6B")
          + '[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = "1F1B"\n'},
         (("0.6B", "8B"),)),
    Case("B82", "PLN066", "run.toml: batch_size",
         {"run.toml": TORCHTITAN.replace("local_batch_size", "batch_size")}, (("batch_size", "local_batch_size"),)),
)  # fmt: skip
