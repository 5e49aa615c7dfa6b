"""What is wrong between the files of one job: they say different things, or one leaves to another what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults, held, launched
from planc.native.keys import setting
from planc.native.kind import Content, Options, Recognised, Said
from planc.native.tree import Map, Node, Seq
from planc.source import Span


def check(files: Sequence[Recognised], contents: Sequence[Content], options: Options) -> Iterator[Diagnostic]:
    """Everything that is wrong between the files of a job, with what each of them says."""
    if len(files) < 2:
        return
    names: dict[Span, str] = {}
    for file in files:
        for root in file.tree.roots:
            names.update(_names(root, ()))
    said = [(each, place) for place, content in enumerate(contents) for each in content.said]
    yield from _disagreements(said, names, [file.kind.name for file in files])
    yield from _clipping(files, contents)
    yield from launched.check(files, options)
    yield from held.check({file.kind.name: file.tree.root for file in files if file.tree.root is not None})


def _names(node: Node, path: tuple[str, ...]) -> Iterator[tuple[Span, str]]:
    """The entries of a tree, each with the path of its keys; what an alias stands for has that of its first use."""
    todo: list[tuple[Node, tuple[str, ...]]] = [(node, path)]
    seen: set[int] = set()
    while todo:
        at, above = todo.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if isinstance(at, Map):
            for entry in at.entries:
                own = (*above, entry.name)
                yield entry.span, ".".join(own)
                todo.append((entry.value, own))
        elif isinstance(at, Seq):
            todo.extend((item, above) for item in at.items)


def _disagreements(
    said: Sequence[tuple[Said, int]], names: dict[Span, str], kinds: Sequence[str]
) -> Iterator[Diagnostic]:
    """Fields of which two files say different things; of what one file says twice, its kind tells.

    said: each with the number of the file that says it, which a script does of files that it reads as parts of itself,
    too; kinds: of each file.
    """
    first: dict[str, tuple[Said, int]] = {}
    for each, file in sorted(said, key=lambda pair: pair[0].assumed):
        known, other_file = first.setdefault(each.path, (each, file))
        if known is each or known.assumed or known.wins or each.wins:
            continue
        if file == other_file or _alike(known.text, each.text):
            continue
        if each.over == kinds[other_file] or known.over == kinds[file]:
            continue
        one, other = names.get(known.entry, known.key), names.get(each.entry, each.key)
        if each.assumed:
            is_one = one == each.key
            message = f"`{one}` is {'left out of the other file' if is_one else f'not the default of `{each.key}`'}"
            label = f"`{each.key}` is left out, so it is {each.text}"
            yield faults.DISAGREEING_FILES.at(
                known.entry, message, f"{known.text} here", related=(Label(each.entry, label),)
            )
        else:
            message = f"`{other}` and `{one}` disagree" if one != other else f"two files disagree on `{one}`"
            related = (Label(known.entry, f"{known.text} here"),)
            yield faults.DISAGREEING_FILES.at(each.entry, message, f"{each.text} here", related=related)


def _alike(left: str, right: str) -> bool:
    if left == right:
        return True
    (number, _, unit), (other, _, of_other) = left.partition(" "), right.partition(" ")
    try:
        return float(number) == float(other) and unit == of_other
    except ValueError:
        return False


def _clipping(files: Sequence[Recognised], contents: Sequence[Content]) -> Iterator[Diagnostic]:
    """A largest norm that the Trainer leaves to a DeepSpeed file, which has none: gradients are not clipped."""
    by_kind = {file.kind.name: (file, content) for file, content in zip(files, contents, strict=True)}
    if "transformers" not in by_kind or "deepspeed" not in by_kind:
        return
    root = by_kind["deepspeed"][0].tree.root
    if root is None or not root.entries or root.find("gradient_clipping") is not None:
        return
    for said in by_kind["transformers"][1].said:
        if said.path == "optimizer.clip" and not said.assumed and said.text != "0":
            start = root.span._replace(end=min(root.span.end, root.span.start + 1))
            clipping = setting(root.entries[0], "gradient_clipping", '"auto"')
            message = "`max_grad_norm` clips nothing under this DeepSpeed file"
            found = faults.DISAGREEING_FILES.at(
                said.entry, message, "left to DeepSpeed", related=(Label(start, "has no `gradient_clipping`"),),
                help=(f"write `{clipping}` there",),
            )  # fmt: skip
            yield found._replace(severity=Severity.WARNING)
