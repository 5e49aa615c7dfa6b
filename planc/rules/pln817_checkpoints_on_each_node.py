"""Checkpoints go to a folder that every node has for itself.

Why: /tmp, /var/tmp and /dev/shm are disks or memory of one node. Each writes its own part there, none has all,
    and when the job ends they are gone with it.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 500 steps  directory = "/tmp/ckpt" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 500 steps  directory = "/scratch/ckpt" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: save to the shared file system; a relative path lies in the folder from which the job is submitted.

Source: Filesystem Hierarchy Standard 3.0, /tmp; tmpfs(5).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule

_LOCAL = ("/tmp", "/var/tmp", "/dev/shm")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A folder of the node, in a job over several."""
    folder, nodes = facts["checkpoint.directory"], facts["cluster.nodes"]
    local = next((path for path in _LOCAL if f"{folder}/".startswith(f"{path}/")), None)
    if local is None or nodes < 2:
        return
    span, name = place(plan, "checkpoint.directory"), folder.removeprefix(local).strip("/") or "ckpt"
    yield Diagnostic(
        f"each of {plural(nodes, 'node')} saves to its own `{local}`",
        Label(span, "no node has all of a checkpoint"),
        related(plan, span, ("cluster.nodes", plural(nodes, "node"))),
        help=(f'use the shared file system, such as `directory = "{name}"`',),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("checkpoint.directory", "cluster.nodes"))
