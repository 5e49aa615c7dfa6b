"""Shell scripts from templates. A value is quoted by the environment itself, so no template can forget it.

`{{ value }}` comes out as one shell word whatever it holds. That is right only where a word may stand: in a comment a
newline would end the comment, and inside double quotes, `${...}` or a here-document the text would run. Templates put
values at word position only (a test reads them), and where quoting is impossible (`#SBATCH`, a comment) they use `{{
value | bare }}`, which passes nothing but plain characters. A target's `check` asks `is_bare` first and reports what
is not, so that the filter never meets unsafe text while files are written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from planc import resources

if TYPE_CHECKING:
    from jinja2 import Environment

#: The first line of comment in every text file that has comments.
HEADER = "Written by planc: change the plan and compile it again, or edits here are lost."

# No blank, quote, backslash, `#` or `$`: sbatch splits its lines at blanks, ends them at `#`, and expands nothing.
_BARE = re.compile(r"[A-Za-z0-9_.,:@%+=/&|*!()\[\]~^-]+")


class _Bare(str):
    """Text that may stand as it is."""

    __slots__ = ()


def is_bare(text: str) -> bool:
    """Whether the text may stand where nothing can be quoted: in an `#SBATCH` line or a comment."""
    return _BARE.fullmatch(text) is not None


def render(template: str, values: Mapping[str, Any]) -> str:
    """Text of a script template, named like `torchrun/torchrun.sh.j2`, with the values put in."""
    return _environment().get_template(template).render(header=_Bare(HEADER), **values)


def bare(text: str) -> str:
    """The text itself, marked to stand unquoted; a ValueError for text that is not plain."""
    if not is_bare(text):
        raise ValueError(f"not safe without quotes: {text!r}")
    return _Bare(text)


def comment(text: str) -> str:
    """The text itself, marked to stand in a comment; a ValueError for text that would leave it."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"no line of a comment: {text!r}")
    return _Bare(text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: resources.read_text(f"templates/{name}")),
        undefined=StrictUndefined,
        finalize=_word,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["bare"] = bare
    environment.filters["comment"] = comment
    return environment


def _word(value: Any) -> str:
    """One shell word; a value that is neither text nor a whole number is a mistake in a template."""
    if isinstance(value, _Bare):
        return str(value)
    if isinstance(value, str) or type(value) is int:
        return shlex.quote(str(value))
    raise TypeError(f"a script template put in {value}, which is no text or whole number")
