"""`lightning_trainer.py` as text: Python that a linter leaves alone, whatever the plan holds, and the numbers in it."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

from planc.compiler import Analysis
from planc.diagnostics.diagnostic import Severity
from planc.plan.model import Plan
from planc.targets._lightning_obstacles import FSDP, FSDP2, backend_of
from tests.compiling import analysed, errors, facts_of, file_of, files_of, read
from tests.targets.truth.lightning import arguments_in, strategy_in, values
from tests.targets.truth.plans import truths

PLANS = [
    pytest.param(plan, id=plan.name)
    for path in sorted(Path(__file__).parent.glob("lightning/ok_*.plan"))
    for plan in read(path).plans
]


def analysis_of(rest: str, *, option: str = "", precision: str = "bf16") -> Analysis:
    """The analysis of a plan for two nodes of two cards."""
    return analysed(
        f"""
        gpu card {{ memory = 80 GiB  bf16 = true }}
        model small {{ layers = 2  hidden = 64  heads = 4  ffn = 96  vocab = 64  family = "llama" }}
        plan run {{
          model = small
          cluster {{ gpu = card  nodes = 2  gpus_per_node = 2 }}
          batch {{ global = 16  micro = 1 }}
          precision = {precision}
          {rest}
          emit = [lightning {option}]
        }}
        """
    )


def text_of(rest: str, *, option: str = "", precision: str = "bf16") -> str:
    """The module of that plan."""
    analysis = analysis_of(rest, option=option, precision=precision)
    assert errors(analysis) == []
    return file_of(analysis.plans[0], "lightning_trainer.py")


@pytest.mark.parametrize("plan", PLANS)
def test_every_name_is_imported_or_defined_and_every_import_is_used(plan: Plan) -> None:
    tree = ast.parse(file_of(plan, "lightning_trainer.py"))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert imported <= used
    assert used <= imported | defined | set(vars(builtins))


@pytest.mark.parametrize("plan", PLANS)
def test_lines_are_short_and_ascii(plan: Plan) -> None:
    text = file_of(plan, "lightning_trainer.py")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 120
    assert "\n\n\n\n" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("plan", PLANS)
def test_the_module_says_what_the_facts_say(plan: Plan) -> None:
    """Over tensor ranks too, of which the random plans have none."""
    facts = truths(plan, facts_of(plan))
    found = values({file.path: file.text for file in files_of(plan)})
    for name, value in found.items():
        assert value == (float(facts[name]) if isinstance(value, float) else facts[name]), name
    assert {"world", "data", "micro_batch", "accumulation", "global_batch", "precision"} <= found.keys()
    assert ("tensor" in found) == (backend_of(plan) == FSDP2)


@pytest.mark.parametrize(
    "text", ["a'b", 'a"b', "a'b\"c", "a\nb", "'''", '"""', "$(X)", "{{ x }}", "a\\", "\u00fc", "\U0001f600", "a#b"]
)
def test_a_text_arrives_whatever_it_holds(text: str) -> None:
    written = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    rest = f"""
        shard {{ stage = 3 }}
        checkpoint {{ directory = "{written}" }}
        resume {{ directory = "{written}" }}
        log {{ to = [tensorboard]  directory = "{written}" }}
    """
    module = text_of(rest, option=f'{{ layer = "{written}" }}')
    assert module.isascii()
    texts = [node.value for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Constant)]
    assert texts.count(text) == 4


def test_who_shares_follows_from_the_plan() -> None:
    assert "-> DDPStrategy" in text_of("shard { stage = 0 }")
    assert "-> FSDPStrategy" in text_of("shard { stage = 2 }")
    assert "-> ModelParallelStrategy" in text_of("shard { stage = 3 }  parallel { tensor = 2 }", option="{}, fsdp2")
    assert "-> DeepSpeedStrategy" in text_of("shard { stage = 1 }", option="{}, deepspeed")
    by_deepspeed = text_of("shard { stage = 3 }", option="{ backend = deepspeed }, deepspeed")
    assert "-> DeepSpeedStrategy" in by_deepspeed
    assert "gradient_accumulation_steps" not in by_deepspeed, "Lightning stops where it finds it"
    assert "scale_wrt_gas=False" in by_deepspeed, "Lightning has divided the loss"


@pytest.mark.parametrize(("stage", "size", "strategy"), [
    (2, 4, "SHARD_GRAD_OP"), (3, 4, "FULL_SHARD"), (2, 2, "_HYBRID_SHARD_ZERO2"), (3, 2, "HYBRID_SHARD"),
])  # fmt: skip
def test_stages_and_replicas_have_their_words(stage: int, size: int, strategy: str) -> None:
    tree = ast.parse(text_of(f"shard {{ stage = {stage}  size = {size} }}"))
    said = {word.arg: ast.unparse(word.value) for word in strategy_in(tree).keywords}
    assert said["sharding_strategy"] == repr(strategy)
    assert said.get("device_mesh") == (None if size == 4 else "(REPLICAS, SHARDS)")


@pytest.mark.parametrize("stage", [0, 3])
def test_gradients_are_clipped_once(stage: int) -> None:
    """By Lightning's argument, or by a callback where FSDP's precision refuses that; never by both."""
    module = text_of(f"shard {{ stage = {stage} }}  optimizer {{ clip = 0.5 }}")
    by_argument, by_callback = "gradient_clip_val" in arguments_in(ast.parse(module)), "clip_grad_norm_" in module
    assert (by_argument, by_callback) == (stage == 0, stage == 3)
    assert "LARGEST_NORM" not in text_of(f"shard {{ stage = {stage} }}")


def test_gradients_are_summed_after_each_micro_batch() -> None:
    """Where Lightning's FSDP would keep all of them on every rank; with DDP they are there anyway."""
    assert "return ReducedAtOnce(" in text_of("shard { stage = 3 }")
    assert "block_backward_sync" not in text_of("shard { stage = 0 }")


def test_the_timeout_of_collectives_is_carried() -> None:
    """So that the launch script beside it has no fault to find with the field."""
    rest = 'shard { stage = 3 }  launch { script = "train.py"  timeout = 90 s }'
    assert "timeout=timedelta(seconds=90)" in text_of(rest)
    found = analysis_of(rest, option="{}, torchrun").diagnostics
    assert [one.code for one in found if one.severity is not Severity.INFO] == []


def test_what_another_file_says_is_not_left_to_the_program() -> None:
    """With FSDP recomputation is Lightning's, with DDP the program's."""
    notes = {}
    for stage in (0, 3):
        analysis = analysis_of(f"shard {{ stage = {stage} }}  recompute = full  train {{ compile = true }}")
        assert errors(analysis) == []
        assert backend_of(analysis.plans[0]) == (FSDP if stage else "ddp")
        (left,) = (found for found in analysis.diagnostics if found.code == "PLN998")
        notes[stage] = left.notes
    assert notes == {
        0: ("the program sets `recompute`, `train.compile`",), 3: ("the program sets `train.compile`",),
    }  # fmt: skip
