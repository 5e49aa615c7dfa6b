"""Emitted `parallelize.py`, imported by 2 and 4 processes that train a small model, which one process trains too.

Every family that tensor ranks split is trained, so that a name or a style that is wrong shows in the weights.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.targets._fsdp2_families import LAYERS, SPLITS
from tests.compiling import analysed, errors, facts_of, written_out
from tests.consumers.running import needs, ran

pytestmark = [pytest.mark.consumer, pytest.mark.slow, needs("torch", "transformers")]

#: Fields of the small model by family, beside its sizes, as transformers builds it.
MODELS = {
    "gemma": "tied = true",
    "gemma2": "tied = true  norms = 4",
    "gpt_neox": "kv_heads = 4  gated = false  norm = layernorm  bias = all",
    "granite": "",
    "llama": "",
    "mistral": "",
    "qwen2": "bias = qkv",
    "qwen3": "attention = full { qk_norm = head }",
    "smollm3": "tied = true",
    "starcoder2": "tied = true  gated = false  norm = layernorm  bias = all",
}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 64}
PLAIN = {"hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 48, "vocab": 64}


class Case(NamedTuple):
    """What a plan says beside the model: its layout and memory in `rest`."""

    family: str
    rest: str
    precision: str = "fp32"


def alternating(families: list[str]) -> list[Case]:
    """Every family over two tensor ranks, every other one with sequence parallelism."""
    return [
        Case(family, f"parallel {{ tensor = 2  sequence = {str(number % 2 == 0).lower()} }}  shard {{ stage = 3 }}")
        for number, family in enumerate(families)
    ]


TWO = [
    *alternating(sorted(SPLITS)),
    Case("llama", "shard { stage = 3 }  offload { optimizer = cpu  weights = cpu }", "fp16"),
    Case("", "shard { stage = 2 }  train { compile = true }  recompute = full { method = block  layers = 1 }"),
]
FOUR = [
    Case("llama", "parallel { tensor = 2 }  shard { stage = 3 }  recompute = full"),
    Case("llama", "shard { stage = 2  size = 2 }", "bf16 { gradients = fp32 }"),
    Case("qwen3", "parallel { tensor = 2  sequence = true }  shard { stage = 3 }  recompute = selective"),
    Case("gpt_neox", "shard { stage = 3  secondary_size = 2 }  recompute = selective"),
]


def plan_of(case: Case, ranks: int) -> Plan:
    """The plan of a case, for ranks of one node."""
    family = f'family = "{case.family}"  {MODELS[case.family]}' if case.family else ""
    kv_heads = "" if "kv_heads" in family else "kv_heads = 2"
    option = "" if case.family else '{ layers = "layers" }'
    analysis = analysed(
        f"""
        gpu card {{ memory = 80 GiB  bf16 = true  fp16 = true  fp32 = true }}
        model small {{
          layers = 2  hidden = 32  heads = 4  {kv_heads}  head_dim = 8  ffn = 48  vocab = 64  {family}
        }}
        plan run {{
          model = small
          cluster {{ gpu = card  nodes = 1  gpus_per_node = {ranks} }}
          batch {{ global = 4  micro = 1  sequence_length = 16 }}
          precision = {case.precision}
          optimizer = adamw {{ learning_rate = 1e-3  clip = 0.5 }}
          {case.rest}
          launch {{ script = "parallelized.py" }}
          emit = [fsdp2 {option}, torchrun]
        }}
        """
    )
    assert errors(analysis) == [], errors(analysis)
    return analysis.plans[0]


def trained(cases: list[Case], ranks: int, folder: Path) -> list[list[dict[str, Any]]]:
    """What the ranks reported of each case; one launch for all, by the script that is emitted beside the first."""
    given = []
    for number, case in enumerate(cases):
        path = written_out(plan_of(case, ranks), folder / str(number)) / "parallelize.py"
        sizes = dict(SIZES)
        if "kv_heads" not in MODELS.get(case.family, ""):
            sizes["num_key_value_heads"] = 2
        if case.family in ("gemma", "gemma2", "qwen3"):
            sizes["head_dim"] = 8
        given.append({"path": str(path), "type": case.family or None, "sizes": sizes if case.family else PLAIN})
    # The compiler of torch would take half a minute; whether a layer is compiled shows without.
    found = ran(folder / "0" / "run" / "torchrun.sh", json.dumps(given), TORCHDYNAMO_DISABLE="1")
    return [[report for report in found if report["case"] == number] for number in range(len(cases))]


def judge(case: Case, plan: Plan, facts: Facts, reports: list[dict[str, Any]]) -> None:
    """The ranks lie and hold as the facts say, and learn what one process learns."""
    replicas, shards, tensor = facts["shard.replicas"], facts["shard.size"], facts["parallel.tensor"]
    axes = [(name, size) for name, size in (("replicate", replicas), ("shard", shards), ("tensor", tensor))]
    axes = [axis for axis in axes if axis[0] == "shard" or 1 < axis[1]]
    for report in reports:
        assert report["mesh"] == [[name for name, _ in axes], [size for _, size in axes]]
        assert report["meshes"] == [[name for name, _ in axes]]
        assert report["dtypes"] == ["torch.float32"]
        parameters, offloaded = facts["parallel.parameters_per_rank"], plan.value("offload.weights") is not None
        part = parameters * 4 // shards
        # Stage 2 keeps the gathered weights until a backward pass ends, so none are left here.
        kept = parameters * facts["memory.compute_width"] if plan.value("shard.stage") == 2 else 0
        assert report["weights"] == (part if offloaded else facts["memory.weights"] - kept) == part
        assert report["gradients"] == part
        if 1 < plan.value("batch.accumulation"):  # else no gradients are there when most memory is used
            assert facts["memory.gradients"] == part
        assert report["optimizer"] == (2 * part if offloaded else facts["memory.optimizer"]) == 2 * part
        assert report["compiled"] == plan.value("train.compile")
        layers = plan.value("model.layers") if plan.value("recompute") != "none" else 0
        assert report["recomputed"] == (1 if "block" in case.rest else layers)
        exact = case.precision == "fp32"
        assert report["losses"] == pytest.approx(report["alone"], rel=1e-5 if exact else 1e-3)
        assert report["norm"] == pytest.approx(reports[0]["norm"], rel=1e-6)
        assert not exact or report["apart"] < 0.02, "weights differ by more of a step than rounding explains"


@pytest.mark.parametrize(("ranks", "cases"), [(2, TWO), (4, FOUR)])
def test_ranks_hold_what_the_facts_say_and_learn_what_one_process_learns(
    ranks: int, cases: list[Case], tmp_path: Path
) -> None:
    for case, reports in zip(cases, trained(cases, ranks, tmp_path), strict=True):
        plan = plan_of(case, ranks)
        assert len(reports) == ranks
        judge(case, plan, facts_of(plan), reports)


def test_selective_recomputation_computes_every_second_product_again(tmp_path: Path) -> None:
    """Of a layer like Llama's keys, output and `up`: the second, fourth and sixth of its seven, as the facts count."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    plan = plan_of(Case("llama", "shard { stage = 3 }  recompute = selective"), 2)
    module = runpy.run_path(str(written_out(plan, tmp_path) / "parallelize.py"))
    config = AutoConfig.for_model("llama", **SIZES, num_key_value_heads=2)
    config._attn_implementation = "sdpa"
    layer, tokens = LlamaDecoderLayer(config, 0), 16
    hidden = torch.randn(1, tokens, config.hidden_size, requires_grad=True)
    positions = LlamaRotaryEmbedding(config)(hidden, torch.arange(tokens)[None])

    def operations() -> int:
        with FlopCounterMode(display=False) as counter:
            layer(hidden, position_embeddings=positions).sum().backward()
        return int(counter.get_total_flops())

    once = operations()
    layer.forward = module["partial"](
        module["checkpoint"], layer.forward, use_reentrant=False, context_fn=module["_choose"]
    )
    widths = (16, 32, 48)  # of keys, output and `up`, each a product with the hidden size
    assert operations() - once == sum(2 * tokens * config.hidden_size * width for width in widths)


def test_layers_lie_where_the_target_looks_for_them() -> None:
    """In a model of two layers of each family, which has no weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    for family, path in LAYERS.items():
        config = AutoConfig.for_model(family)
        for name in ("num_hidden_layers", "n_layer", "n_layers"):
            if hasattr(config, name):
                setattr(config, name, 2)
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:2]
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
        layers = model.get_submodule(path)
        assert isinstance(layers, torch.nn.ModuleList)
        assert {type(layer).__name__ for layer in layers} == {LAYER_CLASSES[family]}, family
        if family in SPLITS:
            split = SPLITS[family]
            assert model.get_submodule(split.embedding) is model.get_input_embeddings()
            assert model.get_submodule(split.head) is model.get_output_embeddings()
