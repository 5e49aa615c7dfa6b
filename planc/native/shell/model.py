"""A script as it was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.native.shell.embedded import Embedded
from planc.native.shell.values import Word
from planc.source import Source, Span


class Frame(NamedTuple):
    """Something around a command that decides whether, how often or where it runs.

    kind: `function`, `if`, `loop`, `case`, `and`, `or` (behind `&&`, `||`), `subshell`, `pipe`, `background`,
    `substitution`, `negated`. span: the whole of it; name: of a function. position: which part of a pipe, or which
    branch, from 0.
    """

    kind: str
    span: Span
    name: str = ""
    position: int = 0


class Assignment(NamedTuple):
    """A variable that is set; what a list gets is more than one word.

    span: the whole; words: what it is set to, one for a plain variable; append: `+=`; element: of a list, `A[0]=1`.
    """

    name: str
    span: Span
    words: tuple[Word, ...]
    listed: bool = False
    append: bool = False
    element: bool = False
    context: tuple[Frame, ...] = ()

    @property
    def value(self) -> Word | None:
        """What a plain variable is set to; None for a list."""
        return self.words[0] if self.words and not self.listed else None


class Export(NamedTuple):
    """A variable that started programs get: `value` is None where it keeps the one that it has."""

    name: str
    span: Span
    value: Word | None
    context: tuple[Frame, ...] = ()


class Redirect(NamedTuple):
    """Where input comes from or output goes: `operator` as `>`, `descriptor` as `2`, or ""."""

    operator: str
    descriptor: str
    target: Word
    span: Span


class Heredoc(NamedTuple):
    """A text that a script has for a command's input.

    body: the text after expansion, with its places in the script; what is unknown is a gap in it. span: as the script
    has it. literal: nothing in it is expanded. target: the file into which `cat` or `tee` writes it, or None.
    """

    span: Span
    body: Embedded
    literal: bool
    target: Word | None
    context: tuple[Frame, ...] = ()


class Command(NamedTuple):
    """A command that the script runs.

    words: its name and its arguments, after expansion; environment: what is set for it alone.
    exported: names that it gets from the script; context: what stands around it, from the outside.
    inner: the script that it gets as a text, as `bash -c` and `eval` do, or that it starts, if that is known.
    """

    span: Span
    words: tuple[Word, ...]
    environment: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    exported: frozenset[str] = frozenset()
    context: tuple[Frame, ...] = ()
    inner: Script | None = None

    @property
    def name(self) -> str | None:
        """The name, without its folder; None if it is unknown."""
        known = self.words[0].known if self.words else None
        return None if known is None else known.rsplit("/", 1)[-1]

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the name."""
        return self.words[1:]

    def within(self, *kinds: str) -> bool:
        """Whether something of these kinds stands around it."""
        return any(frame.kind in kinds for frame in self.context)


class Directive(NamedTuple):
    """An option for a scheduler in a comment.

    scheduler: `slurm`, `pbs`, `lsf`, `sge`; mark: as written, `#SBATCH`; option: `--nodes`, `-N`; value: None if it has
    none. line: the whole line; span: of the option; value_span: of the value. late: it stands after the first command;
    variable: its value has a `$`; misspelt: the scheduler takes it for a comment.
    """

    scheduler: str
    mark: str
    option: str
    value: str | None
    span: Span
    value_span: Span | None
    line: Span
    late: bool = False
    variable: bool = False
    misspelt: bool = False


class Sourced(NamedTuple):
    """A file that a script reads as a part of itself."""

    path: Word
    span: Span
    context: tuple[Frame, ...] = ()


class Taken(NamedTuple):
    """Another file that was read as a part of a script: a sourced one, or a script that a command starts.

    path: as it was looked for; span: of the command.
    """

    path: str
    source: Source
    span: Span


class Setting(NamedTuple):
    """An option of the shell: `name` is the long one, `errexit`, `nounset`, `pipefail`; `on` whether it is set."""

    name: str
    on: bool
    span: Span
    context: tuple[Frame, ...] = ()


class Broken(NamedTuple):
    """A place that could not be read, and why."""

    span: Span
    text: str


class Script(NamedTuple):
    """All that a script does, in the order of its text."""

    source: Source
    commands: tuple[Command, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    exports: tuple[Export, ...] = ()
    directives: tuple[Directive, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    sourced: tuple[Sourced, ...] = ()
    settings: tuple[Setting, ...] = ()
    broken: tuple[Broken, ...] = ()
    taken: tuple[Taken, ...] = ()

    def every(self) -> Iterator[Script]:
        """This script, and those that it hands to other shells, and these in turn."""
        yield self
        for command in self.commands:
            if command.inner is not None:
                yield from command.inner.every()

    def way_to(self, command: Command) -> tuple[tuple[Script, Command], ...]:
        """The scripts around a command, from the outside, each with its own command on the way; empty if it is none."""
        for each in self.commands:
            inner = () if each is command or each.inner is None else each.inner.way_to(command)
            if each is command or inner:
                return ((self, each), *inner)
        return ()
