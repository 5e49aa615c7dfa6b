"""Kinds that show in jobs of Kubernetes, in variables of a job, or in files of fine-tuning."""

from __future__ import annotations

from tests.native.misconfigured.case import Case
from tests.native.misconfigured.layouts import EIGHT, MEGATRON, SIXTEEN

#: A job of two pods with eight cards each.
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  nprocPerNode: "8"
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: example.org/train:1
              command: [torchrun, train.py]
              resources:
                limits:
                  nvidia.com/gpu: 8
              volumeMounts:
                - name: shm
                  mountPath: /dev/shm
          volumes:
            - name: shm
              emptyDir:
                medium: Memory
"""

#: Where the container has a part of memory.
MOUNTED = "              volumeMounts:\n                - name: shm\n                  mountPath: /dev/shm\n"

#: A pod on the network of its node.
ON_HOST = "          hostNetwork: true\n          dnsPolicy: ClusterFirstWithHostNet\n"

#: A configuration of gpt-neox.
NEOX = """\
num_layers: 16
hidden_size: 2048
num_attention_heads: 16
seq_length: 2048
max_position_embeddings: 2048
pos_emb: rotary
train_micro_batch_size_per_gpu: 4
gradient_accumulation_steps: 16
train_iters: 1000
precision: bfloat16
gradient_clipping: 1.0
pipe_parallel_size: 2
model_parallel_size: 1
optimizer:
  type: Adam
  params:
    lr: 0.0003
zero_optimization:
  stage: 1
"""

QUANTIZED = """\
stage: sft
do_train: true
model_name_or_path: meta-llama/Llama-3-8B
template: llama3
dataset: alpaca
finetuning_type: lora
lora_rank: 16
quantization_bit: 4
quantization_method: bnb
output_dir: out
per_device_train_batch_size: 1
deepspeed: ds.json
bf16: true
"""

CASES = (
    Case("B26", "PLN109", "neox.yaml: stage: 2", {"neox.yaml": NEOX.replace("stage: 1", "stage: 2")},
         (("stage: 2", "stage: 1"),), world=8),
    Case("B33", "PLN316", "args.yaml: quantization_bit: 4",
         {"args.yaml": QUANTIZED, "ds.json": {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}},
         (('"stage": 3', '"stage": 2'),), settings=('versions.transformers="4.38.2"',)),
    Case("B31", "PLN315", 'ds.json: "stage": 3',
         {"ds.json": {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}},
         (('"stage": 3', '"stage": 2'),), model="deepseek-v2", trainer="hf",
         settings=('versions.transformers="4.57.1"',)),
    Case("B47", "PLN323", "args.yaml: quantization_bit: 4", {"args.yaml": QUANTIZED.replace("deepspeed: ds.json\n", ""),
         "accelerate.yaml": "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n"
         "fsdp_config:\n  fsdp_version: 2\n"},
         (("quantization_bit: 4\n", ""),)),
    Case("B53", "PLN611", 'args.yaml: PYTORCH_ALLOC_CONF: "expandable_segments:True"',
         {"args.yaml": f'ENV_VARS:\n  PYTORCH_ALLOC_CONF: "expandable_segments:True"\n{MEGATRON}'},
         (("PYTORCH_ALLOC", "PYTORCH_CUDA_ALLOC"),), settings=('versions.torch="2.9"',)),
    Case("L12", "PLN639", "args.yaml: NCCL_SOCKET_IFNAME: lo",
         {"args.yaml": f"ENV_VARS:\n  NCCL_SOCKET_IFNAME: lo\n{MEGATRON}"}, (("IFNAME: lo", "IFNAME: eth0"),),
         cluster=SIXTEEN),
    Case("L26", "PLN618", "args.yaml: OMP_NUM_THREADS: 96",
         {"args.yaml": f"ENV_VARS:\n  OMP_NUM_THREADS: 96\n{MEGATRON}"},
         (("THREADS: 96", "THREADS: 12"),), cluster=f"{EIGHT}  cpu_cores = 96"),
    Case("L27", "PLN624", "job.yaml: pytorch",
         {"job.yaml": JOB.replace(MOUNTED, "")}, (("gpu: 8\n", f"gpu: 8\n{MOUNTED}"),)),
    Case("L28", "PLN078", "job.yaml: [IPC_LOCK]",
         {"job.yaml": JOB.replace("nvidia.com/gpu: 8\n", "nvidia.com/gpu: 8\n                  rdma/ib: 1\n"
                                  "              securityContext:\n                runAsUser: 1000\n"
                                  "                capabilities:\n                  add: [IPC_LOCK]\n")},
         (("                runAsUser: 1000\n", ""),)),
    Case("L29", "PLN068", 'job.yaml: "2"', {"job.yaml": JOB.replace('nprocPerNode: "8"', 'nprocPerNode: "2"')},
         (('nprocPerNode: "2"', 'nprocPerNode: "8"'),)),
    Case("L29", "PLN062", "job.yaml: nprocPerNode", {"job.yaml": JOB.replace('  nprocPerNode: "8"\n', "").replace(
        "      replicas: 2\n", "      replicas: 2\n      nprocPerNode: 8\n")},
         (("      nprocPerNode: 8\n", ""),)),
    Case("L30", "PLN078", "job.yaml: hostNetwork",
         {"job.yaml": JOB.replace("          containers:", f"{ON_HOST}          containers:").replace("8", "4")},
         (("          hostNetwork: true\n", ""),)),
    Case("L32", "PLN623", 'ds.json: "device": "cpu"',
         {"hosts.hostfile": "node1 slots=8\nnode2 slots=8\n", "ds.json": {"train_micro_batch_size_per_gpu": 1,
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
          "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}},
         (("\nnode2 slots=8", ""),)),
)  # fmt: skip
