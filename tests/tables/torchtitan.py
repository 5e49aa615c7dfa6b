"""The keys of torchtitan's TOML, read from its source: `python -m tests.tables.torchtitan [SOURCE [OLDER...]]`.

SOURCE is a folder that holds the package `torchtitan` of a release that reads TOML (0.2), such as an unpacked wheel;
without it, that of the installed package. OLDER are those of earlier releases, the oldest first: keys that they have
and SOURCE lacks go under `removed`; without them, those of the table in the repository are kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.tables.common import Row, committed, write
from tests.tables.source import Rules, gone, load, object_of

CONSUMER = "torchtitan"

#: A key that it does not know stops it: `_dict_to_dataclass` in config/manager.py.
RULES = Rules(types={}, unknown="rejected")

#: Where releases keep the class of the whole file, the newest first.
_PLACES = ("torchtitan/config/job_config.py", "torchtitan/config_manager.py")

#: Keys that the release still reads and puts elsewhere (`_validate_config`).
_RENAMED = {
    "experimental.custom_args_module": "job.custom_config_module",
    "model.tokenizer_path": "model.hf_assets_path",
}

#: Names that keys of earlier releases have now.
_SUCCESSORS = {
    "checkpoint.enable_checkpoint": "checkpoint.enable",
    "checkpoint.initial_load_model_weights_only": "checkpoint.initial_load_model_only",
    "checkpoint.last_save_model_weights_only": "checkpoint.last_save_model_only",
    "checkpoint.model_weights_only": "checkpoint.last_save_model_only",
    "experimental.context_parallel_degree": "parallelism.context_parallel_degree",
    "experimental.enable_async_tensor_parallel": "parallelism.enable_async_tensor_parallel",
    "experimental.pipeline_parallel_degree": "parallelism.pipeline_parallel_degree",
    "float8": "quantize.linear.float8",
    "job.print_args": "job.print_config",
    "lr_scheduler.lr_min": "lr_scheduler.min_lr_factor",
    "memory_estimation.enabled": "memory_estimation.enable",
    "mx": "quantize.linear.mx",
    "profiling.profile_every_x_iter": "profiling.profile_freq",
    "profiling.run_profiler": "profiling.enable_profiling",
    "training.batch_size": "training.local_batch_size",
    "training.compile": "compile.enable",
    "training.data_parallel_degree": "parallelism.data_parallel_shard_degree",
    "training.data_parallel_replicate_degree": "parallelism.data_parallel_replicate_degree",
    "training.data_parallel_shard_degree": "parallelism.data_parallel_shard_degree",
    "training.debug_moe_force_load_balance": "debug.moe_force_load_balance",
    "training.deterministic": "debug.deterministic",
    "training.pipeline_parallel_degree": "parallelism.pipeline_parallel_degree",
    "training.seed": "debug.seed",
    "training.tensor_parallel_degree": "parallelism.tensor_parallel_degree",
    "training.warmup_steps": "lr_scheduler.warmup_steps",
}

#: What to do about a key that has no successor.
_DOCS = {
    "metrics.enable_color_printing": "remove it; `metrics.disable_color_printing` turns colors off",
    "parallelism.pipeline_parallel_split_points": "list the modules of each stage in `module_fqns_per_model_part`",
    "training.fp8_linear": 'write `converters = ["quantize.linear.float8"]` in `[model]`',
}

#: Keys of the files that torchtitan shipped before 0.1.0, its first release with the classes.
_BEFORE = (
    "checkpoint.interval_type", "checkpoint.model_weights_only", "experimental.context_parallel_degree",
    "experimental.enable_async_tensor_parallel", "experimental.pipeline_parallel_degree",
    "metrics.enable_color_printing", "metrics.use_for_integration_test", "model.norm_type",
    "profiling.profile_every_x_iter", "profiling.run_profiler", "training.batch_size", "training.data_parallel_degree",
    "training.data_parallel_replicate_degree", "training.data_parallel_shard_degree", "training.fp8_linear",
    "training.pipeline_parallel_degree", "training.tensor_parallel_degree", "training.warmup_steps",
)  # fmt: skip


def table(root: Path, older: list[Path]) -> Row:
    """The keys of the release in a folder, and what became of those of earlier ones."""
    whole = _whole(root)
    keys: dict[str, Row] = whole["keys"]
    for file in sorted((root / "torchtitan").rglob("job_config.py")):
        path = file.relative_to(root).as_posix()
        if path not in _PLACES and "JobConfig" in load(root, path).classes:
            module = path.removesuffix(".py").replace("/", ".")
            _merge(keys, object_of(load(root, path), "JobConfig", RULES)["keys"], module)
    for path, successor in _RENAMED.items():
        section, name = path.split(".")
        keys[section]["keys"][name]["renamed"] = successor
    version = version_of(root)
    return {
        "consumer": CONSUMER,
        "version": version,
        "source": f"the classes of JobConfig in torchtitan {version}, and those that custom_config_module can name",
        "unknown": whole["unknown"],
        "keys": keys,
        "removed": _removed(keys, [*older, root]) if older else committed(CONSUMER, version)["removed"],
    }


def version_of(root: Path) -> str:
    """The version of the release in a folder: that of the metadata beside the package."""
    (metadata,) = root.glob("torchtitan-*.dist-info")
    found = re.fullmatch(r"torchtitan-(.+)\.dist-info", metadata.name)
    assert found is not None, metadata
    return found[1]


def _whole(root: Path) -> Row:
    place = next(place for place in _PLACES if (root / place).exists())
    return object_of(load(root, place), "JobConfig", RULES)


def _merge(keys: dict[str, Row], added: dict[str, Row], module: str) -> None:
    """Puts the keys of a custom configuration beside those of the base, as `_merge_configs` does."""
    only = f"job.custom_config_module = {module}"
    for name, row in added.items():
        if name not in keys:
            keys[name] = {**row, "only": only}
        elif "keys" in row:
            _merge(keys[name]["keys"], row["keys"], module)
        elif "only" in keys[name]:
            keys[name]["only"] += f" or {module}"


def _removed(keys: dict[str, Row], releases: list[Path]) -> Row:
    """The keys of earlier releases, each with the first one that lacks it."""
    removed = dict.fromkeys(_BEFORE, "0.1.0")
    for at, release in enumerate(releases[:-1]):
        for name in gone(_whole(release)["keys"], keys):
            removed[name] = next(version_of(later) for later in releases[at + 1 :] if name not in _names(later))
    return {name: dict(_said(name, since)) for name, since in removed.items() if not _is_in(keys, name)}


def _names(release: Path) -> set[str]:
    """All whole names of a release."""
    return set(_inner(_whole(release)["keys"], ""))


def _inner(keys: dict[str, Row], path: str) -> Iterator[str]:
    for name, row in keys.items():
        yield path + name
        yield from _inner(row.get("keys", {}), f"{path}{name}.")


def _is_in(keys: dict[str, Row], name: str) -> bool:
    return name in set(_inner(keys, ""))


def _said(name: str, since: str) -> Iterator[tuple[str, str]]:
    yield "since", since
    if name in _SUCCESSORS:
        yield "renamed", _SUCCESSORS[name]
    if name in _DOCS:
        yield "doc", _DOCS[name]


def installed() -> Path | None:
    """The folder of the installed package, where it is of a release that reads TOML."""
    spec = find_spec(CONSUMER)
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parents[1]
    return root if (root / _PLACES[0]).exists() else None


def main() -> None:
    """Write the table of the folders that the command line names, or of the installed package."""
    folders = [Path(word) for word in sys.argv[1:]]
    root = folders[0] if folders else installed()
    assert root is not None, "torchtitan 0.2 is not installed: name a folder that holds it"
    write(table(root, folders[1:]))


if __name__ == "__main__":
    main()
