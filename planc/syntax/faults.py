"""The kinds of fault in a file's text, each with its page (shown by `planc rule`)."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity

_PLAN = """\
    gpu card { memory = 80 GiB }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
"""

SYNTAX_ERROR = Fault(
    "PLN001",
    "syntax-error",
    Severity.ERROR,
    f"""The text is not written in the planc language.

Why: what cannot be read cannot be checked. Reading goes on at the next entry, so that one run reports every fault, and
what depends on the unread entry is taken as unknown.

Example:
{_PLAN.replace("nodes = 1", "nodes : 1")}
Instead:
{_PLAN}
Fix: the message names what was found and what was expected there; where only one text can be meant, `--fix`
    writes it.

Source: grammar/plan.lark.

Versions: language 1.
""",
)

FILE_TOO_LARGE = Fault(
    "PLN002",
    "file-too-large",
    Severity.ERROR,
    f"""The file is larger than 1 MiB.

Why: a plan is written by hand and a few kilobytes long; a megabyte of it is another kind of file, or one made by a
program that went wrong. The limit also bounds the time that a hook can take.

Example: a file of 1,048,577 bytes.

Instead:
{_PLAN}
Fix: name the plan file, not the data beside it; split a file of many plans with `use`.

Source: docs/language.md, Text.

Versions: language 1.
""",
)

NESTED_TOO_DEEPLY = Fault(
    "PLN003",
    "nested-too-deeply",
    Severity.ERROR,
    f"""Brackets are nested more than 32 deep.

Why: no section of the language is deeper than four; the limit keeps a broken or hostile file from costing time.

Example:
    model m {{ layers = {"(" * 33}1{")" * 33}  hidden = 8  heads = 1  ffn = 8  vocab = 8 }}

Instead:
    model m {{ layers = (1)  hidden = 8  heads = 1  ffn = 8  vocab = 8 }}

Fix: look for a bracket that is repeated or never closed.

Source: docs/language.md, Text.

Versions: language 1.
""",
)

NOT_TEXT = Fault(
    "PLN004",
    "not-text",
    Severity.ERROR,
    f"""The file is not text in UTF-8.

Why: a plan is text; binary files and other encodings cannot be read without guessing.

Example: a file that holds a zero byte, or Latin-1 umlauts.

Instead:
{_PLAN}
Fix: save the file as UTF-8. A byte-order mark and Windows line ends are accepted.

Source: docs/language.md, Text.

Versions: language 1.
""",
)

FAULTS = (SYNTAX_ERROR, FILE_TOO_LARGE, NESTED_TOO_DEEPLY, NOT_TEXT)
