"""What a script says of how a job is started: its program, options of Slurm, and the launcher that is to start it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from planc.native.kinds import _references, _slurm_checks
from planc.native.kinds._options import entry_of, number_of, place_of, spelt
from planc.native.saying import Sayer, quoted
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Command, Directive, Script
from planc.native.shell.options import Option
from planc.native.shell.values import Word
from planc.native.tree import Entry, Scalar
from planc.source import Span
from planc.targets._shell import is_bare
from planc.targets._slurm_options import FLAGS, VALUED

#: Launchers as the targets that write scripts for them.
_TARGETS = {"torchrun": "torchrun", "accelerate": "accelerate", "deepspeed": "deepspeed-launcher"}

#: Short options of sbatch that a plan keeps.
_SHORT = {
    "-A": "account", "-C": "constraint", "-D": "chdir", "-J": "job-name", "-M": "clusters", "-a": "array",
    "-d": "dependency", "-e": "error", "-o": "output", "-p": "partition", "-q": "qos", "-w": "nodelist",
    "-x": "exclude", "-N": "nodes", "-n": "ntasks", "-t": "time",
}  # fmt: skip

#: Options of sbatch that follow from the plan.
_OWNED = ("gres", "job-name", "nodes", "ntasks", "output", "error", "time")

#: Options with values that the target writes for every job.
_PLAIN = (("exclusive", ""), ("ntasks-per-node", "1"))

#: Options by which the ranks of a job meet: scripts of planc see to that themselves.
_MEETING = frozenset((
    "nnodes", "num_machines", "num_nodes", "node_rank", "machine_rank", "rdzv_backend", "rdzv_endpoint", "rdzv_id",
    "rdzv_conf", "master_addr", "master_port", "main_process_ip", "main_process_port", "standalone", "multi_gpu",
    "same_network", "hostfile", "config_file",
))  # fmt: skip
_MEETING_VARIABLES = frozenset(("MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK"))

#: Commands that change nothing for the program.
_QUIET = frozenset((
    "set", "export", "declare", "local", "readonly", "shopt", "echo", "printf", "true", ":", "exit", "date",
    "hostname", "test", "[", "[[", "wait", "trap",
))  # fmt: skip

_ACTIVATE = re.compile(r"(?!~)(.+)/bin/activate")
_CARDS = re.compile(r"(?:gpu:)?(\d{1,4})")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def by_srun(launches: tuple[Launch, ...]) -> Launch | None:
    """The only launch of a script, if `srun` starts a program of Python with it, each task a rank."""
    found = launches[0] if len(launches) == 1 else None
    is_rank = found is not None and found.launcher == "python" and found.outer is not None
    if not is_rank or found is None or found.command.within("loop", "if", "case", "function"):
        return None
    return found if found.outer is not None and found.outer.launcher == "srun" else None


def say(script: Script, launch: Launch | None, sayer: Sayer) -> None:
    """What a plan keeps of a script besides its machines and its arguments; `launch` is the only one."""
    if launch is not None:
        if launch.launcher == "python":
            _tasks(script, launch, sayer)
        of_launch(launch, sayer)
    _starters(script, launch, sayer)
    _commands(script, launch, sayer)
    for directive in script.directives:
        _directive(directive, sayer)


def of_launch(launch: Launch, sayer: Sayer) -> None:
    """What a plan keeps of a launch, wherever it stands: its program, and how often that is started anew."""
    _program(launch, sayer)
    _restarts(launch, sayer)


def _starters(script: Script, launch: Launch | None, sayer: Sayer) -> None:
    """The targets that write such a script."""
    if launch is None:
        return
    is_job = any(each.scheduler == "slurm" and not (each.late or each.misspelt) for each in script.directives)
    own = _TARGETS.get(launch.launcher)
    if is_job and launch.launcher in ("torchrun", "accelerate", "python"):
        if launch.launcher != "torchrun":
            place = outermost(launch.name.span)
            word = "accelerate" if launch.launcher == "accelerate" else "srun"
            entry = Entry(place, Scalar(place, launch.alias), Scalar(place, word))
            sayer.say("emit.slurm.launcher", entry, word)
        sayer.start("slurm")
        own = own if launch.launcher == "accelerate" else None
    if own is not None:
        sayer.start(own)


def _program(launch: Launch, sayer: Sayer) -> None:
    """The program, and those of its arguments that no field stands for; what only the run knows is left out."""
    script, is_file = launch.script, _is_file(launch)
    if script is not None:
        place = outermost(script.origin)
        entry = Entry(place, Scalar(place, "-m" if launch.module else launch.alias), Scalar(place, place.text))
        sayer.state(entry)
        if is_file:
            sayer.say("launch.script", entry, quoted(script.known or ""))
        elif launch.module and "torchtitan" in sayer.content().targets:
            sayer.use(entry)  # the target has a script of its own, which starts it
    content = sayer.content()
    taken = {span for each in content.said for span in (each.entry, each.value)} | {*content.used}
    taken |= {each.place for each in _references.named(launch) if each.kind is not None and each.sure}
    # What is wrong with an argument is told there; to the plan it says nothing.
    taken |= {label.span for each in content.diagnostics for label in (each.primary, *each.related)}
    kept: list[tuple[Word, ...]] = []
    for words, option in _grouped(launch):
        entry = _entry_of_words(words, option)
        sayer.state(entry)
        if option is not None and _is_taken(option, taken):
            continue
        if is_file and all(word.known is not None and word.known.isprintable() for word in words):
            kept.append(words)
            sayer.use(entry)
    kept = _without_config(launch, kept, sayer)
    if kept:
        first, last = outermost(kept[0][0].span), outermost(kept[-1][-1].span)
        place = first.to(last) if first.source is last.source and first.start <= last.end else first
        texts = [quoted(word.known or "") for words in kept for word in words]
        entry = Entry(place, Scalar(first, launch.alias), Scalar(place, None))
        sayer.say("launch.args", entry, f"[{', '.join(texts)}]")


def _is_file(launch: Launch) -> bool:
    """Whether a launch starts a file of Python whose name is known."""
    name = launch.script.known if launch.script is not None else None
    return name is not None and name.isprintable() and not launch.module and launch.option("no_python") is None


def _is_taken(option: Option, taken: set[Span]) -> bool:
    """Whether a field, or a file, stands for an option of the program."""
    entry = entry_of(option, None)
    return entry.span in taken or (option.value is not None and place_of(option) in taken)


def _without_config(launch: Launch, kept: list[tuple[Word, ...]], sayer: Sayer) -> list[tuple[Word, ...]]:
    """The arguments without a flag that goes before the path of DeepSpeed's file, which the target writes itself."""
    path = launch.parameter("deepspeed_config")
    switch = next((words for words in kept if len(words) == 1 and words[0].known == "--deepspeed"), None)
    if path is None or path.value is None or path.value.known is None:
        return kept
    flags = [*(["--deepspeed"] if switch is not None else []), spelt(path)]
    sayer.say("emit.deepspeed.config_flag", entry_of(path, None), f"[{', '.join(map(quoted, flags))}]")
    return [words for words in kept if words is not switch]


def _grouped(launch: Launch) -> Iterator[tuple[tuple[Word, ...], Option | None]]:
    """The arguments of the program: words before the first option, and each option with its words."""
    options = {id(option.written): option for option in launch.parameters}
    words: list[Word] = []
    option: Option | None = None
    for word in launch.arguments:
        if id(word) in options:
            if words:
                yield tuple(words), option
            words, option = [word], options[id(word)]
        elif option is None:
            yield (word,), None
        else:
            words.append(word)
    if words:
        yield tuple(words), option


def _entry_of_words(words: tuple[Word, ...], option: Option | None) -> Entry:
    behind = option.values[-1] if option is not None and option.values else words[-1]
    first, last = outermost(words[0].origin), outermost(behind.origin)
    whole = first.to(last) if first.source is last.source and first.start <= last.end else first
    name = spelt(option) if option is not None else words[0].known or first.text
    return Entry(whole, Scalar(first, name), Scalar(last, last.text))


def _tasks(script: Script, launch: Launch, sayer: Sayer) -> None:
    """The machines of a job whose tasks are its ranks, where the step takes all of them."""
    own = ("nodes", "ntasks", "ntasks_per_node", "gpus_per_task")
    if launch.outer is None or launch.outer.open or any(launch.outer.option(name) for name in own):
        return
    for path, found in (
        ("cluster.nodes", _slurm_checks.nodes(script)), ("cluster.gpus_per_node", _slurm_checks.tasks(script)),
    ):  # fmt: skip
        if found is not None and found[1]:
            place = found[0].value_span or found[0].line
            entry = Entry(found[0].line, Scalar(found[0].span, found[0].option), Scalar(place, found[1]))
            sayer.say(path, entry, str(found[1]))


def _restarts(launch: Launch, sayer: Sayer) -> None:
    for at in _chain(launch):
        for option in (*at.options, *at.strange):
            if option.name == "module":
                continue
            entry = entry_of(option, place_of(option).text, spelt(option))
            sayer.state(entry)
            if option.name in _MEETING:
                sayer.use(entry)
    limit = launch.option("max_restarts")
    restarts = number_of(limit)
    if limit is not None and restarts and launch.launcher in ("torchrun", "accelerate"):
        sayer.say("launch.restarts", entry_of(limit, restarts), str(restarts))


def _chain(launch: Launch | None) -> Iterator[Launch]:
    while launch is not None:
        yield launch
        launch = launch.outer


def _commands(script: Script, launch: Launch | None, sayer: Sayer) -> None:
    """Modules and the environment that are loaded; all other commands that may matter to the program are stated."""
    modules: list[tuple[Command, str]] = []
    for command in script.commands:
        if command.within("substitution") or not command.words or (launch is not None and command is launch.command):
            continue
        words = [word.known for word in command.words]
        place, arguments = outermost(command.span), [outermost(word.span) for word in command.arguments]
        behind = arguments[0].to(arguments[-1]) if arguments and _follow(arguments) else place
        entry = Entry(place, Scalar(place, command.name or "a command"), Scalar(behind, behind.text))
        if words[:2] in (["module", "load"], ["ml", "load"]) and None not in words and not command.context:
            modules.extend((command, word) for word in words[2:] if word)
        elif command.name in ("source", ".") and _activated(words, command):
            sayer.say("launch.venv", entry, quoted(_activated(words, command)))
        elif command.name not in _QUIET:
            sayer.state(entry)
    if modules:
        place = outermost(modules[0][0].span)
        entry = Entry(place, Scalar(place, "module load"), Scalar(place, None))
        sayer.say("launch.modules", entry, f"[{', '.join(quoted(name) for _, name in modules)}]")
    for export in script.exports:
        place = outermost(export.span)
        is_open = export.value is not None and export.value.known is None
        if export.value is not None and not (is_open and export.name in _MEETING_VARIABLES):
            given = outermost(export.value.span)
            sayer.state(Entry(place, Scalar(place, export.name), Scalar(given, given.text)))


def _follow(spans: list[Span]) -> bool:
    """Whether places follow each other in one text."""
    return all(one.source is other.source and one.start <= other.end for one, other in pairwise(spans))


def _activated(words: list[str | None], command: Command) -> str:
    """The folder of the environment that a command activates."""
    match = _ACTIVATE.fullmatch(words[1] or "") if len(words) == 2 and not command.context else None
    return match[1] if match is not None and match[1].isprintable() else ""


def _directive(directive: Directive, sayer: Sayer) -> None:
    """An option of the job. Of those that Slurm reads, some follow from the plan, and others are kept as they are."""
    entry = Entry(
        directive.line,
        Scalar(directive.span, f"{directive.mark} {directive.option}"),
        Scalar(directive.value_span or directive.span, directive.value or directive.option),
    )
    sayer.state(entry)
    name = _SHORT.get(directive.option, directive.option.lstrip("-") if directive.option.startswith("--") else "")
    value = directive.value or ""
    if directive.scheduler != "slurm" or directive.late or directive.misspelt or directive.variable:
        return
    if name == "job-name" and _NAME.fullmatch(value):
        sayer.name(value)
        sayer.use(entry)
    elif name in ("output", "error") and value and "/" not in value and is_bare(value):
        sayer.say(f"launch.slurm.{name}", entry, quoted(value))
    elif _is_of_cards(name, value, sayer) or _is_of_nodes(name, value, sayer) or (name, value) in _PLAIN:
        sayer.use(entry)
    elif name not in _OWNED and ((name in VALUED and is_bare(value)) or (name in FLAGS and not value)):
        sayer.say(f"launch.slurm.{name}", entry, quoted(value))


def _is_of_nodes(name: str, value: str, sayer: Sayer) -> bool:
    """Whether an option asks for as many nodes as is said otherwise."""
    return name == "nodes" and any(each.path == "cluster.nodes" and each.text == value for each in sayer.content().said)


def _is_of_cards(name: str, value: str, sayer: Sayer) -> bool:
    """Whether an option asks for as many cards as each node has ranks, as the target does, and for none by name."""
    match = _CARDS.fullmatch(value) if name in ("gres", "gpus-per-node") else None
    ranks = {each.text for each in sayer.content().said if each.path == "cluster.gpus_per_node"}
    return match is not None and (name != "gres" or value.startswith("gpu")) and match[1] in ranks
