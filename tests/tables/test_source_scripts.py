"""The scripts that make tables of sources, run on small sources of our own that are written as the real ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.consumers.running import needs
from tests.tables import gpt_neox, megatron, nanotron, torchtitan
from tests.tables.common import at, committed, text_of, versions_of


def put(root: Path, path: str, text: str) -> None:
    """Writes a file of a source."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


_NEOX = """
@dataclass
class Sizes(Template):
    width: int = None
    "a note"
    kind: Literal["plain", "Gated"] = "plain"
    clip_grad: float = 1.0
    optimizer_type: Literal["adam"] = "adam"
    tokenizer = None

@dataclass
class NeoXArgsDeepspeedConfig(Template):
    optimizer: dict = None
    deepspeed_extra_args: dict = None
"""

_NEOX_WHOLE = """
from .neox_args import Sizes, NeoXArgsDeepspeedConfig

BASE_CLASSES = [NeoXArgsDeepspeedConfig, Sizes]

class NeoXArgs(*BASE_CLASSES):
    def derive(self):
        self.update_values({NAMES})
        self.update_value("rank", 1)
"""


def neox(root: Path, names: str) -> Path:
    """A source of gpt-neox."""
    put(root, "megatron/neox_arguments/neox_args.py", _NEOX)
    put(root, "megatron/neox_arguments/arguments.py", _NEOX_WHOLE.replace("NAMES", names))
    return root


def test_gpt_neox(tmp_path: Path) -> None:
    names = "".join(f"'{name}': 1, " for name in gpt_neox._SET_FROM if name != "rank")
    table = gpt_neox.table(neox(tmp_path, names))
    assert table["keys"] == {
        "optimizer": {
            "types": ["object", "null"],
            "unknown": "open",
            "default": None,
            "keys_of": "deepspeed.optimizer",
            "keys": {
                "params": {"types": ["object"], "unknown": "open"},
                "type": {"types": ["string"], "words": ["adam"], "folded": ["adam"]},
            },
            "required": ["params", "type"],
        },
        "deepspeed_extra_args": {
            "types": ["object", "null"],
            "unknown": "open",
            "default": None,
            "keys_of": "deepspeed",
        },
        "width": {"types": ["int", "null"], "default": None},
        "kind": {
            "types": ["string", "null"],
            "words": ["plain", "Gated"],
            "folded": ["plain", "Gated"],
            "default": "plain",
        },
        "clip_grad": {"types": ["float", "null"], "default": 1.0, "set_from": "gradient_clipping"},
        "optimizer_type": {
            "types": ["string", "null"],
            "words": ["adam"],
            "folded": ["adam"],
            "default": "adam",
            "set_from": "optimizer.type",
        },
    }
    put(tmp_path, "NOTE", "of a day\n")
    assert gpt_neox.table(tmp_path)["source"] == "of a day"


def test_gpt_neox_that_does_not_set_a_key_any_more_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"not set any more: \['batch_size'"):
        gpt_neox.table(neox(tmp_path, ""))


_NANOTRON = {
    "src/nanotron/config/config.py": """
from nanotron.config.models_config import NanotronConfigs

@dataclass
class Log:
    level: Optional[str] = None
    every: int = 1
    first: int = 0
    def __post_init__(self):
        if self.level not in ["low", "high"]:
            raise ValueError()
        if self.every <= 0:
            raise ValueError()
        if self.first < 0:
            raise ValueError()
        if self.first < 5:
            print()

@dataclass
class Model:
    model_config: NanotronConfigs
    init_method: Random
    dtype: Optional[torch.dtype] = None

@dataclass
class Stage:
    name: str

@dataclass
class Random:
    std: float

@dataclass
class Config:
    model: Model
    logging: Optional[Log] = None
    stages: Optional[List[Stage]] = None
""",
    "src/nanotron/config/models_config.py": """
@dataclass
class Small:
    width: int
    kind: str = "a"
    def __post_init__(self):
        assert self.kind in ["a", "b"]

@dataclass
class Large:
    width: int = 8
    depth: int = 2

NanotronConfigs = Union[Small, Large, Any]
""",
    "src/nanotron/config/utils_config.py": "str_to_dtype = {'half': torch.half}\n",
    "examples/mamba/config.py": """
@dataclass
class MambaModelConfig:
    width: int = 1
    state: int = 16

@dataclass
class MambaInit:
    range: float = 0.1
""",
    "examples/doremi/doremi/config.py": "@dataclass\nclass DoReMiArgs:\n    step: float = 1.0\n",
}


def test_nanotron(tmp_path: Path) -> None:
    for path, text in _NANOTRON.items():
        put(tmp_path, path, text)
    for path, text in _NANOTRON.items():
        if path.startswith("src"):
            put(tmp_path / "older", path.removeprefix("src/"), text.replace("    stages:", "    data:"))
    table = nanotron.table(tmp_path, tmp_path / "older")
    assert table["required"] == ["model"]
    assert at(table, "logging.level")["words"] == ["low", "high"]
    assert at(table, "logging.every")["above"] == 0
    assert at(table, "logging.first")["minimum"] == 0
    model = at(table, "model.model_config")
    assert set(model["keys"]) == {"width", "kind", "depth", "state"}
    assert model["keys"]["kind"]["words"] == ["a", "b"]
    assert model["keys"]["state"]["only"] == "the trainer of examples/mamba"
    assert "required" not in model
    assert at(table, "model.init_method")["keys"]["range"]["only"] == "the trainer of examples/mamba"
    assert at(table, "model.dtype")["words"] == ["half"]
    assert at(table, "stages")["items"]["required"] == ["name"]
    assert at(table, "doremi")["only"] == "the trainer of examples/doremi/doremi"
    assert table["removed"] == {"data": {"renamed": "data_stages"}}


_TITAN = """
@dataclass
class Job:
    config_file: str | None = None
    custom_config_module: str = ""

@dataclass
class Experimental:
    custom_args_module: str = ""

@dataclass
class Model:
    name: str = "llama"
    tokenizer_path: str | None = None
    hf_assets_path: str = ""

@dataclass
class Training:
    local_batch_size: int = 8

@dataclass
class JobConfig:
    job: Job = field(default_factory=Job)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    experimental: Experimental = field(default_factory=Experimental)
"""

_FLUX = """
@dataclass
class Training:
    local_batch_size: int = 1
    image_size: int = 256

@dataclass
class Encoder:
    path: str = ""

@dataclass
class JobConfig:
    training: Training = field(default_factory=Training)
    encoder: Encoder = field(default_factory=Encoder)
"""


def titan(root: Path, version: str, text: str, place: str = "torchtitan/config/job_config.py") -> Path:
    """A release of torchtitan."""
    put(root, place, text)
    put(root, f"torchtitan-{version}.dist-info/METADATA", "")
    return root


def test_torchtitan(tmp_path: Path) -> None:
    first = _TITAN.replace("    local_batch_size", "    seed: int = 1\n    local_batch_size").replace(
        "    name: str", "    lost: int = 1\n    name: str"
    )
    second = _TITAN.replace("    name: str", "    lost: int = 1\n    name: str")
    root = titan(tmp_path / "3", "0.3", _TITAN)
    put(root, "torchtitan/models/flux/job_config.py", _FLUX)
    older = [
        titan(tmp_path / "1", "0.1", first, "torchtitan/config_manager.py"),
        titan(tmp_path / "2", "0.2", second),
    ]
    table = torchtitan.table(root, older)
    only = "job.custom_config_module = torchtitan.models.flux.job_config"
    assert table["version"] == "0.3"
    assert at(table, "training.image_size") == {"types": ["int"], "default": 256, "only": only}
    assert at(table, "training.local_batch_size") == {"types": ["int"], "default": 8}
    assert at(table, "encoder")["only"] == only
    assert at(table, "model.tokenizer_path")["renamed"] == "model.hf_assets_path"
    assert table["removed"]["training.seed"] == {"since": "0.2", "renamed": "debug.seed"}
    assert table["removed"]["model.lost"] == {"since": "0.3"}
    assert table["removed"]["training.batch_size"]["renamed"] == "training.local_batch_size"


@pytest.mark.consumer
@needs("torchtitan")
def test_the_table_of_torchtitan_is_made_of_the_installed_release() -> None:
    root = torchtitan.installed()
    if root is None or torchtitan.version_of(root) not in versions_of("torchtitan"):
        pytest.skip("there is no table of the installed torchtitan")
    assert text_of(torchtitan.table(root, [])) == text_of(committed("torchtitan", torchtitan.version_of(root)))


_MEGATRON = """
from megatron.training.config import Saving
from megatron.core.sizes import Sizes

def add_megatron_arguments(parser):
    parser = _add_sizes(parser)
    parser = _add_rest(parser)
    return parser

def _add_sizes(parser):
    exclude = ["hook", "hidden"]
    ArgumentGroupFactory(Sizes, exclude=exclude).build_group(parser, "sizes")
    return parser

def _add_rest(parser):
    group = parser.add_argument_group(title="rest")
    group.add_argument("--lr", "--rate", type=float, default=None, help="a " + "b")
    group.add_argument("--kind", type=str, default="a", choices=["a", "b"])
    group.add_argument("--path", nargs="*", default=None)
    group.add_argument("--ids", nargs="+", type=int, dest="numbers")
    group.add_argument("--level", type=int, choices=[0, 1, 2])
    group.add_argument("--no-fuse", action="store_false", dest="fuse")
    group.add_argument("--cache", action=argparse.BooleanOptionalAction, default=True)
    group.add_argument("--safe", type=bool)
    group.add_argument("--every", type=moe_freq_type, default=1)
    group.add_argument("--rank", type=int, default=int(os.getenv("RANK", "0")))
    group.add_argument("--batch-size", type=int, default=None)
    group.add_argument("--checkpoint-activations", action="store_true")
    group.add_argument("--model-parallel-size", type=int)
    group.add_argument("--no-position-embedding", action="store_false")
    group.add_argument("--warmup", type=int)
    group.add_argument("--use-dist-ckpt", action="store_true")
    group.add_argument("--external-cuda-graph", action="store_true")
    factory = ArgumentGroupFactory(Saving)
    factory.build_group(parser, "saving")
    return parser

def _never_called(parser):
    parser.add_argument("--ghost")
    return parser
"""

_SIZES = """
@dataclass
class Parallel:
    tensor_size: int = 1

@dataclass
class Sizes(Parallel):
    depth: int = field(default=0, metadata={"argparse_meta": {"default": None}})
    epsilon: float = field(default=1e-5, metadata={"argparse_meta": {"arg_names": ["--norm-epsilon"]}})
    fused: bool = True
    bias: bool = field(default=True, metadata={"argparse_meta": {"arg_names": ["--disable-bias"]}})
    packed: bool = False
    maybe: Optional[bool] = None
    layout: Optional[list[int]] = None
    backend: Backend = Backend.auto
    mode: Literal["x", "y"] | None = None
    mixed: int | list[int] = field(default=1, metadata={"argparse_meta": {"type": str, "nargs": "+"}})
    hook: Callable = None
    hidden: int = 3
    set_later: int = field(init=False)

class Backend(Enum):
    auto = 1
    flash = 2
"""


def mega(root: Path, version: str, text: str) -> Path:
    """A source of Megatron-LM."""
    parts = dict(zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True))
    put(root, "megatron/core/package_info.py", "\n".join(f"{name} = {value}" for name, value in parts.items()))
    put(root, "megatron/core/sizes.py", _SIZES)
    put(root, "megatron/training/config/__init__.py", "from .saving import Saving\n")
    put(root, "megatron/training/config/saving.py", "@dataclass\nclass Saving:\n    save_dir: str | None = None\n")
    put(root, "megatron/training/arguments.py", text)
    return root


def test_megatron(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    for path in megatron._SCRIPTS:
        put(scripts, path, "")
    put(scripts, "pretrain_vlm.py", "group.add_argument('--freeze', action='store_true')\n")
    put(scripts, "examples/mimo/train.py", "group.add_argument('--provider', type=str, default='a')\n")
    put(scripts, "megatron/inference/utils.py", "group.add_argument('--provider', choices=['a', 'b'], default='a')\n")
    old = _MEGATRON.replace('("--kind"', '("--gone")\n    group.add_argument("--kind"')
    root = mega(tmp_path / "new", "9.2.0", _MEGATRON)
    older = [mega(tmp_path / "1", "9.0.1", old), mega(tmp_path / "2", "9.1.0", _MEGATRON)]
    table = megatron.table(root, scripts, older)
    keys = table["keys"]
    number, text = {"types": ["float"], "coerced": True}, ["string", "int", "float"]
    assert table["version"] == "9.2.0"
    assert keys["--lr"] == {**number, "default": None}
    assert keys["--rate"] == {**number, "default": None, "dest": "lr"}
    assert keys["--kind"] == {"types": ["string"], "words": ["a", "b"], "default": "a"}
    assert keys["--path"] == {"types": ["list", *text], "each": {"types": text}, "nargs": "*", "default": None}
    assert keys["--ids"]["each"] == {"types": ["int"], "coerced": True}
    assert keys["--ids"]["dest"] == "numbers"
    assert keys["--level"] == {"types": ["int"], "minimum": 0, "maximum": 2, "coerced": True}
    assert keys["--no-fuse"] == {"types": ["bool"], "flag": False, "default": True, "dest": "fuse"}
    assert keys["--cache"] == {"types": ["bool"], "flag": True, "default": True}
    assert keys["--no-cache"] == {"types": ["bool"], "flag": False, "dest": "cache"}
    assert keys["--every"]["types"] == ["int", "string"]
    assert "default" not in keys["--rank"]
    assert keys["--depth"]["default"] is None
    assert keys["--norm-epsilon"] == {**number, "default": 1e-5, "dest": "epsilon"}
    assert keys["--no-fused"] == keys["--disable-fused"] == {**keys["--no-fuse"], "dest": "fused"}
    assert keys["--disable-bias"] == {**keys["--no-fuse"], "dest": "bias"}
    assert keys["--packed"] == {"types": ["bool"], "flag": True, "default": False}
    assert keys["--no-maybe"]["flag"] is False
    assert keys["--layout"]["each"] == {"types": ["int"], "coerced": True}
    assert keys["--backend"] == {"types": ["string"], "words": ["auto", "flash"], "default": "auto"}
    assert keys["--mode"]["words"] == ["x", "y"]
    assert keys["--mixed"]["each"] == {"types": text}
    assert keys["--tensor-size"]["default"] == 1
    assert keys["--save-dir"] == {"types": text, "default": None}
    assert not {"--hook", "--hidden", "--set-later", "--ghost", "--bias", "--batch-size"} & set(keys)
    assert keys["--use-dist-ckpt"]["deprecated"] == "it has no effect"
    assert keys["--external-cuda-graph"]["renamed"] == "--cuda-graph-impl"
    assert keys["--freeze"]["only"] == "pretrain_vlm.py"
    assert keys["--provider"] == {"default": "a", "only": "a script of examples/mimo or a script of inference"}
    assert table["removed"]["--gone"] == {"since": "9.1.0"}
    assert table["removed"]["--batch-size"] == {"renamed": "--micro-batch-size"}


def test_megatron_keeps_what_only_other_sources_tell(tmp_path: Path) -> None:
    version = versions_of("megatron")[-1]
    table = megatron.table(mega(tmp_path, version, _MEGATRON), None, [])
    held = committed("megatron", version)
    assert table["removed"] == held["removed"]
    added = {name for name, row in held["keys"].items() if "only" in row}
    assert {name for name, row in table["keys"].items() if "only" in row} == added
    assert 100 < len(added)
