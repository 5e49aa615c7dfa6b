"""A walk over the statements of a script: what runs always, what may not run, what runs often or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from planc.native.shell.commands import Commands, forget_effects, set_arguments
from planc.native.shell.conditions import truth
from planc.native.shell.model import Frame
from planc.native.shell.nodes import RESERVED, TOO_DEEP, Node
from planc.native.shell.scopes import Scope
from planc.native.shell.values import Word
from planc.source import Span

_LOOPS = {"for_statement", "c_style_for_statement", "while_statement"}
_REDIRECTS = {"file_redirect", "heredoc_redirect", "herestring_redirect"}
_COMMANDS = {
    "command",
    "declaration_command",
    "unset_command",
    "test_command",
    "variable_assignments",
    "variable_assignment",
}
_OPERATORS = {"&&": "and", "||": "or"}
_LINE_END = re.compile(r"(?<!\\)(?<!\\\r)\n")

Context = tuple[Frame, ...]


class Branches(Commands):
    """The walk; what it finds is gathered in the lists of `Commands`."""

    def run(self, nodes: Sequence[Node], scope: Scope, context: Context) -> None:
        """Statements, one after the other."""
        for index, node in enumerate(nodes):
            if not node.named or node.type == "comment":
                continue
            after = nodes[index + 1].type if index + 1 < len(nodes) else ""
            if after == "&":
                self.statement(node, scope.inner(), (*context, Frame("background", self.words.span(node))))
            else:
                self.statement(node, scope, context)

    def statement(self, node: Node, scope: Scope, context: Context, redirects: tuple[Node, ...] = ()) -> None:
        """One statement of any kind; redirects that stand around it are those of its last command."""
        kind = node.type
        if kind in _COMMANDS:
            self._lines(node, scope, context, redirects)
            return
        if kind == "redirected_statement":
            body = next((child for child in node.named_children() if child.type not in _REDIRECTS), None)
            own = tuple(child for child in node.children if child.type in _REDIRECTS)
            self._redirected(body, scope, context, (*own, *redirects))
            return
        if kind == "pipeline":
            self._pipe([(child, ()) for child in node.named_children()], node, scope, context, redirects)
        elif kind == "list":
            self._list(node, scope, context, redirects)
        else:
            self._compound(node, scope, context)
            self.loose_heredocs(redirects, scope, context)

    def _compound(self, node: Node, scope: Scope, context: Context) -> None:
        kind, span = node.type, self.words.span(node)
        if kind == "if_statement":
            self._if(node, scope, context)
        elif kind == "case_statement":
            self._case(node, scope, context)
        elif kind in _LOOPS:
            self._loop(node, scope, context)
        elif kind == "subshell":
            self.run(node.children, scope.inner(), (*context, Frame("subshell", span)))
        elif kind == "negated_command":
            self.run(node.children, scope, (*context, Frame("negated", span)))
        elif kind == "function_definition":
            self._function(node, scope, context)
        elif kind == TOO_DEEP:
            scope.forget_all("nested too deep")
        elif kind == "compound_statement" and node.children and node.children[0].type == "((":
            for name in self.survey.names(node):
                scope.forget(name, "arithmetic")
        elif kind == "heredoc_body":
            return
        else:
            self.run(node.children, scope, context)

    def _lines(self, node: Node, scope: Scope, context: Context, redirects: tuple[Node, ...]) -> None:
        """A command; the grammar takes `A=` and the next line for one."""
        children = [*node.children]
        groups: list[list[Node]] = [[]]
        for before, child in zip([None, *children], children, strict=False):
            if before and _LINE_END.search(self.words.text_between(before, child)) and before.type not in _REDIRECTS:
                groups.append([])
            groups[-1].append(child)
        if len(groups) == 1:
            self.command(node, scope, context, redirects)
            return
        for index, group in enumerate(groups, 1):
            if self.words.text(group[0]) in RESERVED:
                scope.forget_all("not followed")
            part = node._replace(children=tuple(group), start=group[0].start, end=group[-1].end)
            self.command(part, scope, context, redirects if index == len(groups) else ())

    def _redirected(self, body: Node | None, scope: Scope, context: Context, redirects: tuple[Node, ...]) -> None:
        """A statement with redirects, behind the first line of whose heredoc more may stand."""
        rest = [(redirect, child) for redirect in redirects for child in redirect.children]
        piped = next(
            (child for redirect, child in rest if redirect.type == "heredoc_redirect" and child.type == "pipeline"),
            None,
        )
        then = next((child for _, child in rest if child.field == "right" and child.type != "pipeline"), None)
        if piped is not None:
            last = [*piped.named_children()]
            joined: list[tuple[Node, tuple[Node, ...]]] = [(body, redirects)] if body else []
            self._pipe([*joined, *((child, ()) for child in last)], piped, scope, context, ())
            return
        if body is None:
            self.command(Node("command", redirects[0].start, redirects[-1].end), scope, context, redirects)
        else:
            self.statement(body, scope, context, redirects)
        if then is not None:
            operator = next((child.type for _, child in rest if child.type in _OPERATORS), "&&")
            self._maybe(then, scope, context, Frame(_OPERATORS[operator], self.words.span(then)), ())

    def _pipe(
        self,
        elements: Sequence[tuple[Node, tuple[Node, ...]]],
        node: Node,
        scope: Scope,
        context: Context,
        redirects: tuple[Node, ...],
    ) -> None:
        """Commands that run side by side, each in a shell of its own; with redirects, the grammar nests them."""
        flat: list[tuple[Node, tuple[Node, ...]]] = []
        for element, own in elements:
            if element.type == "redirected_statement" and (body := element.of("body")) and body.type == "pipeline":
                inner = [(child, tuple[Node, ...]()) for child in body.named_children()]
                more = tuple(child for child in element.children if child.type in _REDIRECTS)
                flat += [*inner[:-1], (inner[-1][0], (*more, *own))]
            else:
                flat.append((element, own))
        if flat:
            flat[-1] = (flat[-1][0], (*flat[-1][1], *redirects))
        for position, (element, own) in enumerate(flat):
            frame = Frame("pipe", self.words.span(node), position=position)
            self.statement(element, scope.inner(), (*context, frame), own)

    def _list(self, node: Node, scope: Scope, context: Context, redirects: tuple[Node, ...]) -> None:
        """`a && b || c`: what stands behind an operator may not run."""
        parts = [child for child in node.children if child.type != "comment"]
        operator = ""
        for index, part in enumerate(parts):
            own = redirects if index == len(parts) - 1 else ()
            if not part.named:
                operator = _OPERATORS.get(part.type, operator)
            elif not operator:
                self.statement(part, scope, context, own)
            else:
                self._maybe(part, scope, context, Frame(operator, self.words.span(node)), own)

    def _maybe(self, node: Node, scope: Scope, context: Context, frame: Frame, redirects: tuple[Node, ...]) -> None:
        inner = scope.inner()
        self.statement(node, inner, (*context, frame), redirects)
        ways = [scope.inner()] if self._leaves([node]) else [scope.inner(), inner]
        scope.join(ways, "set in a branch")

    def _if(self, node: Node, scope: Scope, context: Context) -> None:
        branches: list[list[Node]] = [[]]
        for child in node.children:
            if child.type in ("elif_clause", "else_clause"):
                branches.append([*child.children])
            elif child.type not in ("if", "then", "fi"):
                branches[0].append(child)
        condition = [child for child in branches[0] if child.field == "condition"]
        branches[0] = [child for child in branches[0] if child.field != "condition"]
        self.run(condition, scope, context)
        has_else = any(child.type == "else_clause" for child in node.children)
        conditions = [condition, *(_condition(branch) for branch in branches[1 : len(branches) - has_else])]
        verdicts = [truth(each, self.words, scope) for each in conditions] + [True]
        live = verdicts.index(True) if None not in verdicts[: verdicts.index(True)] else None
        dead = {at for at, verdict in enumerate(verdicts) if verdict is False}
        if live is not None:
            dead = {at for at in range(len(branches)) if at != live}
        ways = [] if has_else else [scope.inner()]
        self._branches("if", node, branches, ways, scope, context, live, dead)

    def _case(self, node: Node, scope: Scope, context: Context) -> None:
        branches: list[list[Node]] = []
        complete = False
        for item in node.children:
            if item.type == "case_item":
                branches.append([child for child in item.children if child.field != "value"])
                complete |= any(self.words.text(value) == "*" for value in item.all_of("value"))
        self._branches("case", node, branches, [] if complete else [scope.inner()], scope, context)

    def _branches(
        self,
        kind: str,
        node: Node,
        branches: list[list[Node]],
        ways: list[Scope],
        scope: Scope,
        context: Context,
        live: int | None = None,
        dead: Collection[int] = (),
    ) -> None:
        """Parts of which one runs; one that ends the script leads nowhere.

        live: the one that certainly runs, or none of them if there is no such part; dead: those that do not.
        """
        for position, branch in enumerate(branches):
            if position == live:
                self.run(branch, scope, context)
                continue
            inner = scope.inner()
            self.run(branch, inner, (*context, Frame(kind, self.words.span(node), position=position)))
            if not self._leaves(branch) and position not in dead:
                ways.append(inner)
        if ways and live is None:
            scope.join(ways, "set in a branch")

    def _leaves(self, branch: Sequence[Node]) -> bool:
        """Whether a part ends with `exit`."""
        last = next((child for child in reversed(branch) if child.named and child.type != "comment"), None)
        name = last.of("name") if last is not None and last.type == "command" else None
        return name is not None and self.words.text(name) == "exit"

    def _loop(self, node: Node, scope: Scope, context: Context) -> None:
        inner_context = (*context, Frame("loop", self.words.span(node)))
        for value in node.all_of("value"):
            self.substitutions(value, scope, context)
        if self.survey.crowded:
            scope.forget_all("set in a loop")
        else:
            for name in sorted(self.survey.names(node)):
                scope.forget(name, "set in a loop")
        inner = scope.inner()
        parts = [child for child in node.children if child.field not in ("value", "variable", "initializer", "update")]
        if node.type == "c_style_for_statement":
            parts = [child for child in parts if child.field != "condition"]
        self.run(parts, inner, inner_context)
        scope.join([scope.inner(), inner], "set in a loop")

    def _function(self, node: Node, scope: Scope, context: Context) -> None:
        """A definition: read where it is called, if that is one place; else as for any caller."""
        name, body = node.of("name"), node.of("body")
        if name is None or body is None or self.survey.once(self.words.text(name)) is not None:
            return
        inner = scope.inner()
        if self.survey.crowded:
            inner.forget_all("set elsewhere")
        else:
            for variable, times in self.survey.settings.items():
                if 1 < times or scope.get(variable) is None:
                    inner.forget(variable, "set elsewhere")
        self.statement(body, inner, (*context, Frame("function", self.words.span(node), self.words.text(name))))

    def call(self, name: str, arguments: tuple[Word, ...], scope: Scope, context: Context, at: Node) -> None:
        """A call of a function of the script."""
        definition = self.survey.once(name)
        body = definition.of("body") if definition is not None else None
        if definition is None or body is None or at.start < definition.end:
            forget_effects(self.survey, name, scope)
            return
        inner = scope.inner()
        own = set_arguments(inner, arguments, "an argument of the function")
        frame = Frame("function", Span(self.words.source, definition.start, definition.end), name)
        self.statement(body, inner, (*context, frame))
        scope.take(inner, self.survey.locals(definition) | frozenset(own))


def _condition(branch: Sequence[Node]) -> list[Node]:
    """What stands between `elif` and `then`."""
    found: list[Node] = []
    for node in branch:
        if node.type == "then":
            break
        if node.type != "elif":
            found.append(node)
    return found
