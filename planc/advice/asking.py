"""A question without a plan file, as the beginning of a plan: what is not said has a default, which is shown."""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.advice.writing import Given
from planc.diagnostics.amounts import either, plural
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown

#: Tokens of a step by parameters of the model, where none are given: up to so many parameters so many tokens.
TOKENS_OF_STEP = ((3e9, 2**20), (3e10, 2**22), (1.5e11, 2**23), (float("inf"), 2**24))

#: Tokens of a sample where none are given and the model can take them.
SEQUENCE_LENGTH = 8192

#: Network of a card by its peak in 16 bits, where none is given: at least so many FLOP/s have so much.
NETWORKS = ((500e12, "400 Gbit/s"), (200e12, "200 Gbit/s"), (0, "100 Gbit/s"))

#: Dtypes in which a plan of a precision computes, and all those of which a card says whether it has them.
_DTYPES = {"fp8": ("fp8", "bf16"), "fp4": ("fp4", "bf16"), "all": ("fp32", "fp16", "bf16", "fp8", "fp4")}

#: Cards that share the fast link, by a part of their name, where it is more than a node.
_RACKS = {"nvl72": 72}


class Asked(NamedTuple):
    """What the command line gives, each as it is written there; empty for what it leaves out."""

    model: str
    gpu: str
    cards: int
    cards_per_node: int
    sequence_length: str = ""
    global_batch: str = ""
    tokens: str = ""
    precision: str = ""
    network: str = ""


def opening(asked: Asked, network: str) -> str:
    """The plan up to its batch."""
    per_node = min(asked.cards, asked.cards_per_node)
    domain = next((size for name, size in _RACKS.items() if name in asked.gpu), 0)
    wide = f"  domain = {min(domain, asked.cards)}" if per_node < min(domain, asked.cards) else ""
    nodes = asked.cards // per_node
    nics = f"  nics {{ count = {per_node}  speed = {network} }}"
    return (
        'use "planc/gpus"\nuse "planc/models"\n\nplan advised {\n'
        f"  model     = {asked.model}\n"
        f"  cluster {{ gpu = {asked.gpu}  nodes = {nodes}  gpus_per_node = {per_node}{wide}{nics} }}\n"
    )


def first_guess(asked: Asked) -> Given:
    """The question with a batch that stands for the one that is not known yet."""
    batch = f"global = {asked.global_batch or 1}  sequence_length = {asked.sequence_length or 1}"
    return Given(
        opening(asked, asked.network or NETWORKS[0][1]), batch, _closing(asked, asked.precision or "bf16"), False
    )


def completed(asked: Asked, plan: Plan) -> tuple[Given, tuple[str, ...]]:
    """The question with all that it needs, and what was assumed; `plan` is that of the first guess."""
    facts = Facts(plan, engines(plan)[0])
    assumed: list[str] = []
    length = asked.sequence_length
    if not length:
        longest = facts["model.max_sequence_length"]
        length = str(SEQUENCE_LENGTH if isinstance(longest, Unknown) else min(longest, SEQUENCE_LENGTH))
        assumed.append(f"`--sequence-length {length}`")
    batch = asked.global_batch
    if not batch:
        tokens = facts["batch.sequence_length"] if asked.sequence_length else int(length)
        batch = str(_samples(facts, asked.cards, tokens))
        assumed.append(f"`--global-batch {batch}`")
    precision = asked.precision
    if not precision:
        precision = "fp16" if facts["cluster.gpu.bf16"] is False else "bf16"
        assumed.append(f"`--precision {precision}`")
    network = asked.network
    if not network:
        rate = facts["cluster.gpu.fp16"]
        peak = rate if isinstance(rate, int | float) and not isinstance(rate, bool) else 0
        network = next(speed for least, speed in NETWORKS if least <= peak)
        if asked.cards_per_node < asked.cards:
            assumed.append(f"`--network '{network}'` for each card")
    given = Given(
        opening(asked, network), f"global = {batch}  sequence_length = {length}", _closing(asked, precision), False
    )
    return given, tuple(assumed)


def why_no_layout(plan: Plan) -> str:
    """What no layout would mend, or nothing: a dtype that the card lacks, a sequence without positions."""
    facts = Facts(plan, engines(plan)[0])
    precision, card = facts["precision"], plan.value("cluster.gpu")
    lacking = [dtype for dtype in _DTYPES.get(precision, (precision,)) if plan.value(f"cluster.gpu.{dtype}") is False]
    if lacking:
        rates = [(dtype, plan.value(f"cluster.gpu.{dtype}")) for dtype in _DTYPES["all"]]
        there = [dtype for dtype, rate in rates if not isinstance(rate, Unknown | None) and rate is not False]
        has = f"; it has {either(there, 'and')}" if there else ""
        too = "" if lacking[0] == precision else f", in which {precision} runs compute too"
        return f"the card {card} has no {lacking[0]}{too}{has}"
    length, rows = facts["batch.sequence_length"], facts["model.max_sequence_length"]
    known = isinstance(length, int) and isinstance(rows, int)
    if known and facts["model.positions"] == "learned" and rows < length:
        return f"{plan.value('model')} has {plural(rows, 'learned position')}, and sequences have {length:,} tokens"
    return ""


def _closing(asked: Asked, precision: str) -> str:
    duration = f"  train {{ duration = {asked.tokens} }}\n" if asked.tokens else ""
    return f"  precision = {precision}\n  optimizer = adamw\n{duration}"


def _samples(facts: Facts, cards: int, length: Any) -> int:
    """Samples of a step: a power of two for the model's size, at least one a card up to the largest of those sizes.

    Where the number of cards is no power of two, its odd part times the power of two that comes nearest, so that
    replicas can share them; not where the odd part alone is more than that.
    """
    parameters = facts["model.total_parameters"]
    size = float("inf") if isinstance(parameters, Unknown) else parameters
    tokens = next(tokens for most, tokens in TOKENS_OF_STEP if size <= most)
    odd = cards
    while odd % 2 == 0:
        odd //= 2
    samples = max(tokens // length, min(cards, TOKENS_OF_STEP[-1][1] // length), 1)
    factor = odd if odd <= samples else 1
    power = 1
    while 2 * (power * factor) ** 2 < samples**2:
        power *= 2
    return power * factor
