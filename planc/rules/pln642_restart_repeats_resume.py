"""Each new start of the run goes on from an old checkpoint again, and not from what the run itself has saved.

Why: Megatron, gpt-neox, nanotron, Lightning and the Hugging Face Trainer are told a folder to load from, and go there
    at every start; `resume.step` names one step of it. A run that is started again after a failure, or requeued at the
    end of its walltime, repeats the same steps each time, and what it saved meanwhile is never read. torchtitan looks
    into the run's own folder first, unless a step is named.

Example:
    gpu card { memory = 80 GiB  bf16 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model      = small
      cluster    = one
      launch     { script = "pretrain_gpt.py"  restarts = 3 }
      train      { duration = 20_000 steps }
      checkpoint { every = 500 steps  directory = "/ckpt/new" }
      resume     { directory = "/ckpt/old"  step = 5000 }
      batch      { global = 64  micro = 1 }
      precision  = bf16
      emit       = [megatron]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model      = small
      cluster    = one
      launch     { script = "pretrain_gpt.py"  restarts = 3 }
      train      { duration = 20_000 steps }
      checkpoint { every = 500 steps  directory = "/ckpt/old" }
      resume     { directory = "/ckpt/old" }
      batch      { global = 64  micro = 1 }
      precision  = bf16
      emit       = [megatron]
    }

Fix: with Megatron, gpt-neox or nanotron save into the folder from which the run goes on, without a step, or copy the
    old checkpoint to the new folder first. The Trainer and Lightning take one checkpoint, not a folder of them: let
    the program look for its newest first, and leave `resume` out.

Source: Megatron-LM 0.16, megatron/training/checkpointing.py (`args.load`, `args.ckpt_step`); transformers 5.23,
    Trainer.train(resume_from_checkpoint); torchtitan 0.3, CheckpointManager.load.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

#: Trainers that load from the folder that they are told, whatever lies in the run's own.
_TOLD = ("megatron", "megatron-bridge", "gpt-neox", "nanotron", "transformers", "lightning")

#: Those of them that take one checkpoint, not the folder in which a run saves many.
_ONE = ("transformers", "lightning")

#: Options by which a target starts all nodes anew.
_ANEW = {"recreate": "kubernetes", "recover": "skypilot"}

#: Trainers that take a step of a folder by its number.
_COUNTED = ("megatron", "megatron-bridge", "torchtitan")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A folder or step that is loaded at every start, beside restarts or a job that is queued again."""
    again = _starts_again(plan, facts)
    if again is None or not plan.is_written("resume.directory"):
        return
    resumed, saved = plan.value("resume.directory"), plan.value("checkpoint.directory")
    step = plan.value("resume.step") if plan.is_written("resume.step") else None
    if not isinstance(resumed, str) or not isinstance(saved, str) or isinstance(step, Unknown):
        return
    elsewhere = resumed.rstrip("/") != saved.rstrip("/")
    if elsewhere and plan.emits(*_TOLD):
        span, why = place(plan, "resume.directory"), f"and not from `{saved}`, where it saves"
    elif step is not None and not elsewhere and plan.emits(*_COUNTED):
        span, why = place(plan, "resume.step"), "and not from the last that it saved"
    else:
        return
    of = f"step {step} of `{resumed}`" if step is not None else f"`{resumed}`"
    yield Diagnostic(
        f"every new start goes on from {of}",
        Label(span, why),
        related(plan, span, (again, "starts it again"), ("checkpoint.directory", "what it saves")),
        help=(_help(plan, resumed, elsewhere),),
        fixes=_fixes(plan, elsewhere and step is None),
    )


def _help(plan: Plan, resumed: str, elsewhere: bool) -> str:
    if elsewhere and plan.emits(*_ONE):
        return "let the program look for its newest checkpoint first, and leave `resume` out"
    if elsewhere:
        return f'save where it goes on: `checkpoint {{ directory = "{resumed}" }}`, and no `resume.step`'
    return "leave `resume.step` out"


def _fixes(plan: Plan, may_share: bool) -> tuple[Fix, ...]:
    """The fix that saves into the folder of the old checkpoint, where that mends all."""
    if not may_share or plan.emits(*_ONE):
        return ()
    return writing(plan, ("checkpoint.directory", plan["resume.directory"].span.text))


def _starts_again(plan: Plan, facts: Facts) -> str | None:
    """The field by which the run is started more than once; None if none is known."""
    if 0 < facts["launch.restarts"]:
        return "launch.restarts"
    options = plan.value("launch.slurm") if plan.is_written("launch.slurm") else {}
    if plan.emits("slurm") and not isinstance(options, Unknown) and "requeue" in options:
        return "launch.slurm"
    again = ((choice, name) for choice in plan.targets for name in _ANEW if choice.name == _ANEW[name])
    return "emit" if any(choice.options.is_written(name) for choice, name in again) else None


RULE = Rule(
    Severity.WARNING,
    "plan",
    check,
    ("resume.directory", "launch.restarts"),
)
