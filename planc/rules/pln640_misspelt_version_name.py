"""`versions` states a version of something that no rule asks for, and is close to what they ask for.

Why: keys of `versions` are free, so a misspelt one is no fault of the language: it only keeps every rule about
    that package silent, and the plan looks as if it had been judged.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { pytorch = "2.6" }
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
      versions { torch = "2.6" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the name that the help gives. `--unsafe-fixes` writes it.

Source: the rules of planc that read `versions`; the names of the packages on PyPI.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Origin, Plan
from planc.rules._places import key_place
from planc.rules._variables import texts
from planc.rules.rule import Rule

#: The names by which rules, targets and policies ask.
_NAMES = (
    "torch", "cuda", "driver", "nccl", "python", "deepspeed", "accelerate", "transformers", "megatron-core",
    "torchtitan", "transformer-engine", "nanotron", "gpt-neox", "megatron-bridge", "slurm", "bitsandbytes", "peft",
    "lightning", "ray", "skypilot", "torchx",
)  # fmt: skip
_OTHER_NAMES = {
    "pytorch": "torch", "cuda-toolkit": "cuda", "nvidia-driver": "driver", "megatron": "megatron-core",
    "megatron-lm": "megatron-core", "core": "megatron-core", "te": "transformer-engine", "hf-accelerate": "accelerate",
    "huggingface": "transformers", "libnccl": "nccl", "nvidia-nccl": "nccl",
}  # fmt: skip
_MOST = 40  # letters of a name that is compared


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Each key that is not one of the names and means one of them that is not stated besides."""
    stated = texts(plan, "versions")
    for name in stated:
        meant = _meant(name)
        if meant and meant not in stated:
            span = key_place(plan, "versions", name)
            is_own = plan["versions"].origin is Origin.WRITTEN and span.text.strip('"') == name
            yield Diagnostic(
                f"no rule asks for the version of `{name}`",
                Label(span, f"did you mean `{meant}`?"),
                help=(f"write `{meant}`",),
                fixes=(Fix(f"write `{meant}`", (Edit(span, meant),), safe=False),) if is_own else (),
            )


def _meant(name: str) -> str | None:
    plain = name.lower().replace("_", "-")
    if name in _NAMES or _MOST < len(name):
        return None
    if plain in _NAMES:
        return plain
    from difflib import get_close_matches

    return _OTHER_NAMES.get(plain) or next(iter(get_close_matches(plain, _NAMES, 1, 0.8)), None)


RULE = Rule(Severity.WARNING, "plan", check, ("versions",))
