"""A sample of the grid: every mutant that a consumer refuses has an error, and every error is refused or has its harm.

`python -m tests.mutation` judges the whole grid, and prints the counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from planc.kinds import known_rules
from tests.compiling import written_out
from tests.consumers.running import needs
from tests.consumers.slurm_cluster import Cluster, why_not
from tests.mutation.asked import CALLER, questions
from tests.mutation.consumers import CONSUMERS
from tests.mutation.counting import Count, counted, is_listed, report
from tests.mutation.grid import mutants, with_value
from tests.mutation.harm import ALL, HARM
from tests.mutation.judging import Judge, plan_of, verdicts
from tests.mutation.plans import PLANS, Clean, text_of
from tests.mutation.slurm_consumer import NODES, PARTITIONS, consumer
from tests.targets.stubs import Stubs

#: One of so many mutants is judged; it divides no number of values of a field, so that all kinds of change come up.
SHARE = 13

all_consumers = needs("torch", "deepspeed", "accelerate", "megatron")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Consumers that keep their warnings to themselves."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Count]:
    """The counts of the sample, with Slurm among the consumers where it can be started."""
    if why_not() is not None:
        yield counted(verdicts(Judge(), SHARE))
        return
    folder = tmp_path_factory.mktemp("slurm")
    cluster = Cluster(folder, NODES, PARTITIONS)
    try:
        cluster.start()
        yield counted(verdicts(Judge({"slurm": consumer(cluster, folder)}), SHARE))
    finally:
        cluster.stop()


@pytest.mark.consumer
@pytest.mark.slow
@all_consumers
def test_what_a_consumer_refuses_has_an_error(sample: Count) -> None:
    assert not sample.missed, report(sample, 0)
    assert 100 < len(sample.confirmed)


@pytest.mark.consumer
@pytest.mark.slow
@all_consumers
def test_an_error_is_refused_or_does_harm_that_is_written_down(sample: Count) -> None:
    assert not sample.unexplained, report(sample, 0)


@pytest.mark.consumer
@pytest.mark.slow
@all_consumers
def test_no_mutant_stops_planc(sample: Count) -> None:
    assert not sample.crashed, sample.crashed[0].crash


@pytest.mark.consumer
@all_consumers
@pytest.mark.parametrize("clean", PLANS, ids=lambda clean: f"{clean.trainer}-{clean.name}")
def test_a_clean_plan_is_taken(clean: Clean) -> None:
    asked = questions(plan_of(clean), clean.trainer)
    assert asked
    for question in asked:
        if question.consumer in CONSUMERS:
            assert CONSUMERS[question.consumer](question.about) is None


@pytest.mark.consumer
@all_consumers
def test_a_known_fault_is_refused() -> None:
    """One for each consumer, so that none of them takes whatever it is given."""
    for name, path, value in (
        ("zero1", "batch.micro", 3),
        ("torchrun-several", "cluster.nodes", 0),
        ("fsdp2-tensor", "parallel.tensor", 3),
        ("tensor", "parallel.tensor", 3),
    ):
        clean = next(clean for clean in PLANS if clean.name == name)
        changed = with_value(plan_of(clean), path, value)
        answers = [CONSUMERS[asked.consumer](asked.about) for asked in questions(changed, clean.trainer)]  # type: ignore[arg-type]
        assert any(answers), name


def test_plans_of_all_kinds() -> None:
    assert 30 <= len(PLANS)
    assert {clean.trainer for clean in PLANS} == set(ALL)
    assert len({clean.name for clean in PLANS}) == len(PLANS)


def test_the_grid_is_large_and_has_every_kind_of_change() -> None:
    clean = PLANS[0]
    found = list(mutants(clean, plan_of(clean)))
    assert 10_000 <= len(found) * len(PLANS)
    assert {mutant.kind for mutant in found} == {"0", "-1", "odd", "double", "half", "word", "empty", "absent"}
    assert len({text_of(clean, mutant.fields) for mutant in found}) == len(found)
    changed = {mutant.path for mutant in found}
    assert {"parallel.tensor", "model.layers", "cluster.nodes", "batch.micro", "launch.walltime"} <= changed


def test_harm_is_that_of_errors() -> None:
    known = known_rules()
    assert [code for code in HARM if code not in known or known[code][1].value != "error"] == []
    assert all(set(trainers) <= set(ALL) and reason for trainers, reason in HARM.values())
    assert is_listed("PLN301", "megatron")
    assert not is_listed("PLN103", "megatron")  # Megatron refuses it


@pytest.mark.parametrize("name", ["zero1", "torchrun-one", "fsdp2-tensor", "zero2"])
def test_the_scripts_are_read_as_bash_runs_them(name: str, tmp_path: Path) -> None:
    clean = next(clean for clean in PLANS if clean.name == name)
    plan = plan_of(clean)
    (asked,) = [asked for asked in questions(plan, clean.trainer) if "argv" in asked.about]
    folder = written_out(plan, tmp_path / "out")
    variables = {name: value for name, value in CALLER.items() if name.isupper()}
    outcome = Stubs(tmp_path / "stubs").run(folder / f"{asked.consumer}.sh", cwd=tmp_path, **variables)
    (call,) = outcome.of(asked.consumer)
    assert [word.replace("/out/", f"{folder}/") for word in asked.about["argv"]] == call.argv
