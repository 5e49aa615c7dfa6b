"""What a plan's text means: references, inheritance, narrowing, `auto`, units, and what a fault spreads to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from planc.compiler import analyse
from planc.plan.model import Origin, Plan, Unknown
from planc.source import Source
from tests.analysis import analysis_of, codes

BASE = """\
gpu card { memory = 80 GiB  bf16 = 989 TFLOPS  link = 450 GB/s }
cluster pair { gpu = card  nodes = 2  gpus_per_node = 8  nics { count = 8  speed = 400 Gbit/s } }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }
template shared { model = small  cluster = pair  precision = bf16  batch { global = 64  micro = 1 } }
"""


def plan(text: str, base: str = BASE) -> Plan:
    """The last plan of a text after the base; the text has no fault."""
    analysis = analysis_of(base + text)
    assert codes(analysis) == []
    return analysis.plans[-1]


def value(text: str, path: str) -> Any:
    return plan(text)[path].value


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("model.kv_heads", 8),
        ("model.head_dim", 128),
        ("model.attention", "full"),
        ("cluster.domain", 8),
        ("cluster.intra_node", 450 * 10**9),
        ("cluster.inter_node", 50 * 10**9),
        ("cluster.gpu.usable_memory", Fraction(80 * 2**30 * 98, 100)),
        ("parallel.tensor", 1),
        ("parallel.data", 16),
        ("shard.stage", 0),
        ("shard.size", 16),
        ("batch.accumulation", 4),
        ("precision", "bf16"),
        ("precision.gradients", "bf16"),
        ("precision.master", "fp32"),
        ("optimizer", "adamw"),
        ("launch.timeout", 600),
        ("dataset", None),
    ],
)
def test_defaults_follow(path: str, expected: Any) -> None:
    assert plan("plan p from shared { }").value(path) == expected


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1 GiB", 2**30),
        ("1024 MiB", 2**30),
        ("1.5 GB", 1_500_000_000),
        ("0.5 TB", 5 * 10**11),
        ("2 * 40 GiB", 80 * 2**30),
        ("80GB", 80 * 10**9),
    ],
)
def test_sizes_are_exact(written: str, amount: int) -> None:
    found = plan(f"plan p from shared {{ cluster {{ local_disk = {written} }} }}")
    assert found["cluster.local_disk"].value == amount


@pytest.mark.parametrize(
    ("written", "count"),
    [("8Ki", 8192), ("8k", 8000), ("1e3", 1000), ("2.0", 2), ("28_256", 28_256), ("4 * 2 + 1", 9), ("max(2, 3)", 3)],
)
def test_counts_are_whole(written: str, count: int) -> None:
    found = value(f"plan p from shared {{ batch {{ sequence_length = {written} }} }}", "batch.sequence_length")
    assert (found, type(found)) == (count, int)


def test_origins_tell_how_a_field_came_about() -> None:
    found = plan("plan p from shared { parallel { tensor = 2 } }")
    origins = {path: found[path].origin for path in ("parallel.tensor", "precision", "parallel.data", "shard.stage")}
    assert origins == {
        "parallel.tensor": Origin.WRITTEN,
        "precision": Origin.INHERITED,
        "parallel.data": Origin.SOLVED,
        "shard.stage": Origin.DEFAULTED,
    }


def test_narrowing_keeps_what_is_not_named() -> None:
    found = plan("plan p from shared { cluster { nodes = 4 } }")
    assert (found["cluster.nodes"].value, found["cluster.gpus_per_node"].value) == (4, 8)
    assert found["parallel.data"].value == 32  # worked out again in the child


def test_an_inline_cluster_reaches_its_card() -> None:
    found = plan("plan p from shared { cluster = pair { gpu = card { memory = 40 GiB } } }")
    assert found["cluster.gpu.memory"].value == 40 * 2**30
    assert found["cluster.intra_node"].value == 450 * 10**9


def test_a_path_is_worked_out_again_in_the_child() -> None:
    text = "plan a from shared { parallel { tensor = 2 } batch { sequence_length = parallel.tensor * 1024 } }\n"
    assert value(text + "plan b from a { parallel { tensor = 4 } }", "batch.sequence_length") == 4096


def test_a_path_starts_at_the_block_in_which_it_is_written() -> None:
    text = "cluster quad from pair { nodes = gpus_per_node / 2 } plan p from shared { cluster = quad }"
    assert value(text, "cluster.nodes") == 4


def test_a_variant_set_again_drops_the_old_fields_and_a_section_keeps_them() -> None:
    first = "plan a from shared { optimizer = adamw { clip = 1.0  weight_decay = 0.1 } }\n"
    assert value(first + "plan b from a { optimizer = lion }", "optimizer.clip") is None
    kept = plan(first + "plan b from a { optimizer { clip = 0.5 } }")
    assert (kept["optimizer.clip"].value, kept["optimizer.weight_decay"].value) == (Fraction(1, 2), Fraction(1, 10))


def test_none_removes_a_section() -> None:
    text = 'plan a from shared { dataset { name = "c" } }\nplan b from a { dataset = none }'
    assert value(text, "dataset") is None


@pytest.mark.parametrize(
    ("text", "path", "default"),
    [
        ("parallel { tensor = none }", "parallel.tensor", 1),
        ("parallel = none", "parallel.tensor", 1),
        ("parallel = none", "parallel.data", 16),
        ("optimizer { clip = none }", "optimizer.clip", None),
        ("optimizer = none", "optimizer", "adamw"),
        ("schedule = none", "schedule", None),
        ("shard { size = none }", "shard.size", 16),
        ("recompute = none", "recompute", "none"),
    ],
)
def test_none_brings_the_default_back(text: str, path: str, default: Any) -> None:
    parent = "plan a from shared { parallel { tensor = 2 }  optimizer { clip = 1.0 }  schedule = cosine }\n"
    middle = "plan c from a { parallel { tensor = 1 }  shard { stage = 1  size = 4 } }\n"
    assert plan(parent + middle + f"plan b from c {{ {text} }}").value(path) == default


def test_maps_and_lists() -> None:
    found = plan('plan p from shared { launch { args = ["a", "b c"]  env { A = "1"  "B-C" = "x y" } } }')
    assert found["launch.args"].value == ("a", "b c")
    assert found["launch.env"].value == {"A": "1", "B-C": "x y"}


@pytest.mark.parametrize(
    ("sections", "path", "solved"),
    [
        ("batch { micro = auto  accumulation = 2 }", "batch.micro", 2),
        ("batch { micro = 4  accumulation = auto }", "batch.accumulation", 1),
        ("batch { global = auto  accumulation = 2 }", "batch.global", 32),
        ("parallel { tensor = auto  data = 4 }", "parallel.tensor", 4),
        ("cluster { nodes = auto }  parallel { data = 32 }", "cluster.nodes", 4),
    ],
)
def test_auto_is_solved_from_the_others(sections: str, path: str, solved: int) -> None:
    found = plan(f"plan p from shared {{ {sections} }}")[path]
    assert (found.value, found.origin) == (solved, Origin.SOLVED)


def test_a_batch_in_tokens_is_counted_in_samples() -> None:
    text = "plan p from shared { batch { global = 256Ki tokens  sequence_length = 4Ki } }"
    assert value(text, "batch.global") == 64


@pytest.mark.parametrize(
    ("emit", "gradients"),
    [("[deepspeed]", "bf16"), ("[accelerate, deepspeed]", "bf16"), ("[slurm]", "bf16"), ("[]", "bf16")],
)
def test_gradients_are_as_the_trainer_has_them(emit: str, gradients: str) -> None:
    text = f'plan p from shared {{ launch {{ script = "t.py" }} shard {{ stage = 3 }} emit = {emit} }}'
    assert value(text, "precision.gradients") == gradients


def test_a_file_sees_what_a_used_file_defines_itself() -> None:
    text = "plan p from shared { model = llama-3-8b  shard { stage = 3 } }"
    analysis = analysis_of('use "planc/models"\n' + BASE + text)
    assert codes(analysis) == []
    assert analysis.plans[0]["model.layers"].value == 32


def test_what_depends_on_a_faulty_field_is_unknown_in_silence() -> None:
    analysis = analysis_of(BASE + "plan p from shared { parallel { tensr = 3  pipeline = 1 } }")
    assert codes(analysis) == ["PLN011"]  # tensor is open, so nothing is said of the world
    assert isinstance(analysis.plans[0]["parallel.tensor"].value, Unknown)
    assert analysis.plans[0]["parallel.pipeline"].value == 1


def test_an_unused_block_is_judged_too() -> None:
    odd = "model odd { layers = 8  hidden = 1024  heads = 8  kv_heads = 3  ffn = 4096  vocab = 32_000 }\n"
    assert codes(analysis_of(odd)) == ["PLN111"]
    assert codes(analysis_of(BASE + odd + "plan p from shared { model = odd }\nplan q from p { }")) == ["PLN111"]


def test_a_policy_is_checked_once_and_judged_per_plan() -> None:
    policy = 'policy house { size = require parallel.tensor <= 4 because "our fabric"  forbid precision == fp16 }\n'
    text = (
        policy
        + "plan a from shared { policies = [house] parallel { tensor = 8 } }\nplan b from a { parallel { tensor = 4 } }"
    )
    analysis = analysis_of(BASE + text)
    assert codes(analysis) == ["PLN090"]
    assert analysis.diagnostics[0].primary.span.line == 6


def test_a_policy_rule_can_be_removed() -> None:
    policy = "policy house { size = require parallel.tensor <= 4 }\npolicy lax from house { size = none }\n"
    text = policy + "plan a from shared { policies = [lax] parallel { tensor = 8 } }"
    assert codes(analysis_of(BASE + text)) == []


def test_a_three_valued_rule_stays_silent() -> None:
    policy = "policy house { require checkpoint.keep <= 3  require checkpoint == none or 1 <= checkpoint.keep }\n"
    assert codes(analysis_of(BASE + policy + "plan a from shared { policies = [house] }")) == []


def test_candidates_leave_a_field_open() -> None:
    analysis = analysis_of(BASE + "plan a from shared { parallel { tensor in [1, 2, 4] } }")
    assert codes(analysis) == []
    assert isinstance(analysis.plans[0]["parallel.tensor"].value, Unknown)


def test_what_holds_for_every_candidate_is_reported() -> None:
    analysis = analysis_of(BASE + "plan a from shared { parallel { tensor in [3, 5] } }")
    assert codes(analysis) == ["PLN101"]
    assert all("whatever `parallel.tensor` is chosen" in found.notes[-1] for found in analysis.diagnostics)


def test_what_holds_for_some_candidates_is_not_reported() -> None:
    assert codes(analysis_of(BASE + "plan a from shared { parallel { tensor in 1..8 } }")) == []


def test_open_fields_are_judged_together_while_they_are_few() -> None:
    # tensor 8 x pipeline 2 and tensor 4 x pipeline 4 are 16 ranks; each alone would fit, and so do all pairs here
    text = "plan a from shared { parallel { tensor in [4, 8]  pipeline in [8, 16] } }"
    assert "PLN101" in codes(analysis_of(BASE + text))


def test_every_candidate_has_an_error_of_its_own() -> None:
    cards = "gpu old { memory = 80 GiB  bf16 = false }\ngpu tiny { memory = 100 MiB  bf16 = true }\n"
    analysis = analysis_of(BASE + cards + "plan a from shared { cluster { gpu in [old, tiny] } }")
    assert codes(analysis) == ["PLN035"]
    assert [note[:12] for note in analysis.diagnostics[0].notes] == ["`gpu = old`:", "`gpu = tiny`"]


def test_an_auto_that_several_values_solve_lists_them() -> None:
    analysis = analysis_of(BASE + "plan a from shared { parallel { tensor = auto } }")
    assert codes(analysis) == ["PLN027"]
    assert analysis.diagnostics[0].help == ("write one of `1`, `2`, `4`, `8`, `16`",)


def test_an_auto_that_no_value_solves_shows_the_rest() -> None:
    analysis = analysis_of(BASE + "plan a from shared { parallel { tensor = auto  data = 5 } batch { global = 60 } }")
    assert codes(analysis) == ["PLN027"]
    assert analysis.diagnostics[0].primary.text == "16 / 5 = 3 rest 1"


def test_unlike_nodes_add_up_and_the_smallest_card_counts() -> None:
    text = (
        "gpu little { memory = 40 GiB  bf16 = true }\n"
        "cluster other { gpu = little  nodes = 4  gpus_per_node = 8  inter_node = 25 GB/s }\n"
        "cluster mixed { groups = [pair, other { nodes = 6 }] }\n"
        "plan a from shared { cluster = mixed }"
    )
    found = plan(text)
    assert found["cluster.nodes"].value == 8
    assert found["cluster.gpus_per_node"].value == 8
    assert found["cluster.gpu.memory"].value == 40 * 2**30
    assert found["cluster.inter_node"].value == 25 * 10**9
    assert found["parallel.data"].value == 64


def test_a_plan_may_resume_what_it_saved_with_another_layout() -> None:
    text = 'plan a from shared { resume { directory = "d"  saved_by = a { parallel { tensor = 4 } } } }'
    found = plan(text)
    assert (found["parallel.tensor"].value, found["resume.saved_by.parallel.tensor"].value) == (1, 4)


@pytest.mark.parametrize(("version", "outcome"), [("2.13", []), ("2.6", []), ("2.6.0", []), ("2.5.1", ["PLN090"])])
def test_versions_compare_by_their_numbers(version: str, outcome: list[str]) -> None:
    policy = 'policy new { require versions.torch >= "2.6" }\n'
    text = policy + f'plan a from shared {{ versions {{ torch = "{version}" }} policies = [new] }}'
    assert codes(analysis_of(BASE + text)) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("batch { micro = none }", ["PLN205"]),
        ('cluster = ""', ["PLN010"]),
        ('policies = [""]', ["PLN010"]),
    ],
)
def test_nothing_is_left_without_a_value_in_silence(text: str, outcome: list[str]) -> None:
    assert codes(analysis_of(BASE + f"plan a from shared {{ {text} }}")) == outcome


def test_gradients_left_to_auto_are_as_the_trainer_has_them() -> None:
    assert value("plan a from shared { precision = bf16 { gradients = auto } }", "precision.gradients") == "bf16"


def test_a_circle_of_files_is_one_fault_whichever_is_read() -> None:
    texts = {
        "a.plan": 'use "b.plan"\n',
        "b.plan": 'use "c.plan"\nuse "d.plan"\n',
        "c.plan": 'use "a.plan"\n',
        "d.plan": "",
    }
    sources = {name: Source(name, text) for name, text in texts.items()}
    for name in ("a.plan", "b.plan", "c.plan"):
        found = analyse((sources[name],), lambda used, importer: sources[used]).diagnostics
        assert [(fault.code, fault.primary.span.source.name, len(fault.related)) for fault in found] == [
            ("PLN021", "a.plan", 2)
        ]
    assert analyse((sources["d.plan"],), lambda used, importer: sources[used]).diagnostics == ()
