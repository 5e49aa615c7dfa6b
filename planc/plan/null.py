"""The words of other languages for nothing, which is `none` here."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.plan import faults
from planc.syntax import nodes

_WORDS = ("null", "None", "nil", "NULL", "Null", "undefined")


def is_null(node: Any) -> bool:
    """Whether a value or a name is another language's word for nothing."""
    return isinstance(node, (nodes.Path, nodes.Name)) and node.span.text in _WORDS


def null_for_none(node: nodes.Path | nodes.Name) -> Diagnostic:
    """The fault of such a word."""
    fix = Fix("write `none`", (Edit(node.span, "none"),), safe=True)
    message = f"`{node.span.text}` in place of `none`"
    return faults.WRONG_TYPE.at(node.span, message, help=("write `none`",), fixes=(fix,))
