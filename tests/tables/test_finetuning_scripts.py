"""The scripts that make the tables of fine-tuning tools, run on small sources that are written as the real ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables import axolotl, llama_factory
from tests.tables.common import committed, versions_of
from tests.tables.test_source_scripts import put

_CONFIG = """
from axolotl.utils.schemas.deprecated import DeprecatedParameters

class Alias(BaseModel):
    type_of_model: str | None = Field(default=None, alias="model_type")

class AxolotlInputConfig(Alias, DeprecatedParameters, BaseModel):
    model_config = {"populate_by_name": True}
    model_config: Any = None
    learning_rate: str | float
    bf16: Literal["auto"] | bool | None = Field(default="auto")
    datasets: Annotated[list[Thing], MinLen(1)] | None = Field(default=None)
    flash_attention: bool | None = Field(default=None, deprecated="another name")
    context_parallel_size: int | None = None
    sequence_parallel_degree: int | None = None
    neftune_noise_alpha: float | None = None
    rl_beta: float | None = None
    eval_strategy: str | None = None
    width: int = Field(default=MADE(), ge=1)
"""

_DEPRECATED = """
class DeprecatedParameters(BaseModel):
    rope_scaling: Any | None = None
    noisy_embedding_alpha: float | None = None
    dpo_beta: float | None = None
    evaluation_strategy: str | None = None
"""

_ARGS = """
class OurArgs(BaseModel):
    our_kernel: bool | None = None
"""


def test_axolotl(tmp_path: Path) -> None:
    put(tmp_path, "axolotl/utils/schemas/config.py", _CONFIG)
    put(tmp_path, "axolotl/utils/schemas/deprecated.py", _DEPRECATED)
    put(tmp_path, "axolotl/integrations/ours/args.py", _ARGS)
    (tmp_path / "axolotl-1.2.3.dist-info").mkdir()
    table = axolotl.table(tmp_path)
    keys = table["keys"]
    assert (table["version"], table["unknown"]) == ("1.2.3", "ignored")
    assert keys["model_type"] == {"types": ["string", "null"], "default": None, "same": "type_of_model"}
    assert keys["learning_rate"] == {"types": ["string", "float"], "coerced": True}
    assert keys["bf16"]["words"] == ["auto"]
    assert keys["datasets"] == {"default": None}
    assert keys["flash_attention"]["deprecated"] == "write `attn_implementation: flash_attention_2`"
    assert keys["evaluation_strategy"]["renamed"] == "eval_strategy"
    assert keys["our_kernel"]["types"] == ["bool", "null"]
    assert "default" not in keys["width"]
    assert "rope_scaling" not in keys and table["removed"]["rope_scaling"]["doc"]
    assert "model_config" not in keys


def test_a_key_that_is_newly_deprecated_is_noticed(tmp_path: Path) -> None:
    put(tmp_path, "axolotl/utils/schemas/config.py", _CONFIG.replace("flash_attention", "quick_attention"))
    put(tmp_path, "axolotl/utils/schemas/deprecated.py", _DEPRECATED)
    (tmp_path / "axolotl-1.2.3.dist-info").mkdir()
    with pytest.raises(KeyError, match="quick_attention"):
        axolotl.table(tmp_path)


_LISTS = {
    "model_args": ("ModelArguments", "flash_attn: AttentionFunction = field(default=AttentionFunction.FA2)"),
    "data_args": ("DataArguments", "cutoff_len: int = field(default=2048, metadata={})"),
    "training_args": ("TrainingArguments", "fp8: bool = field(default=False)"),
    "finetuning_args": ("FinetuningArguments", "stage: Literal['pt', 'sft'] = field(default='sft')"),
    "generating_args": ("GeneratingArguments", "infer_backend: EngineName = EngineName.HF"),
}

_CONSTANTS = """
class AttentionFunction(StrEnum):
    AUTO = "auto"
    FA2 = "fa2"

class EngineName(StrEnum):
    HF = "huggingface"

class QuantizationMethod(StrEnum):
    BNB = "bnb"

class RopeScaling(StrEnum):
    YARN = "yarn"
"""


_SEQUENCES = """
from .training_args import TrainingArguments

@dataclass
class Seq2SeqTrainingArguments(TrainingArguments):
    predict_with_generate: bool = field(default=False)
    generation_config: str | Path | GenerationConfig | None = field(default=None)
"""


def test_llama_factory(tmp_path: Path) -> None:
    internal = "".join(f"    {name}: int = field(init=False)\n" for name in llama_factory._INTERNAL)
    for module, (name, field) in _LISTS.items():
        more = internal if name == "ModelArguments" else ""
        text = "from ..extras.constants import AttentionFunction, EngineName\n"
        put(tmp_path, f"llamafactory/hparams/{module}.py", f"{text}@dataclass\nclass {name}:\n    {field}\n{more}")
    put(tmp_path, "llamafactory/extras/constants.py", _CONSTANTS)
    (tmp_path / "llamafactory-0.1.dist-info").mkdir()
    put(tmp_path, "transformers/training_args.py", "@dataclass\nclass TrainingArguments:\n    bf16: bool = False\n")
    put(tmp_path, "transformers/training_args_seq2seq.py", _SEQUENCES)
    table = llama_factory.table(tmp_path, tmp_path)
    assert (table["version"], table["unknown"]) == ("0.1", "rejected")
    assert table["keys"] == {
        "flash_attn": {"types": ["string"], "words": ["auto", "fa2"], "default": "fa2"},
        "cutoff_len": {"types": ["int"], "default": 2048},
        "fp8": {"types": ["bool"], "default": False},
        "stage": {"types": ["string"], "words": ["pt", "sft"], "default": "sft"},
        "infer_backend": {"types": ["string"], "words": ["huggingface"], "default": "huggingface"},
        "predict_with_generate": {"types": ["bool"], "default": False},
        "generation_config": {"default": None},
    }


@pytest.mark.parametrize("consumer", ["axolotl", "llama-factory"])
def test_the_table_in_the_repository_knows_what_the_kinds_ask_for(consumer: str) -> None:
    (version,) = versions_of(consumer)
    keys = committed(consumer, version)["keys"]
    asked = {
        "axolotl": ("base_model", "micro_batch_size", "fsdp_config", "deepspeed", "liger_rope", "sequence_len"),
        "llama-factory": ("finetuning_type", "cutoff_len", "lora_target", "quantization_bit", "fp8"),
    }
    assert not set(asked[consumer]) - set(keys)
