"""Files that a script itself writes: which they are, and the configurations among them, as files beside it. What only
the run knows of these is a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planc.native import json_tree, keys, text_tree, toml_tree, yaml_tree
from planc.native.kind import Kind, Options, Recognised
from planc.native.kinds import _references, load_kind
from planc.native.saying import Sayer
from planc.native.shell.embedded import Embedded, outside
from planc.native.shell.launching import Launch
from planc.native.shell.model import Heredoc, Script
from planc.native.shell.values import Literal, Word
from planc.native.tree import PLACEHOLDER, Broken, Map, Node, Scalar, Seq, Tree
from planc.source import Source

#: Kinds that are looked for in texts that no launch names.
_BY_CONTENT = ("deepspeed", "accelerate")

_READERS: dict[str, Callable[[Source], Tree | Broken]] = {
    "json": json_tree.read, "yaml": yaml_tree.read, "toml": toml_tree.read, "text": text_tree.read,
}  # fmt: skip

#: A path by its pieces: why each is unknown, or "", and its text.
_Name = tuple[tuple[str, str], ...]


def check(script: Script, launches: Sequence[Launch], sayer: Sayer, options: Options) -> None:
    """What is wrong in configurations that a script writes, at their places in it."""
    names = _kinds_of_names(launches)
    for name, heredoc in _written(script):
        kind = names.get(name) if name is not None else None
        file = _as_file(heredoc, load_kind(kind)) if kind is not None else _by_content(heredoc)
        if file is not None:
            content = file.kind.read(file.tree, options)
            doubled = (each for root in file.tree.roots for each in keys.duplicates(root, file.tree.format))
            sayer.report(*map(outside, (*doubled, *content.diagnostics)))


def made_by(script: Script) -> frozenset[str]:
    """Files that the script itself writes."""
    scripts = tuple(script.every())
    targets = [heredoc.target for each in scripts for heredoc in each.heredocs]
    targets.extend(redirect.target for each in scripts for command in each.commands for redirect in command.redirects)
    return frozenset(target.known for target in targets if target is not None and target.known is not None)


def named_by(script: Script, launch: Launch) -> tuple[Recognised, ...]:
    """The configurations that a launch names, and the script certainly writes, once each."""
    names = _kinds_of_names((launch,))
    found: dict[_Name, list[Heredoc]] = {}
    for name, heredoc in _written(script):
        if name is not None and name in names:
            found.setdefault(name, []).append(heredoc)
    once = {name: heredocs[0] for name, heredocs in found.items() if len(heredocs) == 1 and not heredocs[0].context}
    files = ((name, _as_file(heredoc, load_kind(names[name]))) for name, heredoc in once.items())
    return tuple(file._replace(path="".join(text for _, text in name)) for name, file in files if file is not None)


def _name(word: Word) -> _Name:
    """What a word names: with what is unknown of it, as long as that is written in the same way in both places."""
    known = word.known
    if known is not None:
        return (("", known.removeprefix("./")),)
    return tuple(("", each.text) if isinstance(each, Literal) else (each.reason, each.text) for each in word.pieces)


def _kinds_of_names(launches: Sequence[Launch]) -> dict[_Name, str]:
    """The kinds of the files that launches name."""
    found: dict[_Name, str] = {}
    for launch in launches:
        for option in (*launch.options, *launch.parameters):
            kind = _references.FILES.get(option.name)
            if kind is not None and option.value is not None:
                found[_name(option.value)] = kind
        for each in _references.named(launch):
            if each.kind is not None:
                found[(("", each.path.removeprefix("./")),)] = each.kind
    return found


def _written(script: Script) -> Iterator[tuple[_Name | None, Heredoc]]:
    """The texts that a script holds, each with the file into which it writes it, if it is one."""
    for each in script.every():
        for heredoc in each.heredocs:
            yield (None if heredoc.target is None else _name(heredoc.target)), heredoc


def _by_content(heredoc: Heredoc) -> Recognised | None:
    """A configuration that is known by what it holds."""
    files = [file for name in _BY_CONTENT if (file := _as_file(heredoc, load_kind(name))) is not None]
    sure = [(file.kind.recognise(file.tree), file) for file in files]
    best = max(sure, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] else None


def _as_file(heredoc: Heredoc, kind: Kind) -> Recognised | None:
    """A text as a file of a kind; None where it cannot be read as one."""
    is_json = heredoc.body.text.lstrip().startswith("{")
    form = next((form for form in kind.formats if (form == "json") == is_json), None)
    tree = None if form is None else _READERS[form](heredoc.body)
    if not isinstance(tree, Tree) or (form == "text" and heredoc.body.gaps) or (form != "text" and tree.root is None):
        return None
    return Recognised(tree._replace(roots=tuple(_with_gaps(root, heredoc.body) for root in tree.roots)), kind)


def _with_gaps(node: Node, body: Embedded) -> Node:
    """A tree in which texts are gaps that only the run knows."""
    if isinstance(node, Map):
        entries = (entry._replace(value=_with_gaps(entry.value, body)) for entry in node.entries)
        return node._replace(entries=tuple(entries))
    if isinstance(node, Seq):
        return node._replace(items=tuple(_with_gaps(item, body) for item in node.items))
    if isinstance(node, Scalar) and isinstance(node.value, str) and any(gap in node.value for gap in body.gaps):
        return node._replace(value=PLACEHOLDER)
    return node
