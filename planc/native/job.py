"""The files of one job, each by itself and all together: composed into a plan, and judged by the rules of plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from planc.compiler import Skipped, by_rules
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.native import capacity, faults, held, keys, launched, together, wrapping
from planc.native.composing import Composed, Parts, compose
from planc.native.kind import Content, Kind, Options, Recognised, Said
from planc.native.kinds import kind_names, load_kind
from planc.native.returning import Way
from planc.native.shell.embedded import Embedded, outside
from planc.native.tree import Map, Scalar, Seq, walk
from planc.plan.emission import Targets
from planc.plan.house import House
from planc.plan.instance import Partial
from planc.plan.model import Plan
from planc.plan.resolve import resolve
from planc.plan.scope import Load
from planc.rules import all_rules
from planc.source import Source, Span
from planc.syntax import nodes
from planc.targets import known_targets, load_target


class Beside(NamedTuple):
    """What the command line says beside the files.

    parts: the cluster and the model, as the composed plan refers to them; world: ranks of the job; settings: fields
    that are set; options: who reads what.
    """

    parts: Parts = Parts()
    world: int | None = None
    settings: tuple[str, ...] = ()
    options: Options = Options()


#: Tools that train by the Trainer.
_OF_THE_TRAINER = ("transformers", "axolotl", "llama-factory")

#: What the schedule of a DeepSpeed configuration decides.
_OF_SCHEDULE = ("schedule", "schedule.warmup", "schedule.minimum")

#: Nothing is said beside the files.
ALONE = Beside()


class Job(NamedTuple):
    """The files of a job as one plan, and what is wrong with them before any rule looks at it.

    contents: what each unit says; said: all of it; composed: the text of the plan; plans: the plan, resolved;
    withheld: what is unknown where no file says it; way: from places in the plan to places in the files.
    units: what has been read as one file each: files laid over each other, and texts that a script writes, but no file
    that was read as a part of another.
    """

    files: tuple[Recognised, ...]
    units: tuple[Recognised, ...]
    contents: tuple[Content, ...]
    said: tuple[Said, ...]
    composed: Composed
    plans: tuple[Plan, ...]
    withheld: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]
    way: Way


class Judged(NamedTuple):
    """What was found in a job, the rules that lacked a number, and the plan that it makes."""

    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]
    composed: Composed
    plans: tuple[Plan, ...]


def judge(files: Sequence[Recognised], load: Load, beside: Beside = ALONE, house: House | None = None) -> Judged:
    """Everything that is wrong with the files of a job, in them and between them."""
    job = read(files, load, beside, house)
    found, skipped = ruled(job, beside.world)
    return Judged(in_order((*job.diagnostics, *found)), skipped, job.composed, job.plans)


def ruled(job: Job, world: int | None) -> tuple[tuple[Diagnostic, ...], tuple[Skipped, ...]]:
    """What the rules of plans find in a job of so many ranks, and those that lacked a number."""
    found: list[Diagnostic] = []
    rules, skipped = all_rules(), list[Skipped]()
    given = {} if world is None else {"world.size": world}
    for plan in job.plans:
        every = tuple(Facts(plan, engine, given) for engine in engines(plan))
        found.extend(map(outside, job.way.all(by_rules(plan, rules, skipped, every))))
    return tuple(found), tuple(dict.fromkeys(skipped))


def read(files: Sequence[Recognised], load: Load, beside: Beside = ALONE, house: House | None = None) -> Job:
    """The files of a job as one plan."""
    given, files = files, laid_over(files)
    options = options_of(files, beside.options)._replace(versions=_versions(beside.settings, house))
    first = [content_of(file, options) for file in files]
    if options.likely and "transformers" in targets_of(files, first):  # in a script, which has it started
        options = options._replace(trainer="hf", likely=False)
        first = [content_of(file, options) for file in files]
    files, contents = _apart(files, first)
    inside = tuple(file for content in contents for file in content.inside)
    files, contents = (*files, *inside), (*contents, *(content_of(file, options) for file in inside))
    answered = launched.answered(files, options)
    found = [each for content in contents for each in content.diagnostics if not _is_answered(each, answered)]
    scheduled = _scheduled(files, contents)
    hidden = {path for content in contents for path in content.hidden}
    if scheduled is not None:
        hidden.update(_OF_SCHEDULE)
        found.extend(held.check_course((each for content in contents for each in content.said), scheduled))
    said = [each for content in contents for each in _shown(content, hidden).said]
    said.extend(_backends(files, contents, options))
    found.extend(together.check(files, [_shown(content, hidden) for content in contents], options))
    composed = compose(said, targets_of(files, contents), "job", beside.parts)
    kinds = [kind for file, content in zip(files, contents, strict=True) for kind in _kinds(file, content)]
    withheld = frozenset.intersection(*(frozenset(kind.withheld) for kind in kinds)) if kinds else frozenset()
    withheld = withheld.union(hidden, *(content.withheld for content in contents))
    partial = Partial(withheld, beside.world)
    targets = known_targets()
    resolved = resolve((composed.source,), load, targets, beside.settings, None, house, partial)
    found.extend(_against_cluster(said, load, beside, targets))
    formats = {file.tree.source: _format(file) for file in (*given, *inside)}
    way = Way(composed, formats, given[0].tree.source)
    found.extend(each for plan in resolved.plans[:1] for each in wrapping.check(files, plan, way.span))
    found = list(dict.fromkeys(map(outside, found)))
    # What a kind has said of a value, the language need not say again.
    told = [each.primary.span for each in found]
    own = map(outside, way.all(resolved.diagnostics))
    found.extend(each for each in own if not any(map(each.primary.span.overlaps, told)))
    return Job(
        tuple(given), tuple(files), tuple(contents), tuple(said), composed, resolved.plans, withheld, tuple(found), way
    )  # fmt: skip


def _is_answered(found: Diagnostic, answered: Set[Span]) -> bool:
    """Whether a setting has no effect where it is, and the command line has it as well."""
    return found.code == faults.INERT_KEY.code and found.primary.span in answered


def _shown(content: Content, hidden: Set[str]) -> Content:
    """What a file says that holds: of fields that another one decides over it, nothing."""
    return content._replace(said=tuple(each for each in content.said if each.wins or each.path not in hidden))


def _apart(
    files: Sequence[Recognised], contents: Sequence[Content]
) -> tuple[tuple[Recognised, ...], tuple[Content, ...]]:
    """The files that are read by themselves, and what they say: others were read as parts of one of these."""
    taken: set[Source] = set()
    for file, content in zip(files, contents, strict=True):
        if file.tree.source not in taken:
            taken.update(each.taken for each in content.references if each.taken is not None)
    pairs = [pair for pair in zip(files, contents, strict=True) if pair[0].tree.source not in taken]
    return tuple(file for file, _ in pairs), tuple(content for _, content in pairs)


def _against_cluster(said: Sequence[Said], load: Load, beside: Beside, targets: Targets) -> Iterator[Diagnostic]:
    """What files ask of the cluster that the command line names, and it does not have."""
    if beside.parts.cluster is None:
        return
    text = compose((), (), "cluster", beside.parts).source
    for plan in resolve((text,), load, targets, (), None, None, Partial()).plans:
        yield from capacity.check(said, plan, text)


def _kinds(file: Recognised, content: Content) -> Iterator[Kind]:
    """The kind of a file, and those of what a script has in it: a whole command line is as good as a file."""
    yield file.kind
    yield from (load_kind(target) for target in content.targets if target in kind_names())


def _backends(files: Sequence[Recognised], contents: Sequence[Content], options: Options) -> Iterator[Said]:
    """DeepSpeed as the backend of trainers that have several, where a configuration of it stands beside their files,
    and the Trainer as the one that reads it.
    """
    config = next((file.tree.root for file in files if file.kind.name == "deepspeed"), None)
    told = next((each.entry for content in contents for each in content.said if _names_deepspeed(each)), None)
    start = told if config is None else config.span._replace(end=min(config.span.end, config.span.start + 1))
    if start is None:
        return
    targets = targets_of(files, contents)
    if config is not None and (options.trainer == "hf" or "transformers" in targets):
        yield Said("emit.deepspeed.trainer", "hf", start, start, "trainer", assumed=True)
    for target in targets:
        if any(option.name == "backend" for option in load_target(target).options):
            yield Said(f"emit.{target}.backend", "deepspeed", start, start, "deepspeed", assumed=True)


def _scheduled(files: Sequence[Recognised], contents: Sequence[Content]) -> Map | None:
    """The DeepSpeed configuration whose schedule the Trainer takes over its own, whichever tool starts it."""
    found = [file.tree.root for file in files if file.kind.name == "deepspeed"]
    is_read = any(target in _OF_THE_TRAINER for target in targets_of(files, contents))
    return found[0] if len(found) == 1 and is_read and held.scheduler_of(found[0]) is not None else None


def _names_deepspeed(said: Said) -> bool:
    """Whether a file says that DeepSpeed shares, as that of accelerate does."""
    return said.path == "emit.accelerate.backend" and said.text == "deepspeed"


def laid_over(files: Sequence[Recognised]) -> tuple[Recognised, ...]:
    """The files of a job, those of one kind that are laid over each other as one: its keys keep their places."""
    first: dict[str, int] = {}
    found: list[Recognised] = []
    for file in files:
        root, at = file.tree.root, first.get(file.kind.name)
        if at is None or root is None or file.kind.joins is None:
            first.setdefault(file.kind.name, len(found))
            found.append(file)
            continue
        tree = found[at].tree
        if tree.root is None:
            found.append(file)
            continue
        one = tree.root._replace(entries=(*tree.root.entries, *root.entries))
        found[at] = found[at]._replace(tree=tree._replace(roots=(one, *tree.roots[1:])))
    return tuple(found)


def options_of(files: Sequence[Recognised], options: Options) -> Options:
    """The options of a job: who reads a DeepSpeed file is told by the files beside it, unless the command line does.

    A program that accelerate starts may use the Trainer.
    """
    told = {file.kind.trainer for file in files if file.kind.trainer is not None}
    trainer = next((each for each in ("hf", "accelerate") if each in told), None)  # the Trainer asks accelerate
    if options.trainer is not None:
        return options
    return options._replace(trainer=trainer, likely=trainer == "accelerate")


def _versions(settings: Sequence[str], house: House | None) -> tuple[tuple[str, str], ...]:
    """The versions of consumers that the command line states, and a configuration."""
    found: list[tuple[str, str]] = []
    for setting in reversed(settings):
        path, _, value = setting.partition("=")
        if path.strip().startswith("versions."):
            found.append((path.strip().removeprefix("versions."), value.strip().strip('"')))
    for field in () if house is None else house.versions:
        if isinstance(field.value, nodes.String):
            found.append((field.key.text, field.value.value))
    return tuple(found)


def content_of(file: Recognised, options: Options) -> Content:
    """What one file says, and what is wrong with it by itself."""
    content = file.kind.read(file.tree, options)
    if file.part is not None and file.part < len(content.parts):
        content = content.parts[file.part]
    own = [each for root in file.tree.roots for each in keys.duplicates(root, file.tree.format)]
    once: dict[tuple[str, Span, str], Diagnostic] = {}
    for found in (*own, *gaps(file), *content.diagnostics):
        # Of a wrong value both a table and what a kind knows beside it may tell.
        message = "" if found.code == faults.WRONG_VALUE.code else found.message
        once.setdefault((found.code, found.primary.span, message), found)
    return content._replace(diagnostics=tuple(once.values()))


def gaps(file: Recognised) -> Iterator[Diagnostic]:
    """The gaps of a template: one warning for all of them."""
    found: list[Scalar] = []
    for root in () if isinstance(file.tree.source, Embedded) else file.tree.roots:
        for each in walk(root):
            for entry in each.entries:
                values = entry.value.items if isinstance(entry.value, Seq) else (entry.value,)
                found.extend(node for node in values if isinstance(node, Scalar) and node.is_placeholder)
    if found:
        message = "the file is a template with gaps"
        label = f"`{found[0].span.text}` is yet to be filled in"
        yield faults.UNFILLED_TEMPLATE.at(found[0].span, message, label)


def targets_of(files: Sequence[Recognised], contents: Sequence[Content]) -> tuple[str, ...]:
    """The trainers and launchers that read the files, each once."""
    found = [target for file in files for target in file.kind.targets]
    return tuple(dict.fromkeys((*found, *(target for content in contents for target in content.targets))))


def _format(file: Recognised) -> str:
    """How a file writes a setting: as its format does, and a script as an option."""
    return "shell" if file.kind.name == "shell" else file.tree.format
