"""What `planc advise` is asked: the options or the plan file of its command line as a plan without a layout."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from planc.advice.asking import Asked, completed, first_guess
from planc.advice.trainers import BY_DEFAULT, TRAINERS, Trainer
from planc.advice.writing import Given, unsettled
from planc.commands.files import Files
from planc.commands.output import CannotWork, did_you_mean, is_error, quoted
from planc.commands.reading import chosen_plans, read_one
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import did_you_mean as names_like
from planc.diagnostics.text import visible
from planc.plan.model import Plan
from planc.source import CATALOGUE, Source
from planc.syntax.outline import Outline

_WORD = re.compile(r"[\w.-]{1,80}")
_AMOUNT = re.compile(r"\d[\w .%/+-]{0,79}")

#: Options that describe what a plan file would say.
_DESCRIBING = (
    "model",
    "gpu",
    "gpus",
    "gpus_per_node",
    "sequence_length",
    "global_batch",
    "tokens",
    "precision",
    "network",
)


class Question(NamedTuple):
    """The question as text, its plan for each trainer that may be used, and what was assumed.

    final: the same as it is written to a file, from whose folder the path of the first file counts.
    beside: the file, from whose folder the path counts while the plan is not written; None without a file.
    known: code and message of what was found in the file already, which no layout would mend.
    """

    given: Given
    final: Given
    plans: tuple[tuple[Trainer, Plan], ...]
    assumed: tuple[str, ...] = ()
    known: frozenset[tuple[str, str]] = frozenset()
    beside: Source | None = None


def asked_of(files: Files, options: argparse.Namespace) -> Question:
    """The question of a command line."""
    if options.trainer is not None and options.trainer not in TRAINERS:
        guess = did_you_mean(options.trainer, TRAINERS)
        raise CannotWork(f"no trainer {quoted(options.trainer)}{guess}; there are {', '.join(map(quoted, TRAINERS))}")
    if options.force and options.output is None:
        raise CannotWork("`--force` overwrites what `-o PLAN` names; write both")
    if options.file is None:
        return _of_options(files, options)
    said = [name for name in _DESCRIBING if getattr(options, name) is not None]
    if said:
        raise CannotWork(
            f"`--{said[0].replace('_', '-')}` is for a question without a plan file; the file says it itself"
        )
    return _of_file(files, options)


def catalogue_names(files: Files, kind: str) -> tuple[str, ...]:
    """The names of the catalogue's blocks of a kind."""
    source = files.load(f"{CATALOGUE}{kind}s", None)
    return tuple(name for found, name in Outline(source) if found == kind) if isinstance(source, Source) else ()


def _of_options(files: Files, options: argparse.Namespace) -> Question:
    if options.plan is not None:
        raise CannotWork("`--plan` names a plan of a file; name the file too")
    missing = [f"`--{name}`" for name in ("model", "gpu", "gpus") if getattr(options, name) is None]
    if missing:
        raise CannotWork(f"give a plan file, or `--model`, `--gpu` and `--gpus`; {', '.join(missing)} is not given")
    asked = _asked(files, options)
    trainers = _trainers(options.trainer, ())
    guess = _plan(files, unsettled(first_guess(asked), trainers[0]))
    if asked.network and guess.value("cluster.nics.speed") == 0:
        raise CannotWork(f"`--network` {quoted(asked.network)} is none; leave it out for what such cards have")
    given, assumed = completed(asked, guess)
    return Question(given, given, tuple((each, _plan(files, unsettled(given, each))) for each in trainers), assumed)


def _asked(files: Files, options: argparse.Namespace) -> Asked:
    for kind, name in (("model", options.model), ("gpu", options.gpu)):
        known = catalogue_names(files, kind)
        if name not in known:
            guess = next(iter(names_like(name, known)), "see docs/catalogue.md")
            raise CannotWork(f"no {kind} {quoted(name)} in the catalogue; {guess}")
    per_node = options.gpus_per_node or (4 if "nvl72" in options.gpu else 8)
    if options.gpus < 1 or per_node < 1:
        raise CannotWork("`--gpus` and `--gpus-per-node` are at least 1")
    if per_node < options.gpus and options.gpus % per_node:
        raise CannotWork(f"{options.gpus:,} cards are no whole number of nodes of {per_node}; see `--gpus-per-node`")
    texts = {}
    for name, pattern in (
        ("sequence_length", _AMOUNT), ("global_batch", _AMOUNT), ("tokens", _AMOUNT), ("precision", _WORD),
        ("network", _AMOUNT),
    ):  # fmt: skip
        text = getattr(options, name) or ""
        if text and not pattern.fullmatch(text):
            raise CannotWork(f"`--{name.replace('_', '-')}` {quoted(text)} cannot be read")
        texts[name] = text
    if texts["tokens"] and not texts["tokens"].endswith("tokens"):
        texts["tokens"] += " tokens"
    return Asked(options.model, options.gpu, options.gpus, per_node, **texts)


def _of_file(files: Files, options: argparse.Namespace) -> Question:
    if options.file == "-":
        raise CannotWork("the advised plan is made of the file's, so it needs a name; write it to a file first")
    read = read_one(files, options.file)
    analysis = analyse(read.sources, files.load)
    found = (*read.diagnostics, *analysis.diagnostics)
    _refuse(found)
    plans = chosen_plans(analysis.plans, (options.plan,) if options.plan else (), options.file)
    if 1 < len(plans):
        raise CannotWork(
            f"{quoted(options.file)} has several plans, {', '.join(quoted(plan.name) for plan in plans)}: use `--plan`"
        )
    plan = plans[0]
    own = [choice.name for choice in plan.targets if choice.name in TRAINERS]
    trainers = _trainers(options.trainer, own)
    emits = not own or options.trainer not in (None, own[0])
    given = Given(
        _made_of(plan, options.file, os.path.dirname(os.path.realpath(options.file))),
        "",
        "",
        True,
        plan.value("launch.script") is None,
        emits,
    )
    final = given._replace(opening=_made_of(plan, options.file, os.path.dirname(options.output or "")))
    known = frozenset((each.code, each.message) for each in found if not is_error(each))
    return Question(given, final, tuple((trainer, plan) for trainer in trainers), (), known, read.sources[0])


def _made_of(plan: Plan, file: str, folder: str) -> str:
    """The beginning of a plan that is made of a file's, for a file in a folder."""
    path = os.path.relpath(os.path.realpath(file), os.path.realpath(folder or ".")).replace(os.sep, "/")
    return f'use "{path}"\n\nplan {plan.name}-advised from {plan.name} {{\n'


def _trainers(wanted: str | None, own: Sequence[str]) -> tuple[Trainer, ...]:
    """Who may train: the one that is wanted, else the plan's own, else those that need least."""
    names = (wanted,) if wanted is not None else tuple(own[:1]) or BY_DEFAULT
    return tuple(TRAINERS[name] for name in names)


def _plan(files: Files, text: str) -> Plan:
    analysis = analyse((Source("the question", text),), files.load)
    _refuse(analysis.diagnostics)
    return analysis.plans[0]


def _refuse(found: Sequence[Diagnostic]) -> None:
    """Stops at what is wrong with the language of a plan; what its layout lacks is what is to be found."""
    for each in found:
        if is_error(each) and each.code < "PLN09":
            help = f"; {each.help[0]}" if each.help else ""
            raise CannotWork(visible(f"{each.message}{help}"))
