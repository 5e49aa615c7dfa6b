"""What planc writes for Megatron-LM: flags that its parser has, and what megatron-core makes of them without a cluster.

`megatron_flags.json` has the flags of Megatron-LM's main groups in early 2026, the 0.16 line: those of its examples for
vision, retrieval, inference and reinforcement learning are left out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from planc.plan.model import Plan
from planc.targets._megatron_flags import flags
from tests.compiling import facts_of, file_of
from tests.consumers.emitted import all_plans
from tests.consumers.megatron_parser import flags_of_fields, parsed
from tests.consumers.megatron_table import table
from tests.consumers.running import needs
from tests.mutation.megatron_arguments import arguments, words_of

TABLE = Path(__file__).with_name("megatron_flags.json")
PLANS = [pytest.param(plan, id=name) for name, plan in all_plans() if plan.emits("megatron")]

asked = needs("torch", "megatron")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Megatron without its warnings about what is not installed."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def words(plan: Plan) -> list[str]:
    return words_of(file_of(plan, "megatron.args"))


@asked
def test_the_table_fits_the_installed_megatron() -> None:
    """Each field that Megatron-LM makes no flag of is one, and no flag is made twice."""
    import dataclasses

    from megatron.core.transformer.transformer_config import TransformerConfig

    found = json.loads(TABLE.read_text(encoding="utf-8"))
    assert set(found["without"]) <= {field.name for field in dataclasses.fields(TransformerConfig)}
    assert not found["flags"].keys() & flags_of_fields().keys()


@asked
def test_a_flag_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("--no-such-flag", "--optimizer=lion", "--micro-batch-size=x"):
        with pytest.raises(SystemExit):
            parsed([word])
    assert "invalid choice: 'lion'" in capsys.readouterr().err


@asked
@pytest.mark.parametrize("plan", PLANS)
def test_the_parser_reads_every_flag_as_it_was_meant(plan: Plan) -> None:
    args, names = parsed(words(plan)), {**json.loads(TABLE.read_text())["flags"], **flags_of_fields()}
    for flag in (flag for part in flags(plan, facts_of(plan)).values() for flag in part):
        read = getattr(args, names[f"--{flag.name}"].get("dest", flag.name.replace("-", "_")))
        if flag.value is True:
            assert read is not names[f"--{flag.name}"].get("default") and read in (True, False)
        elif isinstance(read, list | tuple):
            meant = flag.value if isinstance(flag.value, tuple) else (flag.value,)
            assert list(read) == list(meant) or str(list(read)).replace(" ", "")[1:-1] == str(flag.value).strip("[]")
        else:
            assert read == flag.value


@asked
@pytest.mark.parametrize("plan", PLANS)
def test_megatron_core_starts_with_it(plan: Plan) -> None:
    from tests.mutation.megatron_consumer import refusal

    given = arguments(words(plan), facts_of(plan)["world.size"])
    answer = refusal(given)
    assert answer is None or "DeepEP is not installed" in answer or "pin_memory" in answer, answer


@asked
@pytest.mark.parametrize("plan", PLANS)
def test_megatron_core_counts_as_the_facts_do(plan: Plan) -> None:
    """The sizes of the groups that Megatron makes, and the micro batches of a step."""
    from megatron.core import parallel_state

    from tests.mutation import megatron_consumer

    facts, given = facts_of(plan), arguments(words(plan), facts_of(plan)["world.size"])
    with megatron_consumer.cluster(facts["world.size"]):
        parallel_state.initialize_model_parallel(create_gloo_process_groups=False, **given["parallel"])
        try:
            sizes = {
                "parallel.tensor": parallel_state.get_tensor_model_parallel_world_size(),
                "parallel.pipeline": parallel_state.get_pipeline_model_parallel_world_size(),
                "parallel.context": parallel_state.get_context_parallel_world_size(),
                "parallel.data": parallel_state.get_data_parallel_world_size(),
                "parallel.expert": parallel_state.get_expert_model_parallel_world_size(),
            }
            batch = given["batch"]
        finally:
            parallel_state.destroy_model_parallel()
    assert sizes == {path: facts[path] for path in sizes}
    per_pass = batch["micro_batch_size"] * sizes["parallel.data"]
    assert divmod(batch["global_batch_size"], per_pass) == (facts["batch.accumulation"], 0)


def test_the_table_is_made_of_source(tmp_path: Path) -> None:
    """Flags of a parser, of a dataclass and of none, told apart as Megatron-LM's own factory does."""
    folder = tmp_path / "megatron" / "training"
    folder.mkdir(parents=True)
    (folder / "arguments.py").write_text(
        "def add(parser):\n"
        "    exclude = ['timers']\n"
        "    ArgumentGroupFactory(TransformerConfig, exclude=exclude)\n"
        "    ArgumentGroupFactory(Saving, exclude=['kept'])\n"
        "    group.add_argument('--lr', type=float, default=None, help='x')\n"
        "    group.add_argument('--no-fusion', action='store_false', dest='fusion')\n"
    )
    (folder / "training_config.py").write_text(
        "class Saving:\n"
        "    save: str | None = None\n"
        "    form: Literal['a', 'b'] = 'a'\n"
        "    kept: int = 1\n"
        "    check: bool = True\n"
        "    steps: int | None = field(init=False, default=None)\n"
        "    ramp: list[int] | None = field(default=None, metadata={'argparse_meta': {'nargs': 3}})\n"
    )
    assert table(tmp_path) == {
        "flags": {
            "--disable-check": {"action": "store_false", "dest": "check"},
            "--form": {"choices": ["a", "b"], "dest": "form", "type": "str"},
            "--lr": {"type": "float"},
            "--no-check": {"action": "store_false", "dest": "check"},
            "--no-fusion": {"action": "store_false", "dest": "fusion"},
            "--ramp": {"dest": "ramp", "nargs": 3, "type": "int"},
            "--save": {"dest": "save", "type": "str"},
        },
        "without": ["timers"],
    }
