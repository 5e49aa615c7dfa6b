"""The script is a whole command.

Why: `launch.script` is the path of one file, quoted in the launch script as it stands: `python train.py`
    would be looked up as a file with a blank in its name.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "python train.py --lr 1" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  args = ["--lr", "1"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the file alone, and its arguments in `args`; the launcher starts python itself. `--unsafe-fixes`
    does.

Source: torchrun and accelerate launch: the training script is one argument.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place
from planc.rules._repairs import Repair, writing
from planc.rules.rule import Rule

#: Programs that start a script.
_STARTERS = (
    "python", "python3", "torchrun", "accelerate", "deepspeed", "bash", "sh", "srun", "mpirun", "uv", "poetry", "exec",
    "time", "env", "nohup", "nsys",
)  # fmt: skip


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A script of several words of which the first is a program."""
    words = facts["launch.script"].split()
    if len(words) < 2 or words[0].rpartition("/")[2] not in _STARTERS:
        return
    file = next((at for at, word in enumerate(words) if word.endswith((".py", ".sh"))), None)
    repair = Repair("write the file alone, and its arguments in `args`")
    if file is not None:
        repair = _repair(plan, words[file], words[file + 1 :])
    yield Diagnostic(
        "the script is a command, not a file",
        Label(place(plan, "launch.script"), "looked up as one file, blanks included"),
        help=(repair.help,),
        fixes=repair.fixes,
    )


def _repair(plan: Plan, script: str, arguments: list[str]) -> Repair:
    """The file alone, and what stands behind it as `args`; written arguments are left for the user to put in order."""
    shown = ", ".join(f'`"{word}"`' for word in arguments)
    help = f'write `script = "{script}"`' + (f", and put {shown} into `args`" if shown else "")
    if any(mark in word for word in (script, *arguments) for mark in "\"'\\"):
        return Repair(help)  # the blanks between quotes are no ends of words
    if not arguments:
        return Repair(help, writing(plan, ("launch.script", f'"{script}"')))
    if plan.is_written("launch.args"):
        return Repair(help)
    listed = ", ".join(f'"{word}"' for word in arguments)
    return Repair(help, writing(plan, ("launch.script", f'"{script}"'), ("launch.args", f"[{listed}]")))


RULE = Rule(Severity.ERROR, "plan", check, ("launch.script",))
