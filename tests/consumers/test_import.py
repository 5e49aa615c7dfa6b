"""Import and back: for a file of the corpus a plan is made and a file emitted, and the consumer resolves both alike.

What differs is listed in `DIFFERS`, with the reason; a field of which planc knows differs nowhere.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.source import Source
from tests.consumers.deepspeed_world import World
from tests.consumers.imported import arguments, emitted, has_auto, in_yaml
from tests.consumers.running import needs
from tests.native.deepspeed_mutations import WORLD
from tests.shared import shared

pytestmark = [pytest.mark.consumer, needs("deepspeed", "transformers")]

_OF_PROGRAM = "it is a setting of DeepSpeed's own for which a plan has no field; it is listed at the plan's end"
_OFF = "a section that turns itself off is left out"

#: Values that DeepSpeed resolves otherwise, by the beginning of their names.
DIFFERS = {
    "steps_per_print": _OF_PROGRAM, "disable_allgather": _OF_PROGRAM,
    "prescale_gradients": _OF_PROGRAM, "compile_config": _OF_PROGRAM, "torch_autocast": _OF_PROGRAM,
    "data_efficiency": _OF_PROGRAM, "zero_allow_untested_optimizer": _OF_PROGRAM,
    "zero_force_ds_cpu_optimizer": _OF_PROGRAM, "float16_config.": _OF_PROGRAM,
    "optimizer_name": "`Adam` decays weights as `AdamW` does here, where nothing else is said",
    "optimizer_params": "only what a plan has fields for; where the file has no optimizer, the Trainer makes this one",
    "scheduler_name": "the Trainer makes it from its arguments where the file has none, else the program",
    "scheduler_params": "the Trainer makes it from its arguments where the file has none, else the program",
    "zero_config.overlap_comm": _OF_PROGRAM, "zero_config.contiguous_gradients": _OF_PROGRAM,
    "zero_config.allgather_bucket_size": _OF_PROGRAM, "zero_config.sub_group_size": _OF_PROGRAM,
    "zero_config.gather_16bit_weights_on_model_save": _OF_PROGRAM, "zero_config.max_live_parameters": _OF_PROGRAM,
    "zero_config.stage3_gather_fp16_weights_on_model_save": _OF_PROGRAM,
    "zero_config.max_reuse_distance": _OF_PROGRAM, "zero_config.model_persistence_threshold": _OF_PROGRAM,
    "zero_config.zenflow": _OF_PROGRAM, "zero_config.zero_quantized": _OF_PROGRAM,
    "zero_config.param_persistence_threshold": "the target takes what the Trainer takes for `auto`",
    "zero_config.prefetch_bucket_size": "the target takes what the Trainer takes for `auto`",
    "zero_config.offload_param": _OFF, "zero_config.offload_optimizer": _OFF,
}  # fmt: skip

#: Of these, the ones that make no difference at the stage of the file.
_AT_STAGE_0 = ("zero_config.reduce_bucket_size",)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepSpeed as on a machine without cards, in a world of `WORLD` ranks."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    import deepspeed.comm.comm

    monkeypatch.setattr(deepspeed.comm.comm, "cdb", World(WORLD))
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """All values that DeepSpeed makes of a configuration, by their names."""
    from deepspeed.runtime.config import DeepSpeedConfig

    made = vars(DeepSpeedConfig(copy.deepcopy(config)))
    return dict(_flat("", {name: value for name, value in made.items() if name != "_param_dict"}))


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    names = getattr(type(value), "model_fields", None)
    if names is not None:
        value = {name: getattr(value, name, None) for name in names}
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), inner)
    else:
        yield (
            path,
            value if isinstance(value, (bool, int, float, str, list, tuple, type(None))) else type(value).__name__,
        )


def by_trainer(config: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A configuration as the Trainer hands it on, with these arguments and a model of the plan's width."""
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    told = SimpleNamespace(
        **given, world_size=WORLD, bf16_full_eval=False, fp16_full_eval=False, save_on_each_node=False,
        get_warmup_steps=lambda steps: given["warmup_steps"],
    )  # fmt: skip
    made = HfTrainerDeepSpeedConfig(copy.deepcopy(config))
    made.trainer_config_process(told)
    model = SimpleNamespace(config=SimpleNamespace(hidden_size=2048))
    made.trainer_config_finalize(told, model, given["max_steps"])
    found: dict[str, Any] = made.config
    return found


def files() -> dict[str, str]:
    """The DeepSpeed files of the corpus that are JSON, and no files of gpt-neox."""
    found = {}
    for path in sorted(shared("corpus/deepspeed").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        try:
            json.loads(text)
        except ValueError:
            continue  # a template with gaps
        known = recognise(Source(path.name, text), None, True)
        if isinstance(known, Recognised) and known.kind.name == "deepspeed":
            found[path.name] = text
    return found


def original(text: str) -> dict[str, Any] | None:
    """What DeepSpeed makes of a file of the corpus; None if it, or the Trainer, refuses it."""
    config = json.loads(text)
    try:
        return resolved(by_trainer(config, arguments(config)) if has_auto(text) else config)
    except Exception:  # whatever it raises, it takes no such file
        return None


def again(text: str) -> dict[str, Any] | str:
    """What DeepSpeed makes of the file that is emitted for the plan of a file; or why none is emitted."""
    config = json.loads(text)
    if not has_auto(text):
        made = emitted({"ds.json": text})
        return made.reason or resolved(json.loads(made.files["ds_config.json"]))
    given = arguments(config)
    made = emitted({"ds.json": text, "args.yaml": in_yaml(given)})
    return made.reason or resolved(by_trainer(json.loads(made.files["ds_config.json"]), given))


def test_deepspeed_resolves_what_is_emitted_again_as_the_file_of_the_corpus() -> None:
    compared, listed, unlisted, refused = 0, set(), {}, {}
    for name, text in files().items():
        one = original(text)
        if one is None:
            continue
        other = again(text)
        if isinstance(other, str):
            refused[name] = other
            continue
        compared += 1
        for key in {*one, *other}:
            if one.get(key) == other.get(key) or (key in _AT_STAGE_0 and not one["zero_config.stage"]):
                continue
            reason = next((each for each in DIFFERS if key.startswith(each)), None)
            if reason is None or (DIFFERS[reason] == _OFF and _is_on(one, key)):
                unlisted[name, key] = (one.get(key), other.get(key))
            else:
                listed.add(reason)
    assert unlisted == {}
    assert refused == {}
    assert set(DIFFERS) == listed, "listed, and alike in all files"
    assert 50 < compared


def _is_on(found: dict[str, Any], key: str) -> bool:
    """Whether a section of offloading that is gone had an effect: what holds weights has none below stage 3."""
    section = ".".join(key.split(".")[:2])
    device = getattr(found.get(f"{section}.device"), "value", found.get(f"{section}.device"))
    below = section.endswith("param") and found["zero_config.stage"] < 3
    return device not in (None, "none") and not below
