"""The kinds of fault in a configuration and in the comments that speak to planc, each with its page."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity


def _fault(code: str, name: str, severity: Severity, page: str) -> Fault:
    return Fault(code, name, severity, f"{page}\n\nVersions: all.\n")


_PARTS = """\
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
"""
_PLAN = """\
    plan run {
      model = small  cluster = one  precision = bf16
      batch { global = 64  micro = 1 }
      parallel { context = 3 }
    }
"""
_CLEAN = _PLAN.replace("context = 3", "context = 2")

UNREADABLE_CONFIGURATION = _fault(
    "PLN050", "unreadable-configuration", Severity.ERROR,
    """The configuration is not TOML.

Why: settings that cannot be read cannot hold, and a run without them would report what the house has settled, or leave
out what it demands.

Example: `planc.toml` with the line `select = PLN1`.

Instead: `select = ["PLN1"]`.

Fix: the message says where reading stopped.

Source: TOML 1.0; docs/configuration.md."""
)  # fmt: skip

UNKNOWN_SETTING = _fault(
    "PLN051", "unknown-setting", Severity.ERROR,
    """The configuration has no setting of this name.

Why: a setting that nobody reads silently does nothing.

Example: `planc.toml` with the line `selct = ["PLN1"]`.

Instead: `select = ["PLN1"]`.

Fix: correct the name; `planc config` lists the settings.

Source: docs/configuration.md."""
)  # fmt: skip

WRONG_SETTING = _fault(
    "PLN052", "wrong-setting", Severity.ERROR,
    """A setting has a value that it cannot have.

Why: a rule that is misspelt would be neither selected nor ignored, and nobody would know.

Example: `planc.toml` with the line `ignore = ["underfiled-pipeline"]`.

Instead: `ignore = ["underfilled-pipeline"]`.

Fix: the message says what is due; `planc rule` lists the names and codes.

Source: docs/configuration.md."""
)  # fmt: skip

MALFORMED_SUPPRESSION = _fault(
    "PLN055", "malformed-suppression", Severity.WARNING,
    f"""A comment speaks to planc and says nothing that it understands.

Why: whoever wrote it takes a fault for allowed that is not.

Example:
{_PARTS}    # planc: disable PLN101 -- a third of the node is kept free
{_CLEAN}
Instead:
{_PARTS}    # a plain comment may say anything
{_CLEAN}
Fix: write `# planc: allow NAME -- reason`.

Source: docs/configuration.md, Suppressions."""
)  # fmt: skip

SUPPRESSION_WITHOUT_REASON = _fault(
    "PLN056", "suppression-without-reason", Severity.ERROR,
    f"""A fault is allowed, and nothing says why.

Why: the next reader cannot tell whether the reason still holds. The fault is left out all the same, so that one line
draws one report.

Example:
{_PARTS}    # planc: allow indivisible-world-size
{_PLAN}
Instead:
{_PARTS}    # planc: allow indivisible-world-size -- two ranks of the node serve the data
{_PLAN}
Fix: write the reason after `--`.

Source: docs/configuration.md, Suppressions."""
)  # fmt: skip

UNKNOWN_SUPPRESSION = _fault(
    "PLN057", "unknown-suppression", Severity.WARNING,
    f"""A suppression names no rule that there is, or one that cannot be suppressed.

Why: it suppresses nothing. Errors in the language cannot be suppressed: what was not understood was not checked.

Example:
{_PARTS}    # planc: allow indivisible-world-sise -- one job of two
{_CLEAN}
Instead:
{_PARTS}{_CLEAN}
Fix: correct the name; `planc rule` lists them.

Source: docs/configuration.md, Suppressions."""
)  # fmt: skip

UNUSED_SUPPRESSION = _fault(
    "PLN058", "unused-suppression", Severity.WARNING,
    f"""A suppression suppresses nothing.

Why: it stays behind when the fault is mended, and hides the next one.

Example:
{_PARTS}    # planc: allow indivisible-world-size -- one job of two
{_CLEAN}
Instead:
{_PARTS}{_CLEAN}
Fix: remove the comment; `planc lint --fix` does.

Source: docs/configuration.md, Suppressions."""
)  # fmt: skip

FAULTS = (
    UNREADABLE_CONFIGURATION, UNKNOWN_SETTING, WRONG_SETTING, MALFORMED_SUPPRESSION, SUPPRESSION_WITHOUT_REASON,
    UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION,
)  # fmt: skip
