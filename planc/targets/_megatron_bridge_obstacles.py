"""What keeps a plan from being said in overrides of Megatron-Bridge 0.3.1; a faulty field is no obstacle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.targets._launch import bare_starter, option, starting_path, written
from planc.targets._megatron_bridge_config import FINETUNE, Override, task
from planc.targets._megatron_bridge_text import texts, words
from planc.targets._megatron_flags import FSDP, fact
from planc.targets._megatron_lengths import obstacles as length_obstacles
from planc.targets._megatron_obstacles import core_obstacles

OVERRIDES, YAML = "overrides", "yaml"

#: The versions whose classes have the keys that planc writes; later ones keep the length of samples elsewhere.
_SINCE, _BELOW = (0, 3), (0, 4)


class Obstacle(NamedTuple):
    """Why the overrides cannot say the plan: the field to blame, what is wrong in a few words, and what would work."""

    path: str
    message: str
    help: str


def config(plan: Plan) -> str:
    """How the recipe is overridden: by words of the command line, or by a file."""
    return option(plan, "megatron-bridge", "config") or OVERRIDES


def obstacles(plan: Plan, facts: Facts, found: tuple[Override, ...]) -> Iterator[Obstacle]:
    """What keeps Megatron-Bridge from following the plan, whose overrides are these."""
    for obstacle in core_obstacles(plan, facts, written(plan, "shard.bucket") is not None):
        yield Obstacle(*obstacle[1:])
    yield from _lengths(plan, facts)
    yield from _model(plan)
    yield from _checkpoint(plan, facts)
    yield from _adapter(plan)
    yield from _texts(plan, found)
    yield from _launch(plan)


def _lengths(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    if written(plan, "batch.ramp") is not None:
        message = "planc writes no batch that grows for Megatron-Bridge"
        yield Obstacle("batch.ramp", message, "remove it, or emit `megatron`")
        return
    for obstacle in length_obstacles(plan, facts):
        yield Obstacle(*obstacle)


def _model(plan: Plan) -> Iterator[Obstacle]:
    longest, length = written(plan, "model.max_sequence_length"), written(plan, "batch.sequence_length")
    if written(plan, "model.positions") == "learned" and None not in (longest, length) and longest != length:
        message = f"Bridge learns as many positions as a sample has, {length}, not {longest}"
        help = f"write `sequence_length = {longest}`, or emit `megatron`"
        yield Obstacle("batch.sequence_length", message, help)
    vocab, tensor = written(plan, "model.vocab"), written(plan, "parallel.tensor") or 1
    if vocab is not None and vocab % tensor != 0:
        message = f"Bridge pads no stated vocabulary: {vocab:,} rows on {tensor} tensor ranks".replace(",", "_")
        padded = -(-vocab // (128 * tensor)) * 128 * tensor
        yield Obstacle("model.vocab", message, f"write `vocab = {padded:_}`, as Megatron pads it")


def _checkpoint(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    sharded = fact(facts, "shard.stage") in FSDP
    if written(plan, "checkpoint.format") == "full" and not sharded:
        yield Obstacle("checkpoint.format", "Bridge saves shards, no full checkpoint", "write `format = sharded`")
    if written(plan, "checkpoint.async") and sharded:
        message = "Bridge saves shards of FSDP while training waits"
        yield Obstacle("checkpoint.async", message, "remove it, or write `shard { stage = 1 }`")


def _adapter(plan: Plan) -> Iterator[Obstacle]:
    if written(plan, "adapter") is None:
        return
    if task(plan) != FINETUNE:
        help = "write `megatron-bridge { task = finetune }`, with a recipe for adapters"
        yield Obstacle("adapter", "a recipe that pretrains trains no adapters", help)
    base, precision = written(plan, "adapter.base"), written(plan, "precision")
    if base is not None and base != precision:
        message = f"Bridge keeps the frozen weights in {precision}, not in {base}"
        yield Obstacle("adapter.base", message, "leave `base` out, or emit another trainer")


def _texts(plan: Plan, found: tuple[Override, ...]) -> Iterator[Obstacle]:
    seen: set[str] = set()  # what is saved is loaded too
    for override in found:
        references = {text for text in texts(override.value) if "${" in text} - seen
        seen |= references
        if references:
            message = f"OmegaConf takes `${{` in `{override.name}` for a reference"
            yield Obstacle(override.path, message, "write it without `${`")
    said = {override.name: (override.path, word) for override, word in zip(found, words(found), strict=True)}
    for word in written(plan, "launch.args") or ():
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        path, ours = said.get(name.lstrip("+"), ("", ""))
        if equals and ours and ours.partition("=")[2] != value:
            message = f"`{name}` says other than {f'`{path}`' if path else 'the plan'}"
            yield Obstacle("launch.args", message, f"remove it; the override is `{ours}`")


def _launch(plan: Plan) -> Iterator[Obstacle]:
    version = (written(plan, "versions") or {}).get("megatron-bridge")
    if isinstance(version, str) and not _SINCE <= version_key(version) < _BELOW:
        message = f"planc writes keys of Megatron-Bridge 0.3, not {version}"
        yield Obstacle("versions", message, "use 0.3.1, or emit `megatron`")
    named = config(plan) == YAML and any(
        isinstance(word, str) and word.startswith("--config-file") for word in written(plan, "launch.args") or ()
    )
    starter = bare_starter(plan)
    if starter is not None and not named:
        message = f"`{starter}` starts the program without the overrides"
        yield Obstacle(starting_path(plan), message, f"call megatron_bridge.sh, and leave `{starter}` out")
