"""What parts of a script may set, which decides what is known where they may have run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from planc.native.shell.nodes import Node, descend

_NAME = re.compile(r"[A-Za-z_]\w*")
_CHANGE = re.compile(r"\+\+|--|(?<![=<>!])=(?!=)")
#: Commands that set the variables that they name.
SETTERS = frozenset(("read", "mapfile", "readarray", "getopts", "printf", "unset", "let", "wait"))

#: Functions that are followed; of a script with more, no variable is known after a call.
MOST_FUNCTIONS = 200
DECLARERS = frozenset(("export", "declare", "typeset", "local", "readonly"))


class Survey:
    """The functions of a script, how often each is called, and how often each variable is set.

    functions: by name, each as often as it is defined; calls, settings: counts by name.
    """

    def __init__(self, text: str, statements: tuple[Node, ...]) -> None:
        self._text = text
        self._effects: dict[str, frozenset[str]] = {}
        self.functions: dict[str, list[Node]] = {}
        self.calls: Counter[str] = Counter()
        self.settings: Counter[str] = Counter()
        for node in descend(statements):
            if node.type == "function_definition" and (name := node.of("name")) is not None:
                self.functions.setdefault(self._of(name), []).append(node)
            elif node.type == "command_name":
                self.calls[self._of(node)] += 1
            self.settings.update(self._set_by(node))

    @property
    def crowded(self) -> bool:
        """Whether there are more functions than are followed."""
        return MOST_FUNCTIONS < sum(len(defined) for defined in self.functions.values())

    def effects(self, name: str) -> frozenset[str]:
        """The variables of the script that a call of a function may set."""
        if name not in self._effects:
            defined = self.functions[name]
            own = (self.names(function) - self.locals(function) for function in defined)
            self._effects[name] = frozenset[str]().union(*own)
        return self._effects[name]

    def names(self, *nodes: Node) -> frozenset[str]:
        """The variables that some parts may set, by functions that they call too."""
        found: set[str] = set()
        todo, seen = [*nodes], set[str]()
        while todo:
            for node in descend((todo.pop(),)):
                found.update(self._set_by(node))
                name = self._of(node) if node.type == "command_name" else ""
                if name in self.functions and name not in seen:
                    seen.add(name)
                    todo += self.functions[name]
        return frozenset(found)

    def locals(self, function: Node) -> frozenset[str]:
        """The variables that a function has for itself."""
        found: set[str] = set()
        for node in descend((function,)):
            kind = node.children[0].type if node.type == "declaration_command" else ""
            if kind in ("local", "declare", "typeset") and " -g" not in self._of(node):
                found.update(self._declared(node))
        return frozenset(found)

    def once(self, name: str) -> Node | None:
        """A function that is defined once and called once, after that; None if there is no such."""
        defined = self.functions.get(name, [])
        return defined[0] if len(defined) == 1 and self.calls[name] == 1 else None

    def _of(self, node: Node) -> str:
        return self._text[node.start : node.end]

    def _set_by(self, node: Node) -> Iterator[str]:
        """The variables that a node sets itself."""
        if node.type == "variable_assignment" and node.children:
            yield from _NAME.findall(self._of(node.children[0]))[:1]
        elif node.type == "for_statement" and (variable := node.of("variable")) is not None:
            yield self._of(variable)
        elif node.type in ("unset_command", "declaration_command"):
            yield from self._declared(node)
        elif node.type == "command" and (name := node.of("name")) is not None:
            if self._of(name) in SETTERS | DECLARERS:
                for argument in node.all_of("argument"):
                    yield from _NAME.findall(self._of(argument))
        elif node.type == "expansion" and any(child.type in ("=", ":=") for child in node.children):
            yield from _NAME.findall(self._of(node.children[1]))[:1]
        elif node.type in ("arithmetic_expansion", "c_style_for_statement", "compound_statement"):
            text = self._of(node)
            if node.type != "compound_statement" or text.startswith("(("):
                yield from self._counted(text)

    def _declared(self, node: Node) -> Iterator[str]:
        for child in node.named_children():
            if child.type == "variable_name":
                yield self._of(child)
            elif child.type == "variable_assignment" and child.children:
                yield from _NAME.findall(self._of(child.children[0]))[:1]

    @staticmethod
    def _counted(text: str) -> Iterator[str]:
        if _CHANGE.search(text):
            yield from _NAME.findall(text)
