"""`parallelize.py` as text: Python that a formatter and a linter leave alone, whatever the plan holds."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest

from planc.compiler import Analysis
from planc.diagnostics.diagnostic import Severity
from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.targets._fsdp2_families import LAYERS, SPLITS
from tests.compiling import ROOT, analysed, errors, file_of, read

PLANS = [
    pytest.param(plan, id=plan.name)
    for path in sorted(Path(__file__).parent.glob("fsdp2/ok_*.plan"))
    for plan in read(path).plans
]


def analysis_of(rest: str, *, family: str = "llama", option: str = "") -> Analysis:
    """The analysis of a plan for two nodes of two cards."""
    return analysed(
        f"""
        gpu card {{ memory = 80 GiB  bf16 = true }}
        model small {{ layers = 2  hidden = 64  heads = 4  ffn = 96  vocab = 64  family = "{family}" }}
        plan run {{
          model = small
          cluster {{ gpu = card  nodes = 2  gpus_per_node = 2 }}
          batch {{ global = 16  micro = 1 }}
          precision = bf16
          {rest}
          emit = [fsdp2 {option}]
        }}
        """
    )


def text_of(rest: str, *, family: str = "llama", option: str = "") -> str:
    """The module of that plan."""
    analysis = analysis_of(rest, family=family, option=option)
    assert errors(analysis) == []
    return file_of(analysis.plans[0], "parallelize.py")


def constant(text: str, name: str) -> object:
    """The value that a module gives to a name at its top level."""
    (found,) = (
        statement.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name
    )
    return ast.literal_eval(found)


@pytest.mark.parametrize("plan", PLANS)
def test_every_name_is_imported_or_defined_and_every_import_is_used(plan: Plan) -> None:
    tree = ast.parse(file_of(plan, "parallelize.py"))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert imported <= used
    assert used <= imported | defined | set(vars(builtins))


@pytest.mark.parametrize("plan", PLANS)
def test_functions_that_nothing_calls_are_for_the_program(plan: Plan) -> None:
    """What begins with an underscore is called in the module itself, and nothing is there for another plan."""
    tree = ast.parse(file_of(plan, "parallelize.py"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    program = {"start", "data_rank", "parallelize", "make_optimizer", "make_scaler", "clip_gradients"}
    assert own - used <= program


@pytest.mark.parametrize("plan", PLANS)
def test_lines_are_short_and_ascii(plan: Plan) -> None:
    text = file_of(plan, "parallelize.py")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 120
    assert "\n\n\n\n" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize(
    "path", ["a'b", 'a"b', "a'b\"c", "a\\nb", "'''", '"""', "$(X)", "{{ x }}", "a\\\\", "\u00fc", "\U0001f600", "a#b"]
)
def test_a_path_of_layers_arrives_whatever_it_holds(path: str) -> None:
    written = path.replace("\\", "\\\\").replace('"', '\\"')
    text = text_of("shard { stage = 3 }", option=f'{{ layers = "{written}" }}')
    assert constant(text, "LAYERS") == path
    assert text.isascii()


def test_a_model_of_ones_own_is_asked_for_nothing_that_transformers_has() -> None:
    assert ".config" in text_of("shard { stage = 3 }")
    assert ".config" not in text_of("shard { stage = 3 }", option='{ layers = "blocks" }')


@pytest.mark.parametrize("family", sorted(SPLITS))
def test_every_family_that_is_split_names_its_own_layers(family: str) -> None:
    text = text_of("shard { stage = 3 }  parallel { tensor = 2 }", family=family)
    assert constant(text, "LAYERS") == LAYERS[family]
    assert f'"{LAYERS[family]}.*.{SPLITS[family].rows[0]}"' in text


def test_a_secondary_shard_of_all_ranks_is_no_other() -> None:
    assert "reshard_after_forward=True" in text_of("shard { stage = 3  secondary_size = 4 }")
    assert "reshard_after_forward=2" in text_of("shard { stage = 3  secondary_size = 2 }")
    assert "reshard_after_forward=False" in text_of("shard { stage = 2 }")


def test_a_field_that_torch_has_no_argument_for_leaves_the_optimizer_to_the_program() -> None:
    decayed = "optimizer = sgd { learning_rate = 0.1  weight_decay = 0.1 }"
    assert "def make_optimizer" in text_of("shard { stage = 3 }  optimizer = sgd { learning_rate = 0.1 }")
    assert "def make_optimizer" not in text_of(f"shard {{ stage = 3 }}  {decayed}")
    assert "def make_optimizer" not in text_of("shard { stage = 3 }  optimizer = adamw { weight_decay = 0.1 }")


def test_the_timeout_of_collectives_is_carried() -> None:
    """So that the launch script beside it has no fault to find with the field."""
    rest = 'shard { stage = 3 }  launch { script = "train.py"  timeout = 90 s }'
    assert "init_process_group(timeout=timedelta(seconds=90))" in text_of(rest)
    found = analysis_of(rest, option="{}, torchrun").diagnostics
    assert [one.code for one in found if one.severity is not Severity.INFO] == []


def test_the_page_names_the_families_that_are_split() -> None:
    page = (ROOT / "docs" / "targets" / "fsdp2.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"Over tensor ranks go (.*?);", page, re.DOTALL)
    assert re.findall(r"`(\w+)`", listed) == sorted(SPLITS)
    (missing,) = re.findall(r"all that planc knows but `(\w+)`", page)
    assert set(LAYER_CLASSES) - set(LAYERS) == {missing}
