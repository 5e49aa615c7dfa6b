"""The two counts: how much of what consumers refuse planc reports, and how much of what it reports they refuse."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tests.mutation.harm import ALL, HARM, MISSED, UNASKED
from tests.mutation.judging import Verdict

#: A field without a value, and a value that no field takes: most of the grid's zeros and negative numbers.
_OF_THE_LANGUAGE = {"PLN012", "PLN015"}


class Count(NamedTuple):
    """Mutants by outcome.

    confirmed: an error of planc, and refused by a consumer. listed: an error, not refused, and each of its codes is in
    the list of silent harm. unexplained: an error, not refused, not listed. missed: refused, and no error. known: the
    same, and in the list of what is missed. clean: neither an error nor refused. crashed: planc failed.
    """

    confirmed: tuple[Verdict, ...]
    listed: tuple[Verdict, ...]
    unexplained: tuple[Verdict, ...]
    missed: tuple[Verdict, ...]
    known: tuple[Verdict, ...]
    clean: tuple[Verdict, ...]
    crashed: tuple[Verdict, ...]

    @property
    def total(self) -> int:
        """All mutants."""
        return sum(len(part) for part in self)


def counted(verdicts: Iterable[Verdict]) -> Count:
    """The verdicts by outcome."""
    parts: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        parts[_outcome(verdict)].append(verdict)
    return Count(*(tuple(parts[name]) for name in Count._fields))


def _outcome(verdict: Verdict) -> str:
    refusals = refusals_of_the_plan(verdict)
    if verdict.crash:
        return "crashed"
    if verdict.codes and refusals:
        return "confirmed"
    if verdict.codes:
        trainer = verdict.mutant.clean.trainer
        return "listed" if all(is_listed(code, trainer) for code in verdict.codes) else "unexplained"
    if not refusals:
        return "clean"
    return "known" if all(_reason_in(MISSED, *refusal) for refusal in refusals) else "missed"


def refusals_of_the_plan(verdict: Verdict) -> list[tuple[str, str]]:
    """The refusals, without those that come from this machine and not from the plan."""
    return [refusal for refusal in verdict.refusals if not _reason_in(UNASKED, *refusal)]


def is_listed(code: str, trainer: str) -> bool:
    """Whether an error may pass a trainer's consumers in silence, for a reason that is written down."""
    return trainer in HARM[code].trainers if code in HARM else False


def _reason_in(reasons: tuple[tuple[str, str, str], ...], consumer: str, reason: str) -> bool:
    return any(consumer == one and re.search(pattern, reason) for one, pattern, _ in reasons)


def report(count: Count, num_answers: int) -> str:
    """Both counts, and what is behind them, as lines of text."""
    errors = len(count.confirmed) + len(count.listed) + len(count.unexplained)
    refused = len(count.confirmed) + len(count.missed) + len(count.known)
    explained = len(count.confirmed) + len(count.listed)
    lines = [
        f"{count.total} mutants, {num_answers} different questions, {errors} errors, {refused} refused by a consumer",
        f"recall: {_share(len(count.confirmed), refused)} of what a consumer refuses has an error",
        f"precision: {_share(len(count.confirmed), errors)} of the errors are refused by a consumer",
        f"refused, or listed with the harm that is done in silence: {_share(explained, errors)} of the errors",
    ]
    lines += [_of_trainer(count, trainer) for trainer in ALL]
    for title, part in (("missed", count.missed), ("missed, and known", count.known)):
        lines += [f"{title}: {len(part)}", *_by_reason(part)]
    lines += [f"errors that nothing explains: {len(count.unexplained)}", *_by_code(count.unexplained)]
    lines += [f"errors that pass in silence: {len(count.listed)}", *_by_code(count.listed)]
    lines += [f"planc failed: {len(count.crashed)}", *(f"  {verdict.mutant.name}" for verdict in count.crashed[:20])]
    return "\n".join(lines) + "\n"


def _of_trainer(count: Count, trainer: str) -> str:
    """Both counts of the plans of one trainer, and that of the errors by rules, not of values that no field takes."""
    own = Count(*(tuple(verdict for verdict in part if verdict.mutant.clean.trainer == trainer) for part in count))
    errors = (*own.confirmed, *own.listed, *own.unexplained)
    refused = len(own.confirmed) + len(own.missed) + len(own.known)
    by_rules = [verdict for verdict in errors if not set(verdict.codes) & _OF_THE_LANGUAGE]
    seen = sum(1 for verdict in own.confirmed if not set(verdict.codes) & _OF_THE_LANGUAGE)
    return (
        f"  {trainer}: recall {_share(len(own.confirmed), refused)}, "
        f"precision {_share(len(own.confirmed), len(errors))}, "
        f"of errors by rules and targets {_share(seen, len(by_rules))}"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"


def _by_reason(verdicts: Iterable[Verdict]) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        consumer, reason = refusals_of_the_plan(verdict)[0]
        groups[f"{consumer}: {re.sub(r'[0-9]+', 'N', reason)[:120]}"].append(verdict.mutant.name)
    return [f"  {len(names)} {reason}; {names[0]}" for reason, names in sorted(groups.items(), key=_most_first)]


def _by_code(verdicts: Iterable[Verdict]) -> list[str]:
    found: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for verdict in verdicts:
        for code in verdict.codes:
            key = f"{code} {verdict.mutant.clean.trainer}"
            found[key] += 1
            examples.setdefault(key, verdict.mutant.name)
    return [f"  {number} {key}; {examples[key]}" for key, number in sorted(found.items())]


def _most_first(group: tuple[str, list[str]]) -> tuple[int, str]:
    return -len(group[1]), group[0]
