"""Unlike nodes: what a cluster of several groups is as a whole, where the worst of them counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planc.plan.model import Located, Record, Unknown

#: Fields of which the groups have to agree, as every node of a job starts as many ranks.
_ALIKE = ("gpus_per_node",)
_SUMMED = ("nodes",)


def whole(name: str, groups: Sequence[Record]) -> Any:
    """The field of a cluster that its groups give: nodes are added up, the slowest link and the smallest card count.

    Unknown where one of the groups does not know it, or where they differ in what has to be alike.
    """
    values = [group.fields[name].value for group in groups]
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    if unknown is not None or not values:
        return unknown or Unknown("no groups are given")
    if name == "gpu":
        return _card(values)
    if any(value is None for value in values):
        return None
    if name in _SUMMED:
        return sum(values)
    if name in _ALIKE and len(set(values)) != 1:
        return Unknown(f"`{name}` differs between the groups", (f"cluster.{name}",))
    return min(values)


def unlike(groups: Sequence[Record]) -> tuple[int, ...]:
    """The numbers of cards per node that groups have, each once, as far as they are known."""
    values = (group.fields["gpus_per_node"].value for group in groups)
    return tuple(dict.fromkeys(value for value in values if isinstance(value, int)))


def _card(cards: list[Record]) -> Record:
    """What a plan may count on with unlike cards: the least memory, the lowest rates, the dtypes of all."""
    fields: dict[str, Located] = {}
    for name, first in cards[0].fields.items():
        values = [card.fields[name].value for card in cards]
        fields[name] = first._replace(value=_least(values))
    words = dict.fromkeys(str(card.word) for card in cards)
    return Record("gpu", " and ".join(words), cards[0].span, fields)


def _least(values: list[Any]) -> Any:
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    if any(value is False for value in values):
        return False
    if any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not True and not isinstance(value, str)]
    if numbers:
        return min(numbers)
    return values[0] if len(set(values)) == 1 else None
