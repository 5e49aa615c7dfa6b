"""A sample of mutants of good command lines: what torchrun, accelerate and deepspeed refuse is told, and errors have
their harm.

`python -m tests.native.launcher_mutations` judges all of them.
"""

from __future__ import annotations

import shlex

import pytest

from tests.consumers.running import needs
from tests.native.launcher_mutations import HARM, JUDGE, LINES, every_mutant, mutants
from tests.native.mutating import Mutant, Verdict

#: One of so many mutants is judged.
SHARE = 4

#: Command lines of which both have to say the same, and whether they are refused.
KNOWN = (
    ("torchrun --nnodes=4:2 train.py", True), ("torchrun --nnodes=2:4 --rdzv-endpoint=h:1 train.py", False),
    ("torchrun --nproc_per_node=cuda train.py", True), ("torchrun --nproc_per_node=auto train.py", False),
    ("torchrun --nproc_per_nod 8 train.py", False), ("torchrun --nprocs 8 train.py", True),
    ("torchrun --rdzv 8 train.py", True), ("torchrun -m --no-python train", True),
    ("torchrun -m --no-python --run-path train", False), ("torchrun --rdzv-endpoint=h train.py", True),
    ("torchrun --rdzv-backend=c10d --rdzv-endpoint=h train.py", False), ("torchrun --tee=0:3,1:2 train.py", False),
    ("accelerate launch --use_fsdp --use_deepspeed train.py", True),
    ("accelerate launch --use_fsdp --use_megatron_lm --num_processes 8 train.py", False),
    ("accelerate launch --multi_gpu --num_processes 1 train.py", True),
    ("accelerate launch --mixed-precision bf16 train.py", False),
    ("accelerate launch --mixed_prec bf16 train.py", True),
    ("deepspeed --num_gpus 4 --include=localhost:0 train.py", True), ("deepspeed --num_gpus -1 train.py", False),
    ("deepspeed --include=localhost:0 --exclude= train.py", False), ("deepspeed --num_nodes 2 train.py", True),
    ("deepspeed --hostfile=hosts --include=one@two:7 train.py", False),
    ("deepspeed --hostfile=hosts --include=one@two:8 train.py", True),
)  # fmt: skip

pytestmark = [pytest.mark.usefixtures("quiet"), pytest.mark.consumer, needs("torch", "accelerate", "deepspeed")]


@pytest.fixture(scope="module")
def sample() -> list[Verdict]:
    """The verdicts on a sample."""
    return list(JUDGE.verdicts(every_mutant(), SHARE))


def test_what_a_launcher_refuses_is_told(sample: list[Verdict]) -> None:
    assert [each.crash for each in sample if each.crash] == []
    assert not any(each.is_missed for each in sample), JUDGE.report(sample)
    assert 300 < sum(each.refusal is not None for each in sample) < len(sample) - 100


def test_what_planc_alone_reports_does_harm_that_is_written_down(sample: list[Verdict]) -> None:
    alone = {code for each in sample if each.refusal is None for code, _ in each.errors}
    assert alone - set(HARM) == set(), JUDGE.report(sample)


@pytest.mark.parametrize("name", LINES)
def test_a_good_command_line_is_taken_by_both(name: str) -> None:
    found = JUDGE.verdict(Mutant(name, "as it is", "", LINES[name]))
    assert (found.errors, found.crash, found.refusal) == ((), "", None)


@pytest.mark.parametrize(("line", "is_refused"), KNOWN, ids=range(len(KNOWN)))
def test_a_command_line_of_which_both_say_the_same(line: str, is_refused: bool) -> None:
    found = JUDGE.verdict(Mutant("known", "as it is", "", line))
    assert (found.refusal is not None, bool(found.errors)) == (is_refused, is_refused), found


@pytest.mark.parametrize("name", LINES)
def test_mutants_of_all_kinds_are_made(name: str) -> None:
    found = list(mutants(name, LINES[name]))
    assert 80 < len(found)
    assert {"dropped", "misspelt", "doubled", "= -1", "one more", "without"} <= {mutant.kind for mutant in found}
    assert all(shlex.split(mutant.text)[0] == shlex.split(LINES[name])[0] for mutant in found)
