"""The script is a whole command.

Why: `launch.script` is the path of one file, quoted in the launch script as it stands: `python train.py`
    would be looked up as a file with a blank in its name, and `-m` as a file of that name.

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

import re
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


#: What python would read before a file, if it were called with it.
_OPTIONS_OF_PYTHON = ("-m", "-c", "-u", "-O", "-OO", "-X", "-W", "-E", "-I", "-s", "-S", "-B")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A script of several words of which the first is a program, or an option of python."""
    words = facts["launch.script"].split()
    called = bool(words) and words[0].rpartition("/")[2] in _STARTERS
    inner = words[1:] if called and words[1:2] == ["-m"] else words
    if inner and inner[0] in _OPTIONS_OF_PYTHON:
        yield _module(plan, inner)
        return
    if len(words) < 2 or not called:
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


def _module(plan: Plan, words: list[str]) -> Diagnostic:
    """The fault of an option in place of the file; the module is what stands behind it, there or in `args`."""
    option, *rest = words
    given = plan["launch.args"].value
    named = (*rest, *(given if isinstance(given, tuple) else ()))
    module = named[0] if option == "-m" and named and re.fullmatch(r"[A-Za-z_][\w.]*", named[0]) else None
    file = next((word for word in named if word.endswith(".py")), "train.py")
    if module:
        file = module.replace(".", "/") + ".py"
    notes = (f"or write a file of two lines that runs it: `import runpy` and `runpy.{_run(module)}`",) if module else ()
    return Diagnostic(
        f"`{option}` is an option of python, and `launch.script` a file",
        Label(place(plan, "launch.script"), "no field starts a module" if option == "-m" else "looked up as a file"),
        help=(f'write the path of its file: `script = "{file}"`',),
        notes=notes,
    )


def _run(module: str) -> str:
    return f'run_module("{module}", run_name="__main__", alter_sys=True)'


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
