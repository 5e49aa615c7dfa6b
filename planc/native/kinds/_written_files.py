"""Files that a script itself writes: which they are, and what is wrong in a configuration among them."""

from __future__ import annotations

from collections.abc import Sequence

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import json_tree, keys
from planc.native.kind import Options
from planc.native.kinds import _references, deepspeed
from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Heredoc, Script
from planc.native.tree import Tree


def check(script: Script, launches: Sequence[Launch], sayer: Sayer, options: Options) -> None:
    """What is wrong in configurations that a script writes, at their places in it."""
    named = frozenset(
        each.path for launch in launches for each in _references.named(launch) if each.kind == "deepspeed"
    )  # fmt: skip
    for each in script.every():
        for heredoc in each.heredocs:
            _embedded(heredoc, named, sayer, options)


def made_by(script: Script) -> frozenset[str]:
    """Files that the script itself writes."""
    scripts = tuple(script.every())
    targets = [heredoc.target for each in scripts for heredoc in each.heredocs]
    targets.extend(redirect.target for each in scripts for command in each.commands for redirect in command.redirects)
    return frozenset(target.known for target in targets if target is not None and target.known is not None)


def _embedded(heredoc: Heredoc, named: frozenset[str], sayer: Sayer, options: Options) -> None:
    """A DeepSpeed configuration that the script writes: what is wrong in it, at its places in the script.

    named: the files that a launch gets as such.
    """
    tree = json_tree.read(heredoc.body) if heredoc.body.text.lstrip().startswith("{") else None
    is_named = heredoc.target is not None and heredoc.target.known in named
    if not isinstance(tree, Tree) or not (is_named or deepspeed.recognise(tree)):
        return
    content = deepspeed.read(tree, options)
    sayer.report(*(_outside(found) for found in (*keys.duplicates(tree.roots[0]), *content.diagnostics)))


def _outside(found: Diagnostic) -> Diagnostic:
    """What is said of a text within the script, said of the script; its fixes are left out."""
    primary = found.primary._replace(span=outermost(found.primary.span))
    related = tuple(label._replace(span=outermost(label.span)) for label in found.related)
    return found._replace(primary=primary, related=related, fixes=())
