"""What the mutants of all consumers' files share: what a mutant is, what both say of it, and how that is counted."""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from planc.native.tree import Entry, Map

#: Codes and messages of what planc tells of a text.
Errors = tuple[tuple[str, str], ...]


class Mutant(NamedTuple):
    """A changed file: which, what was done to which key, and the text."""

    file: str
    kind: str
    path: str
    text: str


class Verdict(NamedTuple):
    """What planc and the consumer say: planc's errors, a traceback if it failed, and why the consumer refuses it."""

    mutant: Mutant
    errors: Errors
    crash: str
    refusal: str | None

    @property
    def is_missed(self) -> bool:
        """Whether the consumer refuses what planc takes."""
        return self.refusal is not None and not self.errors and not self.crash


class Judge(NamedTuple):
    """The two that judge: planc's errors in a text, and why the consumer, by its name in a sentence, refuses it.

    harm: what planc alone reports, by code, with what comes of it.
    """

    consumer: str
    errors: Callable[[str], Errors]
    answer: Callable[[str], str | None]
    harm: Mapping[str, str]

    def verdict(self, mutant: Mutant) -> Verdict:
        """What both say of a mutant."""
        try:
            errors, crash = self.errors(mutant.text), ""
        except Exception:
            errors, crash = (), traceback.format_exc()
        return Verdict(mutant, errors, crash, self.answer(mutant.text))

    def verdicts(self, mutants: Iterable[Mutant], share: int = 1) -> Iterator[Verdict]:
        """The verdicts on each `share`-th mutant."""
        yield from (self.verdict(mutant) for number, mutant in enumerate(mutants, 1) if number % share == 0)

    def report(self, found: Iterable[Verdict]) -> str:
        """What the consumer refuses and planc does not, and what only planc reports, by code with the harm."""
        every = list(found)
        missed = Counter(f"{each.mutant.path} {each.mutant.kind}: {each.refusal}" for each in every if each.is_missed)
        only = Counter(code for each in every if each.refusal is None for code in {code for code, _ in each.errors})
        refused = sum(each.refusal is not None for each in every)
        count = f"{self.consumer} refuses {refused}, of which planc misses {sum(missed.values())}"
        lines = [f"{len(every)} mutants; {count}"]
        lines.extend(f"  missed {count}: {text}" for text, count in missed.most_common())
        lines.extend(
            f"  planc alone {count}: {code} ({self.harm.get(code, 'NO HARM IS KNOWN')})"
            for code, count in only.most_common()
        )
        lines.extend(each.crash for each in every if each.crash)
        return "\n".join(lines)

    def main(self, mutants: Iterable[Mutant]) -> int:
        """Judges the mutants, or each of the share that is given, and prints the counts; 1 where one is missed."""
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        found = list(self.verdicts(mutants, int(sys.argv[1]) if len(sys.argv) == 2 else 1))
        print(self.report(found))
        return int(any(each.is_missed or each.crash for each in found))


def paths(root: Map) -> Iterator[tuple[str, Entry]]:
    """The entries of a map and of those in it, each with its dotted path."""
    for entry in root.entries:
        yield entry.name, entry
        if isinstance(entry.value, Map):
            yield from ((f"{entry.name}.{path}", inner) for path, inner in paths(entry.value))
