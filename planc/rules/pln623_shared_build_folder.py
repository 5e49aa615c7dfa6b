"""Every node builds DeepSpeed's kernels in the same folder.

Why: DeepSpeed compiles its optimizer's kernels at the first start, in the home folder unless
    `TORCH_EXTENSIONS_DIR` says otherwise. Where that is shared, nodes wait for the lock of one another, and one
    that was killed leaves the lock behind: the next run stands still while it loads an extension.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { learning_rate = 1e-4 }
      offload  { optimizer = cpu }  shard { stage = 2 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { learning_rate = 1e-4 }
      offload  { optimizer = cpu }  shard { stage = 2 }
      launch   { script = "train.py"  env { TORCH_EXTENSIONS_DIR = "/tmp/torch_extensions" } }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: start the run by a script of planc's (`torchrun`, `slurm`, `env`), which builds on the node, set the variable to a
    folder of the node, or build the kernels with DeepSpeed (`DS_BUILD_CPU_ADAM=1`).

Source: torch/utils/cpp_extension.py of torch 2.13, _get_build_directory and its FileBaton; deepspeed 0.19.8,
    ops/op_builder, jit_load.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules._scripts import sets_environment
from planc.rules._variables import variables
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An optimizer on the host, over several nodes, whose kernels have no folder of their own."""
    nodes = facts["cluster.nodes"]
    if facts.engine.name != "deepspeed" or facts["offload.optimizer"] != "cpu" or not 1 < nodes:
        return
    if (
        sets_environment(plan)
        or "TORCH_EXTENSIONS_DIR" in variables(plan)
        or not (absent(plan, "launch.env") or variables(plan))
    ):
        return
    span = place(plan, "offload.optimizer")
    yield Diagnostic(
        f"{plural(nodes, 'node')} build the host's optimizer in the home folder",
        Label(span, "compiled at the first start"),
        related(plan, span, ("cluster.nodes", plural(nodes, "node"))),
        help=("set `TORCH_EXTENSIONS_DIR` in `launch.env` to a folder of the node",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("offload.optimizer", "cluster.nodes"))
