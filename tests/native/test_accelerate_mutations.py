"""A sample of mutants of good configurations of accelerate: what it refuses has an error, and errors have their harm.

`python -m tests.native.accelerate_mutations` judges all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import yaml

from tests.consumers.running import needs
from tests.native.accelerate_mutations import FILES, HARM, JUDGE, every_mutant, mutants
from tests.native.mutating import Mutant, Verdict

#: One of so many mutants is judged.
SHARE = 4

#: Changes of which both have to say the same: a part of a file in place of another, and whether it is refused.
KNOWN = (
    ("multi", "distributed_type: MULTI_GPU\n", "", True), ("multi", "bf16", "bf17", True),
    ("multi", "num_machines: 2", "num_machines: 4", False),
    ("fsdp1", "version: 1", "version: '3'", True), ("fsdp1", "FULL_SHARD", "0", True),
    ("fsdp1", "FULL_SHARD", "2", False),
    ("fsdp1", "  fsdp_cpu_ram_efficient_loading: false\n", "", True),
    ("fsdp1", "sync_module_states: false", "sync_module_states: true", False),
    ("fsdp2", "after_forward: true", "after_forward: FULL_SHARD", True), ("fsdp2", "tp_size: 2", "tp_size: 0", True),
    ("fsdp2", "replicate_size: 1", "replicate_size: 2", True),
    ("fsdp2", "after_forward: true", "after_forward: false", False),
    ("deepspeed", "zero_stage: 3", "zero_stage: 2", False),
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A consumer that keeps its warnings to itself, and looks for no card."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def sample() -> list[Verdict]:
    """The verdicts on a sample."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DS_ACCELERATOR", "cpu")
        return list(JUDGE.verdicts(every_mutant(), SHARE))


def is_for_the_command_line(mutant: Mutant) -> bool:
    """Whether it lacks the number of processes only, which `--num_processes` may say as well: planc has advice."""
    return mutant.path == "num_processes" and mutant.kind in ("dropped", "= -1")


@pytest.mark.consumer
@needs("accelerate", "deepspeed")
def test_what_accelerate_refuses_has_an_error(sample: list[Verdict]) -> None:
    assert [each.crash for each in sample if each.crash] == []
    assert not any(each.is_missed and not is_for_the_command_line(each.mutant) for each in sample), JUDGE.report(sample)
    assert 100 < sum(each.refusal is not None for each in sample) < len(sample) - 100


@pytest.mark.consumer
@needs("accelerate", "deepspeed")
def test_what_planc_alone_reports_does_harm_that_is_written_down(sample: list[Verdict]) -> None:
    alone = {code for each in sample if each.refusal is None for code, _ in each.errors}
    assert alone - set(HARM) == set(), JUDGE.report(sample)


@pytest.mark.consumer
@needs("accelerate", "deepspeed")
@pytest.mark.parametrize("name", FILES)
def test_a_good_file_is_taken_by_both(name: str) -> None:
    found = JUDGE.verdict(Mutant(name, "as it is", "", FILES[name]))
    assert (found.errors, found.crash, found.refusal) == ((), "", None)


@pytest.mark.consumer
@needs("accelerate", "deepspeed")
@pytest.mark.parametrize(("name", "part", "other", "is_refused"), KNOWN)
def test_a_change_of_which_both_say_the_same(name: str, part: str, other: str, is_refused: bool) -> None:
    assert FILES[name].count(part) == 1
    found = JUDGE.verdict(Mutant(name, "known", part, FILES[name].replace(part, other)))
    assert ((found.refusal is not None), bool(found.errors)) == (is_refused, is_refused), found


@pytest.mark.parametrize("name", FILES)
def test_mutants_of_all_kinds_are_yaml(name: str) -> None:
    found = list(mutants(name, FILES[name]))
    assert 150 < len(found)
    assert {"dropped", "misspelt", "doubled", "= null", "= -1"} <= {mutant.kind for mutant in found}
    for mutant in found:
        assert isinstance(yaml.safe_load(mutant.text), dict)
    assert len({mutant.text for mutant in found}) > 0.97 * len(found)
