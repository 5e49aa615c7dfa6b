"""Pipeline schedules slot by slot: the oracle of the formulas, and the answer where stages are unlike.

A pass is forward (F), the gradient of a stage's input (B), that of its weights (W), or both gradients in one (BW). A
device runs its slots in order, each as soon as what it needs is there; the passes of one slot start and end together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Pass(NamedTuple):
    """One pass of one micro batch through one (virtual) stage."""

    kind: str
    batch: Any
    stage: int


Slot = tuple[Pass, ...]
Order = tuple[Slot, ...]


class Run(NamedTuple):
    """What came of it: for each device when its slots began and ended, and how long it worked."""

    orders: tuple[Order, ...]
    spans: tuple[tuple[tuple[Any, Any], ...], ...]

    def length(self) -> Any:
        """Longest time from a device's first slot to the end of its last: the cost of Qi et al., section 5.3."""
        return max(spans[-1][1] - spans[0][0] for spans in self.spans)

    def busy(self, device: int) -> Any:
        """Time that a device works."""
        return sum(end - start for start, end in self.spans[device])

    def idle(self, device: int) -> Any:
        """Time of the step that a device does not work."""
        return self.length() - self.busy(device)

    def in_flight(self, device: int) -> int:
        """Most passes forward whose gradients are not complete, at any time."""
        return _peak(self.orders[device], ("W", "BW"))

    def before_gradient(self, device: int) -> int:
        """Most passes forward whose input has no gradient yet, at any time."""
        return _peak(self.orders[device], ("B", "BW"))


def simulate(orders: tuple[Order, ...], cost: Callable[[Pass], Any], latency: Any = 0, stages: int = 0) -> Run:
    """A run of the orders; `latency` passes before another device has a result, `stages` defaults to the devices."""
    last = (stages or len(orders)) - 1
    at = {one: device for device, order in enumerate(orders) for slot in order for one in slot}
    done: dict[Pass, Any] = {}
    spans: list[list[tuple[Any, Any]]] = [[] for _ in orders]
    waiting = True
    while waiting:
        waiting = False
        for device, order in enumerate(orders):
            while len(spans[device]) < len(order):
                slot = order[len(spans[device])]
                needed = [(one, device) for each in slot for one in _needs(each, last, at)]
                if any(one not in done for one, _ in needed):
                    break
                arrivals = [done[one] + (latency if at[one] != device else 0) for one, _ in needed]
                start = max([spans[device][-1][1] if spans[device] else 0, *arrivals])
                end = start + sum(cost(one) for one in slot)
                spans[device].append((start, end))
                done.update(dict.fromkeys(slot, end))
                waiting = True
    assert len(done) == len(at), "the orders wait for each other"
    return Run(orders, tuple(map(tuple, spans)))


def one_forward_one_backward(stages: int, batches: int) -> tuple[Order, ...]:
    """1F1B (PipeDream-Flush): Narayanan et al. (2021), section 2.2.1."""
    return tuple(
        _alternate(_slots("F", stage, batches), _slots("BW", stage, batches), stages - stage - 1)
        for stage in range(stages)
    )


def interleaved(stages: int, batches: int, chunks: int, group: int) -> tuple[Order, ...]:
    """Interleaved 1F1B: Narayanan et al. (2021), section 2.2.2; warm-up as in Megatron-LM's schedules.py."""
    firsts = range(0, batches, group)
    turns = [(chunk, batch) for first in firsts for chunk in range(chunks)
             for batch in range(first, min(first + group, batches))]  # fmt: skip
    return tuple(
        _alternate(
            [(Pass("F", batch, chunk * stages + rank),) for chunk, batch in turns],
            [(Pass("BW", batch, (chunks - 1 - chunk) * stages + rank),) for chunk, batch in turns],
            2 * (stages - rank - 1) + (chunks - 1) * group,
        )
        for rank in range(stages)
    )


def zero_bubble(stages: int, batches: int, held: int) -> tuple[Order, ...]:
    """ZB-H1 with as many micro batches held as stages, ZB-H2 with 2 x stages - 1: Qi et al. (2023), figure 3."""
    return tuple(_zero_bubble(stages, batches, held, stage) for stage in range(stages))


def _zero_bubble(stages: int, batches: int, held: int, stage: int) -> Order:
    warm_up = min(2 * (stages - stage) - 1, held - stage)
    late = held - warm_up
    slots = [*_slots("F", stage, min(warm_up, batches))]
    for batch in range(batches):
        slots.append((Pass("B", batch, stage),))
        if late <= batch:
            slots.append((Pass("W", batch - late, stage),))
        if warm_up + batch < batches:
            slots.append((Pass("F", warm_up + batch, stage),))
    slots += [(Pass("W", batch, stage),) for batch in range(max(batches - late, 0), batches)]
    return tuple(slots)


def dual(stages: int, batches: int) -> tuple[Order, ...]:
    """DualPipe: DeepSeek-V3 (2024), section 3.2.1, in the eight steps of its published schedule.

    Half of the batches enter at either end: a device holds stage r of one half and stage p - 1 - r of the other.
    """
    return tuple(tuple(_dual(stages, batches, rank)) for rank in range(stages))


def _dual(stages: int, batches: int, rank: int) -> Iterator[Slot]:
    near = min(rank, stages - 1 - rank)  # stage of the half that enters at the nearer end
    inner = stages // 2 - near - 1
    own = int(stages // 2 <= rank)
    passed: dict[tuple[str, int], int] = {}
    pending: list[Pass] = []

    def one(kind: str, far: int) -> Pass:
        number = passed[kind[:1], far] = passed.get((kind[:1], far), -1) + 1
        made = Pass(kind, (own ^ far, number), stages - 1 - near if far else near)
        if kind == "B":
            pending.append(made._replace(kind="W"))
        return made

    for _ in range(2 * inner):
        yield (one("F", 0),)
    for _ in range(near + 1):
        yield (one("F", 0),)
        yield (one("F", 1),)
    for _ in range(inner):
        yield (one("B", 1),)
        yield (pending.pop(0),)
        yield (one("F", 1),)
    for turn in range(batches // 2 - stages + near + 1):
        if turn == 0 and inner == 0:
            yield (one("F", 0),)
            yield (one("BW", 1),)
        else:
            yield (one("F", 0), one("BW", 1))
        yield (one("F", 1), one("BW", 0))
    for _ in range(inner):
        yield (one("BW", 1),)
        yield (one("F", 1), one("BW", 0))
    for turn in range(2 * (near + 1)):  # the second half of these leave their weights for the end
        yield (one("B" if near + 1 <= turn else "BW", 1 - turn % 2),)
    for _ in range(inner):
        yield (pending.pop(0),)
        yield (one("B", 0),)
    while pending:
        yield (pending.pop(0),)


def _slots(kind: str, stage: int, batches: int) -> list[Slot]:
    return [(Pass(kind, batch, stage),) for batch in range(batches)]


def _alternate(forward: list[Slot], backward: list[Slot], warm_up: int) -> Order:
    """Passes forward for the warm-up, then one forward and one backward in turn, then what is left."""
    warm_up = min(warm_up, len(forward))
    pairs = [slot for pair in zip(forward[warm_up:], backward, strict=False) for slot in pair]
    return tuple(forward[:warm_up] + pairs + backward[len(forward) - warm_up :])


def _needs(one: Pass, last: int, known: dict[Pass, int]) -> Iterator[Pass]:
    kind, batch, stage = one
    if kind == "F" and 0 < stage:
        yield Pass("F", batch, stage - 1)
    elif kind == "W":
        yield Pass("B", batch, stage)
    elif kind in ("B", "BW"):
        yield Pass("F", batch, stage)
        if stage < last:
            after = Pass("B", batch, stage + 1)
            yield after if after in known else after._replace(kind="BW")


def _peak(order: Order, ends: tuple[str, ...]) -> int:
    held = most = 0
    for slot in order:
        held += sum(one.kind == "F" for one in slot)
        most = max(most, held)
        held -= sum(one.kind in ends for one in slot)
    return most
