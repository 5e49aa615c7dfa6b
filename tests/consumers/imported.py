"""Files of the corpus as plans, and what is emitted for these: the same values for whoever reads both."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

import yaml

from planc.native.composing import Parts
from planc.native.importing import Plan, plan_of
from planc.native.job import ALONE, Beside, read
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.source import Source
from tests.compiling import analysed, errors, files_of, load


def beside(ranks: int = 8, cluster: bool = True, model: bool = True) -> Beside:
    """A cluster of so many ranks, and a model that fits it, where no file names them."""
    nodes, cards = (ranks // 8, 8) if ranks % 8 == 0 else (1, ranks)
    text = f"cluster c {{\n  gpu = gb300-nvl72-288gb\n  nodes = {nodes}\n  gpus_per_node = {cards}\n}}\n"
    own = "c" if cluster else None
    return Beside(Parts(("planc/gpus", "planc/models"), text, own, "llama-3.2-1b" if model else None))


#: One node of 8 ranks.
BESIDE = beside()

#: What stands for fields that an import marks as missing: what their consumers take.
FILLED = {
    "# precision = ...": "precision = fp32",
    "# launch { script = ... }": 'launch { script = "train.py" }',
    "# gpu = ...": "gpu = gb300-nvl72-288gb",
    "# batch { global = ... }": "batch { global = 64  micro = 1 }",
    "# model = ...": "model = llama-3.2-1b",
    "# vocab = ...": "vocab = 50304",
    "# ffn = ...": "ffn = 4096",
    "# directory = ...": 'directory = "saved"',
    "# every = ...": "every = 100 steps",
    "# batch { global = ...  sequence_length = ... }": "batch { global = 64  micro = 1  sequence_length = 2048 }",
    "# dataset { path = ... }": 'dataset { path = "data" }',
    "# train { duration = ... }": "train { duration = 1000 steps }",
    "# checkpoint { directory = ... }": 'checkpoint { directory = "saved" }',
    "# optimizer { learning_rate = ... }": "optimizer { learning_rate = 1e-4 }",
    "# optimizer = ... { learning_rate = ... }": "optimizer = adamw { learning_rate = 1e-4 }",
}


class Emitted(NamedTuple):
    """What is emitted for the plan of some files: by path; or why nothing is."""

    files: dict[str, str]
    reason: str = ""


def emitted(files: dict[str, str], given: Beside = BESIDE) -> Emitted:
    """The files that are emitted for the plan of these, once what it lacks is filled in."""
    known = [recognise(Source(name, text), None, True) for name, text in files.items()]
    job = read([each for each in known if isinstance(each, Recognised)], load, given)
    faults = [each for each in job.diagnostics if each.severity.value == "error"]
    if faults:
        return Emitted({}, f"{faults[0].code}: {faults[0].message}")
    made: Plan = plan_of(job, "run", load, given, given.parts)
    text = made.text or ""
    micro, sizes = (
        re.search(r"micro += (\d+)", text),
        re.findall(r"(?:nodes|gpus_per_node) = (\d+)", given.parts.blocks),
    )
    size = math.prod(map(int, (micro[1] if micro is not None else "1", *sizes)))
    for mark, value in {**FILLED, "# global = ...": f"global = {size}"}.items():
        text = text.replace(mark, value)
    if given is ALONE:
        text = f'use "planc/gpus"\nuse "planc/models"\n{text}'
    analysis = analysed(text)
    left = errors(analysis)
    if left or made.refused or not analysis.plans:
        return Emitted({}, f"{left[0].code}: {left[0].message}" if left else ": ".join(made.refused[0]))
    return Emitted({file.path: file.text for file in files_of(analysis.plans[0])})


def arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the Trainer that agree with a DeepSpeed configuration, and say what it leaves to them."""

    def number(default: float, *path: str) -> float:
        at: Any = config
        for name in path:
            at = at.get(name) if isinstance(at, dict) else None
        return at if isinstance(at, (int, float)) and not isinstance(at, bool) else default

    def is_on(name: str) -> bool:
        return isinstance(config.get(name), dict) and config[name].get("enabled") in (True, "auto")

    betas = config.get("optimizer", {}).get("params", {}).get("betas")
    peak = number(5e-5, "scheduler", "params", "warmup_max_lr")
    first, second = betas if isinstance(betas, list) else (0.9, 0.999)
    return {
        "output_dir": "out", "deepspeed": "ds.json",
        "per_device_train_batch_size": int(number(1, "train_micro_batch_size_per_gpu")),
        "gradient_accumulation_steps": int(number(1, "gradient_accumulation_steps")),
        "max_grad_norm": number(1.0, "gradient_clipping"),
        "learning_rate": float(number(peak, "optimizer", "params", "lr")),
        "weight_decay": number(0.0, "optimizer", "params", "weight_decay"),
        "adam_beta1": first, "adam_beta2": second, "adam_epsilon": float(number(1e-8, "optimizer", "params", "eps")),
        "fp16": is_on("fp16") and not is_on("bf16"), "bf16": is_on("bf16"),
        "max_steps": int(number(1000, "scheduler", "params", "total_num_steps")),
        "warmup_steps": int(number(10, "scheduler", "params", "warmup_num_steps")),
    }  # fmt: skip


def in_yaml(content: dict[str, Any]) -> str:
    """Arguments as a file; numbers as YAML 1.1 reads them."""
    return yaml.safe_dump(content, sort_keys=False)


def has_auto(text: str) -> bool:
    """Whether a configuration leaves something to who reads it."""
    return '"auto"' in json.dumps(json.loads(text))
