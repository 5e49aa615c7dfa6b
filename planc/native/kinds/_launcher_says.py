"""What a launch says of a run: its machines, the variables that the program gets, and what accelerate sets for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from planc.native.kind import Options, Said
from planc.native.kinds import _accelerate_launch_checks, _deepspeed_launch_checks, _slurm_checks, accelerate
from planc.native.kinds._launcher_checks import HIDING, Shown
from planc.native.kinds._options import entry_of, number_of, text_of, whole_of
from planc.native.saying import Sayer, quoted
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown, Word
from planc.native.tree import Entry, Map, Scalar, Tree
from planc.source import Span

#: Options of accelerate that say of which type a run is, and the word for it in a configuration.
_TYPES = {"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED", "multi_gpu": "MULTI_GPU"}

#: Options that stand in a section of a configuration.
_OF_DEEPSPEED = (
    "zero_stage", "gradient_accumulation_steps", "gradient_clipping", "offload_optimizer_device",
    "offload_param_device", "deepspeed_config_file",
)  # fmt: skip

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def machines(script: Script, launch: Launch, sayer: Sayer) -> None:
    """Machines of the job, and processes on each: those of accelerate are counted over all."""
    names = {
        "torchrun": ("nnodes", "nproc_per_node"), "deepspeed": ("num_nodes", "num_gpus"),
        "accelerate": ("num_machines", "num_processes"),
    }[launch.launcher]  # fmt: skip
    nodes, ranks = (launch.option(name) for name in names)
    local = _deepspeed_launch_checks.local_cards(launch) if launch.launcher == "deepspeed" else None
    ranks, each = local if local is not None else (ranks, number_of(ranks))
    count = whole_of(nodes)  # by a default of the environment scripts leave it open
    told = nodes.value.value if nodes is not None and nodes.value is not None else None
    job = _slurm_checks.nodes(script)
    if nodes is not None and count:
        sayer.say("cluster.nodes", entry_of(nodes, count), wins=True)
    elif isinstance(told, Unknown) and told.name in _slurm_checks.OF_NODES and job is not None:
        count = job[1]
        place = job[0].value_span or job[0].line
        entry = Entry(job[0].line, Scalar(job[0].span, job[0].option), Scalar(place, count))
        sayer.say("cluster.nodes", entry, wins=True)
    elif nodes is not None:
        sayer.hide("cluster.nodes")
    elif nodes is None and ranks is not None and _is_local(launch):
        sayer.say("cluster.nodes", entry_of(ranks, each), "1", wins=True)
        count = 1
    if ranks is not None and not each:
        sayer.hide("cluster.gpus_per_node")
    if ranks is None or not each:
        return
    if launch.launcher != "accelerate":
        sayer.say("cluster.gpus_per_node", entry_of(ranks, each), str(each), wins=True)
    elif count and each % count == 0:
        sayer.say("cluster.gpus_per_node", entry_of(ranks, each), str(each // count), wins=True)
    elif nodes is not None:
        sayer.hide("cluster.gpus_per_node")  # of all machines, whose number only the run knows


def _is_local(launch: Launch) -> bool:
    """Whether a launch that names no number of machines runs on one."""
    if launch.launcher == "accelerate":
        return _accelerate_launch_checks.processes_of(launch) is not None
    if launch.launcher == "deepspeed":
        return launch.outer is None and not _deepspeed_launch_checks.has_hosts(launch)
    return not launch.open


def variables(script: Script, launch: Launch | None, told: Collection[Span], sayer: Sayer) -> None:
    """Variables that the program gets, where their value is known for certain; of one that stands at one of the
    places in `told`, a message tells already.
    """
    exports = [export for each in script.every() for export in each.exports]
    found = {each.name: (each.span, each.value) for each in exports if not each.context}
    at: Launch | None = launch
    chain = []
    while at is not None:
        chain.append(at)
        at = at.outer
    for each in reversed(chain):
        found.update({own.name: (own.span, own.value) for own in each.environment})
    for export in script.exports:
        if export.context:
            found.pop(export.name, None)
    for name, (span, value) in found.items():
        _variable(name, outermost(span), value, told, sayer)


def _variable(name: str, place: Span, value: Word | None, told: Collection[Span], sayer: Sayer) -> None:
    text = value.known if value is not None and not value.default_of else None
    if name in HIDING and text is not None and Shown(name, text, place).cards == 0:
        return  # it trains on processors
    if text is not None and place not in told and _VARIABLE.fullmatch(name) and text.isprintable():
        sayer.say(f"launch.env.{name}", Entry(place, Scalar(place, name), Scalar(place, text)), quoted(text))


def settings(launch: Launch) -> Iterator[Said]:
    """What options of `accelerate launch` say, each as the configuration says it over which they are taken."""
    if launch.launcher != "accelerate" or launch.open:
        return
    place = outermost(launch.name.span)
    top = [_entry(option, option.name) for option in launch.options if option.name == "mixed_precision"]
    if any(launch.parameter(name) is not None for name in ("fp16", "bf16")):
        top = []  # the Trainer takes its own
    types = [option for option in launch.options if option.name in _TYPES]
    if len(types) == 1:
        top.append(entry_of(types[0], _TYPES[types[0].name], "distributed_type"))
    sections = {
        "fsdp_config": [option for option in launch.options if option.name.startswith("fsdp_")],
        "deepspeed_config": [option for option in launch.options if option.name in _OF_DEEPSPEED],
    }
    for name, options in sections.items():
        entries = tuple(_entry(option, option.name) for option in options if text_of(option) is not None)
        top.append(Entry(place, Scalar(place, name), Map(place, entries)))
    tree = Tree(place.source, "yaml", (Map(place, tuple(top)),))
    for said in accelerate.read(tree, Options()).said:
        if not said.path.startswith("cluster."):
            yield said._replace(over="accelerate")


def _entry(option: Option, name: str) -> Entry:
    """An option as a key of a configuration, its value as YAML reads it."""
    text = text_of(option) or ""
    value: object = {"true": True, "false": False}.get(text.lower(), text)
    for kind in (int, float):
        try:
            value = kind(text)
            break
        except ValueError:
            continue
    return entry_of(option, value, name)
