"""`MASTER_PORT` is the same for every job of the plan.

Why: two jobs that share their first node, such as two halves of an array, would meet at the same port: the
    second stops with `address already in use`, or joins the first. planc's scripts derive the port from the
    job's id, unless the environment holds one.

Example:
    use "planc/gpus"
    cluster one {
      gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8
      nics { count = 2  speed = 400 Gbit/s  names = ["mlx5_0", "mlx5_1"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { MASTER_PORT = "29500" } }
      emit = [slurm]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one {
      gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8
      nics { count = 2  speed = 400 Gbit/s  names = ["mlx5_0", "mlx5_1"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  restarts = 0 }
      emit = [slurm]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave it out, unless a firewall lets only this port through. `--unsafe-fixes` removes it.

Source: pytorch/pytorch#126510; templates/shell/master.sh.j2.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A port in the environment of a Slurm job over several nodes."""
    text = variables(plan).get("MASTER_PORT")
    if text is None or not plan.emits("slurm") or not 1 < facts["cluster.nodes"]:
        return
    yield Diagnostic(
        f"every job of this plan meets at port {text}",
        Label(variable_place(plan, "MASTER_PORT"), "a second job on the node finds it taken"),
        help=("leave it out: the script derives one from the job's id",),
        fixes=without(plan, "MASTER_PORT"),
    )


RULE = Rule(Severity.INFO, "plan", check, ("launch.env", "cluster.nodes"))
