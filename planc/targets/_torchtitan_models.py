"""The models that torchtitan has by name, and which of them a plan trains.

torchtitan takes no sizes: a model is a module and a flavor of it, and since 0.3 a function of the module's
`config_registry` that makes the whole configuration. The table is read from torchtitan 0.3.0 and 0.2.2, and
`tests/consumers/test_torchtitan.py` compares it with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.targets._launch import option, written

FLAGS, TOML = "flags", "toml"

_SINCE_FLAGS = (0, 3)


class Sizes(NamedTuple):
    """Sizes of a flavor, by the model's fields; 0 where it has no such part.

    `ffn` is that of the dense layers; latent attention has neither KV heads nor one size of a head.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    experts: int = 0
    top_k: int = 0
    expert_ffn: int = 0
    tied: bool = False


#: Sizes by module and flavor.
FLAVORS: dict[tuple[str, str], Sizes] = {
    ("llama3", "debugmodel"): Sizes(6, 256, 16, 16, 16, 768, 2048),
    ("llama3", "8B"): Sizes(32, 4096, 32, 8, 128, 14336, 128256),
    ("llama3", "70B"): Sizes(80, 8192, 64, 8, 128, 28672, 128256),
    ("llama3", "405B"): Sizes(126, 16384, 128, 8, 128, 53248, 128256),
    ("qwen3", "debugmodel"): Sizes(8, 256, 16, 8, 128, 3072, 2048, tied=True),
    ("qwen3", "0.6B"): Sizes(28, 1024, 16, 8, 128, 3072, 151936, tied=True),
    ("qwen3", "1.7B"): Sizes(28, 2048, 16, 8, 128, 6144, 151936, tied=True),
    ("qwen3", "4B"): Sizes(36, 2560, 32, 8, 128, 9728, 151936, tied=True),
    ("qwen3", "8B"): Sizes(36, 4096, 32, 8, 128, 12288, 151936),
    ("qwen3", "14B"): Sizes(40, 5120, 40, 8, 128, 17408, 151936),
    ("qwen3", "32B"): Sizes(64, 5120, 64, 8, 128, 25600, 151936),
    ("qwen3", "debugmodel_moe"): Sizes(8, 256, 16, 8, 128, 0, 2048, 64, 8, 768),
    ("qwen3", "30B-A3B"): Sizes(48, 2048, 32, 4, 128, 0, 151936, 128, 8, 768),
    ("qwen3", "235B-A22B"): Sizes(94, 4096, 64, 4, 128, 0, 151936, 128, 8, 1536),
    ("deepseek_v3", "debugmodel"): Sizes(6, 256, 16, 0, 0, 1024, 2048, 8, 3, 256),
    ("deepseek_v3", "16B"): Sizes(27, 2048, 16, 0, 0, 10944, 102400, 64, 6, 1408),
    ("deepseek_v3", "236B"): Sizes(60, 5120, 128, 0, 0, 12288, 102400, 160, 6, 1536),
    ("deepseek_v3", "671B"): Sizes(61, 7168, 128, 0, 0, 18432, 129280, 256, 8, 2048),
    ("gpt_oss", "20b"): Sizes(24, 2880, 64, 8, 64, 0, 201088, 32, 4, 2880),
    ("gpt_oss", "120b"): Sizes(36, 2880, 64, 8, 64, 0, 201088, 128, 4, 2880),
}


class Config(NamedTuple):
    """A function of a `config_registry` of torchtitan 0.3: its flavor, and the recipe of its fp8 products if any."""

    module: str
    name: str
    flavor: str
    recipe: str = ""


#: Those that train on text with one group of AdamW, which are the ones that flags can steer.
CONFIGS = (
    Config("llama3", "llama3_debugmodel", "debugmodel"),
    Config("llama3", "llama3_8b", "8B"),
    Config("llama3", "llama3_8b_mxfp8", "8B", "mxfp8"),
    Config("llama3", "llama3_70b", "70B"),
    Config("llama3", "llama3_405b", "405B", "rowwise"),
    Config("qwen3", "qwen3_debugmodel", "debugmodel"),
    Config("qwen3", "qwen3_0_6b", "0.6B"),
    Config("qwen3", "qwen3_1_7b", "1.7B"),
    Config("qwen3", "qwen3_14b", "14B"),
    Config("qwen3", "qwen3_32b", "32B"),
    Config("qwen3", "qwen3_moe_debug", "debugmodel_moe"),
    Config("qwen3", "qwen3_30b_a3b", "30B-A3B"),
    Config("deepseek_v3", "deepseek_v3_debugmodel", "debugmodel"),
    Config("deepseek_v3", "deepseek_v3_16b", "16B"),
    Config("deepseek_v3", "deepseek_v3_671b", "671B"),
    Config("deepseek_v3", "deepseek_v3_671b_float8", "671B", "rowwise"),
    Config("gpt_oss", "gpt_oss_20b", "20b"),
    Config("gpt_oss", "gpt_oss_120b", "120b"),
)

#: Modules by the families of Hugging Face; sizes alone do not tell a Llama from a Mistral.
_MODULES = {
    "llama": "llama3", "qwen3": "qwen3", "qwen3_moe": "qwen3", "deepseek_v2": "deepseek_v3",
    "deepseek_v3": "deepseek_v3", "gpt_oss": "gpt_oss",
}  # fmt: skip

#: The model's fields by those of `Sizes`.
_FIELDS = {
    "layers": "model.layers", "hidden": "model.hidden", "heads": "model.heads", "kv_heads": "model.kv_heads",
    "head_dim": "model.head_dim", "ffn": "model.ffn", "vocab": "model.vocab", "experts": "model.experts.count",
    "top_k": "model.experts.top_k", "expert_ffn": "model.experts.ffn", "tied": "model.tied",
}  # fmt: skip


class Trained(NamedTuple):
    """The module and the flavor that the file names; `known` is its name in FLAVORS, None for a model of one's own."""

    module: str
    flavor: str
    known: tuple[str, str] | None


class Mismatch(NamedTuple):
    """Why no flavor is named: the field to blame (none: the target), what is wrong, and what would work."""

    path: str
    message: str
    help: str


_OWN = 'write `emit = [torchtitan { module = "..."  flavor = "..." }]` for a model of your own'
_MTP = Mismatch("model", "torchtitan's flavors have no layers for multi-token prediction", _OWN)


def form(plan: Plan) -> str:
    """Which files are written: `flags` for torchtitan 0.3, or `toml` for 0.2; as `versions` says where nothing does."""
    return option(plan, "torchtitan", "config") or _form_of_version(plan) or FLAGS


def contradiction(plan: Plan) -> Mismatch | None:
    """What is wrong where the option and the version of the plan name different files."""
    stated, known = option(plan, "torchtitan", "config"), _form_of_version(plan)
    if stated is None or known is None or stated == known:
        return None
    message = f"torchtitan {written(plan, 'versions')['torchtitan']} does not read `config = {stated}`"
    return Mismatch("", message, f"write `config = {known}`, or leave it out")


def _form_of_version(plan: Plan) -> str | None:
    version = (written(plan, "versions") or {}).get("torchtitan")
    if not isinstance(version, str):
        return None
    return TOML if version_key(version) < _SINCE_FLAGS else FLAGS


def recipe(plan: Plan) -> str:
    """The scaling recipe of fp8 products; empty without any."""
    return written(plan, "precision.recipe") or "" if written(plan, "precision") == "fp8" else ""


def trained(plan: Plan) -> Trained | Mismatch:
    """The module and flavor of the plan's model: the options, else the flavor of the model's family and sizes."""
    module, flavor = option(plan, "torchtitan", "module"), option(plan, "torchtitan", "flavor")
    if flavor is None:
        return _by_sizes(plan, module)
    if module is None:
        module = _MODULES.get(written(plan, "model.family") or "")
    if module is None:
        return Mismatch("", f"the module of the flavor `{flavor}` is not known", 'write `module = "..."` beside it')
    for name, text in (("module", module), ("function", flavor)) if form(plan) == FLAGS else ():
        if not all(part.isidentifier() for part in (text.split(".") if name == "module" else (text,))):
            return Mismatch("", f"`{text}` is no name of a {name} of Python", f"write the {name} as Python imports it")
    known = _known(plan, module, flavor)
    if known is not None:
        if written(plan, "model.mtp_layers"):
            return _MTP
        field = _differing(plan, known)
        if field is not None:
            values = (getattr(FLAVORS[known], field), written(plan, _FIELDS[field]) or 0)
            theirs, ours = (str(value).lower() for value in values)
            message = f"`{flavor}` of torchtitan has {theirs} as `{field}`, the model {ours}"
            return Mismatch("model", message, "leave `flavor` out, or name one of the model's sizes")
    return Trained(module, flavor, known)


def _by_sizes(plan: Plan, module: str | None) -> Trained | Mismatch:
    module = module or _MODULES.get(written(plan, "model.family") or "")
    if written(plan, "model.mtp_layers"):
        return _MTP
    fits = [key for key in FLAVORS if key[0] == module and _differing(plan, key) is None]
    if not fits:
        version = "0.2" if form(plan) == TOML else "0.3"
        return Mismatch("model", f"torchtitan {version} has no flavor of the model's sizes", _OWN)
    key = fits[0]
    if form(plan) == TOML:
        return Trained(*key, key)
    names = {config.recipe: config.name for config in CONFIGS if (config.module, config.flavor) == key}
    if not names:
        return Mismatch("model", f"torchtitan 0.3 has no configuration for its flavor {key[1]}", _OWN)
    name = names.get(recipe(plan))
    if name is None:
        scaled = " or ".join(f"fp8 {recipe}" if recipe else "bf16" for recipe in names)
        return Mismatch("precision", f"torchtitan 0.3 has `{names.popitem()[1]}` in {scaled} alone", _OWN)
    return Trained(key[0], name, key)


def _known(plan: Plan, module: str, flavor: str) -> tuple[str, str] | None:
    if form(plan) == TOML:
        return (module, flavor) if (module, flavor) in FLAVORS else None
    found = (config for config in CONFIGS if (config.module, config.name) == (module, flavor))
    return next(((config.module, config.flavor) for config in found), None)


def _differing(plan: Plan, key: tuple[str, str]) -> str | None:
    """The first size in which the model and a flavor differ, other than a faulty one."""
    for name, size in FLAVORS[key]._asdict().items():
        own: Any = written(plan, _FIELDS[name])
        is_compared = size != 0 or name == "tied"
        if own != size if is_compared else name == "experts" and own:
            return name
    return None
