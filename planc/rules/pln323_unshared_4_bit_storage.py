"""Whether FSDP2 shares the 4-bit weights depends on how they are stored.

Why: bitsandbytes packs 4-bit weights into bytes, uint8 unless told otherwise. FSDP shares tensors of floating
    types only: accelerate leaves the others out, and each card holds all 4-bit weights, half a byte of each
    parameter, not its part; earlier versions stop. Stored as the type of the other weights they are cut like
    these.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      adapter  = lora { rank = 16  base = nf4 }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      adapter  = lora { rank = 16  base = nf4 }
      emit     = [accelerate]
      launch   { script = "train.py"  args = ["--bnb_4bit_quant_storage", "bfloat16"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: `bnb_4bit_quant_storage` as the plan's precision, in the script or by its flag; then the finding is gone,
    or may be allowed.

Source: accelerate 1.15, utils/fsdp_utils.py, fsdp2_prepare_model, which names the parameters that it leaves
    out; bitsandbytes issue 970; peft, guide to FSDP and QLoRA.

Versions: PyTorch 2.7 and later with accelerate 1.15; before, the run stops with an error of dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._arguments import arguments
from planc.rules._loading import is_of_hugging_face
from planc.rules._places import place, related
from planc.rules.rule import Rule

_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """4-bit weights under FSDP2 whose storage nothing says, or which no FSDP takes."""
    dtype = _DTYPES.get(facts["precision"])
    if facts["adapter.base"] != "nf4" or facts.engine.runtime != "fsdp2" or dtype is None:
        return
    argument = arguments(plan).get("bnb_4bit_quant_storage")
    if not is_of_hugging_face(plan) or (argument is not None and argument.value == dtype):
        return
    span = place(plan, "adapter.base", "adapter")
    stored = "uint8 unless told otherwise" if argument is None else argument.value
    yield Diagnostic(
        f"4-bit weights that FSDP2 shares only as {dtype}",
        Label(span, f"stored as {stored}: then each card holds all"),
        related(plan, span, ("launch.args", ""), ("shard.stage", "")),
        help=(f"set `bnb_4bit_quant_storage` to {dtype} in the script",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("adapter.base", "precision"))
