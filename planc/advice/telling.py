"""The ladder in words: each rung with its layouts, what they need and take, and why it is needed or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.advice.ladder import GAIN, Ladder, Rung, is_worth, seconds_of
from planc.advice.layouts import AXES, MARGIN, Layout, Question, Trial, on_cards, replicas, tried
from planc.diagnostics.amounts import parameters_text, percent_text, plural, size_text, time_text
from planc.facts.dominant import dominant, sentence
from planc.plan.model import Unknown

_TITLES = {
    "data": "Copies of the model on every card (data parallelism)",
    "shard": "States shared among the copies (ZeRO, FSDP)",
    "recompute": "Activations computed again (recomputation)",
    "tensor": "Layers split inside a domain (tensor parallelism)",
    "context": "Sequences split (context parallelism)",
    "expert": "Experts split (expert parallelism)",
    "pipeline": "Depth split into stages (pipeline parallelism)",
}

_PARTS = (
    ("states", "model states"), ("working_set", "gathered weights and gradients"), ("buffers", "buffers"),
    ("activations", "activations"), ("transient", "logits and recomputation"),
    ("context", "the process itself"), ("reserve", "what the allocator keeps"),
)  # fmt: skip

#: Share of a card's need from which a part is named.
_NAMED = 0.03

#: Card counts beyond the question's for which exchange is shown against the step.
_MOST_CARDS = 16_384


def told(ladder: Ladder, asked: Question, assumed: Sequence[str]) -> Iterator[str]:
    """The lines of the ladder, from the question to the last rung."""
    facts = tried(asked, Layout()).facts
    model, card = asked.plan.value("model"), asked.plan.value("cluster.gpu")
    parameters, tokens = facts["model.total_parameters"], facts["batch.tokens"]
    size = "" if isinstance(parameters, Unknown) else f", {parameters_text(parameters)} parameters,"
    many = (
        f" in {plural(asked.cards // asked.domain, 'domain')} of {asked.domain}" if asked.domain < asked.cards else ""
    )
    yield f"{model}{size} on {plural(asked.cards, 'card')} {card}{many}"
    yield (
        f"a step: {plural(asked.samples, 'sample')} of {asked.sequence_length:,} tokens "
        f"({parameters_text(tokens)} tokens), {asked.plan.value('precision')}, {asked.plan.value('optimizer')}"
    )
    longest = facts["model.max_sequence_length"]
    if isinstance(longest, int) and longest < asked.sequence_length:
        yield f"the model was made for {longest:,} tokens; for longer samples its positions have to be scaled"
    states, capacity = facts["memory.states"], facts["memory.capacity"]
    if not isinstance(states, Unknown):
        yield f"one copy of its model states is {size_text(states, True)}, a card has {size_text(capacity, True)}"
    unknown = next((trial.seconds for rung in ladder.rungs for trial in rung.trials if trial.fits), None)
    if isinstance(unknown, Unknown):
        yield f"the time of a step is not known ({unknown.reason}), so memory alone decides"
    if assumed:
        yield f"assumed: {', '.join(assumed)}"
    for number, rung in enumerate(ladder.rungs, 1):
        yield ""
        yield f"{number}. {_TITLES[rung.name]}: {rung.verdict if not rung.reason else f'not tried, {rung.reason}'}"
        yield from _rows(rung)
        yield from (f"   {line}" for line in _because(rung, asked))


def layout_text(trial: Trial) -> str:
    """A layout in words."""
    asked, layout = trial.question, trial.layout
    words = [f"{name} {getattr(layout, name)}" for name in AXES if 1 < getattr(layout, name)]
    if 1 < layout.chunks:
        words.append(f"{layout.chunks} chunks")
    words.insert(0, f"data {replicas(asked, layout)}")
    words.append(f"stage {layout.stage}" + (f" over {layout.shard}" if layout.shard else ""))
    words.append(f"micro {layout.micro}")
    if layout.recompute != "none":
        some = f" of {plural(layout.block, 'layer')} a chunk" if layout.block else ""
        words.append(f"recompute {layout.recompute}{some}")
    return ", ".join(words)


def numbers(trial: Trial) -> Iterator[str]:
    """What a layout needs and takes, for the end of the advice."""
    facts, capacity = trial.facts, trial.facts["memory.capacity"]
    yield f"memory: {size_text(trial.total, True)} of {size_text(capacity, True)} a card"
    seconds = trial.seconds
    if isinstance(seconds, Unknown):
        yield f"step: unknown, {seconds.reason}"
        return
    yield f"step: {_seconds_text(seconds)}, {_share(facts['step.mfu'])} MFU; {_spent(trial)}"
    found = dominant(facts)
    if not isinstance(found, Unknown):  # the changes that would help are what the ladder has tried
        yield f"limit: {sentence(found).partition('; ')[0]}"
    rate = facts["batch.tokens"]
    if not isinstance(rate, Unknown):
        yield f"rate: {float(rate) / seconds:,.0f} tokens/s"
    whole = facts["train.time"]
    if not isinstance(whole, Unknown):
        yield f"run: {time_text(whole)}, {float(whole) * trial.question.cards / 3600:,.0f} GPU-hours"


def _rows(rung: Rung) -> Iterator[str]:
    if not rung.trials:
        return
    table = [("layout", "a card", "step", "MFU", "exposed", "idle"), *map(_cells, rung.trials)]
    widths = [max(len(row[at]) for row in table) for at in range(6)]
    for row in table:
        yield "   " + "  ".join(
            (row[0].ljust(widths[0]), *(cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)))
        )


def _cells(trial: Trial) -> tuple[str, ...]:
    name = f"{layout_text(trial)} ({trial.question.trainer.name})"
    if isinstance(trial.total, Unknown):
        return name, "unknown", "", "", "", ""
    need = size_text(trial.total, True)
    seconds = trial.seconds
    if not trial.fits or isinstance(seconds, Unknown):
        return name, need, "-", "-", "-", "-"
    facts = trial.facts
    return (
        name,
        need,
        _seconds_text(seconds),
        *(_share(value) for value in (facts["step.mfu"], _part(trial, "communication"), _part(trial, "bubble"))),
    )


def _seconds_text(seconds: float) -> str:
    """A step in seconds as far as that can be compared at a glance."""
    return f"{seconds:.3g} s" if 1 <= seconds < 1000 else time_text(seconds)


def _part(trial: Trial, name: str) -> float | Unknown:
    value, seconds = trial.facts[f"step.{name}"], trial.seconds
    if isinstance(value, Unknown) or isinstance(seconds, Unknown):
        return value if isinstance(value, Unknown) else seconds
    return float(value) / float(seconds)


def _share(value: float | Unknown) -> str:
    return "-" if isinstance(value, Unknown) else percent_text(value)


def _spent(trial: Trial) -> str:
    return f"{_share(_part(trial, 'communication'))} exposed exchange, {_share(_part(trial, 'bubble'))} idle stages"


def _because(rung: Rung, asked: Question) -> Iterator[str]:
    """Why a rung is what it is, with its numbers."""
    if not rung.trials:
        return
    first = rung.trials[0]
    if not first.fits:
        if isinstance(first.total, Unknown):
            yield f"what a card needs is not known: {first.total.reason}"
            return
        usable = f"{size_text(asked.capacity, True)} of a card's {size_text(first.facts['memory.capacity'], True)}"
        which = "the first" if 1 < len(rung.trials) else "it"
        yield f"{which} needs {_parts_text(first)}"
        yield f"{usable} may be used, {percent_text(MARGIN)} stay free"
    elif rung.before is not None and rung.verdict == "pays":
        yield f"{_faster(rung.before, first)} less time than the best before"
    elif rung.before is not None:
        yield _not_worth(rung.before, first)
    if rung.name == "data" and first.fits and asked.domain <= asked.cards:
        yield from _scaling(first)


def _parts_text(trial: Trial) -> str:
    found = [(trial.facts[f"memory.{part}"], name) for part, name in _PARTS]
    known = [(float(value), name) for value, name in found if not isinstance(value, Unknown)]
    return ", ".join(f"{size_text(value, True)} of {name}" for value, name in known if _NAMED * trial.total < value)


def _faster(before: Trial, after: Trial) -> str:
    return percent_text(1 - seconds_of(after) / seconds_of(before))


def _not_worth(before: Trial, after: Trial) -> str:
    unknown = next((trial.seconds for trial in (after, before) if isinstance(trial.seconds, Unknown)), None)
    if unknown is not None:
        return f"whether it is faster is not known: {unknown.reason}"
    if seconds_of(before) <= seconds_of(after):
        more = percent_text(seconds_of(after) / seconds_of(before) - 1)
        return f"the best with it takes {more} longer than the best before"
    less = f"the best with it takes {_faster(before, after)} less time than the best before"
    if before.question.trainer != after.question.trainer and not is_worth(before, after):
        name = after.question.trainer.name
        return f"{less}, which is not held to be worth another trainer; `--trainer {name}` plans for it"
    return f"{less}, which is within what predictions err ({percent_text(GAIN)})"


def _scaling(trial: Trial) -> Iterator[str]:
    """Exchange against the step, on more cards: why copies alone stop being faster."""
    asked = trial.question
    per_node = trial.facts["cluster.gpus_per_node"]
    words = []
    cards = asked.cards
    while cards <= min(_MOST_CARDS, asked.samples // trial.layout.micro):
        if asked.samples % (trial.layout.micro * cards) == 0:
            other = tried(on_cards(asked, cards, min(cards, per_node)), trial.layout)
            share = _part(other, "communication")
            if not isinstance(share, Unknown):
                words.append(f"{cards:,} cards {_seconds_text(other.seconds)} ({percent_text(share)} exchange)")
        cards *= 4
    if 1 < len(words):
        yield f"the same batch on more cards: {', '.join(words)}"
    most = plural(asked.samples // trial.layout.micro, "replica")
    yield f"{plural(asked.samples, 'sample')} a step feed no more than {most}"
