"""What one command of a script does to variables, files and the shell's options."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from planc.native.shell.embedded import SHELL_GAP, Embedded
from planc.native.shell.heredocs import body_of
from planc.native.shell.launching import started_script
from planc.native.shell.model import (
    Assignment,
    Broken,
    Command,
    Export,
    Frame,
    Heredoc,
    Redirect,
    Script,
    Setting,
    Sourced,
    Taken,
)  # fmt: skip
from planc.native.shell.nodes import Node, glued
from planc.native.shell.scopes import Scope
from planc.native.shell.shells import ends_with_shell, text_for_shell
from planc.native.shell.surveying import DECLARERS, SETTERS, Survey
from planc.native.shell.values import Array, Literal, Piece, Scalar, Unknown, Unset, Word
from planc.native.shell.words import Words
from planc.source import Source, Span

_NAME = re.compile(r"[A-Za-z_]\w*")
_SET = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_SUBSTITUTIONS = {"command_substitution", "process_substitution"}
_BETWEEN = {"comment", ";", "\n", "(", ")"}
_OPTIONS = {
    "a": "allexport", "b": "notify", "e": "errexit", "E": "errtrace", "f": "noglob", "n": "noexec", "T": "functrace",
    "u": "nounset", "v": "verbose", "x": "xtrace",
}  # fmt: skip
#: How a script calls its own folder, or the one in which it was started.
_HERE = re.compile(
    r"dirname\b.*(?:\$0|\$\{0|BASH_SOURCE)|BASH_SOURCE.*%/\*|\bSLURM_SUBMIT_DIR\b|\bPBS_O_WORKDIR\b|\bPWD\b|\bpwd\b"
)
#: What leads from there to a folder above it, twice `dirname` too.
_ABOVE = re.compile(r"\.\.|dirname\b.*dirname\b")
Context = tuple[Frame, ...]

#: The file at a path that a script names; None if it is not there.
Open = Callable[[str, Source], Source | None]


class Reader(ABC):
    """How texts and files are read which a script hands to other shells, or sources."""

    @abstractmethod
    def script(self, source: Source, scope: Scope) -> Script | None:
        """A script for another shell; None if it lies too deep."""

    @abstractmethod
    def within(self, source: Source, walk: Commands, scope: Scope, context: Context) -> Commands:
        """What was gathered from a file that is read as a part of the script."""

    @abstractmethod
    def file(self, path: str, user: Source) -> Source | None:
        """The file that a script names; None where it is not found."""


class Commands:
    """What is gathered, and how a single command is read."""

    def __init__(self, source: Source, survey: Survey, scope: Scope, reader: Reader) -> None:
        self._reader = reader
        self.words = Words(source)
        self.survey = survey
        self.scope = scope
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.exports: list[Export] = []
        self.heredocs: list[Heredoc] = []
        self.sourced: list[Sourced] = []
        self.settings: list[Setting] = []
        self.broken: list[Broken] = []
        self.taken: list[Taken] = []
        self.lent: dict[str, Survey] = {}  # functions of sourced files
        self.exporting = False

    @abstractmethod
    def run(self, nodes: tuple[Node, ...], scope: Scope, context: Context) -> None:
        """Statements, one after the other."""

    @abstractmethod
    def call(self, name: str, arguments: tuple[Word, ...], scope: Scope, context: Context, at: Node) -> None:
        """A call of a function of the script."""

    def command(self, node: Node, scope: Scope, context: Context, redirects: tuple[Node, ...]) -> None:
        """A command, or assignments that stand alone."""
        parts = (node,) if node.type == "variable_assignment" else node.children
        own = tuple(child for child in parts if child.type.endswith("_redirect"))
        moved = tuple(child for redirect in redirects for child in redirect.children if child.field == "argument")
        words_of_it = [child for child in parts if not child.type.endswith("_redirect") and child.type not in _BETWEEN]
        plain = tuple(glued(words_of_it, self.words.source.text))
        for part in (*plain, *redirects):
            self.substitutions(part, scope, context)
        if node.type == "test_command":
            words: list[Word] = [Word(self.words.span(part), (self._as_written(part),)) for part in plain[:1]]
            self._keep(node, tuple(words), (), (*own, *redirects), scope, context)
            return
        declared = node.type in ("declaration_command", "unset_command")
        assigned = () if declared else tuple(part for part in plain if part.type == "variable_assignment")
        rest = [part for part in (*plain, *moved) if declared or part.type != "variable_assignment"]
        if not rest and not redirects and not own:
            for part in assigned:
                self._assign(self._assignment(part, scope, context), scope, part)
            return
        environment = tuple(self._assignment(part, scope, context) for part in assigned)
        expanded: list[Word] = []
        for part in rest:
            if part.type == "variable_assignment" or (declared and part is rest[0]):
                expanded.append(Word(self.words.span(part), (self._as_written(part),)))
            else:
                expanded += self.words.expand(part, scope)
        command = self._keep(node, tuple(expanded), environment, (*own, *redirects), scope, context)
        name = command.name or ""
        if name in DECLARERS:
            self._declare(name, [part for part in rest if part.type == "variable_assignment"], command, scope)
        elif name in self.survey.functions:
            self.call(name, command.arguments, scope, context, node)
        elif name in self.lent:
            forget_effects(self.lent[name], name, scope)
        else:
            self._built_in(name, command, scope)

    def substitutions(self, node: Node, scope: Scope, context: Context) -> None:
        """The commands of `$(...)` in a part of a command; each runs in a shell of its own."""
        todo = [node]
        while todo:
            part = todo.pop()
            if part.type in _SUBSTITUTIONS:
                self.run(part.children, scope.inner(), (*context, Frame("substitution", self.words.span(part))))
            elif part.type != "heredoc_redirect":
                todo.extend(reversed(part.children))

    def loose_heredocs(self, redirects: tuple[Node, ...], scope: Scope, context: Context) -> None:
        """The heredocs of a loop or a group."""
        self.heredocs += (
            self._heredoc(node, None, scope, context) for node in redirects if node.type == "heredoc_redirect"
        )

    def set_options(self, text: str, span: Span, context: Context = ()) -> None:
        """Short options of the shell, as `-eu`."""
        for letter in text[1:]:
            if letter in _OPTIONS:
                self._set(_OPTIONS[letter], text.startswith("-"), span, context)

    def _set(self, name: str, on: bool, span: Span, context: Context) -> None:
        self.settings.append(Setting(name, on, span, context))
        if name == "allexport":
            self.exporting = on

    def _as_written(self, node: Node) -> Literal:
        return Literal(self.words.text(node), self.words.span(node))

    def _keep(
        self,
        node: Node,
        words: tuple[Word, ...],
        environment: tuple[Assignment, ...],
        redirects: tuple[Node, ...],
        scope: Scope,
        context: Context,
    ) -> Command:
        """Adds a command, with its redirects."""
        plain: list[Redirect] = []
        texts: list[Node] = []
        for redirect in redirects:
            nested = [child for child in redirect.children if child.type == "file_redirect"]
            texts += [redirect] if redirect.type == "heredoc_redirect" else []
            for each in [redirect] if redirect.type == "file_redirect" else nested:
                plain += self._redirect(each, scope)
        command = Command(
            self.words.span(node), words, environment, tuple(plain), (), frozenset(scope.exported), context
        )
        target = _target(command)
        heredocs = tuple(self._heredoc(text, target, scope, context) for text in texts)
        self.heredocs += heredocs
        if words or plain or heredocs:
            command = command._replace(heredocs=heredocs)
            command = command._replace(inner=self._inner(command, texts, scope))
            self.commands.append(command)
        return command

    def _inner(self, command: Command, heredocs: list[Node], scope: Scope) -> Script | None:
        """The script that a command gets as a text."""
        text = text_for_shell(command)
        pieces = text.pieces if text is not None else ()
        span = text.span if text is not None else command.span
        if text is None and heredocs and ends_with_shell(command):
            span, pieces, _ = body_of(heredocs[-1], self.words, scope)
        if text is None and not pieces:
            return self._started(command, scope)
        if not any(isinstance(piece, Literal) for piece in pieces):
            return None
        inner = Embedded(span, pieces, SHELL_GAP)
        held = scope.inner() if command.name == "eval" else scope.started()
        for gap, doubt in inner.gaps.items():
            held.set(gap[2:-1], Scalar((doubt,)))
        return self._reader.script(inner, held)

    def _started(self, command: Command, scope: Scope) -> Script | None:
        """The script in a file that a command starts, with what it gets: variables and arguments.

        One that may not run, or runs often, is left to be read by itself.
        """
        followed = all(each.kind != "function" or self.survey.once(each.name) for each in command.context)
        started = started_script(command) if followed and not command.within("loop", "if", "case") else None
        source = self._found(started.script, command) if started is not None and started.script is not None else None
        if started is None or source is None:
            return None
        held = scope.started()
        for assignment in started.variables:
            if assignment.value is not None:
                held.set(assignment.name, Scalar(assignment.value.pieces))
                held.exported.add(assignment.name)
        set_arguments(held, started.arguments, "an argument of the script")
        return self._reader.script(source, held)

    def _found(self, word: Word, command: Command) -> Source | None:
        """The file that a word names."""
        path = path_of(word)
        source = self._reader.file(path, self.words.source) if path is not None else None
        if path is not None and source is not None:
            self.taken.append(Taken(path, source, command.span))
        return source

    def _source(self, command: Command, scope: Scope) -> None:
        """`source FILE`: what it does is done by this script."""
        self.sourced.append(Sourced(command.arguments[0], command.span, command.context))
        source = None if command.within("loop") else self._found(command.arguments[0], command)
        if source is None:
            return
        inner = self._reader.within(source, self, scope, command.context)
        self.exporting = inner.exporting
        self.commands += inner.commands
        self.assignments += inner.assignments
        self.exports += inner.exports
        self.heredocs += inner.heredocs
        self.sourced += inner.sourced
        self.settings += inner.settings
        self.broken += inner.broken
        self.taken += inner.taken
        self.lent.update(inner.lent)
        self.lent.update(dict.fromkeys(inner.survey.functions, inner.survey))

    def _redirect(self, node: Node, scope: Scope) -> list[Redirect]:
        operator = next((child.type for child in node.children if not child.named), "")
        descriptor = node.of("descriptor")
        target = node.of("destination")
        if target is None:
            return []
        words = self.words.expand(target, scope) or [Word(self.words.span(target), ())]
        return [Redirect(operator, self.words.text(descriptor) if descriptor else "", words[0], self.words.span(node))]

    def _heredoc(self, node: Node, target: Word | None, scope: Scope, context: Context) -> Heredoc:
        span, pieces, literal = body_of(node, self.words, scope)
        return Heredoc(span, Embedded(span, pieces), literal, target, context)

    def _assignment(self, node: Node, scope: Scope, context: Context) -> Assignment:
        """What a node that sets a variable says."""
        target, value = node.children[0], node.of("value")
        names = _NAME.findall(self.words.text(target))
        append = any(child.type == "+=" for child in node.children)
        span = self.words.span(node)
        listed = value is not None and value.type == "array"
        if value is not None and listed:
            items = glued([item for item in value.children if item.type not in _BETWEEN], self.words.source.text)
            words = tuple(word for item in items for word in self.words.expand(item, scope))
        else:
            words = (self.words.scalar(value, scope, Span(span.source, span.end, span.end)),)
        element = target.type == "subscript"
        return Assignment(names[0] if names else "", span, words, listed, append, element, context)

    def _assign(self, assignment: Assignment, scope: Scope, node: Node) -> None:
        """Sets a variable."""
        self.assignments.append(assignment)
        name, held = assignment.name, scope.get(assignment.name)
        if assignment.element or (assignment.append and not assignment.listed and isinstance(held, Array)):
            scope.set(name, Array((Word(assignment.span, (Unknown("set by item", f"${name}"),), many=True),)))
        elif assignment.listed:
            before: tuple[Word, ...] = ()
            if assignment.append and isinstance(held, Array):
                before = held.items
            elif assignment.append and isinstance(held, Scalar):
                before = (
                    Word(assignment.span, held.pieces, many=any(isinstance(one, Unknown) for one in held.pieces)),
                )
            scope.set(name, Array((*before, *assignment.words)))
        else:
            pieces: tuple[Piece, ...] = assignment.words[0].pieces
            if assignment.append and isinstance(held, Scalar):
                pieces = (*held.pieces, *pieces)
            elif assignment.append and held is None:
                pieces = (Unknown("set by the environment", f"${name}", name), *pieces)
            scope.set(name, Scalar(pieces))
        if self.exporting:
            self._export(Export(name, assignment.span, assignment.value, assignment.context), scope)

    def _export(self, export: Export, scope: Scope) -> None:
        self.exports.append(export)
        scope.exported.add(export.name)

    def _declare(self, name: str, nodes: list[Node], command: Command, scope: Scope) -> None:
        """`export`, `local` and their like; the grammar takes some of what they set for plain words."""
        flags = "".join(word.known or "" for word in command.arguments if word.prefix.startswith("-"))
        exported = (name == "export" and "n" not in flags) or "x" in flags
        by_place = {node.start: node for node in nodes}
        for word in command.arguments:
            node = by_place.get(word.span.start)
            found = _SET.match(word.prefix)
            if node is not None:
                assignment = self._assignment(node, scope, command.context)
                self._assign(assignment, scope, node)
            elif found is not None:
                value = word.after(found.end())
                assignment = Assignment(found[1], word.span, (value,), append=bool(found[2]), context=command.context)
                self._assign(assignment, scope, Node("variable_assignment", word.span.start, word.span.end))
            elif word.known is not None and _NAME.fullmatch(word.known):
                assignment = Assignment(word.known, word.span, (), context=command.context)
                if name == "local":
                    scope.set(word.known, Unset())
            else:
                continue
            if exported:
                self._export(Export(assignment.name, word.span, assignment.value, command.context), scope)

    def _built_in(self, name: str, command: Command, scope: Scope) -> None:
        """What commands of the shell itself change."""
        arguments = command.arguments
        if name in ("source", ".") and arguments:
            self._source(command, scope)
        elif name == "set":
            self._options(command, scope)
        elif name == "shift":
            _forget_arguments(scope)
        elif name == "unset":
            for word in arguments:
                if word.known and _NAME.fullmatch(word.known):
                    scope.set(word.known, Unset())
                    scope.exported.discard(word.known)
        elif name in SETTERS:
            for word in arguments:
                for variable in _NAME.findall(word.prefix):
                    scope.forget(variable, f"set by {name}")
            if name in ("read", "mapfile", "readarray"):
                scope.forget("REPLY" if name == "read" else "MAPFILE", f"set by {name}")

    def _options(self, command: Command, scope: Scope) -> None:
        """`set -euo pipefail`."""
        expected = ""
        for at, word in enumerate(command.arguments):
            text = word.known or ""
            if expected:
                self._set(text, expected == "-", word.span, command.context)
                expected = ""
            elif text in ("--", "-") or not text.startswith(("-", "+")):
                given = command.arguments[at + (text in ("--", "-")) :]
                _forget_arguments(scope)
                if given or text == "--":
                    set_arguments(scope, given, "an argument of the script")
                return
            else:
                self.set_options(text, word.span, command.context)
                expected = text[0] if "o" in text else ""


def forget_effects(survey: Survey, name: str, scope: Scope) -> None:
    """What is known after a call of a function that is not followed."""
    if survey.crowded:
        scope.forget_all("set in a function")
        return
    for variable in sorted(survey.effects(name)):
        scope.forget(variable, "set in a function")


def set_arguments(scope: Scope, arguments: tuple[Word, ...], reason: str) -> tuple[str, ...]:
    """Lets `$1` and its like hold the arguments of a function or a script; returns their names."""
    scope.set("@", Array(arguments))
    for place, word in enumerate(arguments, 1):
        if any(argument.many for argument in arguments[:place]):
            scope.forget(str(place), reason)
        else:
            scope.set(str(place), Scalar(word.pieces))
    return ("@", *map(str, range(1, len(arguments) + 1)))


def path_of(word: Word) -> str | None:
    """The path that a word is, from the folder of the script or the one in which it runs; None if that is unknown."""
    first, *rest = word.pieces or (None,)
    if isinstance(first, Unknown) and is_here(first) and rest:
        path = Word(word.span, tuple(rest)).known
        return path.lstrip("/") if path is not None and path.startswith("/") else None
    return word.known


def is_here(folder: Unknown) -> bool:
    """Whether a folder is that of the script, or the one in which it was started."""
    return _HERE.search(folder.text) is not None and _ABOVE.search(folder.text) is None


def _forget_arguments(scope: Scope) -> None:
    for name in ("@", *map(str, range(1, 10))):
        scope.forget(name, "an argument of the script")


def _target(command: Command) -> Word | None:
    """The file into which a command writes its input."""
    if command.name == "cat" and len(command.words) == 1:
        return next((redirect.target for redirect in command.redirects if redirect.operator in (">", ">>", ">|")), None)
    if command.name == "tee":
        return next((word for word in command.arguments if not word.prefix.startswith("-")), None)
    return None
