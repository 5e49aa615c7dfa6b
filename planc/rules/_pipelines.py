"""Whether micro batches fill a pipeline, by what each trainer's schedules ask for."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, percent_text, plural
from planc.facts.arithmetic import divide
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._batch import global_text
from planc.rules._numbers import batch_of, chunks, data_with, known, nearest, options, pipeline_fits
from planc.rules._repairs import Repair, each_size, writing

IDLE_PERCENT = 20  # of a step that stages may stand idle


def is_underfilled(plan: Plan, facts: Facts) -> bool:
    """Whether some group of micro batches is smaller than the pipeline; silent about what is not known.

    PyTorch's interleaved schedule (`fsdp2`) has no such condition; nanotron's takes one micro batch less.
    """
    stages, passes, schedule = facts["parallel.pipeline"], facts["batch.accumulation"], facts["pipeline"]
    if not (known(stages) and known(passes) and known(schedule)):
        return False
    if schedule == "interleaved" and facts.engine.runtime == "fsdp2":
        return False
    least = stages - 1 if facts.engine.name == "nanotron" else stages
    return bool(smallest_group(plan, facts) < least)


def group_size(plan: Plan, facts: Facts, stages: int | None = None) -> int:
    """Micro batches that a rank takes through one chunk before the next: as many as there are stages unless written."""
    written = plan.value("pipeline.group")
    return written if isinstance(written, int) else int(stages or facts["parallel.pipeline"])


def smallest_group(plan: Plan, facts: Facts, stages: int | None = None, passes: int | None = None) -> int:
    """Micro batches of the smallest group: of Megatron's interleaved schedule the last one, else all of them.

    stages, passes: of another pipeline than the plan's own.
    """
    passes = int(facts["batch.accumulation"]) if passes is None else passes
    if facts["pipeline"] != "interleaved" or facts.engine.runtime != "megatron":
        return passes
    group = group_size(plan, facts, stages)
    return min(group, passes, passes % group or group)


def advice(plan: Plan, facts: Facts) -> Iterator[Repair]:
    """A micro batch, a global batch and a smaller pipeline that leave no more than the limit idle."""
    stages, per_pass = facts["parallel.pipeline"], facts["batch.per_pass"]
    virtual = chunks(plan)
    # (s - 1) / (v m + s - 1) <= l where v m >= (s - 1) (1 - l) / l; whole rounds suit every schedule.
    wanted = -(-(100 - IDLE_PERCENT) * (stages - 1) // (IDLE_PERCENT * virtual))
    round = max(group_size(plan, facts), stages)
    wanted = -(-wanted // round) * round
    yield from _smaller_micro_batch(plan, facts, wanted)
    if known(per_pass):
        samples = global_text(plan, facts, per_pass * wanted)
        change, edits = f"`global = {samples}`", [("batch.global", samples)]
        if plan.is_written("batch.accumulation"):
            change += f" and {options('accumulation', (wanted,))[0]}"
            edits.append(("batch.accumulation", count_text(wanted)))
        effect = f"gives {plural(wanted, 'micro batch')}, {_idle(stages, wanted, virtual)} idle"
        yield Repair(f"{change} {effect}", writing(plan, *edits))
    fits, batch, replicas = pipeline_fits(plan, facts), batch_of(facts), data_with(facts)
    tensor, context = facts["parallel.tensor"], facts["parallel.context"]
    if not (known(tensor) and known(context)):
        return

    def passes_on(size: int) -> int:
        return batch.passes_of(replicas(size * tensor * context) or 0) or 0

    def is_busy(size: int) -> bool:
        passes = passes_on(size)
        filled = size < stages and 100 * (size - 1) <= IDLE_PERCENT * (virtual * passes + size - 1)
        return filled and size <= smallest_group(plan, facts, size, passes) and fits(size)

    for size in nearest(stages, is_busy, least=2):
        passes = passes_on(size)
        effect = f"gives {plural(passes, 'micro batch')}, {_idle(size, passes, virtual)} idle"
        yield Repair(f"{options('pipeline', (size,))[0]} {effect}", each_size(plan, "parallel.pipeline", (size,)))


def _smaller_micro_batch(plan: Plan, facts: Facts, wanted: int) -> Iterator[Repair]:
    """The largest micro batch by which the same global batch fills the pipeline."""
    micro, passes, stages = facts["batch.micro"], facts["batch.accumulation"], facts["parallel.pipeline"]
    if not (known(micro) and known(passes)) or not plan.is_written("batch.micro"):
        return
    for size in range(min(micro - 1, micro * passes // wanted), 0, -1):
        more = micro * passes // size
        if micro * passes % size == 0 and stages <= smallest_group(plan, facts, stages, more):
            edits = [("batch.micro", count_text(size))]
            change = options("micro", (size,))[0]
            if plan.is_written("batch.accumulation"):
                change += f" and {options('accumulation', (more,))[0]}"
                edits.append(("batch.accumulation", count_text(more)))
            effect = f"gives {plural(more, 'micro batch')}, {_idle(stages, more, chunks(plan))} idle"
            yield Repair(f"{change} {effect}", writing(plan, *edits))
            return


def _idle(stages: int, passes: int, virtual: int) -> str:
    return percent_text(divide(stages - 1, virtual * passes + stages - 1))
