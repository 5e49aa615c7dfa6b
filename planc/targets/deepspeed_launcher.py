"""deepspeed-launcher: `deepspeed.sh`, which calls DeepSpeed's own launcher, and on several nodes the `hostfile` for it.

On several nodes the script is called once, and DeepSpeed starts the ranks of all nodes by pdsh over ssh. Whatever goes
that way is read once more by pdsh and by a shell, and the environment does not go at all: the script quotes for both,
and hands the variables to DeepSpeed in a file of the form of its `.deepspeed_env`. With `ssh = false` the script is
called on every node instead, as those of other launchers are. The launcher chooses the cards itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Choice, Plan
from planc.plan.schema import Field, Type
from planc.source import Span
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._launch import check_launch, choice_of, deepspeed_flags, key_span, launch_values, written
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

_NAME = "deepspeed-launcher"
_SCRIPT = 'launch { script = "train.py" }'
_VERSIONS = "DeepSpeed 0.19.8, pdsh 2.34."

#: What stands in a hostfile and after `pdsh -w` for itself: there blanks, commas, brackets, `@` and `:` have meanings.
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_LOOPBACK = re.compile(r"localhost(\..*)?|127\..*", re.IGNORECASE)

#: Set by the launcher for every rank, whatever stood there before, or by the script for the launcher.
_OF_THE_LAUNCHER = {
    "CUDA_VISIBLE_DEVICES": "the launcher gives each node its first cards",
    "CROSS_RANK": "the launcher sets it for every rank",
    "CROSS_SIZE": "the launcher sets it for every rank",
    "LOCAL_SIZE": "the launcher sets it for every rank",
    "PDSH_RCMD_TYPE": "the launcher sets it for pdsh",
    "DS_ENV_FILE": "the script sets it for the launcher",
}

HOSTS = fault(
    "PLN921",
    "hosts-of-deepspeed-launcher",
    "The launcher of DeepSpeed is not told the nodes of the run, one by one.",
    why="the launcher starts one part of the run on each line of its hostfile. A name that is missing or written twice "
    "ends the start; a node that calls itself `localhost` is another node on each of them.",
    example=example(f"emit = [deepspeed-launcher]  {_SCRIPT}", nodes=2, batch="global = 64  micro = 1"),
    instead=example(
        f'emit = [deepspeed-launcher {{ hosts = ["n1", "n2"] }}]  {_SCRIPT}', nodes=2, batch="global = 64  micro = 1"
    ),
    fix="list the names of all nodes in `hosts`, as the nodes themselves resolve them, the master first.",
    source="deepspeed/launcher/runner.py, _parse_hostfile and main; pdsh(1), -w.",
    versions=_VERSIONS,
)

VARIABLE = fault(
    "PLN922",
    "variable-of-deepspeed-launcher",
    "`launch.env` sets a variable that the launcher of DeepSpeed sets itself.",
    why="the launcher overwrites it for every rank, so that the value of the plan would be gone without a word. It "
    "gives a node's ranks the cards from 0 on, whatever `CUDA_VISIBLE_DEVICES` says.",
    example=example(
        'emit = [deepspeed-launcher]  launch { script = "train.py"  env { CUDA_VISIBLE_DEVICES = "4,5,6,7" } }', gpus=4
    ),
    instead=example(
        'emit = [torchrun]  launch { script = "train.py"  env { CUDA_VISIBLE_DEVICES = "4,5,6,7" } }', gpus=4
    ),
    fix="leave the variable out, or emit `torchrun`, which leaves the cards to the environment.",
    source="deepspeed/launcher/launch.py, main; deepspeed/launcher/runner.py, DS_ENV_FILE.",
    versions=_VERSIONS,
)

NOT_CARRIED = fault(
    "PLN923",
    "uncarried-by-deepspeed-launcher",
    "The launcher of DeepSpeed cannot hand on a text of the plan as it is written.",
    why="between the script and the program stand parsers and a shell of each node. A first argument `--` is taken for "
    "the end of the launcher's own options; over ssh the file of variables holds one line a variable, without the "
    "blanks at its ends; and nothing loads environment modules on the nodes.",
    example=example('emit = [deepspeed-launcher]  launch { script = "train.py"  args = ["--", "x"] }'),
    instead=example('emit = [deepspeed-launcher]  launch { script = "train.py"  args = ["x"] }'),
    fix="change the text, write `ssh = false` and call the script on every node, or emit `torchrun`.",
    source="deepspeed/launcher/runner.py, main; deepspeed/launcher/multinode_runner.py, add_export and PDSHRunner.",
    versions=_VERSIONS,
)

RESTARTS = fault(
    "PLN924",
    "restarts-of-deepspeed-launcher",
    "`launch.restarts` is written, and the launcher of DeepSpeed restarts nothing.",
    why="the launcher has no option for it: when a rank fails it ends the others, and the run is over.",
    example=example('emit = [deepspeed-launcher]  launch { script = "train.py"  restarts = 3 }'),
    instead=example('emit = [torchrun]  launch { script = "train.py"  restarts = 3 }'),
    fix="remove `restarts`, or emit `torchrun`.",
    source="deepspeed/launcher/runner.py, parse_args; deepspeed/launcher/launch.py, main.",
    versions=_VERSIONS,
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What the launcher of DeepSpeed cannot do for the plan."""
    yield from check_launch(plan, _NAME)
    choice = choice_of(plan, _NAME)
    if choice is None:
        return
    yield from _check_hosts(plan, choice)
    for name in written(plan, "launch.env") or {}:
        if name in _OF_THE_LAUNCHER:
            span = key_span(plan, "launch.env", name)
            yield VARIABLE.at(span, f"the variable `{name}` would not arrive", _OF_THE_LAUNCHER[name])
    yield from _check_carried(plan, choice)
    restarts = written(plan, "launch.restarts")
    if restarts is not None and 0 < restarts:
        span = plan["launch.restarts"].span
        yield RESTARTS.at(span, f"DeepSpeed's launcher has no restarts, the plan {count_text(restarts)}")


def _check_hosts(plan: Plan, choice: Choice) -> Iterator[Diagnostic]:
    nodes, hosts = written(plan, "cluster.nodes"), written(choice.options, "hosts")
    if nodes is None or written(plan, "cluster.groups"):
        return
    if hosts is None:
        if 1 < nodes and choice.options["hosts"].value is None:
            help = ('write `deepspeed-launcher { hosts = ["n1", ...] }`',)
            yield HOSTS.at(choice.span, f"the names of {count_text(nodes)} nodes are not written", help=help)
        return
    span = choice.options["hosts"].span
    if nodes == 1:
        yield HOSTS.at(span, "one node is the one where the script is called", help=("leave `hosts` out",))
    elif len(hosts) != nodes:
        yield HOSTS.at(span, f"{plural(len(hosts), 'host')} for {plural(nodes, 'node')}", "one for each")
    for number, host in enumerate(hosts):
        if not _HOST.fullmatch(host):
            yield HOSTS.at(span, f"`{host}` is no name of a host", "letters, digits, `.`, `-` and `_`")
        elif host in hosts[:number]:
            yield HOSTS.at(span, f"the host `{host}` is written twice")
        elif 1 < nodes and _LOOPBACK.fullmatch(host):
            yield HOSTS.at(span, f"`{host}` is another node on each of {count_text(nodes)} nodes")


def _check_carried(plan: Plan, choice: Choice) -> Iterator[Diagnostic]:
    args = written(plan, "launch.args") or ()
    if args and args[0] == "--":
        yield NOT_CARRIED.at(plan["launch.args"].span, "deepspeed takes a first argument `--` for its own")
    if not _over_ssh(plan, choice):
        return
    for name, value in (written(plan, "launch.env") or {}).items():
        if value != value.strip() or "\n" in value:
            span: Span = key_span(plan, "launch.env", name)
            label = "a line break" if "\n" in value.strip() else "blanks at its ends"
            yield NOT_CARRIED.at(span, f"the value of `{name}` does not pass through ssh", label)
    if written(plan, "launch.modules"):
        span = plan["launch.modules"].span
        yield NOT_CARRIED.at(
            span, "nothing loads modules on the nodes", help=("load them in the shell's start-up file",)
        )


def _over_ssh(plan: Plan, choice: Choice) -> bool:
    return 1 < (written(plan, "cluster.nodes") or 1) and bool(written(choice.options, "ssh"))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`deepspeed.sh`, and `hostfile` for several nodes."""
    choice = choice_of(plan, _NAME)
    assert choice is not None  # only a target that is emitted is asked for its files
    hosts: tuple[str, ...] = written(choice.options, "hosts") or ()
    values = launch_values(plan, facts)
    gpus = values["gpus_per_node"]
    values.update(
        flags=deepspeed_flags(plan),
        cards=",".join(str(card) for card in range(gpus)),
        local_rank=choice.options.value("local_rank"),
        ssh=choice.options.value("ssh"),
        master=hosts[0] if hosts else "",
        carried=(
            *(name for name, _ in values["env"] if name != "PYTHONPATH" or not values["compiled"]),
            *values["others"].values(),
            *(("PYTHONPATH",) if values["compiled"] else ()),
        ),
    )
    script = EmittedFile("deepspeed.sh", render("deepspeed-launcher/deepspeed.sh.j2", values), executable=True)
    if not hosts:
        return (script,)
    return (EmittedFile("hostfile", "".join(f"{host} slots={gpus}\n" for host in hosts)), script)


TARGET = Target(
    summary="deepspeed.sh, which calls DeepSpeed's launcher, and its hostfile for several nodes",
    proved="DeepSpeed 0.19.8: its parsers, one node and two on gloo, and its calls of ssh, run by stand-ins",
    check=check,
    emit=emit,
    options=(
        Field(
            "hosts",
            Type("list", item=Type("text")),
            None,
            "names of the nodes, the master first; needed for more than one",
        ),
        Field(
            "ssh",
            Type("flag"),
            True,
            "deepspeed.sh is called once and reaches the other nodes by pdsh and ssh; if not, it is called on each",
        ),
        Field(
            "local_rank",
            Type("flag"),
            False,
            "the program is given `--local_rank=N` as its first argument; `LOCAL_RANK` is set in any case",
        ),
    ),
    faults=(HOSTS, VARIABLE, NOT_CARRIED, RESTARTS, *LAUNCH_FAULTS),
    start=Start(bare=True),
)
