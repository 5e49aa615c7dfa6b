"""What a plan comes to, on one page: what is trained on what, memory, the time of a step, the run, what limits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

from planc.diagnostics.amounts import parameters_text, percent_text, time_text
from planc.diagnostics.text import visible
from planc.explanation import STEP_TIME, needs_text, reason_text, short_text, value_text
from planc.facts.dominant import Dominant, sentence
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.facts.step import AXES
from planc.plan.evaluate import FAULTY
from planc.plan.model import Plan, Unknown
from planc.showing.card import BLANK, card_lines
from planc.showing.limits import limits_of
from planc.showing.origins import place_text
from planc.showing.stages import gib_text, stages_lines

_BAR = 28  # columns of the bar of a whole step
_LABEL = 9  # columns before what is said of a subject

_MOST_NAMED = 4  # fields that would supply a number

#: Numbers that a reader misses if they are not known, some only where a field is there that asks for them.
_WANTED = {"memory.total": "", "step.time": "", "train.time": "train.duration", "train.cost": "cluster.price_per_gpu"}


def page_text(plan: Plan, given: dict[str, Any], width: int) -> str:
    """The page of a plan, `width` columns wide as far as words allow; each trainer has its part of it."""
    every = tuple(Facts(plan, engine, given) for engine in engines(plan))
    lines = [f"plan {visible(plan.name)} ({place_text(plan.span)})", *_header(every[0], width)]
    for facts, limit in zip(every, limits_of(every), strict=True):
        lines.extend(("", *_of_engine(facts, limit, width)))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _header(facts: Facts, width: int) -> Iterator[str]:
    """What is trained, on what, how it is split, and in what portions."""
    model = (
        _text(facts, "model"),
        f"{_text(facts, 'model.total_parameters')}, {_many(facts, 'model.layers', 'layer')}",
    )
    yield from _labelled("model", ": ".join(model), width)
    nodes = f"{_text(facts, 'cluster.nodes')} x {_text(facts, 'cluster.gpus_per_node')}"
    yield from _labelled("cards", f"{nodes} {_text(facts, 'cluster.gpu')}, {_text(facts, 'world.size')}", width)
    yield from _labelled("split", _joined(_split(facts), "; "), width)
    tokens = f"{_many(facts, 'batch.sequence_length', 'token')}, {_text(facts, 'batch.tokens')}"
    passes = f"{_many(facts, 'batch.accumulation', 'micro batch')} of {_text(facts, 'batch.micro')}"
    yield from _labelled("batch", f"{_many(facts, 'batch.global', 'sample')} of {tokens}; {passes}", width)
    words = (_text(facts, "precision"), f"recompute {_text(facts, 'recompute')}", _text(facts, "optimizer"))
    yield from _labelled("mode", _joined(words, ", "), width)


def _split(facts: Facts) -> Iterator[str]:
    """The axes with more than one rank, data always; what replicas share; the schedule of the pipeline."""
    sizes = [(name, facts[f"parallel.{name}"]) for name in ("tensor", "context", "pipeline", "data", "expert")]
    axes = [
        f"{name} {value_text('', size)}"
        for name, size in sizes
        if name == "data" or (size != 1 and not isinstance(size, Unknown))
    ]
    yield " x ".join(axis for axis in axes if not axis.startswith("expert"))
    yield from (axis for axis in axes if axis.startswith("expert"))
    stage, group = facts["shard.stage"], facts["shard.group"]
    if not isinstance(stage, Unknown) and stage:
        yield f"ZeRO stage {stage} over {value_text('shard.group', group)}"
    if not isinstance(sizes[2][1], Unknown) and sizes[2][1] != 1:
        yield _text(facts, "pipeline")


def _of_engine(facts: Facts, limit: Dominant | Unknown, width: int) -> Iterator[str]:
    """What a plan comes to as one engine trains it."""
    yield from _labelled("engine", f"{facts.engine.name}: {facts.engine.convention}", width)
    table = stages_lines(facts, width - 2)
    if table:
        yield from (
            "",
            *_labelled("memory", "GiB on a card of each stage, at the peak of a step; * is the fullest", width),
        )
        yield from (f"  {line}" for line in table)
    card = card_lines(facts, width - _LABEL)
    if card:
        yield ""
        yield from (line for at, text in enumerate(card) for line in _labelled("" if at else "card", text, width))
    host, memory = facts["memory.host"], facts["cluster.cpu_memory"]
    if not isinstance(host, Unknown) and 0 < host:
        of = "" if isinstance(memory, Unknown) else f" of {gib_text(memory)}"
        yield from _labelled("host", f"{gib_text(host)}{of} GiB of a node's memory hold what is offloaded", width)
    for lines in (_step(facts, width), _run(facts, width), _limit(limit, width), _unknown(facts, width)):
        found = list(lines)
        if found:
            yield from ("", *found)


def _step(facts: Facts, width: int) -> Iterator[str]:
    """The time of a step, and where it goes."""
    taken, predicted, measured = facts["step.taken"], facts["step.time"], facts[STEP_TIME]
    if isinstance(taken, Unknown):
        return
    times = [f"{time_text(taken)} {'predicted' if isinstance(measured, Unknown) else 'measured'}"]
    if not isinstance(measured, Unknown) and not isinstance(predicted, Unknown):
        times[0] += f", {time_text(predicted)} predicted"
    rates = f"{_text(facts, 'step.tokens_per_second')}, {_text(facts, 'step.tokens_per_second_per_card')} a card"
    shares = f"MFU {_text(facts, 'step.mfu')}, HFU {_text(facts, 'step.hfu')}"
    yield from _labelled("step", "; ".join((*times, rates, shares)), width)
    if isinstance(predicted, Unknown) or predicted <= 0:
        return
    parts = [("compute", facts["step.compute"]), ("exposed communication", facts["step.communication"])]
    parts.extend((f"  {axis}", facts[f"communication.{axis}.exposed"]) for axis in AXES)
    parts.extend((("bubble", facts["step.bubble"]), ("optimizer", facts["step.optimizer"])))
    parts.append(("beside passes", facts["step.overhead"]))
    for name, value in parts:
        if not isinstance(value, Unknown) and 0 < value:
            share = value / predicted
            bar = "#" * int(_BAR * min(share, 1) + 0.5)
            yield f"{' ' * _LABEL}{name:<21}  {time_text(value):>9}  {percent_text(share):>6}  {bar}"


def _run(facts: Facts, width: int) -> Iterator[str]:
    """How long the run takes and what it costs, and what failures make of it, as far as that was asked for."""
    steps = facts["train.steps"]
    if not isinstance(steps, Unknown):
        paths = ("train.time", "train.gpu_time", "train.cost", "train.energy", "train.energy_cost")
        texts = _joined((_known(facts, path) for path in paths), ", ")
        whole = _joined((value_text("train.steps", steps), _known(facts, "train.tokens")), ", ")
        yield from _labelled("run", f"{whole}{f': {texts}' if texts else ''}", width)
        whole = _joined((_known(facts, f"checkpoint.run_{name}") for name in ("time", "gpu_time", "cost")), ", ")
        if whole:
            yield from _labelled("", f"with saves and failures: {whole}", width)
    section = facts.plan.find("checkpoint")
    if section is not None and section.value is not None:
        found = (("checkpoint.size", "{}"), ("checkpoint.planned_interval", "planned every {}"),
                 ("checkpoint.best_interval", "best every {}"), ("world.mtbf", "a failure every {}"),
                 ("checkpoint.overhead", "{} of the time lost"))  # fmt: skip
        saved = _joined((_known(facts, path, form) for path, form in found), ", ")
        yield from _labelled("saves", saved, width)


def _limit(found: Dominant | Unknown, width: int) -> Iterator[str]:
    """What limits the step, and the change of one field that would help most."""
    if not isinstance(found, Unknown):
        yield from _labelled("limit", sentence(found), width)


def _unknown(facts: Facts, width: int) -> Iterator[str]:
    """Why numbers are not known that a reader looks for."""
    for path, asked in _WANTED.items():
        value = facts[path]
        located = facts.plan.find(asked) if asked else None
        is_wanted = not asked or (
            located is not None and not isinstance(located.value, Unknown) and located.value is not None
        )
        if isinstance(value, Unknown) and is_wanted and value.missing != (STEP_TIME,):  # which `step.time` stands for
            needs = needs_text(facts.plan, value.missing, _MOST_NAMED)
            reason = "the plan has errors" if value.reason == FAULTY.reason else reason_text(value)
            text = f"{path}: {reason}{needs}"
            yield from _labelled("unknown", visible(text), width)


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    """What is said of a subject, behind its name, in as many lines as it takes."""
    text = text.replace(" %", f"{BLANK}%")
    for at, line in enumerate(wrap(text, width - _LABEL, break_long_words=False, break_on_hyphens=False)):
        yield f"{'' if at else label:<{_LABEL}}{line.replace(BLANK, ' ')}"


def _text(facts: Facts, path: str) -> str:
    value = facts[path]
    if isinstance(value, Unknown):
        return "?"
    if path == "model.total_parameters":
        return f"{parameters_text(value)} parameters"
    return visible(value_text(path, value))


def _many(facts: Facts, path: str, noun: str) -> str:
    """A count with its noun: `1 layer`, `? layers`, `16_384 tokens`."""
    several = noun + ("es" if noun.endswith("ch") else "s")
    return f"{_text(facts, path)} {noun if facts[path] == 1 else several}"


def _known(facts: Facts, path: str, form: str = "{}") -> str:
    value = facts[path]
    return "" if isinstance(value, Unknown) else form.format(short_text(path, value))


def _joined(texts: Iterable[str], comma: str) -> str:
    return comma.join(text for text in texts if text)
