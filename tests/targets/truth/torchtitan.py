"""torchtitan.sh, with flags, and torchtitan.toml."""

from __future__ import annotations

import math
import shlex
import tomllib
from typing import Any

from tests.targets.truth.words import ranks

#: It takes no sizes of a model, and gathers keys and values for context ranks.
EMIT = 'torchtitan { module = "my_models"  flavor = "small" }'
NEEDS = "context = all-gather"
DRAWN = {"stage": (0, 2, 3, 3), "precision": ("bf16", "bf16", "fp32")}

_DTYPES = {"bfloat16": "bf16", "float32": "fp32"}
_RATES = ("optimizer.lr", "optimizer.param_groups.0.optimizer_kwargs.lr")


def values(files: dict[str, str]) -> dict[str, object]:
    """What the script, or the script and its TOML file, say."""
    script = files["torchtitan.sh"]
    said = toml_settings(files["torchtitan.toml"]) if "torchtitan.toml" in files else flag_settings(script)
    return {**ranks(script), **_values(said)}


def flag_settings(script: str) -> dict[str, Any]:
    """The settings of the script's flags by key, numbers read; a flag without a value is a bool."""
    _, _, rest = script.partition("\nset -- \\\n")
    block = rest.partition('  "$@"')[0].replace("\\\n", "\n")
    found: dict[str, Any] = {}
    for line in filter(str.strip, block.split("\n  ")):
        word, *more = shlex.split(line)
        if not word.startswith("--"):
            continue  # an argument of the plan
        key, equals, value = word.removeprefix("--").partition("=")
        section, _, name = key.rpartition(".")
        if equals:
            found[key] = value
        elif not more and name.startswith("no_"):
            found[f"{section}.{name.removeprefix('no_')}"] = False
        else:
            found[key] = True if not more else _number(more[0]) if len(more) == 1 else more
    return found


def toml_settings(text: str) -> dict[str, Any]:
    """The settings of a TOML file by dotted key."""

    def flat(table: dict[str, Any], prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in table.items():
            found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
        return found

    return flat(tomllib.loads(text), "")


def _number(word: str) -> Any:
    try:
        return float(word) if set(word) & set(".einf") else int(word)
    except ValueError:
        return word


def _values(said: dict[str, Any]) -> dict[str, object]:
    sizes = {name: said[f"parallelism.{name}_parallel_degree"] for name in ("tensor", "pipeline", "context", "expert")}
    data = said["parallelism.data_parallel_replicate_degree"] * said["parallelism.data_parallel_shard_degree"]
    local, whole = said["training.local_batch_size"], said["training.global_batch_size"]
    micro = local if sizes["pipeline"] == 1 else said["parallelism.pipeline_parallel_microbatch_size"]
    assert whole % (local * data) == 0  # as torchtitan asserts
    found: dict[str, object] = {
        **sizes,
        "data": data,
        "micro_batch": micro,
        "accumulation": whole // (micro * data),
        "global_batch": whole,
        "sequence": said["training.seq_len"],
        "precision": _DTYPES[said["training.mixed_precision_param"]],
    }
    if said["training.max_norm"] < math.inf:  # infinite where the plan clips nothing
        found["clip"] = said["training.max_norm"]
    for key in _RATES:
        if key in said:
            found["learning_rate"] = said[key]
    return found
