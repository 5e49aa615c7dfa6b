"""What a kind of file is. A kind is one file in `kinds/`; what all kinds share stands here and beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.tree import Entry, Tree
from planc.source import Source, Span

#: Sections of a plan that the program decides: what a file withholds that says nothing of the training itself.
OF_THE_PROGRAM = (
    "parallel", "shard", "batch", "precision", "recompute", "pipeline", "context", "expert", "offload", "optimizer",
    "schedule", "train", "dataset", "adapter", "checkpoint", "resume", "launch", "log", "profile",
)  # fmt: skip


class Said(NamedTuple):
    """What a file says of one field of a plan.

    path: the field, as `batch.micro`; text: its value as the language writes it.
    entry: key and value in the file; value: the value alone; key: as the file calls it.
    plain: the file writes the same text for this value as the language does: an edit of one is one of the other.
    assumed: the file leaves it out, and this is the consumer's own default; `key` names what was left out.
    wins: the consumer takes this one, whatever other files say: a command line over its configuration.
    over: the kind of file over which alone it does so.
    """

    path: str
    text: str
    entry: Span
    value: Span
    key: str
    plain: bool = False
    assumed: bool = False
    wins: bool = False
    over: str = ""

    @property
    def leads(self) -> bool:
        """Whether it is taken over what others say."""
        return self.wins or bool(self.over)

    @property
    def follows(self) -> bool:
        """Whether an assumed value follows from the key at its place, which is there."""
        return self.entry.text.lstrip("\"'[").startswith(self.key)


#: Who may read a DeepSpeed file, as `--trainer` calls them.
TRAINERS = ("hf", "accelerate", "deepspeed")


class Options(NamedTuple):
    """What is said beside the files of a job.

    trainer: who reads a DeepSpeed file, one of `TRAINERS`; versions: those of consumers that are stated; open: the file
    at a path that another one names, None if it is not there. likely: `trainer` follows from files beside which another
    one may read it as well.
    """

    trainer: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    open: Callable[[str, Source], Source | None] | None = None
    likely: bool = False

    def version(self, consumer: str) -> str | None:
        """The version of a consumer; None if nobody states it."""
        return next((version for name, version in self.versions if name == consumer), None)


class Reference(NamedTuple):
    """Another file that a file names.

    path: as written, at `span`; kind: that it has to be of (None: any). sure: whether it is one that planc has to know;
    else it may be of any program. here: whether it is where the file is, not in a container.
    taken: the file, where the reader has read it as a part of this one.
    """

    path: str
    span: Span
    kind: str | None
    sure: bool = True
    here: bool = True
    taken: Source | None = None


class Content(NamedTuple):
    """What a file of a kind holds: what it says, what is wrong with it, the files that it names.

    withheld: fields and sections that it decides in a way that cannot be told; those of its kind are withheld, too.
    targets: trainers that it is for, beside those of its kind.
    hidden: fields that it decides over other files by what only the run knows: what these say of them does not hold.
    used: keys that what is said holds as well, beside those in whose place it stands.
    stated: settings of a text without a tree, such as the options of a script.
    starters: targets of an imported plan that start such a job; the name of the job, if it has one.
    inside: files whose texts it holds itself. parts: of a script with several launches, what it is for each of them.
    """

    said: tuple[Said, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    references: tuple[Reference, ...] = ()
    withheld: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    used: tuple[Span, ...] = ()
    stated: tuple[Entry, ...] = ()
    starters: tuple[str, ...] = ()
    name: str = ""
    inside: tuple[Recognised, ...] = ()
    parts: tuple[Content, ...] = ()


class Kind(NamedTuple):
    """A kind of file.

    name: as `--kind` takes it; title: as a message calls such a file, `a DeepSpeed configuration`.
    formats: `json`, `yaml`, `toml`, of which a text may be, or `text`, which has lines and no tree; `marks`: texts of
        which a file of this kind has at least one, looked for before it is parsed.
    recognise: how sure it is that a tree is of this kind, from 0 (it is not) to 100.
    read: what a tree says, with the keys checked.
    targets: trainers and launchers, by the names that `emit` has, which read such a file.
    trainer: who reads a DeepSpeed file beside one of this kind, and fills in its `auto`, as `--trainer` calls it.
    withheld: fields that are unknown unless a file says them, since the consumer's defaults are not those of the
        language, or the program decides.
    joins: whether several files of this kind, which were named together (or else only found together), are laid over
        each other into one; None where that never happens.
    """

    name: str
    title: str
    formats: tuple[str, ...]
    marks: tuple[str, ...]
    recognise: Callable[[Tree], int]
    read: Callable[[Tree, Options], Content]
    targets: tuple[str, ...] = ()
    trainer: str | None = None
    withheld: tuple[str, ...] = ()
    joins: Callable[[Sequence[Tree], bool], bool] | None = None


class Recognised(NamedTuple):
    """A file whose kind is known; `part` of its content, if it is judged for that part alone.

    path: of a text that a script writes, the file into which it does.
    """

    tree: Tree
    kind: Kind
    part: int | None = None
    path: str | None = None
