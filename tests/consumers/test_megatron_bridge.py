"""What Megatron-Bridge makes of planc's overrides: its own recipe's configuration, changed and validated by its code.

Bridge is none of the consumers that are installed by default: it asks for an older transformers than the others, and
for TransformerEngine. `docs/targets/megatron-bridge.md` says how these tests are run. Hydra, whose grammar the
overrides have, is one of them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planc.plan.model import Plan
from planc.targets._megatron_bridge_config import Override, overrides, task
from planc.targets._megatron_bridge_text import words
from tests.compiling import ROOT, facts_of, files_of
from tests.consumers.bridge_world import Request, asked, schema, script_words
from tests.consumers.emitted import all_plans
from tests.consumers.running import needs

PLANS = {name: plan for name, plan in all_plans() if plan.emits("megatron-bridge")}

asked_of_bridge = needs("torch", "megatron.core", "megatron.bridge", "hydra")
asked_of_hydra = needs("hydra")

UNKNOWN, LATER, SPLIT = "model.no_such_field=1", "train.micro_batch_size=2", "model.tensor_model_parallel_size=3"

TEXTS = (
    "", "a b", "it's", "a\\b", "end\\", "q\\'q", '"', "$(X)", "a,b=c:d{e}[f]", "new\nline", "tab\t", "~", "true",
    "1", "1e3", "null", "NULL", "nan", "\\\\'\\\\", "#", "%", "caf\u00e9", " pad ", "a-b/c.d", "x:y", "-a",
)  # fmt: skip


def request(plan: Plan, folder: Path) -> Request:
    """What the emitted script hands Bridge."""
    files = {file.path: file.text for file in files_of(plan)}
    given, file = script_words(files["megatron_bridge.sh"]), None
    if "megatron_bridge.yaml" in files:
        file = str(folder / f"{plan.name}.yaml")
        Path(file).write_text(files["megatron_bridge.yaml"], encoding="utf-8")
        given = given[2:]
    return Request(task(plan), facts_of(plan)["world.size"], plan.value("model.attention") == "mla", given, file)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Bridge's answer to every plan of the tests, and to some changed ones, asked once."""
    folder = tmp_path_factory.mktemp("bridge")
    requests = {}
    for number, (name, plan) in enumerate(PLANS.items()):
        below = folder / str(number)
        below.mkdir()
        requests[name] = request(plan, below)
    first = next(iter(requests.values()))
    requests |= {word: first._replace(words=[*first.words, word]) for word in (UNKNOWN, LATER, SPLIT)}
    return dict(zip(requests, asked(requests.values()), strict=True))


@asked_of_bridge
@pytest.mark.parametrize("name", PLANS)
def test_bridge_takes_every_override_and_finds_no_fault(name: str, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[name]
    assert answer.get("error") is None
    for override in overrides(PLANS[name], facts_of(PLANS[name])):
        assert _meant(override, answer), override


@asked_of_bridge
@pytest.mark.parametrize("name", PLANS)
def test_bridge_counts_as_the_facts_do(name: str, answers: dict[str, dict[str, Any]]) -> None:
    answer, facts = answers[name], facts_of(PLANS[name])
    assert answer["data_parallel_size"] == facts["parallel.data"]
    per_pass = answer["train.micro_batch_size"] * answer["data_parallel_size"]
    assert divmod(answer["train.global_batch_size"], per_pass) == (facts["batch.accumulation"], 0)
    assert answer["model.num_layers"] == facts["model.layers"]


@asked_of_bridge
def test_bridge_refuses_what_its_recipe_does_not_have_and_lets_the_last_override_win(
    answers: dict[str, dict[str, Any]],
) -> None:
    assert "no_such_field" in answers[UNKNOWN]["error"]
    assert "not divisible" in answers[SPLIT]["error"]
    assert answers[LATER]["train.micro_batch_size"] == 2


@asked_of_bridge
def test_the_schema_has_the_fields_of_bridge() -> None:
    shipped = json.loads((ROOT / "schemas" / "megatron_bridge.schema.json").read_text(encoding="utf-8"))
    assert shipped == schema()


@asked_of_hydra
def test_hydra_reads_each_text_as_it_was_meant() -> None:
    for text in TEXTS:
        assert _read([Override("a", text, "")]) == {"a": text}
        assert _read([Override("a", [[text], None], "")]) == {"a": [[text], None]}
        assert _read([Override("a", {"_target_": text, "b": True}, "")]) == {"a": {"_target_": text, "b": True}}


@asked_of_hydra
@pytest.mark.parametrize("name", PLANS)
def test_hydra_reads_every_word_of_a_plan_as_it_was_meant(name: str) -> None:
    found = overrides(PLANS[name], facts_of(PLANS[name]))
    assert _read(list(found)) == {override.name: override.value for override in found}


def _read(found: list[Override]) -> dict[str, Any]:
    return {override.key_or_group: override.value() for override in _parser().parse_overrides(list(words(found)))}


@cache
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


#: What Bridge works out where an override leaves it open.
_WORKED_OUT = ("scheduler.lr_decay_iters", "model.num_query_groups", "model.expert_tensor_parallel_size",
               "model.microbatch_group_size_per_vp_stage", "model.virtual_pipeline_model_parallel_size",
               "model.pipeline_model_parallel_layout")  # fmt: skip


def _meant(override: Override, answer: dict[str, Any]) -> bool:
    """Whether Bridge has the value, or has it from the object that sets dtypes."""
    if override.name == "mixed_precision":
        fields = {name: value for name, value in override.value.items() if not name.startswith("_")}
        dtypes = {name: value["_target_"] for name, value in fields.items() if isinstance(value, dict)}
        return all(answer[f"mixed_precision.{name}"] == value for name, value in (fields | dtypes).items())
    if override.name == "comm_overlap" or (override.value is None and override.name in _WORKED_OUT):
        return True
    if override.name == "model.pipeline_model_parallel_layout":
        return answer[override.name] is not None
    return bool(answer[override.name] == override.value)
