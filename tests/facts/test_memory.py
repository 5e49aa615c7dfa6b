"""Model states per card against ZeRO (Rajbhandari et al. 2020), and where other engines keep other bytes.

Sources: ZeRO, section 3 (16 bytes a parameter: 2 + 2 + 12), figure 1 and table 1; EleutherAI, Transformer Math 101 (SGD
with momentum 8 bytes, 8-bit Adam 6); HF Ultra-Scale Playbook (7B with fp32 gradients: see the note at that test).
"""

import csv
from fractions import Fraction

import pytest

from planc.diagnostics.amounts import size_text
from planc.facts.states import optimizer_width
from planc.plan.model import Unknown
from tests.facts.given import facts_of, table

GB = 10**9
N = 7 * 10**9


def total(stage, p, *, engine="deepspeed", n=N, **given):
    return facts_of(
        engine, stage__expert_parameters=0, stage__parameters=n, shard__stage=stage, shard__size=p, **given
    )["memory.states"]


def test_seven_billion_parameters_on_eight_cards():
    assert total(0, 8) == 112 * GB
    assert total(3, 8) == 14 * GB
    assert (size_text(total(0, 8)), size_text(total(3, 8))) == ("112 GB", "14 GB")


@pytest.mark.parametrize("engine", ["deepspeed", "megatron", "generic"])
@pytest.mark.parametrize("p", [1, 2, 7, 8, 64, 1000])
def test_bytes_by_stage(engine, p):
    assert total(0, p, engine=engine) == 16 * N
    assert total(1, p, engine=engine) == 4 * N + Fraction(12 * N, p)
    assert total(2, p, engine=engine) == 2 * N + Fraction(14 * N, p)
    assert total(3, p, engine=engine) == Fraction(16 * N, p)


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_fp32_gradients_add_two_bytes(stage):
    p = 8
    more = total(stage, p, precision__gradients="fp32") - total(stage, p)
    assert more == (2 * N if stage < 2 else Fraction(2 * N, p))


def test_fsdp2_keeps_fp32_shards():
    for p in (1, 8, 64):
        assert total(3, p, engine="fsdp2") == Fraction(16 * N, p)
        # fp32 gradients are what its shards are anyway.
        assert total(3, p, engine="fsdp2", precision__gradients="fp32") == Fraction(16 * N, p)
        # Without resharding the gathered 16-bit weights stay until the backward pass ends.
        assert total(2, p, engine="fsdp2") == Fraction(16 * N, p) + 2 * N
    assert total(0, 8, engine="fsdp2") == 16 * N


def test_fsdp2_agrees_with_pytorchs_own_trackers():
    # consumers/mem_oracle.out: 8,030,261,248 parameters, world 64: 501,891,328 bytes of parameters, as many of
    # gradients, and 1,003,783,820 of states, of which 1,164 are the optimizer's step counters.
    facts = facts_of(
        "fsdp2", stage__expert_parameters=0, stage__parameters=8_030_261_248, shard__stage=3, shard__size=64
    )
    assert facts["memory.weights"] == facts["memory.gradients"] == 501_891_328
    assert facts["memory.optimizer"] == 1_003_783_820 - 1_164


def test_context_ranks_share_states_too():
    facts = facts_of(
        stage__expert_parameters=0, stage__parameters=N, shard__stage=3, shard__size=4, parallel__context=2
    )
    assert facts["memory.states"] == 14 * GB


def test_parts_at_stage_one():
    facts = facts_of(stage__expert_parameters=0, stage__parameters=N, shard__stage=1, shard__size=8)
    assert facts["memory.weights"] == facts["memory.gradients"] == 14 * GB
    assert facts["memory.optimizer"] == Fraction(21, 2) * GB


def test_fp32_training_has_no_second_copy():
    assert total(0, 8, precision="fp32", precision__gradients="fp32") == 16 * N


@pytest.mark.parametrize("precision", ["fp8", "fp4"])
def test_low_precision_products_keep_bf16_weights(precision):
    assert total(0, 8, precision=precision) == 16 * N


@pytest.mark.parametrize(
    ("optimizer", "states", "momentum", "master", "width"),
    [
        ("adamw", "fp32", None, "fp32", 12),
        ("adamw-8bit", "fp32", None, "fp32", 6),  # Transformer Math 101
        ("sgd", "fp32", Fraction(9, 10), "fp32", 8),  # Transformer Math 101
        ("sgd", "fp32", None, "fp32", 4),
        ("sgd", "fp32", 0, "fp32", 4),
        ("adafactor", "fp32", None, "fp32", 4),  # sums over rows and columns in place of moments
        ("lion", "fp32", None, "fp32", 8),
        ("muon", "fp32", None, "fp32", 8),
        ("adamw", "bf16", None, "bf16", 6),  # DeepSpeed: bf16_master_weights_and_grads and bf16_optimizer_states
    ],
)
def test_optimizer_width(optimizer, states, momentum, master, width):
    assert optimizer_width(optimizer, states, momentum, master, "bf16", False) == width


def test_optimizer_without_a_formula():
    assert isinstance(optimizer_width("adagrad", "fp32", None, "fp32", "bf16", False), Unknown)
    assert isinstance(total(0, 8, optimizer="adagrad"), Unknown)


def test_offload_leaves_the_card():
    facts = facts_of(
        stage__expert_parameters=0, stage__parameters=N, shard__stage=3, shard__size=8, offload__optimizer="cpu"
    )
    assert facts["memory.optimizer"] == 0
    assert facts["memory.states"] == Fraction(4 * N, 8)
    facts = facts_of(
        stage__expert_parameters=0, stage__parameters=N, shard__stage=3, shard__size=8, offload__weights="nvme"
    )
    assert facts["memory.weights"] == 0


def test_adapters_are_not_guessed():
    assert isinstance(total(3, 8, adapter="lora"), Unknown)


def test_headroom():
    facts = facts_of(memory__total=60, cluster__gpu__usable_memory=80)
    assert (facts["memory.capacity"], facts["memory.free"], facts["memory.headroom"]) == (80, 20, Fraction(1, 4))
    assert facts_of(memory__total=100, cluster__gpu__usable_memory=80)["memory.headroom"] == Fraction(-1, 4)
    assert isinstance(facts_of(memory__total=100, cluster__gpu__usable_memory=0)["memory.headroom"], Unknown)


def test_huge_and_zero_numbers_do_not_raise():
    huge = 10**99
    assert total(3, huge, n=huge**9) == 16 * huge**8
    assert size_text(total(1, 3, n=huge**9)).endswith("PB")
    assert isinstance(total(3, 0), Unknown)


def rows():
    with table("01a_zero_table1.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_cell_of_zero_table_1():
    """ZeRO, table 1: GB per device by parameters, data-parallel size and stage. Some cells are cut, not rounded."""
    checked = 0
    for row in rows():
        gigabytes = total(int(row["stage"]), int(row["dp"]), n=int(row["psi_params"])) / Fraction(GB)
        decimals = 10 ** int(row["printed_decimals"])
        printed = Fraction(row["mem_gb_printed"])
        if row["rounding"] == "truncated":
            assert gigabytes * decimals // 1 == printed * decimals, row["row_id"]
        else:
            assert row["rounding"] == "round"
            # Half a unit of the last place, both ways: the paper prints 4187.5 as 4187 and 30.35 as 30.4.
            assert abs(gigabytes - printed) * 2 * decimals <= 1, row["row_id"]
        checked += 1
    assert checked == 42


def test_ultra_scale_playbook_rows():
    """HF Ultra-Scale Playbook, read in table 10c: 16 GB, 112 GB and 6,480 GB for 1, 7 and 405 billion parameters.

    Its figure with fp32 accumulation, 20 bytes a parameter, keeps a 16-bit gradient beside the fp32 one, as nanotron
    does; the engines here keep one of the two, which is 18.
    """
    with table("10c_rules_and_flash.csv").open(newline="") as file:
        printed = {row["item"]: Fraction(row["value"]) for row in csv.DictReader(file) if "model states" in row["item"]}
    for size, parameters in (("1B", 10**9), ("7B", 7 * 10**9), ("405B", 405 * 10**9)):
        assert total(0, 1, n=parameters) == printed[f"model states {size} (fp32 or bf16 w/o fp32 grad acc)"] * GB
        accumulated = printed[f"model states {size} (bf16 with fp32 grad acc)"] * GB
        assert accumulated - total(0, 1, n=parameters, precision__gradients="fp32") == 2 * parameters
