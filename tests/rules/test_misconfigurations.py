"""docs/misconfigurations.md is whole and true: each kind once, and each rule that it names reports the kind."""

from __future__ import annotations

import csv
import re

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.kinds import all_kinds
from tests.analysis import analysis_of
from tests.shared import ROOT, shared

TEXT = (ROOT / "docs" / "misconfigurations.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([BL]\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", TEXT, re.M)
LABELS = set(re.findall(r"^\| `([^`]+)` \| [^|]+ \|$", TEXT, re.M))

BASE = """\
use "planc/gpus"
use "planc/models"
template base {
  model     = llama-3-8b
  cluster   { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
  shard     { stage = 1 }
  batch     { global = 64  micro = 1  sequence_length = 4Ki }
  precision = bf16
  recompute = full
  launch    { script = "train.py" }
  emit      = [torchrun]
}
plan old from base
plan run from base {
"""

#: The smallest plan of each kind: what is added to the one above, by id and code.
CASES = {
    ("B01", "PLN201"): "batch { global = 64  micro = 4  accumulation = 8 }  cluster { gpus_per_node = 4 }",
    ("B06", "PLN201"): "batch { global = 100  micro = 4 }",
    ("B07", "PLN012"): "batch { global = none  micro = 4  accumulation = 8 }",
    ("B08", "PLN201"): "batch { global = 6  micro = 4 }  parallel { pipeline = 4 }  emit = [torchtitan]",
    ("B08", "PLN202"): "batch { global = 6  micro = 1 }  parallel { pipeline = 4 }  emit = [torchtitan]",
    ("B16", "PLN015"): "shard { bucket = 15099494.4 }",
    ("B18", "PLN703"): "train { duration = 260 steps }  schedule = linear { total = 100 steps }",
    ("B18", "PLN704"): "train { duration = 260 steps }  schedule = linear { total = 1000 steps }",
    ("B19", "PLN407"): 'precision = fp32  emit = [deepspeed { trainer = hf }]  launch { args = ["--bf16", "True"] }',
    ("B21", "PLN011"): "optimizer { gradient_clipp1ng = 1.0 }",
    ("B23", "PLN011"): "offload { cpu_offload = true }",
    ("B25", "PLN932"): "shard { stage = 2 }  offload { optimizer = cpu  weights = cpu }  emit = [deepspeed]",
    ("B26", "PLN109"): "parallel { pipeline = 2 }  shard { stage = 2 }  emit = [deepspeed]",
    ("B27", "PLN312"): "offload { optimizer = cpu }  emit = [deepspeed]",
    ("B28", "PLN306"): "cluster { cpu_memory = 64 GiB }  offload { optimizer = cpu }  emit = [deepspeed]",
    ("B28", "PLN313"): "model = llama-3-70b  cluster { nodes = 8  cpu_memory = 256 GiB }  shard { stage = 2 }  "
    "adapter = lora { rank = 16 }  emit = [accelerate { backend = deepspeed }]",
    ("B29", "PLN932"): "shard { stage = 3 }  offload { weights = nvme }  emit = [deepspeed]",
    ("B30", "PLN322"): 'shard { stage = 3 }  emit = [deepspeed { trainer = hf }]  '
    'launch { args = ["--device_map", "auto"] }',
    ("B31", "PLN315"): 'model = mixtral-8x7b { family = "deepseek_v2" }  shard { stage = 3 }  emit = [deepspeed]  '
    'versions { transformers = "4.57.1" }',
    ("B32", "PLN937"): "shard { stage = 3 }  checkpoint { every = 100 steps  format = full }  emit = [deepspeed]",
    ("B33", "PLN316"): 'shard { stage = 3 }  adapter = lora { rank = 16  base = nf4 }  emit = [accelerate]  '
    'versions { transformers = "4.38.2" }',
    ("B34", "PLN809"): "cluster { nodes = 2 }  shard { stage = 2 }  emit = [deepspeed]  "
    'resume { directory = "/ckpt"  saved_by = old { shard { stage = 2 } } }',
    ("B35", "PLN310"): "model { layers = 4  hidden = 1024  heads = 8  kv_heads = 8  ffn = 2048 }  "
    "shard { stage = 2  bucket = 500_000_000 }  cluster { gpu = v100-sxm-16gb }  "
    "precision = fp16 { gradients = fp32 }  emit = [deepspeed]",
    ("B37", "PLN307"): "shard { stage = 3  secondary_size = 3 }  cluster { nodes = 2 }  emit = [deepspeed]",
    ("B37", "PLN308"): "shard { stage = 3  secondary_size = 8 }  emit = [deepspeed]",
    ("B38", "PLN324"): 'shard { stage = 3 }  emit = [accelerate { layer_class = "LLaMADecoderLayer" }]',
    ("B38", "PLN944"): "model { family = none }  shard { stage = 3 }  emit = [accelerate]",
    ("B43", "PLN314"): "model { layers = 48  hidden = 6144  heads = 48  ffn = 24_576 }  shard { stage = 3 }  "
    "cluster { nodes = 4  cpu_memory = 200 GiB }  checkpoint { format = full }  emit = [accelerate]",
    ("B43", "PLN605"): "cluster { storage = 100 MB/s }  checkpoint { every = 100 steps  format = full }",
    ("B44", "PLN320"): 'shard { stage = 3 }  emit = [accelerate]  launch { args = ["--gradient_checkpointing"] }',
    ("B47", "PLN323"): "shard { stage = 3 }  adapter = lora { rank = 16  base = nf4 }  emit = [accelerate]",
    ("B48", "PLN114"): "cluster { nodes = 2 }  shard { stage = 3  size = 6 }",
    ("B50", "PLN405"): "cluster { nodes = 48 }  batch { global = 384 }  precision = bf16 { gradients = bf16 }  "
    "emit = [deepspeed]",
    ("B51", "PLN130"): "parallel { pipeline = 2 }  optimizer { clip = 1.0 }",
    ("B53", "PLN319"): "cluster { gpu = rtx-4090-24gb }  shard { stage = 3 }  emit = [fsdp2]  "
    "batch { sequence_length = 9Ki }",
    ("B53", "PLN611"): 'launch { env { PYTORCH_ALLOC_CONF = "expandable_segments:True" } }  versions { torch = "2.9" }',
    ("B54", "PLN103"): "model { heads = 52  kv_heads = 52  hidden = 6656 }  parallel { tensor = 8 }",
    ("B56", "PLN106"): "model { layers = 30 }  parallel { pipeline = 4 }  emit = [megatron]",
    ("B57", "PLN106"): "model { layers = 80 }  parallel { pipeline = 8 }  pipeline = interleaved { chunks = 4 }  "
    "emit = [megatron]",
    ("B58", "PLN120"): "pipeline = interleaved { chunks = 2 }  emit = [megatron]",
    ("B60", "PLN202"): "parallel { pipeline = 8 }  batch { global = 4 }",
    ("B60", "PLN203"): "parallel { pipeline = 8 }  batch { global = 12 }",
    ("B62", "PLN121"): "model = mixtral-8x7b  parallel { tensor = 2  expert = 4 }  emit = [megatron]",
    ("B64", "PLN204"): "batch { sequence_length = 8193 }  parallel { tensor = 2  sequence = true }",
    ("B65", "PLN102"): "parallel { context = 8  data = 8 }  emit = [torchtitan]",
    ("B67", "PLN115"): "model = mixtral-8x7b { experts { count = 60 } }  parallel { expert = 8 }  emit = [megatron]",
    ("B67", "PLN122"): "model = mixtral-8x7b { experts { count = 60 } }  parallel { expert = 3 }  emit = [megatron]",
    ("B68", "PLN123"): "model { heads = 40  hidden = 5120 }  cluster { nodes = 2 }  parallel { context = 16 }  "
    "context = ulysses  emit = [deepspeed]",
    ("B69", "PLN128"): "model { vocab = 151_669 }  parallel { tensor = 4 }  emit = [megatron]",
    ("B70", "PLN125"): "model { tied = true }  parallel { pipeline = 2 }  emit = [torchtitan]",
    ("B71", "PLN501"): "cluster { nodes = 2 }  parallel { tensor = 16 }",
    ("B72", "PLN101"): "parallel { tensor = 3 }",
    ("B73", "PLN612"): 'parallel { tensor = 2 }  emit = [megatron]  '
    'launch { env { CUDA_DEVICE_MAX_CONNECTIONS = "8" } }',
    ("B73", "PLN613"): 'shard { stage = 3 }  launch { env { CUDA_DEVICE_MAX_CONNECTIONS = "1" } }  emit = [fsdp2]',
    ("B74", "PLN401"): "cluster { gpu = a100-sxm-80gb }  precision = fp8",
    ("B75", "PLN402"): "precision = fp8 { recipe = mxfp8 }",
    ("B76", "PLN403"): "model { ffn = 1368 }  parallel { tensor = 8 }  precision = fp8  emit = [megatron]",
    ("B77", "PLN401"): "cluster { gpu = v100-sxm-32gb }",
    ("B78", "PLN404"): 'model { family = "gemma2" }  precision = fp16',
    ("B82", "PLN011"): "parallel { model_parallel_size = 2 }",
    ("B84", "PLN815"): 'cluster { nodes = 2 }  resume { directory = "/ckpt"  saved_by = old }  emit = [torchtitan]',
    ("B85", "PLN129"): 'parallel { pipeline = 2 }  versions { deepspeed = "0.18.9" }  emit = [deepspeed]',
    ("L01", "PLN912"): 'launch { slurm { ntasks-per-node = "8" } }  emit = [torchrun, slurm]',
    ("L02", "PLN912"): 'launch { slurm { ntasks = "1" } }  emit = [torchrun, slurm]',
    ("L04", "PLN912"): 'launch { slurm { gpus-per-task = "1" } }  emit = [torchrun, slurm]',
    ("L05", "PLN915"): 'launch { slurm { gres = "gpu:a100:4" } }  emit = [torchrun, slurm]',
    ("L08", "PLN902"): 'launch { env { MASTER_ADDR = "localhost" } }  cluster { nodes = 2 }',
    ("L09", "PLN617"): 'launch { env { MASTER_PORT = "29500" } }  cluster { nodes = 2 }  emit = [torchrun, slurm]',
    ("L12", "PLN902"): 'launch { env { MASTER_ADDR = "127.0.1.1" } }  cluster { nodes = 2 }',
    ("L14", "PLN614"): 'cluster { nics { names = ["mlx5_0"] } }  launch { env { NCCL_IB_HCA = "rdma0" } }',
    ("L14", "PLN615"): 'cluster { nodes = 2  nics { names = ["mlx5_0", "mlx5_1"] } }  '
    'launch { env { NCCL_IB_HCA = "mlx5_0" } }',
    ("L17", "PLN603"): 'launch { env { CUDA_VISIBLE_DEVICES = "2,4" } }',
    ("L19", "PLN603"): 'launch { env { CUDA_VISIBLE_DEVICES = "0,1,2,3" } }',
    ("L20", "PLN503"): 'cluster { gpu = rtx-4090-24gb  gpus_per_node = 2 }  versions { driver = "535.54" }',
    ("L22", "PLN605"): "cluster { storage = 100 MB/s }  checkpoint { every = 100 steps  format = full }",
    ("L24", "PLN622"): 'launch { walltime = 2 h  slurm { signal = "TERM@600" } }  emit = [torchrun, slurm]',
    ("L25", "PLN620"): "cluster { cpu_cores = 8 }  dataset { workers = 4 }",
    ("L26", "PLN618"): 'cluster { cpu_cores = 96 }  launch { env { OMP_NUM_THREADS = "96" } }',
    ("L26", "PLN619"): 'cluster { cpu_cores = 96 }  offload { optimizer = cpu }  emit = [deepspeed]  '
    'launch { env { OMP_NUM_THREADS = "1" } }',
    ("L27", "PLN624"): 'launch { kubernetes { shared_memory = "64Mi" } }  emit = [kubernetes]',
    ("L31", "PLN604"): "launch { restarts = 3 }  train { duration = 1000 steps }",
    ("L32", "PLN623"): "cluster { nodes = 2 }  offload { optimizer = cpu }  emit = [deepspeed]",
    ("L33", "PLN711"): "train { deterministic = true }",
    ("L33", "PLN713"): "cluster { nodes = 2 }  train { deterministic = true  seed = 1 }  emit = [transformers]",
    ("L36", "PLN801"): "parallel { tensor = 4 }  dataset { shards = 15 }",
    ("L38", "PLN610"): 'launch { env { NCCL_ASYNC_ERROR_HANDLING = "1" } }  versions { torch = "2.13" }',
    ("L38", "PLN611"): 'launch { env { PYTORCH_ALLOC_CONF = "expandable_segments:True" } }  versions { torch = "2.9" }',
}  # fmt: skip


def test_every_kind_is_there_once() -> None:
    ids = [row[0] for row in ROWS]
    assert len(ids) == len(set(ids)) == 109
    assert len(re.findall(r"^\| [BL]\d\d ", TEXT, re.M)) == 109
    with shared("facts/misconfigurations.csv").open(newline="", encoding="utf-8") as file:
        assert set(ids) == {row["id"] for row in csv.DictReader(file)}


def test_every_code_and_every_test_that_is_named_exists() -> None:
    assert set(re.findall(r"PLN\d{3}", TEXT)) <= {kind.code for kind in all_kinds()}
    paths = re.findall(r"`(tests/[^`]+)`", TEXT)
    assert 20 < len(paths)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_who_says_so_is_a_rule_or_a_reason() -> None:
    named = set()
    for name, _, by, how in ROWS:
        codes = re.findall(r"PLN\d{3}", by)
        named.update((name, code) for code in codes)
        label = by.strip().strip("`")
        assert bool(codes) != (label in LABELS), (name, by)
        assert label != "written" or "`tests/" in how, name
    assert named == set(CASES)


@pytest.mark.parametrize(("name", "code"), CASES, ids=lambda value: str(value))
def test_the_rule_reports_the_kind(name: str, code: str) -> None:
    found = {one.code for one in analysis_of(f"{BASE}  {CASES[name, code]}\n}}\n").diagnostics}
    assert code in found


def test_what_is_harmless_is_not_reported() -> None:
    case = "parallel { sequence = true }  emit = [megatron]"
    found = analysis_of(f"{BASE}  {case}\n}}\n").diagnostics
    assert [one.code for one in found if one.severity is not Severity.INFO] == []  # the target says what it leaves


def test_the_page_is_plain_text() -> None:
    assert TEXT.isascii()
    assert [line for line in TEXT.splitlines() if 120 < len(line) and not line.startswith("|")] == []
