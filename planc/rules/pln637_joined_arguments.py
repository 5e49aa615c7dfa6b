"""An argument of the program holds an option and its value in one word.

Why: every text of `args` reaches the program as one word, quoted: `"--lr 1e-4"` is then one option with a blank in its
    name, which argparse refuses as unrecognized, or which a program that ignores what it does not know drops.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  args = ["--lr 1e-4"] }
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
      launch   { script = "train.py"  args = ["--lr", "1e-4"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the option and its value as two texts, or as `--lr=1e-4`. `--unsafe-fixes` writes the two.

Source: Python's argparse; torch.distributed.run, training_script_args.

Versions: all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Origin, Plan
from planc.rules._places import place
from planc.rules.rule import Rule
from planc.source import Span


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Each argument that begins like an option and goes on behind a blank."""
    for text in plan.value("launch.args") or ():
        if not isinstance(text, str) or not re.match(r"--?[A-Za-z][\w.-]*\s", text):
            continue
        words = _words(text)
        span = _place(plan, text)
        shown = ", ".join(map(_quoted, words))
        yield Diagnostic(
            f"{len(words)} words in one argument of the program",
            Label(span, "it arrives as one word"),
            help=(f"write `{shown}`",),
            fixes=_fix(plan, span, text, shown),
        )


def _words(text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError:  # a quotation that does not end
        return text.split()


def _quoted(text: str) -> str:
    """A text as a plan writes it."""
    import json

    return json.dumps(text, ensure_ascii=False)


def _place(plan: Plan, text: str) -> Span:
    """Where the text stands among the arguments; their entry if it is not found."""
    entry = place(plan, "launch.args", "launch")
    start = entry.text.find(_quoted(text))
    return entry if start < 0 else Span(entry.source, entry.start + start, entry.start + start + len(_quoted(text)))


def _fix(plan: Plan, span: Span, text: str, shown: str) -> tuple[Fix, ...]:
    own = plan["launch.args"].origin is Origin.WRITTEN and span.source is plan.span.source
    if not own or span.text != _quoted(text):
        return ()
    return (Fix(f"write `{shown}`", (Edit(span, shown),), safe=False),)


RULE = Rule(Severity.ERROR, "plan", check, ("launch.args",))
