"""Mutants of good arguments of the Trainer, and what planc and `TrainingArguments` say of each.

`python -m tests.native.trainer_mutations [SHARE]` judges every mutant, or each `SHARE`-th of them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from planc.diagnostics.diagnostic import Severity
from planc.native.faults import UNKNOWN_KEY
from planc.native.job import judge
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.source import Source
from tests.native.mutating import Errors, Judge, Mutant

#: Good arguments, which name no backend that a machine without cards lacks.
FILES: dict[str, dict[str, Any]] = {
    "plain": {
        "output_dir": "out", "per_device_train_batch_size": 4, "per_device_eval_batch_size": 8,
        "gradient_accumulation_steps": 2, "learning_rate": 2e-5, "weight_decay": 0.1, "adam_beta1": 0.9,
        "adam_beta2": 0.95, "adam_epsilon": 1e-8, "max_grad_norm": 1.0, "num_train_epochs": 3,
        "lr_scheduler_type": "cosine", "warmup_steps": 10, "logging_steps": 10, "logging_strategy": "steps",
        "seed": 42, "dataloader_num_workers": 4, "dataloader_drop_last": True, "use_cpu": True, "optim": "adamw_torch",
    },
    "saving": {
        "output_dir": "out", "per_device_train_batch_size": 1, "gradient_accumulation_steps": 8, "max_steps": 1000,
        "save_strategy": "steps", "save_steps": 100, "save_total_limit": 3, "eval_strategy": "steps",
        "eval_steps": 100, "load_best_model_at_end": True, "metric_for_best_model": "loss",
        "greater_is_better": False, "save_only_model": False, "logging_first_step": True, "ddp_timeout": 1800,
        "ddp_find_unused_parameters": False, "remove_unused_columns": False, "label_smoothing_factor": 0.1,
        "report_to": "none", "bf16": False, "fp16": False, "use_cpu": True, "disable_tqdm": True,
    },
}  # fmt: skip

#: What the Trainer takes in silence and planc reports as an error: the harm, by code.
HARM = {
    "PLN014": "a value of another kind than the field has: it fails when the run begins",
    "PLN015": "a number below what it counts: there cannot be so many samples, steps or seconds",
    "PLN062": "a key that is none of the Trainer's, and near one: what it was meant to set keeps its default",
    "PLN063": "a value of another type than is meant, which is taken as it is and fails when it is used",
    "PLN064": "the first of two equal keys does nothing",
    "PLN069": "`auto` stays a text here, which fails when it is used",
    "PLN701": "a warm-up that the run does not finish",
    "PLN709": "a seed that no generator takes",
}

_VALUES = (None, True, 0, -1, 1, 1.5, "x", "8", "1e-5", "true", "auto", "", [], {}, [1])


def mutants(name: str, arguments: dict[str, Any]) -> Iterator[Mutant]:
    """Every mutant of some arguments: a key dropped, misspelt, doubled, and other values for it."""
    for key, value in arguments.items():
        rest = {other: each for other, each in arguments.items() if other != key}
        yield Mutant(name, "dropped", key, json.dumps(rest))
        for slip in dict.fromkeys((key[:-1], f"{key}s", key[1::-1] + key[2:], key.replace("_", "-"))):
            if slip != key:
                yield Mutant(name, "misspelt", key, json.dumps({**rest, slip: value}))
        yield Mutant(name, "doubled", key, f"{json.dumps(arguments)[:-1]}, {json.dumps(key)}: {json.dumps(value)}}}")
        for other in _VALUES:
            if (type(other), other) != (type(value), value):
                yield Mutant(name, f"= {json.dumps(other)}", key, json.dumps({**arguments, key: other}))


def _errors(text: str) -> Errors:
    """The errors; and warnings of keys, which may be the program's own and are the Trainer's at most by a slip."""
    found = recognise(Source("args.json", text), "transformers", True)
    if not isinstance(found, Recognised):
        assert found is not None
        return ((found.code, found.message),)
    judged = judge([found], lambda name, importer: "no such file")
    told = (each for each in judged.diagnostics if each.severity is Severity.ERROR or each.code == UNKNOWN_KEY.code)
    return tuple((each.code, each.message) for each in told)


def answer(text: str) -> str | None:
    """Why the Trainer refuses arguments that a program reads by `HfArgumentParser`; None if it takes them."""
    from transformers import HfArgumentParser, TrainingArguments

    before = dict(os.environ)
    parser: Any = HfArgumentParser
    try:
        parser([TrainingArguments]).parse_dict(json.loads(text))
    except (Exception, SystemExit) as error:  # whatever it raises is its answer
        return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
    finally:
        os.environ.clear()
        os.environ.update(before)
    return None


#: Both of them.
JUDGE = Judge("the Trainer", _errors, answer, HARM)


def every_mutant() -> Iterator[Mutant]:
    """The mutants of the good arguments."""
    return (mutant for name, arguments in FILES.items() for mutant in mutants(name, arguments))


if __name__ == "__main__":
    sys.exit(JUDGE.main(every_mutant()))
