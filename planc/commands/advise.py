"""`planc advise`: which split when, from one card to many, ending in a plan that planc itself finds no fault with."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import Configurations
from planc.commands.files import Files, reason_of
from planc.commands.output import CannotWork, is_error
from planc.commands.placing import refuse_inputs, refuse_place
from planc.commands.settling import settle
from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible
from planc.source import Source

if TYPE_CHECKING:
    from planc.advice.ladder import Ladder
    from planc.advice.layouts import Question, Trial
    from planc.commands.asking import Question as AskedFor
    from planc.diagnostics.diagnostic import Diagnostic

    _Passed = tuple[tuple[Trial, tuple[Diagnostic, ...]], ...]

#: Layouts of which the first that planc finds no fault with is taken.
_CHECKED = 30

#: Reasons that are shown of those for which layouts were passed over.
_REASONS = 5


def run(arguments: list[str]) -> int:
    """Exit status: 0 with a plan, 1 if no layout would do."""
    from planc.advice.asking import why_no_layout
    from planc.advice.document import document
    from planc.advice.ladder import climb
    from planc.advice.layouts import question
    from planc.advice.telling import told
    from planc.advice.writing import written
    from planc.commands.asking import asked_of
    from planc.plan.model import Unknown

    options = parsed(parser(), arguments)
    files = Files()
    asked_for = asked_of(files, options)
    if options.output is not None:
        refuse_place(options.output, "advised.plan", options.force)
        refuse_inputs(options.output, files.paths())
    questions: list[Question] = []
    for trainer, plan in asked_for.plans:
        reason = why_no_layout(plan)
        if reason:
            raise CannotWork(f"no layout would do: {visible(reason)}")
        asked = question(plan, trainer)
        if isinstance(asked, Unknown):
            needs = f"; it needs {', '.join(map(output.quoted, asked.missing))}" if asked.missing else ""
            raise CannotWork(f"no advice without numbers: {asked.reason}{needs}")
        questions.append(asked)
    ladder = climb(questions)
    unknown = next((trial.total for rung in ladder.rungs for trial in rung.trials if not trial.fits), None)
    if ladder.least is None and isinstance(unknown, Unknown):
        raise CannotWork(f"no advice without numbers: {unknown.reason}")
    chosen, passed = _first_without_fault(files, asked_for, ladder)
    text = "" if chosen is None else written(asked_for.final, chosen.question, chosen.layout)
    instead = () if chosen is not None else tuple(_instead(files, questions, ladder, passed))
    if options.output_format == "json":
        import json

        data = document(questions[0], asked_for.assumed, ladder, chosen, text, instead, passed)
        output.write(json.dumps(data, indent=2) + "\n")
    else:
        lines = [*told(ladder, questions[0], asked_for.assumed), "", *_ending(chosen, passed, instead)]
        output.write("".join(f"{visible(line)}\n" for line in lines))
        output.write("" if chosen is None or options.output is not None else f"\n{text}")
    if chosen is None:
        return 1
    if options.output is not None:
        _save(text, options)
    return 0


def _ending(chosen: Trial | None, passed: _Passed, instead: tuple[str, ...]) -> Iterator[str]:
    from planc.advice.telling import layout_text, numbers

    if chosen is None:
        yield "no layout would do"
        yield from (f"  {line}" for line in instead)
        return
    yield f"advice: {layout_text(chosen)}, trained by {chosen.question.trainer.name}"
    yield from (f"  {line}" for line in numbers(chosen))
    if passed:
        yield from (f"  {line}" for line in _passed_over(passed))


def _passed_over(passed: _Passed) -> Iterator[str]:
    """The layouts that did better and why none of them is advised, each reason once."""
    from planc.advice.telling import layout_text

    yield f"passed over: {plural(len(passed), 'layout')} of the ladder, whose plans are faulty"
    first: dict[tuple[str, str], tuple[Trial, Diagnostic]] = {}
    for trial, faults in passed:
        for each in faults:
            first.setdefault((each.code, each.message), (trial, each))
    for trial, each in list(first.values())[:_REASONS]:
        yield f"  {layout_text(trial)}: {each.message} ({each.code})"
    if _REASONS < len(first):
        yield f"  and {plural(len(first) - _REASONS, 'reason')} more; `--output-format json` has all of them"


def _first_without_fault(files: Files, asked_for: AskedFor, ladder: Ladder) -> tuple[Trial | None, _Passed]:
    """The first layout whose plan draws no fault but the known ones, and those before it with what their plans drew."""
    from planc.advice.writing import written

    passed: list[tuple[Trial, tuple[Diagnostic, ...]]] = []
    for trial in ladder.ranking[:_CHECKED]:
        found = _faults(files, written(asked_for.given, trial.question, trial.layout), asked_for.beside)
        found = tuple(each for each in found if (each.code, each.message) not in asked_for.known)
        if not found:
            return trial, tuple(passed)
        passed.append((trial, found))
    return None, tuple(passed)


def _faults(files: Files, text: str, beside: Source | None) -> tuple[Diagnostic, ...]:
    """What `planc lint` says of a plan, and what would keep it from being compiled, if it stood beside a file."""
    from planc.compiler import analyse, open_fields
    from planc.reporting.configuration import Chosen

    source = Source("advised.plan", text)
    analysis = analyse((source,), lambda name, importer: files.load(name, beside if importer is source else importer))
    found = [*analysis.diagnostics, *(each for plan in analysis.plans for each in open_fields(plan))]
    return settle(found, (source,), Configurations(files, use=False), Chosen(), ()).diagnostics


def _save(text: str, options: argparse.Namespace) -> None:
    try:
        with open(options.output, "w" if options.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CannotWork(f"{output.quoted(options.output)} is there already; `--force` overwrites it") from None
    except OSError as error:
        raise CannotWork(f"cannot write {output.quoted(options.output)}: {reason_of(error)}") from error
    if options.output_format == "text":
        output.write(f"\nwrote {visible(options.output)}\n")


def _instead(files: Files, questions: list[Question], ladder: Ladder, passed: _Passed) -> Iterator[str]:
    from planc.advice.falling_short import remedies

    if passed:
        refused = passed[0][1]
        worst = next(filter(is_error, refused), refused[0])
        yield f"the best that fits is faulty: {worst.message} ({worst.code})"
    elif ladder.least is not None:
        yield from remedies(questions, ladder.least, _memory_of_cards(files))
    else:
        asked = questions[-1]
        yield (
            f"no power of two divides {plural(asked.cards, 'card')}, {plural(asked.samples, 'sample')} a step, "
            f"{plural(asked.layers, 'layer')} and {plural(asked.heads, 'head')} as a layout has to"
        )


def _memory_of_cards(files: Files) -> dict[str, Any]:
    """Usable bytes of every card of the catalogue."""
    from planc.commands.asking import catalogue_names
    from planc.compiler import analyse
    from planc.plan.model import Unknown

    names = catalogue_names(files, "gpu")
    clusters = "".join(
        f"cluster c{at} {{ gpu = {name}  nodes = 1  gpus_per_node = 1 }}\n" for at, name in enumerate(names)
    )
    model = "model m { layers = 1  hidden = 64  heads = 1  ffn = 64  vocab = 64 }\n"
    plans = "".join(
        f"plan p{at} {{ model = m  cluster = c{at}  batch {{ global = 1 }}  precision = fp32 }}\n"
        for at in range(len(names))
    )
    found = analyse((Source("cards.plan", f'use "planc/gpus"\n{clusters}{model}{plans}'),), files.load).plans
    sizes = {name: plan.value("cluster.gpu.usable_memory") for name, plan in zip(names, found, strict=True)}
    return {name: float(size) for name, size in sizes.items() if not isinstance(size, Unknown)}


def parser() -> argparse.ArgumentParser:
    """The command line of `planc advise`."""
    made = Parser(
        prog="planc advise",
        description="Say which split a model needs on a cluster, step by step from one card to many, each with its "
        "numbers, and end in a plan. Give a plan file, or `--model`, `--gpu` and `--gpus`. Exit status: 0, or 1 if no "
        "layout would do.",
    )
    made.add_argument("file", nargs="?", metavar="FILE", help="a plan file, whose layout is left aside")
    made.add_argument("--plan", metavar="NAME", help="the plan that is meant where the file has several")
    made.add_argument("--model", metavar="MODEL", help="a model of the catalogue, such as llama-3-70b")
    made.add_argument("--gpu", metavar="GPU", help="a card of the catalogue, such as h100-sxm-80gb")
    made.add_argument("--gpus", type=int, metavar="N", help="number of cards")
    made.add_argument("--gpus-per-node", type=int, metavar="N", help="cards of a node; default: 8, 4 in an NVL72 rack")
    made.add_argument(
        "--sequence-length", metavar="N", help="tokens of a sample; default: 8192, or what the model takes"
    )
    made.add_argument(
        "--global-batch", metavar="N", help="samples of a step, or `4Mi tokens`; default: by the model's size"
    )
    made.add_argument("--tokens", metavar="AMOUNT", help="tokens of the run, such as `15T`: gives its length")
    made.add_argument(
        "--precision", metavar="DTYPE", help="dtype of matrix products; default: bf16, or fp16 without it"
    )
    made.add_argument(
        "--network", metavar="SPEED", help="network of a card, such as `400 Gbit/s`; default: by the card"
    )
    made.add_argument(
        "--trainer", metavar="TRAINER", help="who trains; default: accelerate, and megatron where it is needed"
    )
    made.add_argument("-o", "--output", metavar="PLAN", help="write the plan to this file")
    made.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="json: the ladder as data. default: text"
    )
    made.add_argument("--force", action="store_true", help="overwrite that file")
    return made
